//! A file by which an agent is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command::{FoundCommand, HookCommand};
use super::error::InstallError;
use super::hooks_json::HooksJson;
use super::own_file::OwnFile;

/// A file by which an agent is told.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it may be: the first that is ours, or else the first that is free.
    pub paths: Vec<PathBuf>,
    /// What is written into it.
    pub file: Arc<dyn HookFile>,
    /// Is the file the user's, with ours among other things in it?
    pub is_shared: bool,
    /// The permission bits of a new file.
    pub mode: u32,
    /// A directory that exists for our sake only, and may go when it is empty.
    pub own_directory: Option<PathBuf>,
}

/// The content of a file by which an agent is told.
pub trait HookFile: std::fmt::Debug + Send + Sync {
    /// The bytes with ours in them. With `None` there is no file yet.
    fn install(&self, before: Option<&[u8]>, command: &HookCommand)
    -> Result<Edited, InstallError>;

    /// The bytes without ours.
    fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError>;

    /// What of ours is in the bytes.
    fn look(&self, bytes: &[u8]) -> Result<Found, InstallError>;
}

/// What an edit makes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The bytes afterwards; `None` when there is to be no file.
    pub after: Option<Vec<u8>>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What the user should know about an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// An entry that does nothing stays at this event, because the agent knows those behind it by their place.
    PlaceKept(String),
    /// A file that should be ours was written or changed by somebody else, and stays.
    ForeignFile,
}

/// What of ours is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The commands, by event; files without any have none.
    pub commands: Vec<(String, FoundCommand)>,
    /// The events that are missing.
    pub missing: Vec<String>,
    /// Is a file that should be ours another one?
    pub foreign: bool,
    /// Is anything of ours there?
    pub present: bool,
}

impl Edited {
    pub(crate) fn to(text: String) -> Self {
        Self { after: Some(text.into_bytes()), notes: Vec::new() }
    }

    pub(crate) fn removed() -> Self {
        Self { after: None, notes: Vec::new() }
    }

    pub(crate) fn with_notes(mut self, notes: Vec<Note>) -> Self {
        self.notes = notes;
        self
    }
}

impl Target {
    /// A file of the user's, with ours among other things in it.
    pub(crate) fn shared(path: PathBuf, file: impl HookFile + 'static) -> Self {
        let (paths, file) = (vec![path], Arc::new(file));
        Self { paths, file, is_shared: true, mode: 0o600, own_directory: None }
    }

    /// A plugin in a directory of our own: its hooks, and the manifest that makes it one.
    pub(crate) fn plugin(
        directory: &Path,
        hooks: HooksJson,
        manifest: PathBuf,
        text: &'static str,
    ) -> Vec<Self> {
        let hooks_in = directory.join("hooks");
        let hooks = Self::own(vec![hooks_in.join("hooks.json")], OwnFile::Hooks(hooks));
        let manifest = Self::own(vec![manifest], OwnFile::Fixed(text));
        vec![
            Self { own_directory: Some(hooks_in), ..hooks },
            Self { own_directory: Some(directory.to_owned()), ..manifest },
        ]
    }

    /// A file of our own.
    pub(crate) fn own(paths: Vec<PathBuf>, file: OwnFile) -> Self {
        let mode = match &file {
            OwnFile::Program(program) => program.mode,
            OwnFile::Hooks(_) | OwnFile::Fixed(_) => 0o644,
        };
        Self { paths, file: Arc::new(file), is_shared: false, mode, own_directory: None }
    }
}

impl Found {
    /// What was found where these events are wanted.
    pub(crate) fn of(
        commands: Vec<(String, FoundCommand)>,
        wanted: impl Iterator<Item = &'static str>,
    ) -> Self {
        let is_missing = |name: &&str| !commands.iter().any(|(event, _)| event == name);
        let missing = wanted.filter(is_missing).map(str::to_owned).collect();
        Self { missing, foreign: false, present: !commands.is_empty(), commands }
    }
}
