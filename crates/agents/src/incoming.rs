//! A call of a hook, read: payload, arguments and environment become one [`Event`].
//!
//! Reading never fails. A hook that gives up over a payload it does not understand leaves the project unsaved
//! at the very moment it matters, so a payload with a [`PayloadProblem`] still yields an event: a turn begins
//! where the hook was started.
//!
//! Agents read each other's configurations. Copilot runs the hooks of a project's Claude settings, Cursor those of
//! the user's as well, and either sends what it would send to its own hooks. So the name on the command line only says
//! whose hook it is, and the payload decides who sent it. Variables alone do not: an agent that is started in the
//! terminal of another one inherits them.

use std::io::Read;

use crate::agent::Agent;
use crate::agents;
use crate::bounded::{Bounded, Stop};
use crate::event::{Event, Surroundings};
use crate::payload::Payload;
use crate::payload::fields::TOP;

/// Payloads above this many bytes are not read to their end.
pub const MAX_PAYLOAD_BYTES: u64 = 64 * 1024 * 1024;

/// What came in.
#[derive(Debug)]
pub struct Incoming {
    /// What the agent said, or with a problem the most careful guess.
    pub event: Event,
    /// Why the payload could not be used.
    pub problem: Option<PayloadProblem>,
    /// How many bytes the payload had, as far as it was read.
    pub size: u64,
}

/// Why a payload could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadProblem {
    /// It is longer than [`MAX_PAYLOAD_BYTES`].
    #[error("the payload is larger than {MAX_PAYLOAD_BYTES} bytes")]
    TooLarge,
    /// There is none.
    #[error("the payload is empty")]
    Empty,
    /// It is not JSON, or not all of it.
    #[error("the payload is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// Its values are nested too deeply.
    #[error("the payload is nested too deeply")]
    TooDeep,
    /// It is JSON, but not an object.
    #[error("the payload is not a JSON object")]
    NotAnObject,
    /// It could not be read.
    #[error("the payload could not be read: {0}")]
    Unreadable(#[source] std::io::Error),
}

/// Reads a call of the hook that was installed for the agent `named`.
pub fn read(named: Agent, surroundings: &Surroundings, payload: &mut dyn Read) -> Incoming {
    let argument =
        surroundings.argument.as_deref().filter(|argument| argument.trim_start().starts_with('{'));
    let (size, read) = match argument {
        Some(argument) => read_payload(&mut argument.as_bytes()),
        None => read_payload(payload),
    };
    let (event, problem) = match read {
        Ok(payload) => {
            let agent = sender(named, &payload, surroundings);
            let event = agent.rules().event(agent, &payload, surroundings);
            (event, None)
        }
        Err(problem) => {
            let event = named.rules().without_payload(named, surroundings);
            (event, Some(problem))
        }
    };
    Incoming { event, problem, size }
}

/// Reads a payload. What follows it is left for the caller, since an agent may keep its end open.
fn read_payload(source: &mut dyn Read) -> (u64, Result<Payload, PayloadProblem>) {
    let mut bounded = Bounded::new(source, MAX_PAYLOAD_BYTES);
    let read = Payload::read(&mut bounded, &agents::FIELDS);
    let (size, stop) = match read {
        Ok(Some(_)) => bounded.so_far(),
        _ => bounded.finish(),
    };
    let payload = match (stop, read) {
        (Some(Stop::TooLarge), _) => Err(PayloadProblem::TooLarge),
        (Some(Stop::TooDeep), _) => Err(PayloadProblem::TooDeep),
        (Some(Stop::Unreadable(error)), _) => Err(PayloadProblem::Unreadable(error)),
        (None, Ok(Some(payload))) => Ok(payload),
        (None, Ok(None)) => Err(PayloadProblem::NotAnObject),
        (None, Err(_)) if size == 0 => Err(PayloadProblem::Empty),
        (None, Err(error)) => Err(PayloadProblem::NotJson(error)),
    };
    (size, payload)
}

/// The agent that sent a payload to the hook of the agent `named`.
fn sender(named: Agent, payload: &Payload, surroundings: &Surroundings) -> Agent {
    let mut known = agents::KNOWN_BY_PAYLOAD.into_iter();
    if let Some(sender) = known.find(|agent| (agent.rules().known_by)(payload)) {
        return sender;
    }
    if named != Agent::Claude || !payload.has((TOP, "timestamp")) {
        return named;
    }
    // Claude's form with a time in it, which Claude does not send.
    let started_by = |variable| surroundings.variable(variable).is_some();
    if payload.text((TOP, "permission_mode")).is_some() {
        Agent::Qwen
    } else if started_by("GEMINI_PROJECT_DIR") && !started_by("COPILOT_CLI") {
        Agent::Gemini
    } else {
        Agent::Copilot
    }
}
