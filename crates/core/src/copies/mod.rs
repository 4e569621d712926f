//! Working in copies of old states, while the present stays as it is.
//!
//! A copy is a directory with the files of one checkpoint, and a project of its own whose first row is that very checkpoint. So
//! everything that can be done with a project can be done with it, and nothing of that touches the project it was made of.
//!
//! * [`make`]: record → directory → refs → files → done
//! * [`ignored`]: what checkpoints leave out comes from the present, if somebody names it
//! * [`clean`]: copies are listed and removed
//! * [`visit`]: a copy goes from state to state
//! * [`promote`]: what was changed in a copy comes into the project it was made of

pub(crate) mod clean;
pub(crate) mod ignored;
pub(crate) mod make;
pub(crate) mod promote;
pub(crate) mod visit;

use std::path::PathBuf;

use herma_records::checkpoint::Checkpoint;
pub use herma_records::copy::{Attempt, CopyRecord};
use herma_store::RelPath;

pub use crate::copies::promote::{Promote, PromotePlan, Promoted};
use crate::engine::Project;
use crate::types::kept::Kept;

/// What to make a copy of, and where.
#[derive(Clone, Debug)]
pub struct OpenCopy {
    /// The state it begins with.
    pub target: Checkpoint,
    /// Where it is made.
    pub at: CopyPlace,
    /// What checkpoints leave out and the present has: it is copied as it is now.
    pub with_ignored: Vec<RelPath>,
    /// Which of several it is.
    pub attempt: Option<Attempt>,
}

/// Where a copy is made.
#[derive(Clone, Debug)]
pub enum CopyPlace {
    /// Here, an absolute path: nothing is there, or an empty directory.
    Chosen(PathBuf),
    /// Under a free name in this directory, which is made if need be.
    In(PathBuf),
}

/// A copy that was made.
#[derive(Clone)]
pub struct OpenedCopy {
    /// It is a project of its own.
    pub project: Project,
    /// What is on record of it.
    pub record: CopyRecord,
    /// Its first row: the checkpoint, with the number it has there.
    pub checkpoint: Checkpoint,
    /// How many files, links and modes were written.
    pub written: usize,
    /// How many of them share their blocks with the files of the present.
    pub shared: usize,
    /// Its modes cannot be read: files and directories have the usual ones.
    pub receipt_damaged: bool,
    /// What could not be had, and why.
    pub kept: Vec<Kept>,
    /// How many files came from the present, because checkpoints leave them out.
    pub ignored: usize,
    /// What was named to come from the present and did not: another's repository, a pipe.
    pub passed_over: Vec<RelPath>,
}

/// A copy that is on record.
#[derive(Clone, Debug)]
pub struct KnownCopy {
    /// What is on record.
    pub record: CopyRecord,
    /// What became of it.
    pub state: CopyState,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// It is there.
    There,
    /// Somebody was interrupted who made it or removed it, or is at it now.
    Unfinished,
    /// Its directory is gone, or another one is in its place.
    Gone,
}

impl CopyState {
    /// The word listings and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Unfinished => "unfinished",
            Self::Gone => "gone",
        }
    }
}

/// What came of removing a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovedCopy {
    /// It is gone.
    Removed,
    /// It stays: something was changed in it.
    Changed,
    /// It stays: somebody is at work in it.
    Busy,
}
