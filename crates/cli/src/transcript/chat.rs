//! `herma restore N --chat`: the conversation of the agent that made a change, cut to where it belongs to the files.
//!
//! The files go first: a new session is written when they are where it belongs, and the old one is never touched.

use herma_chats::{Call, Chat, Cut, Places};
use herma_core::steps::{Step, StepChoice, TurnChoice};
use herma_core::{Checkpoint, Project, Spec};

use crate::command_env::{CommandEnv, CommandError, Kind, Result};
use crate::environment::agent_places;
use crate::render::told::Forked;

/// The change at which a conversation is cut.
pub(crate) struct Place {
    pub(crate) step: Step,
    cut: Cut,
}

impl Place {
    /// Where the conversation was when the files were as they are to be: after the change that a checkpoint is named by,
    /// or before the next one.
    pub(crate) fn of(project: &Project, text: &str, checkpoint: &Checkpoint) -> Result<Self> {
        let mut steps: Vec<Step> = Vec::new();
        for listed in project.steps(&StepChoice::default())? {
            if listed.step.number.is_some() && listed.step.start.call.is_some() {
                steps.push(listed.step);
            }
        }
        let numbered = |number| steps.iter().position(|step| step.number == Some(number));
        let before = match Spec::parse(text) {
            Ok(Spec::Before(number)) => numbered(number),
            _ => match numbered(checkpoint.number) {
                Some(at) => {
                    return Ok(Self { step: steps.swap_remove(at), cut: Cut::AfterResult });
                }
                None => (0..steps.len())
                    .filter(|at| steps[*at].number > Some(checkpoint.number))
                    .min_by_key(|at| steps[*at].number),
            },
        };
        let Some(at) = before else {
            let error = CommandError::usage("no tool call of an agent leads to or from this state");
            return Err(error
                .with_state("Nothing was changed.")
                .with_hint("Without `--chat` only the files are restored."));
        };
        let step = steps.swap_remove(at);
        let cut = if is_first_of_prompt(project, &step)? {
            Cut::BeforePrompt
        } else {
            Cut::BeforeMessage
        };
        Ok(Self { step, cut })
    }
}

/// Is this the first change of its prompt? Before it the files are as they were when that was typed.
fn is_first_of_prompt(project: &Project, step: &Step) -> Result<bool> {
    let facts = &step.start.facts;
    let Some(turn) = facts.turn.clone() else { return Ok(false) };
    let session = facts.session.clone();
    let turn = Some(TurnChoice::Named(turn));
    let steps = project.steps(&StepChoice { session, turn, ..StepChoice::default() })?;
    let mut numbers = steps.iter().filter_map(|listed| listed.step.number);
    Ok(numbers.all(|number| Some(number) >= step.number))
}

/// Finds the conversation, and what of it would stay.
pub(super) fn plan(env: &CommandEnv, place: &Place) -> Forked {
    let agent = place.step.start.facts.agent.as_deref().unwrap_or_default();
    let Some(places) = agent_places(env.environment.user_home.as_deref()) else {
        return Forked::Refused("it is not known where the user's home is".to_owned());
    };
    let places = Places { home: &places.home, variables: &places.variables };
    match Chat::plan(agent, places, call_of(&place.step), place.cut) {
        Ok(chat) => Forked::Planned(Box::new(chat)),
        Err(error) => refused(&error),
    }
}

/// A call, as its hooks told of it.
pub(super) fn call_of(step: &Step) -> Call<'_> {
    let (facts, start) = (&step.start.facts, &step.start);
    Call {
        session: facts.session.as_deref().unwrap_or_default(),
        id: start.call.as_deref().unwrap_or_default(),
        sub_agent: start.sub_agent.as_deref(),
        tool: facts.tool.as_deref().unwrap_or_default(),
        argument: start.command.as_ref().or(start.paths.first()).map(String::as_str),
        began: step.started,
        ended: step.ended,
    }
}

/// Writes what was planned, now that the files are there.
pub(crate) fn write(env: &CommandEnv, forked: Forked) -> Forked {
    let Forked::Planned(chat) = forked else { return forked };
    if chat.kept() == 0 {
        return Forked::Planned(chat);
    }
    let now = env.now();
    let millis = now.seconds.max(0).cast_unsigned() * 1000 + u64::from(now.nanos) / 1_000_000;
    match chat.write(millis) {
        Ok(written) => Forked::Written(chat, written),
        Err(error) => refused(&error),
    }
}

fn refused(error: &herma_chats::Error) -> Forked {
    Forked::Refused(CommandError::from_error(Kind::Failed, error).message)
}
