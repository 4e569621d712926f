//! Other files that decide whether an agent calls us: switches that turn hooks off, and records of what the
//! user approved. They are only read.

use std::path::{Path, PathBuf};

use serde_json::Value as Data;

use super::HookCommand;
use super::json::{Dialect, Document, text_of};
use super::places::{Places, Scope};
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

/// A file of settings as data.
pub(crate) fn read_json(files: &dyn Files, path: &Path) -> Result<Option<Data>, String> {
    let Some(bytes) = files.read(path)? else { return Ok(None) };
    let text = text_of(&bytes).map_err(|error| error.to_string())?;
    let document = Document::read(text.to_owned(), Dialect::Relaxed);
    let document = document.map_err(|error| error.to_string())?;
    Ok(Some(document.data))
}
