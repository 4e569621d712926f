//! The programs that are measured: what each does to keep a tree and to bring it back.

mod borg;
mod git;
mod herma;
pub mod install;
mod jj;
mod restic;
mod seed;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PEAK_MEMORY, measure};
use crate::Result;

pub use borg::Borg;
pub use git::Git;
pub use herma::{Herma, Kind as HermaKind};
pub use jj::Jj;
pub use restic::Restic;
pub use seed::{MAX_FILES as SEED_MOST_FILES, Seed};

/// A program that keeps a tree.
pub trait Peer {
    /// What it is called in tables.
    fn name(&self) -> &'static str;

    /// Which version it is.
    fn version(&self) -> Result<String>;

    /// The tree it works on.
    fn root(&self) -> &Path;

    /// Forgets everything, and makes ready for a first save.
    fn prepare(&mut self) -> Result<()>;

    /// Saves for the first time.
    fn first(&mut self) -> Result<Duration> {
        self.save()
    }

    /// Saves.
    fn save(&mut self) -> Result<Duration>;

    /// Makes the tree what it was when it was last saved.
    ///
    /// `None` where the program can do so only by writing every file, and that is not `wanted`.
    fn restore(&mut self, wanted: Restored) -> Result<Option<Duration>>;

    /// The bytes of what it keeps.
    fn size(&self) -> Result<u64>;

    /// The most memory a save needs; `None` where it is not one process.
    fn memory(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Another setting of a program that takes part already: it only saves.
    fn is_variant(&self) -> bool {
        false
    }

    /// A slow one takes part in few rounds.
    fn most_rounds(&self) -> usize {
        usize::MAX
    }
}

/// How much of the tree was changed and is wanted back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// Some files.
    Changed,
    /// All of them are gone.
    Everything,
}

/// Where the peers are, and where they may work.
pub struct Places {
    /// The program that is measured.
    pub herma: PathBuf,
    /// That of an earlier day, if it takes part.
    pub before: Option<PathBuf>,
    /// Stores go below this.
    pub stores: PathBuf,
    /// Installed peers are below this.
    pub peers: PathBuf,
}

impl Places {
    fn store(&self, name: &str) -> PathBuf {
        self.stores.join(name)
    }
}

/// What a command needs at its peak.
fn memory_of(command: &std::process::Command) -> Result<Option<u64>> {
    measure::peak_memory(PEAK_MEMORY, command).map(Some)
}

/// The first line of what a command prints.
fn first_line(command: &mut std::process::Command) -> Result<String> {
    let (_, output) = measure::time_and_output(command)?;
    Ok(output.lines().next().unwrap_or_default().trim().to_owned())
}
