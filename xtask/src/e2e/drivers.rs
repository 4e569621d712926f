//! How each agent is driven: one file for each.
//!
//! A driver knows where the agent's settings are, how it is pointed at the fake model, how it is started without
//! a terminal, and what its tools are called. What has to do with Herma is not here: `herma install` does that.

mod claude;
mod cline;
mod codex;
mod copilot;
mod droid;
mod gemini;
mod goose;
mod grok;
mod hermes;
mod kilo;
mod kimi;
mod opencode;
mod pi;
mod qwen;
mod vibe;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::agents::Package;
use super::sandbox::Sandbox;
use super::script::{Action, Call};
use crate::Result;

/// An agent that can be run.
pub trait Driver: Sync {
    /// The word `herma install` knows it by.
    fn word(&self) -> &'static str;

    /// What has to be installed, the agent first.
    fn packages(&self) -> &'static [Package];

    /// Writes the agent's own settings, before Herma is installed into it.
    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()>;

    /// Starts it on a prompt, without a terminal, in the workspace.
    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command;

    /// Starts it on a prompt in a terminal, where it asks before it runs a command; `None` if nobody has said how.
    fn dialog(&self, _: &Sandbox, _model: &str, _prompt: &str) -> Result<Option<Dialog>> {
        Ok(None)
    }

    /// Starts it for an editor, speaking the Agent Client Protocol; `None` if nobody has said how.
    fn for_editor(&self, _: &Sandbox, _model: &str) -> Option<Command> {
        None
    }

    /// Goes on with the conversation that was last, with another prompt; `None` if that was never tried.
    fn go_on(&self, _sandbox: &Sandbox, _model: &str, _prompt: &str) -> Option<Command> {
        None
    }

    /// Goes on with the conversation that was last, with a command of its own that Herma has made known to it; `None` if it takes what
    /// is typed as a prompt.
    fn go_on_with_command(&self, _: &Sandbox, _model: &str, _command: &str) -> Option<Command> {
        None
    }

    /// Goes on with a session, without a terminal; `None` if nobody has said how.
    fn resume(&self, _: &Sandbox, _model: &str, _session: &str) -> Option<Command> {
        None
    }

    /// An action in the words of its tools; `None` if it has no use for it.
    fn call(&self, action: &Action, workspace: &Path) -> Option<Call>;

    /// What `herma install` is given besides the agent's name.
    fn install_options(&self) -> &'static [&'static str] {
        &[]
    }
}

/// An agent in a terminal.
pub struct Dialog {
    pub command: Command,
    /// A word of its question, which no other screen has.
    pub question: &'static str,
    /// What is typed to allow the command.
    pub allow: &'static str,
    /// What is typed to refuse it, and what is shown then.
    pub refuse: &'static str,
    pub refused: &'static str,
    /// What is typed to stop a command that runs, and is answered by the same words, if that was tried.
    pub stop: Option<&'static str>,
}

/// All of them, in the order of reports.
pub const ALL: [&dyn Driver; 15] = [
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::OpenCode,
    &copilot::Copilot,
    &cline::Cline,
    &goose::Goose,
    &qwen::Qwen,
    &hermes::Hermes,
    &kilo::Kilo,
    &pi::Pi,
    &vibe::Vibe,
    &kimi::Kimi,
    &droid::Droid,
    &grok::Grok,
];

/// The driver a word means.
pub fn by_word(word: &str) -> Option<&'static dyn Driver> {
    ALL.into_iter().find(|driver| driver.word() == word)
}

/// A path of the workspace, or beside it, as agents want it: absolute.
fn absolute(workspace: &Path, path: &str) -> Value {
    let outside = path.strip_prefix("../").zip(workspace.parent());
    let place = outside.map_or(workspace.join(path), |(path, parent)| parent.join(path));
    json!(place.to_string_lossy())
}
