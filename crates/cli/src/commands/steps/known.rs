//! Which steps there are, for somebody who named others.

use std::collections::BTreeSet;

use herma_core::steps::{Step, StepChoice, TurnChoice};
use herma_core::{Error, Project};
use herma_view::listing::ranges_of_steps;

use crate::command_env::{CommandError, Kind};
use crate::terminal::escape;

/// So many agents or sessions are named.
const MAX_NAMED: usize = 5;

/// The failure of a choice that fits no step, with the agents or sessions that would.
pub(crate) fn no_such_steps(project: &Project, choice: &StepChoice) -> CommandError {
    let agent = |step: &Step| step.start.facts.agent.clone();
    let session = |step: &Step| step.start.facts.session.clone();
    match choice {
        StepChoice { agent: Some(name), ids, .. } if !ids.is_empty() => {
            let which = ranges_of_steps(ids);
            let (steps, are) = if ids.len() == 1 { ("step", "is") } else { ("steps", "are") };
            let name = escape(name.as_bytes());
            CommandError::new(Kind::NoStore, format!("{steps} {which} {are} not of agent `{name}`"))
                .with_hint("`herma steps` lists the steps of this project, with their agents.")
        }
        StepChoice { agent: Some(name), .. } => missing("agent", name, &known(project, agent)),
        StepChoice { session: Some(name), .. } => {
            missing("session", name, &known(project, session))
        }
        StepChoice { turn: Some(TurnChoice::Named(name)), .. } => missing("turn", name, &[]),
        StepChoice { since: Some(_), .. } => {
            let new = CommandError::new(Kind::NoStore, "no step began in that time");
            new.with_hint("`herma steps` lists the steps of this project, with their times.")
        }
        _ => Error::NoSteps.into(),
    }
}

/// What the steps of this project have here, the latest first.
fn known(project: &Project, of: impl Fn(&Step) -> Option<String>) -> Vec<String> {
    let steps = project.steps(&StepChoice::default()).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let named = steps.iter().filter_map(|listed| of(&listed.step));
    named.filter(|name| seen.insert(name.clone())).take(MAX_NAMED).collect()
}

fn missing(what: &str, name: &str, known: &[String]) -> CommandError {
    let name = escape(name.as_bytes());
    let new = CommandError::new(Kind::NoStore, format!("no step of {what} `{name}` is known"));
    if known.is_empty() {
        return new.with_hint("`herma steps` lists the steps of this project.");
    }
    let known: Vec<_> = known.iter().map(|one| format!("`{}`", escape(one.as_bytes()))).collect();
    new.with_hint(format!("There are steps of {}.", known.join(", ")))
}
