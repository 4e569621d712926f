//! Restoring, undoing and redoing, in the words of a chat.

use std::path::PathBuf;

use herma_agents::slash::grammar::PREFIX;
use herma_agents::slash::message::Span;
use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::steps::{Step, StepChoice, StepId};
use herma_core::{
    Checkpoint, OutsideOfStep, RelPath, Restored, StepsUndone, UndoLast, UndoPlan, UndoSteps,
    Undone,
};
use herma_reversal::Decided;
use herma_view::going_back::undo::units_in_words;
use herma_view::json::PathJson;
use herma_view::outside::{from_here, passed_in_words};
use herma_view::{here, listing};

use super::{Asked, KeptJson, Reply};
use crate::command_env::{CommandError, Outcome, Result};
use crate::commands::going_back::restore::with_state_of_files;
use crate::commands::going_back::undo::{Course, Mode, Travelled, travel};
use crate::render::restore_report::ways_back;
use crate::terminal::escape;
use crate::transcript::{Conversation, Following};

/// Names that are shown of a list of files.
const SHOWN: usize = 8;
const UNDO: &str = "/rollback undo undoes it.";

impl Asked<'_> {
    /// Goes back to a checkpoint, whole or for some files.
    pub(super) fn restore(
        &self,
        checkpoint: Checkpoint,
        files: &[String],
        all: bool,
    ) -> Result<Reply> {
        let named: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let paths = self.env.project_paths(&self.project, &named)?;
        // A conversation that an interrupted command left behind is settled first.
        let aim = Conversation::none().aim();
        let mut following = Following::begin(self.env, &self.project, aim)?;
        let mut reply = Reply::new("restore");
        if !all && self.project.has_work()? {
            let taken = self.undo_steps(&checkpoint, paths.clone());
            let taken = taken.inspect_err(|_| following.failed())?;
            let kept = taken.plan.reversed.kept.iter();
            let stay: Vec<_> = kept.map(|(path, _)| path).collect();
            reply.message.line(title(&checkpoint, files, &paths, &stay));
            tell_undone(&mut reply, &taken, UNDO);
        } else {
            let options = RestoreOptions { paths: paths.clone(), keep: Vec::new() };
            let restored = self
                .env
                .ui
                .during(|progress| self.project.restore_with(&checkpoint, &options, progress));
            let restored = restored.map_err(|error| {
                following.failed();
                with_state_of_files(&self.project, error)
            })?;
            let stay: Vec<_> = restored.kept.iter().map(|kept| &kept.path).collect();
            reply.message.line(title(&checkpoint, files, &paths, &stay));
            tell_restored(&mut reply, &restored, UNDO);
        }
        following.finish()?;
        reply.checkpoint = Some(checkpoint);
        Ok(reply)
    }

    /// Undoes what agents did since a checkpoint, and keeps what was edited by hand.
    fn undo_steps(&self, checkpoint: &Checkpoint, paths: Vec<RelPath>) -> Result<StepsUndone> {
        let asked = UndoSteps {
            steps: StepChoice::default(),
            since: Some(checkpoint.clone()),
            paths,
            ..UndoSteps::default()
        };
        let taken = self.env.ui.during(|progress| self.project.undo_steps(&asked, progress));
        taken.map_err(|error| with_state_of_files(&self.project, error))
    }

    pub(super) fn undo(&self) -> Result<Reply> {
        let reverse = "/rollback redo repeats what this undid.";
        self.travel("undo", &Course::Undo(UndoLast::default()), reverse)
    }

    pub(super) fn redo(&self) -> Result<Reply> {
        self.travel("redo", &Course::Redo, UNDO)
    }

    /// Undoes the last prompt of the session that is not undone.
    pub(super) fn undo_last(&self) -> Result<Reply> {
        let session = self.session.map(str::to_owned);
        let last = UndoLast { session, ..UndoLast::default() };
        self.travel("undo", &Course::Undo(last), &self.way_back("redo", "brings it back"))
    }

    pub(super) fn redo_last(&self) -> Result<Reply> {
        let next = self.project.plan_redo(&NoProgress);
        let next = next.map_err(|error| with_state_of_files(&self.project, error))?;
        let steps = next.units().iter().flat_map(|unit| &unit.steps);
        // An undo that nothing came after is redone as a whole: then what it undid is meant.
        let meant = steps.flat_map(|step| match &step.undid {
            Some(undid) => undid.steps.clone(),
            None => vec![step.handle],
        });
        let meant = meant.map(StepId::Handle).collect();
        self.check_own(meant, "what was undone last", "herma redo")?;
        self.travel("redo", &Course::Redo, &self.way_back("undo", "undoes it again"))
    }

    /// What to type next, with the prefix that was typed.
    fn way_back(&self, command: &str, does: &str) -> String {
        let prefix = if self.typed.trim_start().trim_start_matches('/').starts_with(PREFIX) {
            PREFIX
        } else {
            ""
        };
        format!("/{prefix}{command} {does}.")
    }

    /// Who types to an agent means its work: what others did is undone in a terminal.
    fn check_own(&self, ids: Vec<StepId>, what: &str, elsewhere: &str) -> Result<()> {
        let Some(session) = self.session.filter(|_| !ids.is_empty()) else { return Ok(()) };
        let named = StepChoice { ids, ..StepChoice::default() };
        let steps = self.project.steps(&named)?;
        let is_own = |step: &Step| step.start.facts.session.as_deref() == Some(session);
        if !steps.is_empty() && steps.iter().all(|listed| is_own(&listed.step)) {
            return Ok(());
        }
        let error =
            format!("{what} is not this session's work: `{elsewhere}` in a terminal does it");
        Err(CommandError::usage(error).with_state("Nothing was changed."))
    }

    /// Undoes one change of the session.
    pub(super) fn undo_change(&self, change: u64) -> Result<Reply> {
        let ids = vec![StepId::Number(change)];
        let elsewhere = format!("herma undo {change}");
        self.check_own(ids.clone(), &format!("change {change}"), &elsewhere)?;
        let steps = StepChoice { ids, ..StepChoice::default() };
        let asked = UndoSteps { steps, ..UndoSteps::default() };
        let taken = self.env.ui.during(|progress| self.project.undo_steps(&asked, progress));
        let taken = taken.map_err(|error| with_state_of_files(&self.project, error))?;
        let mut reply = Reply::new("undo");
        reply.message.say(format!("✅ Undid change {change}"));
        tell_undone(&mut reply, &taken, "`herma undo` in a terminal brings it back.");
        Ok(reply)
    }

    fn travel(&self, action: &'static str, course: &Course, reverse: &str) -> Result<Reply> {
        // Nobody can be asked in a chat, and the answer says what was undone.
        let mode = Mode { yes: true, ..Mode::default() };
        let (undone, told) = match travel(self.env, &self.project, course, mode)? {
            Travelled::Alone(told) => {
                if let Some(error) = told.into_error() {
                    return Err(error);
                }
                let words = "✅ The conversation was moved. The files are as they were.";
                return Ok(Reply::saying(action, words));
            }
            Travelled::Not => return Ok(Reply::saying(action, "Nothing was changed.")),
            Travelled::Files { undone, told, .. } => (undone, told),
        };
        let mut reply = Reply::new(action);
        let restored = match undone {
            Undone::Done(restored) => restored,
            Undone::Steps(planned, Some(taken)) => {
                let did = if action == "redo" { "Redid" } else { "Undid" };
                reply.message.say(format!("✅ {did} {}", units_in_words(&planned.units)));
                tell_undone(&mut reply, &taken, reverse);
                return match told.into_error() {
                    Some(error) => Err(error),
                    None => Ok(reply),
                };
            }
            Undone::Planned(_) | Undone::Steps(_, None) => return Ok(reply),
        };
        let mut title = vec![Span::Words("✅ Went back to".to_owned())];
        title.extend(named_checkpoint(&restored.target));
        reply.message.line(title);
        tell_restored(&mut reply, &restored, &ways_back(&restored, reverse).join(" "));
        reply.checkpoint = Some(restored.target.clone());
        match told.into_error() {
            Some(error) => Err(error),
            None => Ok(reply),
        }
    }
}

