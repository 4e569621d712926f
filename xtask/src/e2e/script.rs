//! What the fake model says: a list of messages, each with the tool calls the agent is to make.
//!
//! Scenes are written as [`Action`]s, which mean the same for every agent; each agent's driver puts them into
//! the words of its own tools.

use serde_json::Value;

/// Something an agent is to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Make a new file.
    Create { path: &'static str, text: &'static str },
    /// Look at a file: several agents edit only what they have read.
    Look { path: &'static str },
    /// Replace a text in a file.
    Edit { path: &'static str, old: &'static str, new: &'static str },
    /// Run a command line.
    Shell { command: String },
    /// Run a command line that goes on when the call is answered. Not tried with every agent.
    Background { command: String },
    /// Let another agent work on a prompt. Not tried with every agent.
    Delegate { prompt: String },
}

/// The word by which the requests of a scene are known.
pub fn word_of(scene: usize) -> String {
    format!("SCENE-{scene}")
}

/// The prompt that starts a scene.
pub fn prompt_of(scene: usize) -> String {
    format!("Please do the edits of {}.", word_of(scene))
}

impl Action {
    /// May it change files?
    pub fn changes_files(&self) -> bool {
        !matches!(self, Self::Look { .. })
    }
}

/// One tool call, in an agent's own words.
#[derive(Clone, Debug)]
pub enum Call {
    /// A tool with named arguments.
    Tool { name: &'static str, arguments: Value },
    /// A tool that takes a text as it is.
    Freeform { name: &'static str, input: String },
}

impl Call {
    /// A tool with named arguments.
    pub fn tool(name: &'static str, arguments: Value) -> Self {
        Self::Tool { name, arguments }
    }
}

/// What the model answers to one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Tool calls, all at once.
    Calls(Vec<Call>),
    /// Words, which end the turn.
    Words(String),
}

/// A conversation from the model's side.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// A word of the prompt by which its requests are known.
    pub word: String,
    /// The tool calls, message by message.
    pub messages: Vec<Vec<Call>>,
}

/// Everything the model will say.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The conversations; several when several agents ask at once. An agent that lets another one work has said the
    /// other's word, too, so its own conversation comes first.
    pub conversations: Vec<Conversation>,
}

impl Script {
    /// The answer to a request whose conversation has had so many rounds of tool calls already.
    pub fn answer(&self, request: &str, rounds: usize) -> Answer {
        let conversation =
            self.conversations.iter().find(|conversation| request.contains(&conversation.word));
        match conversation.and_then(|found| found.messages.get(rounds)) {
            Some(calls) => Answer::Calls(calls.clone()),
            None => Answer::Words("All done.".to_owned()),
        }
    }
}
