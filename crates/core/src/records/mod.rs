//! The small files that are kept for each project beside its checkpoints.
//!
//! * [`journal`]: a restore in progress; [`undo`]: where undo and redo stand
//! * [`step`]: what agents did
//! * `order`: which checkpoints are older than their numbers say
//! * `purge`: what a purge is about to do, and which ids became which; `doomed`: what it must not leave behind

pub(crate) mod doomed;
pub mod journal;
pub(crate) mod order;
pub(crate) mod purge;
pub mod step;
pub mod undo;

use herma_fs::{Dir, Errno};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The version of a record: what says another one is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Version;

impl From<Version> for u32 {
    fn from(_: Version) -> Self {
        1
    }
}

impl TryFrom<u32> for Version {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number == 1 { Ok(Self) } else { Err("another version") }
    }
}

/// A record as it is written.
pub(crate) fn encode(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("strings and numbers always serialise")
}

/// Where the last look is noted, in a project's own directory.
pub(crate) const LOOK: &str = "look";

/// Reads a small file of a project's own state. Something else in its place, or more than any record
/// has, is a damaged record and counts as none.
pub(crate) fn read_record(dir: &Dir, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    match dir.read_opt(name, limit) {
        Err(e) if matches!(e.errno(), Some(Errno::FBIG | Errno::INVAL | Errno::LOOP)) => Ok(None),
        other => Ok(other?),
    }
}

/// Files are about to be other than they were when somebody looked last.
pub(crate) fn forget_look(state: &Dir) {
    // Where it cannot be removed, it is as old as before.
    let _ = state.remove_file(LOOK);
}