/// What was restored, without the files of those asked for that were not.
fn title(
    checkpoint: &Checkpoint,
    files: &[String],
    paths: &[RelPath],
    stay: &[&RelPath],
) -> Vec<Span> {
    let done = files.iter().zip(paths);
    let done = done.filter(|(_, path)| !stay.contains(path));
    let done: Vec<_> = done.map(|(file, _)| escape(file.as_bytes())).collect();
    let (words, is_named) = match (files.is_empty(), done.is_empty()) {
        (true, _) => ("✅ Restored to", false),
        (false, false) => ("✅ Restored ", true),
        (false, true) => ("⚠ Nothing restored from", false),
    };
    let mut title = vec![Span::Words(words.to_owned())];
    if is_named {
        title.extend(names(done.into_iter()));
        title.push(Span::Words(" from".to_owned()));
    }
    title.extend(named_checkpoint(checkpoint));
    title
}

/// ` checkpoint 7f2c1ab0: why`.
fn named_checkpoint(checkpoint: &Checkpoint) -> [Span; 2] {
    let id = listing::short_id(checkpoint.id, 8);
    let reason = escape(&checkpoint.subject());
    [Span::Words(format!(" checkpoint {id}: ")), Span::Foreign(reason)]
}

fn tell_restored(reply: &mut Reply, restored: &Restored, reverse: &str) {
    tell_done(reply, restored, reverse);
    if restored.plan.receipt_damaged {
        reply.outcome = Outcome::LeftOut;
        reply.message.say(
            "⚠ What the checkpoint says about modes, or left out, cannot be read: modes are as they were.",
        );
    }
    let kept = restored.kept.iter().filter(|kept| kept.why != KeptWhy::Asked);
    let kept = kept.map(|kept| (kept.path.as_bytes(), kept.why.to_string()));
    tell_kept(reply, "⚠ Not restored: ", kept.collect());
    tell_outside(reply, &restored.plan.outside);
    let passed = restored.plan.passed.as_ref();
    if let Some(words) = passed.map(passed_in_words) {
        reply.message.say(words);
    }
}

