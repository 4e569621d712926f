//! What the store holds, gathered before anything is decided.

use std::fmt;
use std::path::PathBuf;

use super::shares::Shares;
use crate::error::Error;
use crate::id::ObjectId;
use crate::id::ProjectId;

/// Everything the rules are told about a store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreFacts {
    /// The present, in seconds since 1970.
    pub now: f64,
    /// When a cleaning last looked at the clock. It judges whether `now` can be believed.
    pub last_run: Option<f64>,
    /// Every project the store knows, in any order.
    pub projects: Vec<ProjectFacts>,
    /// Bytes of the store that no checkpoint holds and no collection frees: refs, caches, records.
    pub fixed_bytes: u64,
    /// Bytes of all objects on disk, those that the next collection frees included.
    pub object_bytes: u64,
    /// Bytes free on the store's disk.
    pub free_bytes: u64,
}

/// One project.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFacts {
    /// Its id.
    pub id: ProjectId,
    /// Where it is, if that is known.
    pub workdir: Option<PathBuf>,
    /// Is it still there?
    pub presence: Presence,
    /// When it was last saved, in seconds since 1970.
    pub last_touch: Option<f64>,
    /// When an unattended cleaning first found it deleted, in seconds since 1970.
    pub missing_since: Option<f64>,
    /// How many checkpoints somebody asked for it; 0 is no limit.
    pub asked_snapshots: Option<usize>,
    /// Its checkpoints, oldest first.
    pub checkpoints: Vec<CheckpointFacts>,
}

impl ProjectFacts {
    /// The newest checkpoint, and if that cannot be read the newest that can: what a project keeps under
    /// every rule but that for deleted projects.
    pub fn last_resort(&self) -> impl Iterator<Item = &CheckpointFacts> {
        let newest = self.checkpoints.iter().max_by_key(|c| c.sequence);
        let readable = self.checkpoints.iter().filter(|c| c.readable);
        let newest_readable = readable.max_by_key(|c| c.sequence);
        newest.into_iter().chain(newest_readable)
    }
}

/// Whether a project is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Something is where the project was.
    Live,
    /// It was deleted, on positive evidence.
    Gone,
    /// It is gone with the directories it was in, from a file system that is there.
    GoneWithParents,
    /// It is not there, but nothing proves that it was deleted.
    OutOfReach(Doubt),
    /// The store does not know where it was.
    Unknown,
}

impl Presence {
    /// Was it deleted?
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone | Self::GoneWithParents)
    }
}

/// Why a project that is not there does not count as deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nobody recorded which directory it was in.
    NoRecord,
    /// The directory it was in is not there either.
    ParentGone,
    /// Another directory is where its own was: another volume, or none.
    ParentReplaced,
    /// The directory it was in is empty, as a mount point without its volume is.
    EmptyParent,
    /// The directory it was in is the root of a volume, and nobody recorded which volume that was.
    AnyVolume,
    /// It was a volume of its own, which may only be unmounted.
    WasMountPoint,
    /// It was renamed.
    Moved {
        /// Where it is now.
        to: PathBuf,
    },
    /// The system would not say; this is its answer.
    Unreadable(String),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecord => f.write_str("it was not recorded which directory it was in"),
            Self::ParentGone => f.write_str("the directory it was in is missing too"),
            Self::ParentReplaced => f.write_str(
                "the directory it was in is not the one it was, perhaps a volume is not mounted",
            ),
            Self::EmptyParent => {
                f.write_str("the directory it was in is empty, perhaps a volume is not mounted")
            }
            Self::AnyVolume => f.write_str(
                "it was at the top of a volume, and it was not recorded which one that was",
            ),
            Self::WasMountPoint => {
                f.write_str("it was a volume of its own, perhaps not mounted now")
            }
            Self::Moved { to } => write!(
                f,
                "it is at {} now, and `herma doctor --adopt` there takes its checkpoints over",
                to.display()
            ),
            Self::Unreadable(answer) => write!(f, "its place cannot be read: {answer}"),
        }
    }
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// Its place in the project's order; the highest is the newest.
    pub sequence: u64,
    /// Its commit.
    pub id: ObjectId,
    /// When it was taken, in seconds since 1970, by the clock of that moment.
    pub time: i64,
    /// Did a person pin it?
    pub pinned: bool,
    /// Does it have a name?
    pub named: bool,
    /// Does an interrupted restore or the next undo need it?
    pub in_use: bool,
    /// Can it be read: its commit, its top directory and its receipt? Not everything below is looked at.
    pub readable: bool,
}

/// Which checkpoint of which project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointKey {
    /// The project.
    pub project: ProjectId,
    /// The place in the project's order.
    pub sequence: u64,
    /// The commit.
    pub id: ObjectId,
}

/// What checkpoints hold. It costs a walk over objects, so it is asked for once, and only when a byte
/// limit is exceeded.
pub trait Holdings {
    /// What these checkpoints hold, and for each of them the piece that is the whole of it. Nobody holds any yet.
    fn shares(&mut self, checkpoints: &[CheckpointKey]) -> Result<(Shares, Vec<u32>), Error>;
}
