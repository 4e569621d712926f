//! Takes steps out of the present, keeping what came after them.
//!
//! A step changed the project from one state to another. Undoing it when it is not the last one means to
//! take that difference out of what the project is *now*: a merge of three states, in which the
//! state after the step is the base, the present is our side and the state before the step is theirs.
//! Steps that follow each other are one [`Run`]; several runs are undone one after the other, the
//! newest first.
//!
//! * `entries`: the rule for one file, link or nested repository
//! * `changes`: what a run did: contents, moves, modes
//! * `decide`: what becomes of each of these in the present, wherever the file is by now
//! * `overlay`: the result, as what differs from the present
//! * `directories`: the same rule for directories and their modes
//! * [`write`]: the result as objects, with the ids a save of it would have
//!
//! The same merge the other way round, [`compose`], puts runs on top of each other: what a session did,
//! without what happened in between.
//!
//! Nothing here takes a lock, looks at the project or changes it: states come in as [`StateView`]s, and
//! the answer is a value, [`Reversed`].
//!
//! # Limits
//!
//! * Contents are merged by lines. What is not text, or larger than a diff would show, is taken or left
//!   as a whole.
//! * A directory is an own thing: it goes if the run made it and nothing is left in it, and it stays,
//!   empty if need be, if it was there before the run, after it, and is there now.

mod changes;
mod decide;
mod directories;
mod entries;
mod overlay;
#[cfg(test)]
mod properties;
mod renames;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod testing;
mod view;
mod words;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use changes::other_modes;
use decide::{LeftAlone, Merger};
use herma_diff::DiffError;
use herma_diff::merge::Labels;
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::reason::Reason;
pub use view::StateView;
pub use write::write_state;

/// A stretch of the timeline that is to be undone as one.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The state before it.
    pub from: StateView<'a>,
    /// The state after it.
    pub to: StateView<'a>,
}

/// What to do where a step and something after it changed the same thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conflicts {
    /// Leave the file as it is, whatever else was to be undone in it, and say so.
    #[default]
    Leave,
    /// Undo what can be, and leave the lines in conflict as they are.
    Ours,
    /// Undo everything, over what came after.
    Theirs,
    /// Undo what can be, and write both versions of the lines in conflict between markers. What
    /// has no lines is left as it is.
    Markers,
}

impl Conflicts {
    /// What is done about a conflict that is about the file as a whole.
    fn about_whole(self) -> Decided {
        match self {
            Self::Leave | Self::Markers => Decided::Left,
            Self::Ours => Decided::Ours,
            Self::Theirs => Decided::Theirs,
        }
    }
}

/// What is to be undone.
pub struct Request<'a> {
    /// The project as it is.
    pub present: StateView<'a>,
    /// What is undone, newest first.
    pub runs: &'a [Run<'a>],
    /// Only these files and directories are changed; empty means all.
    pub scope: &'a [RelPath],
    /// What to do about conflicts.
    pub conflicts: Conflicts,
    /// What markers say about the two sides.
    pub labels: Labels<'a>,
}

/// What comes of it: how the result differs from the present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reversed {
    /// What will be at each path that is different from now.
    pub changes: BTreeMap<RelPath, Outcome>,
    /// Where a step and something after it changed the same thing, and how that was decided.
    pub conflicts: Vec<Conflict>,
    /// What is not touched because one of the states says nothing about it.
    pub kept: Vec<(RelPath, Reason)>,
    /// The places of everything that is left alone, then or now, each with the path under which `conflicts` or `kept` says why.
    pub left: BTreeMap<RelPath, RelPath>,
    /// Files that have something undone beside something that stays.
    pub merged: Vec<RelPath>,
    /// Files that move: where they are now, and where they will be.
    pub renamed: Vec<(RelPath, RelPath)>,
}

/// What will be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the file, or the directory, which is empty by then, goes.
    Gone,
    /// A file, link or nested repository.
    File {
        /// Which of these it is.
        mode: EntryMode,
        /// Its content.
        content: Content,
        /// Its full mode; zero for what has none.
        full_mode: u32,
    },
    /// A directory that is not there now, or has another mode.
    Directory {
        /// Its full mode.
        full_mode: u32,
    },
}

/// What will be in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// What an older state has.
    Stored(ObjectId),
    /// What is in the file now, here or where it moves from.
    Present(ObjectId),
    /// These bytes, which no state has.
    Merged(Arc<[u8]>),
}

/// A step and something after it changed the same thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Where, in the present or in the result.
    pub path: RelPath,
    /// In which way.
    pub why: ConflictWhy,
    /// What was done about it.
    pub decided: Decided,
}

/// In which way two changes do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictWhy {
    /// Both changed the same lines.
    Text {
        /// The first and the last line of each place, in the file as it is now, counted from 1.
        lines: Vec<(usize, usize)>,
    },
    /// Both changed a file without lines, or one too large to be merged.
    Binary,
    /// Both changed where a link leads.
    Link,
    /// It is a nested repository, of which only the commit was recorded.
    NestedRepository,
    /// One of them made a link of a file or a file of a link, and both changed it.
    TypeChanged,
    /// Both changed the permissions.
    Mode,
    /// The step made it, and it was changed since.
    ChangedLater,
    /// The step changed it, and it was deleted since.
    DeletedLater,
    /// The step deleted it, and something else was put there since.
    Reappeared,
    /// The step moved it, and it was moved on since.
    MovedLater {
        /// Where the step had moved it from.
        from: RelPath,
    },
    /// The step moved it, and something else is by now where it was.
    Occupied {
        /// Where it is now.
        by_now: RelPath,
    },
    /// A directory that stays is where the file belongs, or a file where its directory does.
    InTheWay,
}

/// What was done about a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It is as it was.
    Left,
    /// What came later stays, what does not touch it is undone.
    Ours,
    /// It is undone.
    Theirs,
    /// Both versions are in the file, between markers.
    Markers,
}

/// Which way a run is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Back,
    Forward,
}

/// Takes runs out of the present.
///
/// Where nobody decided about conflicts, a file is undone as a whole or left alone as a whole: one that one run cannot be
/// undone from is left alone in all of them. So what is found to be left alone is known from the beginning the next time,
/// until nothing more is found.
pub fn reverse(request: &Request<'_>) -> Result<Reversed, DiffError> {
    let mut left = LeftAlone::default();
    loop {
        let known = left.len();
        let mut merger = Merger::new(request, Direction::Back, left);
        for run in request.runs {
            merger.apply(run.to, run.from)?;
        }
        if merger.left.len() == known {
            return merger.finish();
        }
        left = merger.left;
    }
}

/// Puts runs, oldest first, on top of a state: what they did, without what happened between them. Where
/// they contradict each other the later one counts.
pub fn compose(
    first: StateView<'_>,
    runs: &[Run<'_>],
    scope: &[RelPath],
) -> Result<Reversed, DiffError> {
    let request = Request {
        present: first,
        runs,
        scope,
        conflicts: Conflicts::Theirs,
        labels: Labels { ours: "", theirs: "" },
    };
    let mut merger = Merger::new(&request, Direction::Forward, LeftAlone::default());
    for run in runs {
        merger.apply(run.from, run.to)?;
    }
    merger.finish()
}
