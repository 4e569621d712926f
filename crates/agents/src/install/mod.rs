//! How each agent is told to call Herma, and how it is made to forget it.
//!
//! Everything here turns bytes into bytes: reading and writing the files is for the caller. An agent has one or
//! more [`Target`]s. Some are files of ours that the agent reads because of where they are; the others are the
//! user's own configuration, which is edited as little as possible and can be put back to the byte.
//!
//! * [`command`]: the command line, and how it is known again
//! * `hooks_json`, `json`: agents with a `hooks` object in a JSON file
//! * `hermes_yaml`: the one with YAML
//! * `own_file`: files that are ours altogether
//! * one file per agent: which files, which events

pub mod command;
mod error;
mod hermes_yaml;
mod hooks_json;
mod json;
mod own_file;
mod places;
pub mod switches;
mod target;
mod words;

mod claude;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod gemini;
mod goose;
mod hermes;
mod opencode;
mod qwen;

pub use command::FoundCommand;
pub use command::HookCommand;
pub use error::InstallError;
pub use error::NoProjectLevel;
pub use json::JsonError;
pub use places::PLACE_VARIABLES;
pub use places::Places;
pub use places::Scope;
pub use target::Edited;
pub use target::Found;
pub use target::Note;
pub use target::Target;

use crate::agent::Agent;

/// The files by which this agent is told, in the order in which they are written. The last one makes the others
/// count, and is the first to be removed.
pub fn targets(
    agent: Agent,
    places: &Places,
    scope: &Scope,
) -> Result<Vec<Target>, NoProjectLevel> {
    match agent {
        Agent::Claude => Ok(claude::targets(places, scope)),
        Agent::Codex => Ok(codex::targets(places, scope)),
        Agent::Gemini => gemini::targets(places, scope),
        Agent::OpenCode => Ok(opencode::targets(places, scope)),
        Agent::Copilot => Ok(copilot::targets(places, scope)),
        Agent::Cline => Ok(cline::targets(places, scope)),
        Agent::Goose => goose::targets(places, scope),
        Agent::Qwen => Ok(qwen::targets(places, scope)),
        Agent::Cursor => Ok(cursor::targets(places, scope)),
        Agent::Crush => Ok(crush::targets(places, scope)),
        Agent::Hermes => hermes::targets(places, scope),
    }
}

/// What is there if the user has this agent: its directory of settings.
pub fn sign_of(agent: Agent, places: &Places) -> std::path::PathBuf {
    match agent {
        Agent::Claude => claude::directory(places),
        Agent::Codex => codex::directory(places),
        Agent::Gemini => gemini::directory(places),
        Agent::OpenCode => opencode::directory(places),
        Agent::Copilot => copilot::directory(places),
        Agent::Cline => cline::directory(places),
        Agent::Goose => places.config().join("goose"),
        Agent::Qwen => qwen::directory(places),
        Agent::Cursor => cursor::directory(places),
        Agent::Crush => crush::directory(places),
        Agent::Hermes => hermes::file(places).with_file_name("state.db"),
    }
}
