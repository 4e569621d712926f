//! What the hook of a prompt answers: something for the model to know, or that there is nothing for it to do.
//!
//! Each agent reads JSON of its own from the hook's standard output. Where one reads none, nothing is said: some take any
//! text for a refusal.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::event::EventKind;

/// What a prompt is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The model is to know this as well.
    Context(String),
    /// The prompt was for us, and this is our answer: the model is not asked.
    Stop(String),
}

impl Agent {
    /// What the hook prints, one line; `None` if the agent does not listen.
    pub fn reply(self, reply: &Reply) -> Option<String> {
        self.form_of_replies().map(|form| form(reply).to_string())
    }

    /// Does it want an answer to this event?
    pub(crate) fn wants_reply(self, event: &str) -> bool {
        self.form_of_replies().is_some() && self.rules().kind(event) == EventKind::TurnStart
    }
}

/// The JSON in which one agent wants its answers.
pub(crate) type Form = fn(&Reply) -> Value;

/// The form of Claude Code, which others took over, for this event.
pub(crate) fn like_claude(event: &str, reply: &Reply) -> Value {
    match reply {
        Reply::Context(text) => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        }
        Reply::Stop(text) => json!({"decision": "block", "reason": text}),
    }
}
