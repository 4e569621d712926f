//! The doors of the engine: what the command line and the bindings call.
//!
//! An [`Engine`] knows where the store is and how to behave; a [`Project`] is one directory in it. Each
//! operation opens the store, takes the locks it needs, does its work and lets go.

pub(crate) mod beside;
pub(crate) mod history;
pub(crate) mod lock;
pub(crate) mod open;
pub(crate) mod operation;

use herma_worktree::present::ScanError;
use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use herma_records::clock::Clock;
use herma_store::ProjectId;

use crate::directory;
use crate::directory::RootRefused;
use crate::error::Result;
use crate::types::settings::Settings;

/// What an engine needs to know about the world.
#[derive(Clone)]
pub struct EngineOptions {
    /// Herma's home, `~/.hermes` by default: the store is `checkpoints/store` in it.
    pub home: PathBuf,
    /// The user's home directory, which is never a project.
    pub user_home: Option<PathBuf>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// What the user set.
    pub settings: Settings,
}

/// What the engine is doing, for somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Another process works on this project.
    Waiting,
    /// Looking at the files.
    Scanning,
    /// Making the checkpoint durable.
    Saving,
    /// Writing and removing files.
    Restoring,
    /// Comparing the result with the checkpoint.
    Verifying,
    /// Finding out what is needed.
    Marking,
    /// Merging packs.
    Merging,
    /// Taking away what is not needed.
    Removing,
}

impl Stage {
    /// What programs are told.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Scanning => "scanning",
            Self::Saving => "saving",
            Self::Restoring => "restoring",
            Self::Verifying => "verifying",
            Self::Marking => "marking",
            Self::Merging => "merging",
            Self::Removing => "removing",
        }
    }
}

/// Hears how far the engine has got, and may stop it before anything is changed.
pub trait Progress: Sync {
    /// A new stage begins.
    fn stage(&self, stage: Stage);

    /// So many files are done.
    fn files(&self, done: u64, total: Option<u64>);

    /// Should the engine stop?
    fn is_cancelled(&self) -> bool {
        false
    }

    /// An error if whoever waits does not want it any more.
    fn check(&self) -> Result<(), ScanError> {
        if self.is_cancelled() { Err(ScanError::Cancelled) } else { Ok(()) }
    }

    /// Tells how many were looked at, and asks whether to go on.
    fn goes_on(&self, done: u64) -> bool {
        self.files(done, None);
        !self.is_cancelled()
    }
}

/// Nobody is listening.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _stage: Stage) {}

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

/// The engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) options: EngineOptions,
    base: PathBuf,
}

/// A directory the store has heard of.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownProject {
    /// Its id.
    pub id: ProjectId,
    /// Where it was when it was last saved.
    pub workdir: Option<PathBuf>,
    /// Is something there now?
    pub exists: bool,
    /// How many live checkpoints it has.
    pub checkpoints: usize,
    /// When it was last saved, in seconds since 1970.
    pub last_touch: Option<f64>,
}

/// One project.
#[derive(Clone)]
pub struct Project {
    pub(crate) engine: Engine,
    pub(crate) root: PathBuf,
    pub(crate) id: ProjectId,
    /// The line that is meant, if it is not the project itself; then `id` is that of the line, and nothing is written.
    pub(crate) line: Option<String>,
}

impl Engine {
    /// An engine with these options. Nothing is opened yet.
    pub fn new(options: EngineOptions) -> Self {
        let base = options.home.join("checkpoints");
        Self { options, base }
    }

    /// The same engine with its store in `base` instead of `checkpoints` in its home.
    #[must_use]
    pub fn with_base(mut self, base: PathBuf) -> Self {
        self.base = base;
        self
    }

    /// Where the store is.
    pub fn store_dir(&self) -> PathBuf {
        self.base().join("store")
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.base.clone()
    }

    /// What the user set.
    pub fn settings(&self) -> &Settings {
        &self.options.settings
    }

    /// The project a file or directory belongs to: the nearest directory with checkpoints, else the nearest with
    /// a project marker, else the directory itself; see [`directory::find_root`].
    pub fn find_root(&self, start: &Path) -> Result<PathBuf> {
        let store = LazyCell::new(|| self.open_for_reading().ok().flatten());
        let has_checkpoints = |dir: &Path| store.as_ref().is_some_and(|store| store.knows(dir));
        Ok(directory::find_root(start, self.options.user_home.as_deref(), has_checkpoints)?)
    }

    /// Has this directory checkpoints?
    pub fn knows(&self, dir: &Path) -> bool {
        let store = self.open_for_reading().ok().flatten();
        store.is_some_and(|store| store.knows(dir))
    }

    /// The project at `root`, if that may be one. One that was saved may be gone by now: a restore makes it again.
    pub fn project(&self, root: &Path) -> Result<Project> {
        let root = herma_fs::dir::canonicalize(root)?;
        let (user_home, home) = (self.options.user_home.as_deref(), &self.options.home);
        match directory::check_root(&root, user_home, home, &self.base) {
            Err(RootRefused::Missing(_)) if self.knows(&root) => {}
            checked => checked?,
        }
        let id = ProjectId::of(&root);
        Ok(Project { engine: self.clone(), root, id, line: None })
    }

    /// The project that was at `root`, a path [`Project::root`] answered, though its directory may be gone
    /// by now: what is remembered of it can be read, and its open steps can be ended.
    pub fn former_project(&self, root: &Path) -> Project {
        let id = ProjectId::of(root);
        Project { engine: self.clone(), root: root.to_owned(), id, line: None }
    }
}

impl Project {
    pub(crate) fn settings(&self) -> &Settings {
        &self.engine.options.settings
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.engine.options.clock.as_ref()
    }
}
