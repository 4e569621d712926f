//! Files that are ours altogether: the agent reads them because of where they are.
//!
//! They are removed only while they are still what we wrote. Files that may hold a comment say so themselves,
//! with a checksum of the rest, whatever version wrote them; the others are compared with what would be written
//! for the command they hold.

use sha2::Digest;
use sha2::Sha256;

use super::command::FoundCommand;
use super::command::HookCommand;
use super::error::InstallError;
use super::hooks_json::HooksJson;
use super::opencode;
use super::target::Edited;
use super::target::Found;
use super::target::Note;
use crate::agent::Agent;

/// What is in the comment that says whose file it is.
const MARK: &str =
    "Written by `herma install`; `herma uninstall` removes it unless it was changed. sha256:";

/// A file that is ours altogether.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnFile {
    /// A `hooks` object and nothing else.
    Hooks(HooksJson),
    /// A text that never changes.
    Fixed(&'static str),
    /// The plugin for `OpenCode`.
    Plugin,
    /// A shell script for one event of Cline.
    Script {
        /// The event.
        event: &'static str,
    },
}

impl OwnFile {
    /// What we write.
    fn render(&self, command: &HookCommand) -> String {
        match self {
            Self::Hooks(hooks) => hooks.fresh(command) + "\n",
            Self::Fixed(text) => (*text).to_owned(),
            Self::Plugin => marked("", "//", &opencode::plugin(command)),
            Self::Script { event } => {
                let line = command.line(Agent::Cline, Some(event));
                marked("#!/bin/sh\n", "#", &format!("{line}\n"))
            }
        }
    }

    /// Is this what some version of us wrote?
    fn is_ours(&self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        match self {
            Self::Fixed(fixed) => text == *fixed,
            Self::Plugin => is_marked("", "//", text),
            Self::Script { .. } => is_marked("#!/bin/sh\n", "#", text),
            Self::Hooks(_) => {
                let found = self.commands(bytes);
                let command = found.first().map(|(_, found)| &found.command);
                command.is_some_and(|command| self.render(command) == text)
            }
        }
    }

    /// The commands in it.
    fn commands(&self, bytes: &[u8]) -> Vec<(String, FoundCommand)> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Hooks(hooks) => {
                let ours = hooks.look(bytes).unwrap_or_default();
                ours.into_iter().map(|one| (one.event, one.found)).collect()
            }
            Self::Plugin => {
                let found = opencode::command_of(text);
                found
                    .map(|found| ("plugin".to_owned(), found))
                    .into_iter()
                    .collect()
            }
            Self::Script { event } => {
                let line = text.lines().nth(2).unwrap_or_default();
                let found = HookCommand::recognise(line, Agent::Cline);
                found
                    .map(|found| ((*event).to_owned(), found))
                    .into_iter()
                    .collect()
            }
        }
    }
}

fn marked(head: &str, comment: &str, body: &str) -> String {
    format!("{head}{comment} {MARK}{}\n{body}", checksum(head, body))
}

fn is_marked(head: &str, comment: &str, text: &str) -> bool {
    let rest = text.strip_prefix(head).and_then(|rest| {
        rest.strip_prefix(comment)?
            .strip_prefix(' ')?
            .strip_prefix(MARK)
    });
    let parts = rest.and_then(|rest| rest.split_once('\n'));
    parts.is_some_and(|(sum, body)| sum == checksum(head, body))
}

fn checksum(head: &str, body: &str) -> String {
    let sum = Sha256::new()
        .chain_update(head)
        .chain_update(body)
        .finalize();
    let hex = sum.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    hex.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

/// Writes the file if the place is free or ours.
pub(super) fn install(
    file: &OwnFile,
    before: Option<&[u8]>,
    command: &HookCommand,
) -> Result<Edited, InstallError> {
    match before {
        Some(before) if !file.is_ours(before) => Err(InstallError::NotOurs),
        _ => Ok(Edited::to(file.render(command))),
    }
}

/// Removes the file if it is still ours.
pub(super) fn uninstall(file: &OwnFile, before: &[u8]) -> Edited {
    if file.is_ours(before) {
        return Edited::removed();
    }
    Edited {
        after: Some(before.to_vec()),
        notes: vec![Note::ForeignFile],
    }
}

/// What of ours is in it.
pub(super) fn look(file: &OwnFile, bytes: &[u8]) -> Found {
    let foreign = !file.is_ours(bytes);
    let commands = file.commands(bytes);
    let present = !foreign || !commands.is_empty();
    Found {
        commands,
        missing: Vec::new(),
        foreign,
        present,
    }
}
