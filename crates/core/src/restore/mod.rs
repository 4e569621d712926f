//! Brings a project back to a checkpoint: plan → apply → verify.
//!
//! A [`Plan`] is the exact list of what will be written, removed and left alone. It is made from two
//! trees, the checkpoint and the present, and printing it and applying it use the same value. Before
//! anything is applied the present is saved, and only files that this save holds are touched. What no
//! checkpoint vouches for (ignored, excluded, too large, unreadable) is never written over or removed.
//!
//! Applying works on directory descriptors. Each new file is written beside its target, checked, and
//! exchanged with it in one step; the file that comes back from the exchange must be the one the plan
//! saw, or the exchange is reversed. So an edit made while the restore runs is never lost. Where a file
//! system cannot exchange, the old file is moved beside, looked at, and stays until the new one has its name.

pub(crate) mod arrival;
pub(crate) mod carry_out;
pub(crate) mod changed_since;
pub(crate) mod interrupted;
pub(crate) mod lost_root;
pub(crate) mod proof;
pub(crate) mod run;

pub(crate) mod apply;
pub(crate) mod plan;

use std::collections::HashSet;

use herma_records::checkpoint::Checkpoint;
pub use herma_records::checkpoint::RestoreOptions;
use herma_records::step::OutsideOfStep;
use herma_store::RelPath;
pub use plan::requested::{Requested, Then};

pub use crate::error::RestoreError;
pub use crate::types::kept::{Kept, KeptWhy, Lack};

/// What a restore will do to the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The checkpoint to bring back.
    pub target: Checkpoint,
    /// Its modes, or what it left out, cannot be read: what is there keeps its mode, what is not there
    /// gets the usual one, and what may have been left out stays.
    pub receipt_damaged: bool,
    /// The paths that were asked for by name, and what the checkpoint has there.
    pub requested: Vec<Requested>,
    /// What will change, sorted by path.
    pub actions: Vec<Action>,
    /// What would have to change for an exact result but is left alone, sorted by path.
    pub kept: Vec<Kept>,
    /// What steps changed since that no checkpoint holds, and so is not brought back.
    pub outside: Vec<OutsideOfStep>,
    /// The last step, if what an undo undoes is older: nothing is known to have changed in it.
    pub passed: Option<OutsideOfStep>,
}

impl Plan {
    /// The same for undo and redo, which go to a state nobody named: what was left out of it need not have been there
    /// when it was left.
    pub(crate) fn forget_left_out(&mut self) {
        self.kept.retain(|kept| !matches!(kept.why, KeptWhy::LeftOut(_)));
    }

    /// Names what steps changed outside checkpoints, but for files that this brings back all the same: the checkpoint is from
    /// before they were left out.
    pub(crate) fn name_outside(&mut self, steps: Vec<OutsideOfStep>) {
        if steps.is_empty() {
            return;
        }
        let is_written = |action: &&Action| {
            matches!(action.kind, ActionKind::Write { .. } | ActionKind::Link { .. })
        };
        let written = self.actions.iter().filter(is_written);
        let come_back: HashSet<&[u8]> = written.map(|action| action.path.as_bytes()).collect();
        for mut step in steps {
            let changes = &mut step.outside.changes;
            changes.retain(|change| !come_back.contains(change.path.as_slice()));
            if !step.outside.is_empty() {
                self.outside.push(step);
            }
        }
    }
}

/// One change to the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Where.
    pub path: RelPath,
    /// What.
    pub kind: ActionKind,
}

/// What is done at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The file is written.
    Write {
        /// Is nothing there yet?
        new: bool,
    },
    /// The symlink is made.
    Link {
        /// Is nothing there yet?
        new: bool,
    },
    /// Only the permission bits of the file or directory change.
    Mode {
        /// The bits now.
        from: u32,
        /// The bits then.
        to: u32,
    },
    /// The directory is made.
    CreateDirectory,
    /// The file or symlink is removed.
    RemoveFile,
    /// The directory is removed once it is empty.
    RemoveDirectory,
}

impl ActionKind {
    /// The word for permission bits that change, whichever they are.
    pub(crate) const MODE: &str = "mode";

    /// Does it make something where nothing is?
    pub(crate) const fn creates(self) -> bool {
        matches!(self, Self::Write { new: true } | Self::Link { new: true } | Self::CreateDirectory)
    }

    /// Does it take the file that is there from its place?
    pub(crate) const fn displaces(self) -> bool {
        matches!(self, Self::RemoveFile | Self::Write { new: false } | Self::Link { new: false })
    }

    /// The word listings and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Write { new: true } => "create",
            Self::Write { new: false } => "write",
            Self::Link { .. } => "link",
            Self::Mode { .. } => Self::MODE,
            Self::CreateDirectory => "create-directory",
            Self::RemoveFile => "remove",
            Self::RemoveDirectory => "remove-directory",
        }
    }
}
