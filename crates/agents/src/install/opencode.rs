//! `OpenCode`: a plugin of our own, which starts Herma without a shell.
//!
//! `OpenCode` waits for a plugin without any limit and takes what it throws for the tool's failure, so the plugin
//! keeps a limit itself and throws nothing.

use std::path::PathBuf;

use super::command::FoundCommand;
use super::command::HookCommand;
use super::json::Json;
use super::json::Layout;
use super::own_file::OwnFile;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const PLUGIN: &str = include_str!("opencode_plugin.js");

const COMMAND_LINE: &str = "const COMMAND = ";

pub(super) fn directory(places: &Places) -> PathBuf {
    places.config().join("opencode")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("plugins/herma.js");
    let path = scope.choose(".opencode/plugins/herma.js", of_user);
    vec![Target::own(vec![path], OwnFile::Plugin)]
}

/// The plugin that runs this command.
pub(super) fn plugin(command: &HookCommand) -> String {
    let (binary, arguments) = command.words(Agent::OpenCode);
    let words = [binary].into_iter().chain(arguments);
    let words = Json::Array(words.map(|word| Json::Text(word.to_owned())).collect());
    let words = words.render(&Layout::own().on_one_line(), "");
    // A line separator ends a line in a script, but not in JSON.
    let words = words
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    PLUGIN.replacen("@COMMAND@", &words, 1)
}

/// The command a plugin runs.
pub(super) fn command_of(text: &str) -> Option<FoundCommand> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(COMMAND_LINE))?;
    let words: Vec<String> = serde_json::from_str(line).ok()?;
    let (home, binary) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [binary, "hook", "opencode"] => (None, binary),
        [binary, "--home", home, "hook", "opencode"] => (Some(home), binary),
        _ => return None,
    };
    let command = HookCommand::new(binary.as_ref(), home.map(AsRef::as_ref)).ok()?;
    Some(FoundCommand {
        command,
        event: None,
    })
}
