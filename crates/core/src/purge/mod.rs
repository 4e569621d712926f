//! Takes a file out of everything that was saved, for good: a leaked key, a file nobody should keep.
//!
//! A checkpoint never changes, so one that holds the file is made again without it, under the same place in
//! the order, with the same names, pins, times and facts, and so is every checkpoint after it, because it
//! names the one before it. Each says in its message what was taken out of it. So a restore knows that it
//! says nothing about that path, and leaves alone what is there.
//!
//! * `search`: where the paths are in a tree, and where else the same contents are
//! * `rewrite`: commits, trees and receipts without them
//! * [`herma_records::purge`]: what is about to be done to the refs of a project, so that whoever comes next can finish it
//! * `cleanup::doomed`: contents that must not be readable any more, for collection
//!
//! The order of everything is in `run`.

pub(crate) mod away;
pub(crate) mod refs;
pub(crate) mod run;
pub(crate) mod survey;

pub(crate) mod rewrite;
pub(crate) mod search;

use std::path::PathBuf;

use herma_store::{ObjectId, ProjectId, RelPath};

/// What is to be taken out, and from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeRequest {
    /// Files and directories of the project.
    pub paths: Vec<RelPath>,
    /// Where the same contents go, too.
    pub copies: Copies,
}

/// Where contents go that stand somewhere else than at the paths that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Copies {
    /// Nowhere: they stay, and are named.
    #[default]
    Stay,
    /// In the checkpoints of this project.
    GoFromProject,
    /// In the checkpoints of all projects.
    GoFromEverywhere,
}

/// What a purge would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgePlan {
    /// Every path that was asked for, sorted.
    pub paths: Vec<PathFound>,
    /// Where else the same contents are, sorted by project and path.
    pub copies: Vec<CopyFound>,
    /// How many checkpoints hold something that goes.
    pub checkpoints: usize,
    /// The contents that were at these paths in checkpoints, or in ones that were dropped and of which
    /// something is left.
    pub contents: Vec<ObjectId>,
    /// How many of them only dropped checkpoints had.
    pub dropped: usize,
    /// What is in the project now and would be saved again.
    pub still_present: Vec<RelPath>,
    /// Checkpoints, by their refs, that could not be looked into.
    pub unreadable: Vec<String>,
    /// What beside the checkpoints may hold the same contents, and is not Herma's to change: what repairs
    /// set aside, and archives of version 1. Paths in the directory of the store.
    pub not_searched: Vec<PathBuf>,
}

impl PurgePlan {
    /// Is there nothing to take out?
    pub fn is_empty(&self) -> bool {
        self.checkpoints == 0 && self.contents.is_empty()
    }
}

/// A path that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFound {
    /// The path.
    pub path: RelPath,
    /// How many checkpoints have it.
    pub checkpoints: usize,
    /// How many different contents were there, of one file or of all below a directory.
    pub contents: usize,
}

/// A place where one of the contents is besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFound {
    /// The project.
    pub project: ProjectId,
    /// Where that project is; `None` if the store does not know.
    pub workdir: Option<PathBuf>,
    /// The path in it.
    pub path: RelPath,
    /// How many of its checkpoints have it there.
    pub checkpoints: usize,
    /// Does it go?
    pub goes: bool,
    /// Is something at that path of another project now, which its next save may save again? For this
    /// project, [`PurgePlan::still_present`] says so.
    pub still_present: bool,
}

/// What a purge did.
#[derive(Clone, Debug, Default)]
pub struct Purged {
    /// What was found.
    pub plan: PurgePlan,
    /// The checkpoints that have another id now.
    pub rewritten: Vec<Rewritten>,
    /// How many contents cannot be read from the store any more.
    pub gone: usize,
    /// Contents that still can.
    pub remaining: Vec<ObjectId>,
    /// The refs that need one of those; none if only a pack that must stay as it is has them.
    pub needed_by: Vec<String>,
    /// How many bytes the store is smaller.
    pub bytes_freed: u64,
    /// Refs of checkpoints that are damaged. As long as there are any, nothing is taken away.
    pub damaged: Vec<String>,
    /// Somebody used the store all the time: the next cleaning takes away what is left.
    pub postponed: bool,
    /// The disk has no room to write the packs again that hold the contents.
    pub no_room: bool,
    /// Files and directories that were removed because nobody could say what is in them: what killed
    /// processes left, what repairs set aside, and the trash.
    pub litter_removed: usize,
    /// Such files that had to stay, in the directory of the store: something alive cannot be read and may be
    /// in them, the store was in use, or another program may be writing them.
    pub left_over: Vec<PathBuf>,
}

/// A checkpoint that has another id now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// Its project.
    pub project: ProjectId,
    /// Its id before.
    pub old: ObjectId,
    /// Its id now.
    pub new: ObjectId,
}
