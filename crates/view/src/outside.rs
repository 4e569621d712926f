//! What no checkpoint holds and a step changed all the same: to people and to programs.

use herma_core::OutsideOfStep;
use herma_core::steps::StepId;
use herma_core::steps::outside::{Outside, OutsideChange, OutsideWhat};
use herma_worktree::reason::Reason;

use super::json::{PathJson, Serialize, object};
use super::listing::counted;
use crate::here;

/// So many files are named in one line.
const NAMED: usize = 5;

/// What a step changed outside checkpoints, as `--json` has it.
pub fn of_step(step: StepId, outside: &Outside) -> Vec<impl Serialize + use<>> {
    let changes = outside.changes.iter();
    changes
        .map(|change| {
            object! {
                step,
                what: change.what.word(),
                reason: change.what.reason().map(Reason::word),
                text: change.to_string(),
                #[serde(flatten)]
                path: PathJson::new(&change.path),
            }
        })
        .collect()
}

/// The same of several steps.
pub fn of_steps(steps: &[OutsideOfStep]) -> Vec<impl Serialize + use<>> {
    let all = steps.iter();
    all.flat_map(|one| of_step(one.step, &one.outside)).collect()
}

/// What a step changed outside checkpoints, a line each: all files together, then what happened to repositories and elsewhere.
pub fn in_words(outside: &Outside) -> Vec<String> {
    let files: Vec<&OutsideChange> = outside.files().collect();
    let count = files.len() + usize::try_from(outside.more).unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    if count > 0 {
        let mut named: Vec<String> =
            files.iter().take(NAMED).map(|change| from_here(change)).collect();
        let more = count - named.len();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        let (count, named) = (counted(count, "file"), named.join(", "));
        lines.push(format!("{count} outside checkpoints changed: {named}"));
    }
    lines.extend(outside.others().map(from_here));
    lines
}

/// A change with its path as from the present directory.
pub fn from_here(change: &OutsideChange) -> String {
    if matches!(change.what, OutsideWhat::Elsewhere(_)) {
        return change.to_string();
    }
    let path = here::bytes(&change.path).into_owned();
    OutsideChange { path: path.into(), what: change.what.clone() }.to_string()
}

/// That what is undone is older than the last step, as `--json` has it.
pub fn passed_json(passed: &OutsideOfStep) -> impl Serialize + use<> {
    object! { step: passed.step, unseen: passed.outside.unseen }
}

/// How many directories were not looked into, in words.
pub fn unseen(outside: &Outside) -> Option<String> {
    match outside.unseen {
        0 => None,
        1 => Some("1 left-out directory was not looked into".to_owned()),
        many => Some(format!("{many} left-out directories were not looked into")),
    }
}

/// That what is undone is older than the last step.
pub fn passed_in_words(passed: &OutsideOfStep) -> String {
    let unseen = unseen(&passed.outside);
    let unseen = unseen.map_or_else(String::new, |unseen| format!(" ({unseen})"));
    let step = match passed.step {
        StepId::Number(number) => format!("Step {number}, the last one,"),
        StepId::Handle(_) => "The last step".to_owned(),
    };
    format!(
        "{step} changed nothing that checkpoints hold{unseen}: this undoes what came before it."
    )
}

/// What several steps changed outside checkpoints, a line each.
pub fn named(steps: &[OutsideOfStep]) -> Vec<String> {
    let lines = steps.iter().flat_map(|one| {
        let words = in_words(&one.outside).into_iter();
        words.map(move |words| format!("step {}: {words}", one.step))
    });
    lines.collect()
}
