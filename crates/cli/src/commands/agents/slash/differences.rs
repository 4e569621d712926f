//! What changed: a count for each file, then the beginning of the patch.

use herma_core::engine::NoProgress;
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, Comparison, Error, State};
use herma_diff::{FileStat, PatchOptions, patch};
use herma_view::changes::names::{counts, name, total};
use herma_view::changes::patch_lines::visible;
use herma_view::changes::stats;
use herma_view::listing::counted;

use super::{Asked, Reply};
use crate::command_env::{Outcome, Result};
use herma_view::style::Theme;

/// Lines of a patch that are shown.
const SHOWN_LINES: usize = 80;
/// Files whose counts are shown.
const SHOWN_FILES: usize = 40;

impl Asked<'_> {
    /// What changed since a checkpoint.
    pub(super) fn differences(
        &self,
        checkpoint: Checkpoint,
        action: &'static str,
    ) -> Result<Reply> {
        let mut reply = Reply::new(action);
        let comparison = self.since(&checkpoint)?;
        show(&mut reply, &comparison, "No changes since this checkpoint.")?;
        reply.checkpoint = Some(checkpoint);
        Ok(reply)
    }

    /// What this session changed. If nobody says which one it is: everything since the oldest checkpoint.
    pub(super) fn session_differences(&self, checkpoints: &[Checkpoint]) -> Result<Reply> {
        let mut reply = Reply::new("session-diff");
        let nothing = "No changes in this session.";
        let Some(session) = self.session else {
            let oldest = checkpoints.last().cloned();
            if let Some(oldest) = &oldest {
                show(&mut reply, &self.since(oldest)?, nothing)?;
            }
            reply.checkpoint = oldest;
            return Ok(reply);
        };
        let choice = StepChoice { session: Some(session.to_owned()), ..StepChoice::default() };
        let found = self
            .env
            .ui
            .during(|progress| self.project.session_changes(&choice, &[], true, progress));
        let found = match found {
            Err(Error::NoSteps) => return Ok(Reply::saying("session-diff", nothing)),
            found => found?,
        };
        show(&mut reply, &found.comparison, nothing)?;
        let unshown = found.unattributed.len() + found.incomplete.len() + found.left_out.len();
        if unshown > 0 || !found.forgotten.is_empty() {
            reply.outcome = Outcome::LeftOut;
            let files = counted(unshown, "file");
            let steps = counted(found.forgotten.len(), "step");
            reply.message.say(format!(
                "⚠ Not shown: {files} of which nobody can tell who changed them, {steps} whose checkpoints are gone."
            ));
        }
        Ok(reply)
    }

    fn since(&self, checkpoint: &Checkpoint) -> Result<Comparison> {
        let from = State::Checkpoint(Box::new(checkpoint.clone()));
        Ok(self.project.changes(&from, &State::Present, &[], true, &NoProgress)?)
    }
}

fn show(reply: &mut Reply, comparison: &Comparison, nothing: &str) -> Result<()> {
    let message = &mut reply.message;
    if comparison.modes_differ {
        message.say("Also changed: permissions or empty directories (not shown in a patch).");
    } else if comparison.changes.is_empty() {
        message.say(nothing);
    }
    if comparison.changes.is_empty() {
        return Ok(());
    }
    let files = stats(comparison)?;
    let count = |file: &FileStat| format!("{} | {}", name(file), counts(file, Theme::default()));
    let shown = files.iter().take(SHOWN_FILES).map(count);
    message.block(shown.collect(), files.len().saturating_sub(SHOWN_FILES));
    message.say(total(&files));
    let mut lines = Vec::new();
    let mut more = 0;
    let options = PatchOptions::default();
    let (old, new) = (comparison.old_side(), comparison.new_side());
    patch::render(&comparison.changes, &*old, &*new, &options, &mut |line| {
        if lines.len() < SHOWN_LINES {
            lines.push(visible(line.bytes));
        } else {
            more += 1;
        }
        Ok(())
    })?;
    message.block(lines, more);
    Ok(())
}
