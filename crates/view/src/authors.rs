//! How the authors of lines and versions are shown: changes by number and agent, and people.

use herma_core::steps::{Step, StepId};
use herma_core::{LineAuthor, ListedStep};
use herma_store::path::escape;

use super::listing::fit;
use super::steps::{of_step, why};
use super::time;
use super::time::at;

/// Names of agents are cut to so many columns.
const NAME_COLUMNS: usize = 16;

/// When something was first seen, for a column.
pub fn when(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "not saved yet".to_owned(), |seconds| time::local(at(seconds)))
}

/// `step 3`, `steps 3, 4`.
pub fn numbers(steps: &[StepId]) -> String {
    let words: Vec<String> = steps.iter().map(StepId::to_string).collect();
    let plural = if steps.len() == 1 { "" } else { "s" };
    format!("step{plural} {}", words.join(", "))
}

/// An author in columns: the number of the change or a word, and the agent.
pub fn columns(author: &LineAuthor, steps: &[Step]) -> [String; 2] {
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

/// What each step was about, in a sentence; `moves` are those of them that Herma made itself.
pub fn explained_steps(steps: &[Step], moves: &[ListedStep], room: Option<usize>) -> Vec<String> {
    let one = |step: &Step| {
        let id = step.id();
        let words = match moves.iter().find(|listed| listed.step.is(id)) {
            Some(listed) => format!("Step {id}: {}", why(listed)),
            None => explained(step),
        };
        fit(&escape(words.as_bytes()), room)
    };
    steps.iter().map(one).collect()
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
        let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        words.extend([", for \"", &prompt, "\""]);
    }
    words
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
