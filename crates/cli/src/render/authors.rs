//! How the authors of lines and versions are shown: changes by number and agent, and people.

use herma_core::steps::{Step, StepChoice, StepId};
use herma_core::types::clock::Timestamp;
use herma_core::{AuthorshipError, Error, LineAuthor, Project, RelPath};

use super::listing::fit;
use super::step_report::{of_step, why};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::here;
use crate::terminal::{Ui, escape, quote, time};

/// Names of agents are cut to so many columns.
const NAME_COLUMNS: usize = 16;

/// The failure to tell of a file, where a directory or nothing at all was named.
pub(crate) fn no_such_file(project: &Project, path: &RelPath, error: Error) -> CommandError {
    let is_no_file = match &error {
        Error::PathUnknown { path } => {
            matches!(project.first_unknown(std::slice::from_ref(path)), Ok(None))
                && matches!(project.newest_with(path), Ok(Some(_)))
        }
        Error::Authorship(AuthorshipError::NotAFile { .. }) => true,
        _ => false,
    };
    if !is_no_file {
        return error.into();
    }
    let (path, typed) = (here::path(path), quote(&here::path(path)));
    CommandError::usage(format!("{path} is a directory, or was one, and this is about one file"))
        .with_hint(format!("`herma diff N {typed}` shows what changed in it since checkpoint N."))
}

/// The moment so many seconds after 1970.
pub(crate) const fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0, offset_minutes: 0 }
}

/// When something was first seen, for a column.
pub(crate) fn when(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "not saved yet".to_owned(), |seconds| time::local(at(seconds)))
}

/// `step 3`, `steps 3, 4`.
pub(crate) fn numbers(steps: &[StepId]) -> String {
    let words: Vec<String> = steps.iter().map(StepId::to_string).collect();
    let plural = if steps.len() == 1 { "" } else { "s" };
    format!("step{plural} {}", words.join(", "))
}

/// An author in columns: the number of the change or a word, and the agent.
pub(crate) fn columns(author: &LineAuthor, steps: &[Step]) -> [String; 2] {
    let who = match author {
        LineAuthor::Step(id) => id.to_string(),
        LineAuthor::Hand => "you".to_owned(),
        other => other.word().to_owned(),
    };
    let is_its = |step: &&Step| author.steps().contains(&step.id());
    let mut agents: Vec<&str> = steps.iter().filter(is_its).map(Step::agent).collect();
    agents.dedup();
    let agents = agents.join(", ");
    [who, fit(&escape(agents.as_bytes()), Some(NAME_COLUMNS))]
}

/// Says once for each step what it was about.
pub(crate) fn explain_steps(ui: &Ui, project: &Project, steps: &[Step]) -> Result<()> {
    let ids: Vec<StepId> = steps.iter().filter(|s| s.kind.is_move()).map(Step::id).collect();
    let moves = if ids.is_empty() {
        Vec::new()
    } else {
        project.steps(&StepChoice { ids, ..StepChoice::default() })?
    };
    for step in steps {
        let id = step.id();
        let words = match moves.iter().find(|listed| listed.step.is(id)) {
            Some(listed) => format!("Step {id}: {}", why(listed)),
            None => explained(step),
        };
        ui.status(fit(&escape(words.as_bytes()), ui.width));
    }
    Ok(())
}

/// Who made a step, with what and for which prompt.
fn explained(step: &Step) -> String {
    let start = &step.start;
    let on = start.paths.first().map(|path| of_step(path));
    let about = start.command.clone().or(on);
    let mut words = format!("Step {}: {}", step.id(), step.agent());
    for part in [start.facts.tool.clone(), about].into_iter().flatten() {
        words.push_str(", ");
        words.push_str(part.lines().next().unwrap_or_default());
    }
    if let Some(prompt) = &start.prompt {
        words.push_str(", for: ");
        words.push_str(&prompt.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    words
}

/// Says so when the line of states has gaps because checkpoints are damaged.
pub(crate) fn warn_of_gaps(env: &CommandEnv, project: &Project) -> Result<Outcome> {
    let damaged = project.damaged()?;
    if damaged.is_empty() {
        return Ok(Outcome::Done);
    }
    env.ui.warning(format_args!(
        "{} damaged; what they held is missing here.",
        match damaged.len() {
            1 => "1 checkpoint is".to_owned(),
            many => format!("{many} checkpoints are"),
        }
    ));
    env.ui.detail("`herma list` names them.");
    Ok(Outcome::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_words_and_steps_are_numbers() {
        assert_eq!(columns(&LineAuthor::Hand, &[])[0], "you");
        assert_eq!(columns(&LineAuthor::Earlier, &[])[0], "earlier");
        assert_eq!(columns(&LineAuthor::Step(StepId::Number(7)), &[])[0], "7");
        let unknown = LineAuthor::Unattributed(vec![StepId::Number(1), StepId::Number(2)]);
        assert_eq!(columns(&unknown, &[]), ["unattributed", ""]);
    }

    #[test]
    fn steps_are_counted_in_words() {
        assert_eq!(numbers(&[StepId::Number(3)]), "step 3");
        assert_eq!(numbers(&[StepId::Number(3), StepId::Handle(4)]), "steps 3, s4");
    }
}
