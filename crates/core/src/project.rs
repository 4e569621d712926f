//! The simple door: a project with defaults, and its five verbs.
//!
//! Every verb has a full form that takes options and progress: [`Project::save_with`], [`Project::restore_with`],
//! [`Project::undo_with`], [`Project::redo_with`]. Checkpoints made here are those of the command line.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use herma_core::{EngineOptions, Project};
//!
//! let (home, work) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let notes = work.path().join("notes.txt");
//! std::fs::write(&notes, "mine")?;
//!
//! let project = Project::open_with(work.path(), EngineOptions::at(home.path()))?;
//! let before = project.save("before")?;
//! std::fs::write(&notes, "an agent's")?;
//!
//! project.restore(&before.checkpoint)?;
//! assert_eq!(std::fs::read(&notes)?, b"mine");
//! project.undo()?;
//! assert_eq!(std::fs::read(&notes)?, b"an agent's");
//! project.redo()?;
//! assert_eq!(std::fs::read(&notes)?, b"mine");
//! assert_eq!(project.timeline()?.last().map(|oldest| oldest.id), Some(before.checkpoint.id));
//! # Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;

use crate::engine::{Engine, EngineOptions, NoProgress, Project};
use crate::error::Error;
use crate::restore::run::Restored;
use crate::save::{SaveOptions, Saved};
use crate::types::asked::RestoreOptions;
use crate::types::checkpoint::Checkpoint;
use crate::types::clock::{Clock, Timestamp};
use crate::types::settings::Settings;
use crate::undo::Undone;

impl EngineOptions {
    /// The defaults with Herma's home at `home`: the system's clock, default settings. `config.yaml` is not read, and no
    /// directory counts as the user's own, which is never a project.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        let clock = Arc::new(SystemClock);
        Self { home: home.into(), user_home: None, clock, settings: Settings::default() }
    }

    /// The defaults of whoever runs the program: Herma's home is `$HERMES_HOME`, or else `~/.hermes`, and `$HOME` is never a
    /// project.
    pub fn of_user() -> Result<Self, Error> {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user_home = set("HOME");
        let in_home = || user_home.as_ref().map(|home| home.join(".hermes"));
        let home = set("HERMES_HOME").or_else(in_home).ok_or(Error::NoHome)?;
        Ok(Self { user_home, ..Self::at(home) })
    }
}

impl Project {
    /// The project `path` belongs to, with [`EngineOptions::of_user`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, EngineOptions::of_user()?)
    }

    /// The project `path` belongs to.
    pub fn open_with(path: impl AsRef<Path>, options: EngineOptions) -> Result<Self, Error> {
        let engine = Engine::new(options);
        let root = engine.find_root(path.as_ref())?;
        engine.project(&root)
    }

    /// Saves the project as a checkpoint, unless the newest one has the same state.
    pub fn save(&self, reason: impl Into<BString>) -> Result<Saved, Error> {
        let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
        self.save_with(&options, &NoProgress)
    }

    /// Brings a checkpoint's state back, after saving the current one.
    pub fn restore(&self, target: &Checkpoint) -> Result<Restored, Error> {
        self.restore_with(target, &RestoreOptions::default(), &NoProgress)
    }

    /// Goes back to the state before this one.
    pub fn undo(&self) -> Result<Undone, Error> {
        self.undo_with(&NoProgress, false)
    }

    /// Repeats what was undone.
    pub fn redo(&self) -> Result<Undone, Error> {
        self.redo_with(&NoProgress, false)
    }
}

/// The system's clock, in UTC.
#[derive(Clone, Copy, Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one clock of the engine's own, for callers without one"
    )]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = since.unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Timestamp { seconds, nanos: since.subsec_nanos(), offset_minutes: 0 }
    }
}