/// Names what steps changed and nothing brings back.
fn tell_outside(reply: &mut Reply, steps: &[OutsideOfStep]) {
    let changes = steps.iter().flat_map(|one| &one.outside.changes);
    let changes: Vec<_> = changes.map(|change| (&**change.path, from_here(change))).collect();
    let title = "⚠ Not brought back, no checkpoint holds it: ";
    if steps.is_empty() {
        return;
    }
    reply.outcome = Outcome::LeftOut;
    let shown: Vec<String> = changes.iter().map(|(_, why)| why.clone()).collect();
    note_kept(reply, title, shown, changes);
}

/// What was written, and how to undo it.
fn tell_done(reply: &mut Reply, restored: &Restored, reverse: &str) {
    reply.written = Some(restored.written);
    reply.removed = Some(restored.removed);
    let safety = restored.safety.clone();
    let Some(safety) = safety.filter(|_| !restored.plan.actions.is_empty()) else {
        reply.message.say("Nothing had to be changed.");
        return;
    };
    if restored.safety_is_new {
        reply.message.say("A pre-rollback snapshot was saved automatically.");
    } else {
        let id = listing::short_id(safety.id, 8);
        reply.message.say(format!("The state from before is checkpoint {id}."));
    }
    reply.safety = Some(safety);
    reply.message.say(reverse);
}

fn tell_undone(reply: &mut Reply, taken: &StepsUndone, reverse: &str) {
    match (&taken.plan.exact, &taken.restored) {
        (Some(_), Some(restored)) => return tell_restored(reply, restored, reverse),
        (_, Some(restored)) => tell_done(reply, restored, reverse),
        (_, None) => reply.message.say("Nothing had to be changed."),
    }
    tell_what_stays(reply, &taken.plan);
    tell_outside(reply, &taken.plan.outside);
}

/// Names what was not undone.
fn tell_what_stays(reply: &mut Reply, plan: &UndoPlan) {
    let open = plan.reversed.conflicts.iter();
    let open: Vec<_> = open.filter(|c| c.decided == Decided::Left).collect();
    let is_open = |path: &&RelPath| !open.iter().any(|conflict| conflict.path == **path);
    for (title, why, paths, is_partial) in [
        ("↷ Kept your hand-edits: ", "edited by hand since", &plan.by_hand, false),
        ("↷ Kept, changed by other steps: ", "changed by other steps", &plan.by_others, false),
        ("⚠ Kept, nobody can tell whose it is: ", "unattributed", &plan.unattributed, true),
    ] {
        let paths: Vec<_> = paths.iter().filter(is_open).collect();
        if is_partial && !paths.is_empty() {
            reply.outcome = Outcome::LeftOut;
        }
        let kept = paths.iter().map(|path| (path.as_bytes(), why.to_owned()));
        note_kept(
            reply,
            title,
            paths.iter().map(|path| here::path(path)).collect(),
            kept.collect(),
        );
    }
    let open = open.iter().map(|c| (c.path.as_bytes(), c.why.to_string()));
    tell_kept(reply, "⚠ Left as they are, changed again since: ", open.collect());
    let kept = plan.reversed.kept.iter();
    let kept = kept.map(|(path, why)| (path.as_bytes(), why.word().to_owned()));
    tell_kept(reply, "⚠ Not touched, no checkpoint vouches for them: ", kept.collect());
}

/// Says what stays, each with the reason, though it was to go.
fn tell_kept(reply: &mut Reply, title: &str, kept: Vec<(&[u8], String)>) {
    if !kept.is_empty() {
        reply.outcome = Outcome::LeftOut;
    }
    let shown = kept.iter().map(|(path, why)| format!("{} ({why})", here::from_here(path)));
    note_kept(reply, title, shown.collect(), kept);
}

/// Says what stays, and notes it for programs.
fn note_kept(reply: &mut Reply, title: &str, shown: Vec<String>, kept: Vec<(&[u8], String)>) {
    if !shown.is_empty() {
        let mut line = vec![Span::Words(title.to_owned())];
        line.extend(names(shown.into_iter()));
        reply.message.line(line);
    }
    let kept = kept.into_iter().map(|(path, why)| KeptJson { path: PathJson::new(path), why });
    reply.kept.extend(kept);
}

/// The first names of a list, and how many more there are.
fn names(names: impl ExactSizeIterator<Item = String>) -> Vec<Span> {
    let more = names.len().saturating_sub(SHOWN);
    let mut spans = Vec::new();
    for name in names.take(SHOWN) {
        if !spans.is_empty() {
            spans.push(Span::Words(", ".to_owned()));
        }
        spans.push(Span::Foreign(name));
    }
    if more > 0 {
        spans.push(Span::Words(format!(" and {more} more")));
    }
    spans
}
