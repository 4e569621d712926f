//! A step that has ended, in a few words.

use herma_core::steps::{StepChoice, StepEnd, StepId};
use herma_core::{ListedStep, Project};
use herma_view::listing::changes_in_words;
use herma_view::steps::{between, overlaps, why_unknown};
use herma_view::{here, outside};

use crate::command_error::Result;
use crate::terminal::Ui;

/// So many of the files a step changed are named when it has ended.
const NAMED_FILES: usize = 10;

/// One step and what it changed.
pub(crate) fn look_up(project: &Project, id: StepId) -> Result<ListedStep> {
    let choice = StepChoice { ids: vec![id], ..StepChoice::default() };
    let mut found = project.steps(&choice)?;
    found.retain(|listed| listed.step.is(id));
    let which = herma_core::WhichStep::Id(id);
    let found = found.pop();
    Ok(found.ok_or(herma_core::Error::NoSuchStep(which))?)
}

/// Says what a step that has ended changed, and how to undo it.
pub(crate) fn tell(ui: &Ui, listed: &ListedStep) {
    let number = listed.step.id();
    // Nobody needs the handle of a command that was run and is over.
    let named = match (number, listed.step.kind) {
        (StepId::Handle(_), herma_core::steps::StepKind::Run) => "The command".to_owned(),
        _ => format!("Step {number}"),
    };
    let outside = outside::in_words(&listed.step.outside);
    match (&listed.step.end, listed.changes) {
        (StepEnd::Unchanged(_), _) => {
            let unseen = outside::unseen(&listed.step.outside);
            ui.status(match unseen {
                Some(unseen) => {
                    format!("{named} changed nothing that checkpoints hold; {unseen}.")
                }
                None if outside.is_empty() => format!("{named} changed nothing."),
                None => format!("{named} changed nothing that checkpoints hold."),
            });
            warn_of_outside(ui, &outside);
            return;
        }
        (StepEnd::Changed(_), Some(count)) if count.files == 0 => {
            ui.status(format_args!("Step {number} changed permissions or empty directories."));
        }
        (StepEnd::Changed(_), Some(count)) => {
            let changes = changes_in_words(count);
            ui.status(format_args!("Step {number} changed {changes}:"));
            for path in listed.files.iter().take(NAMED_FILES) {
                ui.status(format_args!("  {}", here::path(path)));
            }
            let more = count.files.saturating_sub(NAMED_FILES as u64);
            if more > 0 {
                let ends = between(&listed.step);
                ui.status(format_args!("  and {more} more: `herma diff{ends}`"));
            }
        }
        (_, _) => {
            let why = why_unknown(listed);
            ui.status(format_args!("What step {number} changed is not known: {why}."));
            if listed.is_damaged {
                ui.hint("`herma checkpoints repair` mends what can be mended.");
            }
            return;
        }
    }
    warn_of_outside(ui, &outside);
    if !listed.shared.is_empty() {
        let others = overlaps(&listed.shared);
        ui.status(format_args!(
            "Under way at the same time: {others}. Some of this may not be step {number}'s."
        ));
    }
    ui.status(format_args!("`herma undo {number}` undoes only this and keeps later edits."));
}

/// Says what nobody will be able to undo.
fn warn_of_outside(ui: &Ui, outside: &[String]) {
    for words in outside {
        ui.warning(words);
    }
}
