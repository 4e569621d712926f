//! Plugins of ours in JavaScript, for agents that run them within themselves.
//!
//! Such a plugin starts Herma without a shell. The agent waits for it without any limit and takes what it throws for
//! the tool's failure, so the plugin keeps a limit itself and throws nothing. Its payloads say whose they are, since
//! forks of an agent send the same.

mod package;

pub use package::packages;

use super::definition::{Agent, FoundCommand, HookCommand};
use crate::install::json::{Json, Layout};

/// A plugin that runs this command: how it tells, and then what.
pub(super) fn script(command: &HookCommand, agent: Agent, body: &str) -> String {
    let words = command.words(agent).into_iter();
    let words = Json::Array(words.map(|word| Json::Text(word.to_owned())).collect());
    let words = words.render(&Layout::own().on_one_line(), "");
    // A line separator ends a line in a script, but not in JSON.
    let words = words.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let tell = include_str!("tell.js").replacen("@AGENT@", agent.word(), 1);
    tell.replacen("@COMMAND@", &words, 1) + body
}

/// The command a plugin runs.
pub(super) fn command_of(text: &str, agent: Agent) -> Option<FoundCommand> {
    let line = text.lines().find_map(|line| line.strip_prefix("const COMMAND = "))?;
    let words: Vec<String> = serde_json::from_str(line).ok()?;
    let (home, binary, word) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [binary, "hook", word] => (None, binary, word),
        [binary, "--home", home, "hook", word] => (Some(home), binary, word),
        _ => return None,
    };
    let command = HookCommand::new(binary.as_ref(), home.map(AsRef::as_ref)).ok()?;
    (word == agent.word()).then_some(FoundCommand { command, event: None })
}
