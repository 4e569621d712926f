//! A file by which an agent is told.

use std::path::{Path, PathBuf};

use super::command::{FoundCommand, HookCommand};
use super::error::InstallError;
use super::hooks_json::HooksJson;
use super::own_file;
use super::own_file::OwnFile;

/// A file by which an agent is told.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it is; if there are several, the first that is ours or free.
    paths: Vec<PathBuf>,
    content: Content,
    /// A directory that is ours altogether.
    own_directory: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Shared(&'static dyn SharedFile),
    Own(OwnFile),
}

/// A file of the user's, with ours among other things in it.
pub(crate) trait SharedFile: std::fmt::Debug + Sync {
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
    pub(crate) fn shared(path: PathBuf, file: &'static dyn SharedFile) -> Self {
        Self { paths: vec![path], content: Content::Shared(file), own_directory: None }
    }

    /// A plugin in a directory of our own: its hooks, and the manifest that makes it one.
    pub(crate) fn plugin(
        directory: &Path,
        hooks: HooksJson,
        manifest: PathBuf,
        text: &'static str,
    ) -> Vec<Self> {
        let hooks_in = directory.join("hooks");
        vec![
            Self::own(vec![hooks_in.join("hooks.json")], OwnFile::Hooks(hooks)).inside(&hooks_in),
            Self::own(vec![manifest], OwnFile::Fixed(text)).inside(directory),
        ]
    }

    pub(crate) fn own(paths: Vec<PathBuf>, file: OwnFile) -> Self {
        Self { paths, content: Content::Own(file), own_directory: None }
    }

    fn inside(mut self, directory: &Path) -> Self {
        self.own_directory = Some(directory.to_owned());
        self
    }

    /// Where it may be: the first that is ours, or else the first that is free.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// A directory that exists for our sake only, and may go when it is empty.
    pub fn own_directory(&self) -> Option<&Path> {
        self.own_directory.as_deref()
    }

    /// Is the file the user's, with ours among other things in it?
    pub fn is_shared(&self) -> bool {
        !matches!(self.content, Content::Own(_))
    }

    /// The permission bits of a new file.
    pub fn mode(&self) -> u32 {
        match &self.content {
            Content::Own(OwnFile::Program(program)) => program.mode,
            Content::Own(_) => 0o644,
            Content::Shared(_) => 0o600,
        }
    }

    /// The bytes with ours in them. With `None` there is no file yet.
    pub fn install(
        &self,
        before: Option<&[u8]>,
        command: &HookCommand,
    ) -> Result<Edited, InstallError> {
        match &self.content {
            Content::Shared(file) => file.install(before, command),
            Content::Own(file) => own_file::install(file, before, command),
        }
    }

    /// The bytes without ours.
    pub fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError> {
        match &self.content {
            Content::Shared(file) => file.uninstall(before),
            Content::Own(file) => Ok(own_file::uninstall(file, before)),
        }
    }

    /// What of ours is in the bytes.
    pub fn look(&self, bytes: &[u8]) -> Result<Found, InstallError> {
        match &self.content {
            Content::Shared(file) => file.look(bytes),
            Content::Own(file) => Ok(own_file::look(file, bytes)),
        }
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
