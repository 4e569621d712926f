//! Where undo and redo stand: a small record beside the project's stat cache.
//!
//! The states the project was in are a line, the latest last: those that saves found and those that restores led to, in
//! the order in which they came about. Undo goes back along it and cuts off what it leaves, redo forward again. What
//! happened since the last move is not in the record: saves do not write it. It is added when the next move asks
//! (`undo/mod.rs`).

use std::collections::BTreeMap;

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use herma_store::ObjectId;
use herma_worktree::present::StateIds;
use serde::{Deserialize, Serialize};

use crate::checkpoint::RestoreOptions;
use crate::step::{Undid, UndoneAs};
use crate::{Version, encode, read_record};

const FILE: &str = "undo";
/// Older states are forgotten; their checkpoints stay in the list.
pub const MAX_UNDO_STATES: usize = 200;

/// How the project came to be as it is, as far as restores are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRecord {
    pub(crate) version: Version,
    /// The states before this one, the latest last.
    pub past: Vec<ObjectId>,
    /// States undo left behind, the latest last.
    pub future: Vec<ObjectId>,
    /// The checkpoint the last restore went to.
    pub position: Option<ObjectId>,
    /// The checkpoint of the state it left: together they have all that was on disk then, whatever the rules say by now.
    pub left: Option<ObjectId>,
    /// Did it bring back all of that checkpoint, as far as the checkpoint vouches for it?
    #[serde(default)]
    pub whole: bool,
    /// The state the last restore ended in, with what is as in one of the two, whatever the rules say.
    pub tree: Option<ObjectId>,
    /// The modes of that state.
    pub modes: Option<ObjectId>,
    /// The newest checkpoint at that time: while it still is, nothing was saved since.
    pub newest: Option<ObjectId>,
    /// Its place in the order of saving, by which newer ones are known when it is gone.
    pub order: Option<i64>,
    /// How many restores have come to their end: what was begun at one number and finds the next is done.
    #[serde(default)]
    pub moves: u64,
    /// The last move, if it was interrupted and reversed: a redo makes it after all.
    #[serde(default)]
    pub reversed: Option<Reversed>,
}

/// A move that was interrupted and reversed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversed {
    /// The checkpoint it was bringing back.
    pub target: ObjectId,
    /// What part of it.
    #[serde(flatten)]
    pub options: RestoreOptions,
    /// What it was.
    pub by: Move,
    /// Which steps it undid, if it was about steps.
    pub undid: Option<Undid>,
}

impl Reversed {
    /// Is it an undo that a redo would undo?
    pub fn is_undo(&self) -> bool {
        let how = self.undid.as_ref().map(|undid| undid.how);
        self.by == Move::Undo || how == Some(UndoneAs::Last)
    }
}

/// How a restore moves the place where undo and redo stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Move {
    /// To a checkpoint somebody chose.
    Restore,
    /// Back.
    Undo,
    /// Forward again.
    Redo,
}

impl UndoRecord {
    /// Reads the record; a missing or damaged one says that nothing was restored yet.
    pub fn read(dir: &Dir) -> Result<Self> {
        let bytes = read_record(dir, FILE, 1 << 20)?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes)).unwrap_or_default())
    }

    /// The record in these bytes, if it is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Makes the record durable.
    pub fn write(&self, tmp: &Dir, dir: &Dir) -> Result<()> {
        write_file(tmp, dir, FILE, &encode(self), Durability::Synced)
    }

    /// The record after a restore from `before` to `target` that ended in `result`. Its past is up to date.
    #[must_use]
    pub fn moved(mut self, by: Move, before: ObjectId, target: ObjectId, result: StateIds) -> Self {
        match by {
            Move::Restore => {
                self.past.push(before);
                self.future.clear();
            }
            Move::Undo => {
                let reached = self.past.iter().rposition(|id| *id == target);
                self.past.truncate(reached.unwrap_or(0));
                self.future.push(before);
            }
            Move::Redo => {
                while self.future.last().is_some_and(|id| *id == target) {
                    self.future.pop();
                }
                self.past.push(before);
            }
        }
        self.past.dedup();
        self.moved_to(before, target, result)
    }

    /// The record after an interrupted move from `before` was undone: everything is as before it, and redo does what
    /// it set out to do.
    #[must_use]
    pub fn reversed(mut self, before: ObjectId, moved: Reversed, result: StateIds) -> Self {
        let target = moved.target;
        self.reversed = Some(moved);
        self.moved_to(target, before, result)
    }

    /// The record after a restore that had nothing to change: it has come to its end, and moved nothing.
    #[must_use]
    pub fn stayed(mut self) -> Self {
        self.moves = self.moves.wrapping_add(1);
        self
    }

    /// The record after commits became others.
    #[must_use]
    pub fn followed(mut self, commits: &BTreeMap<ObjectId, ObjectId>) -> Self {
        let stacks = self.past.iter_mut().chain(&mut self.future);
        let single = [&mut self.position, &mut self.left, &mut self.newest];
        let reversed = self.reversed.iter_mut().map(|moved| &mut moved.target);
        for id in stacks.chain(single.into_iter().flatten()).chain(reversed) {
            *id = commits.get(id).copied().unwrap_or(*id);
        }
        self
    }

    fn moved_to(mut self, left: ObjectId, at: ObjectId, result: StateIds) -> Self {
        self.left = Some(left);
        self.whole = false;
        self.position = Some(at);
        (self.tree, self.modes) = (Some(result.0), result.1);
        for states in [&mut self.past, &mut self.future] {
            let surplus = states.len().saturating_sub(MAX_UNDO_STATES);
            states.drain(..surplus);
        }
        self.moves = self.moves.wrapping_add(1);
        self
    }

    /// Is the project still as the last restore left it?
    pub fn is_current(&self, present: StateIds) -> bool {
        (self.tree, self.modes) == (Some(present.0), present.1)
    }
}
