//! Other files that decide whether an agent calls us: switches that turn hooks off, and records of what the
//! user approved. They are only read.
//!
//! * `codex`: the approvals of Codex, which hold for the very entries that were approved
//! * `gemini`: the folders Gemini CLI trusts, and the extensions it was told to leave alone

mod codex;
mod gemini;

use std::path::Path;
use std::path::PathBuf;

use serde_json::Value as Data;

use super::HookCommand;
use super::claude;
use super::copilot;
use super::hermes;
use super::json::Dialect;
use super::json::Document;
use super::json::text_of;
use super::places::Places;
use super::places::Scope;
use super::qwen;
use crate::agent::Agent;

/// What the files say about our hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against them.
    Fine,
    /// Nothing yet: the agent asks about this directory when it is started there.
    WillAsk,
    /// They are turned off by this setting.
    Off(String),
    /// The agent was told to leave our extension alone in this directory.
    ExtensionOff,
    /// The user has not approved them yet.
    NotApproved,
    /// Others were approved in their place, or they were changed since.
    NotApprovedAnyMore,
    /// The agent does not trust this directory.
    NotTrusted,
    /// It cannot be told, for this reason.
    CannotTell(String),
}

/// The files of this machine, as the caller reads them.
pub trait Files {
    /// The content; `None` when there is no file, and why it cannot be read.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, String>;

    /// The path with its links followed; the same one where that is not possible.
    fn real(&self, path: &Path) -> PathBuf;
}

/// What is asked about.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The agent.
    pub agent: Agent,
    /// Where this user's settings are.
    pub places: &'a Places,
    /// For whom our hooks are installed.
    pub scope: &'a Scope,
    /// The file with our hooks in it.
    pub hooks_file: &'a Path,
    /// The call that is made.
    pub command: &'a HookCommand,
    /// Where the agent would be started.
    pub directory: &'a Path,
}

/// What the agent's files say.
pub fn judge(question: &Question<'_>, files: &dyn Files) -> Verdict {
    for path in settings(question) {
        let verdict = match read_json(files, &path) {
            Ok(Some(data)) => judge_switch(question.agent, &data),
            // A broken file of settings keeps the agent itself from starting, and says nothing about us.
            Ok(None) | Err(_) => Verdict::Fine,
        };
        if verdict != Verdict::Fine {
            return verdict;
        }
    }
    match question.agent {
        Agent::Codex => codex::judge(question, files),
        Agent::Gemini => gemini::judge(question, files),
        Agent::Hermes => judge_hermes(question, files),
        _ => Verdict::Fine,
    }
}

/// The JSON files with switches in them: the user's, and those of the project.
fn settings(question: &Question<'_>) -> Vec<PathBuf> {
    let places = question.places;
    let of_project = |names: &[&str]| -> Vec<PathBuf> {
        names
            .iter()
            .map(|name| question.directory.join(name))
            .collect()
    };
    let (mut paths, project) = match question.agent {
        Agent::Claude => (
            vec![claude::directory(places).join("settings.json")],
            of_project(&[".claude/settings.json", ".claude/settings.local.json"]),
        ),
        Agent::Gemini => (
            vec![super::gemini::directory(places).join("settings.json")],
            of_project(&[".gemini/settings.json"]),
        ),
        Agent::Copilot => {
            let directory = copilot::directory(places);
            let names = ["settings.json", "config.json"];
            (names.map(|name| directory.join(name)).to_vec(), Vec::new())
        }
        Agent::Goose => (
            vec![places.config().join("goose/settings.json")],
            Vec::new(),
        ),
        Agent::Qwen => (
            vec![qwen::directory(places).join("settings.json")],
            of_project(&[".qwen/settings.json"]),
        ),
        _ => (Vec::new(), Vec::new()),
    };
    paths.extend(project);
    paths
}

fn read_json(files: &dyn Files, path: &Path) -> Result<Option<Data>, String> {
    let Some(bytes) = files.read(path)? else {
        return Ok(None);
    };
    let text = text_of(&bytes).map_err(|error| error.to_string())?;
    let document = Document::read(text.to_owned(), Dialect::Relaxed);
    let document = document.map_err(|error| error.to_string())?;
    Ok(Some(document.data))
}

fn judge_switch(agent: Agent, data: &Data) -> Verdict {
    let is = |path: &str, value: bool| data.pointer(path).and_then(Data::as_bool) == Some(value);
    let lists = |path: &str| {
        let names = data.pointer(path).and_then(Data::as_array);
        names.is_some_and(|names| names.iter().any(|name| name == "herma"))
    };
    if is("/disableAllHooks", true) {
        return Verdict::Off("disableAllHooks".to_owned());
    }
    if is("/hooksConfig/enabled", false) {
        return Verdict::Off("hooksConfig.enabled".to_owned());
    }
    if agent == Agent::Goose && lists("/disabledPlugins") {
        return Verdict::Off("disabledPlugins".to_owned());
    }
    Verdict::Fine
}

/// Hermes keeps pairs of event and command line.
fn judge_hermes(question: &Question<'_>, files: &dyn Files) -> Verdict {
    let line = question.command.line(Agent::Hermes, None);
    let file = hermes::file(question.places).with_file_name("shell-hooks-allowlist.json");
    let data = files.read(&file).ok().flatten();
    let data: Option<Data> = data.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let approvals = data
        .as_ref()
        .and_then(|data| data.get("approvals")?.as_array());
    let is_approved = |event: &str| {
        approvals.is_some_and(|approvals| {
            approvals.iter().any(|approval| {
                approval.get("event").and_then(Data::as_str) == Some(event)
                    && approval.get("command").and_then(Data::as_str) == Some(&line)
            })
        })
    };
    let mut events = hermes::HOOKS.events.iter();
    if events.all(|event| is_approved(event.name)) {
        Verdict::Fine
    } else {
        Verdict::NotApproved
    }
}
