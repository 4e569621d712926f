//! Files that are ours altogether: the agent reads them because of where they are.
//!
//! They are removed only while they are still what we wrote. Files that may hold a comment say so themselves,
//! with a checksum of the rest, whatever version wrote them; the others are compared with what would be written
//! for the command they hold.

use sha2::{Digest, Sha256};

use super::command::{FoundCommand, HookCommand};
use super::error::InstallError;
use super::hooks_json::HooksJson;
use super::target::{Edited, Found, HookFile, Note};

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
    /// A program, with a comment in it that says whose it is.
    Program(Program),
}

/// A program that an agent runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// What stands before the comment.
    pub(crate) head: &'static str,
    /// What begins a comment.
    pub(crate) comment: &'static str,
    pub(crate) mode: u32,
    /// The event it is for.
    pub(crate) event: &'static str,
    /// What runs the command for the event.
    pub(crate) body: fn(&HookCommand, &str) -> String,
    /// The command that a whole program runs.
    pub(crate) command_of: fn(&str) -> Option<FoundCommand>,
}

impl OwnFile {
    /// What we write.
    fn render(&self, command: &HookCommand) -> String {
        match self {
            Self::Hooks(hooks) => hooks.fresh(command) + "\n",
            Self::Fixed(text) => (*text).to_owned(),
            Self::Program(program) => program.marked(&(program.body)(command, program.event)),
        }
    }

    /// Is this what some version of us wrote?
    fn is_ours(&self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        match self {
            Self::Fixed(fixed) => text == *fixed,
            Self::Program(program) => program.is_marked(text),
            Self::Hooks(hooks) => {
                let found = self.commands(bytes);
                let command = found.first().map(|(_, found)| &found.command);
                let is_it = |form: &HooksJson| {
                    command.is_some_and(|command| Self::Hooks(*form).render(command) == text)
                };
                hooks.forms().iter().any(is_it)
            }
        }
    }

    /// The commands in it.
    fn commands(&self, bytes: &[u8]) -> Vec<(String, FoundCommand)> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Hooks(hooks) => hooks.commands(bytes).unwrap_or_default(),
            Self::Program(program) => {
                let found = (program.command_of)(text);
                let found = found.map(|found| (program.event.to_owned(), found));
                found.into_iter().collect()
            }
        }
    }
}

impl Program {
    fn marked(&self, body: &str) -> String {
        let Self { head, comment, .. } = self;
        format!("{head}{comment} {MARK}{}\n{body}", checksum(head, body))
    }

    fn is_marked(&self, text: &str) -> bool {
        let mark = format!("{}{} {MARK}", self.head, self.comment);
        let parts = text.strip_prefix(&mark);
        let parts = parts.and_then(|rest| rest.split_once('\n'));
        parts.is_some_and(|(sum, body)| sum == checksum(self.head, body))
    }
}

fn checksum(head: &str, body: &str) -> String {
    let sum = Sha256::new().chain_update(head).chain_update(body).finalize();
    let hex = sum.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    hex.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

impl HookFile for OwnFile {
    /// Writes the file if the place is free or ours.
    fn install(
        &self,
        before: Option<&[u8]>,
        command: &HookCommand,
    ) -> Result<Edited, InstallError> {
        match before {
            Some(before) if !self.is_ours(before) => Err(InstallError::NotOurs),
            _ => Ok(Edited::to(self.render(command))),
        }
    }

    /// Removes the file if it is still ours.
    fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError> {
        if self.is_ours(before) {
            return Ok(Edited::removed());
        }
        Ok(Edited { after: Some(before.to_vec()), notes: vec![Note::ForeignFile] })
    }

    fn look(&self, bytes: &[u8]) -> Result<Found, InstallError> {
        let foreign = !self.is_ours(bytes);
        let commands = self.commands(bytes);
        let present = !foreign || !commands.is_empty();
        Ok(Found { commands, missing: Vec::new(), foreign, present })
    }
}
