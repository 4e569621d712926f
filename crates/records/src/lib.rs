//! What checkpoints, tool calls, prompts and moves were, as it stands on record.
//!
//! * [`checkpoint`]: what a checkpoint is and says of itself, and how a person names one; [`clock`]: when
//! * [`copy`]: a directory that was made of an old state
//! * [`identity`]: where a project is, and when it was last touched
//! * [`step`]: what agents did
//! * [`journal`]: a restore in progress; [`undo`]: where undo and redo stand
//! * [`line`]: rows that came in from elsewhere
//! * [`order`]: which checkpoints are older than their numbers say
//! * [`purge`]: what a purge is about to do, and which ids became which
//! * [`timeline`]: what follows from checkpoints and steps: the states in their order, and who led from one to the next
//!
//! What a checkpoint says is in its commit and in a tree beside its own; all else is in small files that are kept for each project.
//! A record that makes no sense is none, and no error. Nothing here takes a lock or asks what time it is.

pub mod checkpoint;
pub mod clock;
pub mod copy;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/records.rs"]
pub mod fuzzing;
pub mod identity;
pub mod journal;
pub mod line;
pub mod order;
pub mod purge;
pub mod step;
pub mod timeline;
pub mod undo;

use herma_fs::{Dir, Errno, Result};
use serde::{Deserialize, Serialize};

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

    fn try_from(number: u32) -> std::result::Result<Self, Self::Error> {
        if number == 1 { Ok(Self) } else { Err("another version") }
    }
}

/// A record as it is written.
pub(crate) fn encode(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("strings and numbers always serialise")
}

/// Where the last look is noted, in a project's own directory.
pub const LOOK: &str = "look";

/// Reads a small file of a project's own state. Something else in its place, or more than any record
/// has, is a damaged record and counts as none.
pub fn read_record(dir: &Dir, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    match dir.read_opt(name, limit) {
        Err(e) if matches!(e.errno(), Some(Errno::FBIG | Errno::INVAL | Errno::LOOP)) => Ok(None),
        other => other,
    }
}

/// Files are about to be other than they were when somebody looked last.
pub fn forget_look(state: &Dir) {
    // Where it cannot be removed, it is as old as before.
    let _ = state.remove_file(LOOK);
}
