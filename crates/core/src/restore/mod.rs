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
pub(crate) mod interrupted;
pub(crate) mod lost_root;
pub(crate) mod proof;
pub(crate) mod run;

pub mod apply;
pub mod journal;
pub mod plan;

use std::collections::HashSet;
use std::fmt;

use herma_store::RelPath;
use herma_store::objects::ObjectError;
use herma_worktree::reason::Reason;
pub use plan::requested::{Requested, Then};

use crate::error::ErrorKind;
use crate::steps::passed_over::OutsideOfStep;
use crate::types::checkpoint::Checkpoint;

/// What part of a checkpoint to bring back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Only these files and directories; empty means everything.
    pub paths: Vec<RelPath>,
    /// Leave these files and directories as they are.
    pub keep: Vec<RelPath>,
}

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
    /// The last step, if what an undo takes back is older: nothing is known to have changed in it.
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
    /// The word listings and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Write { new: true } => "create",
            Self::Write { new: false } => "write",
            Self::Link { .. } => "link",
            Self::Mode { .. } => "mode",
            Self::CreateDirectory => "create-directory",
            Self::RemoveFile => "remove",
            Self::RemoveDirectory => "remove-directory",
        }
    }
}

/// Something a restore leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// Where.
    pub path: RelPath,
    /// Why.
    pub why: KeptWhy,
}

/// Why a restore leaves something as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptWhy {
    /// The caller asked for it.
    Asked,
    /// It is on disk, but no checkpoint holds it.
    NotSaved(Reason),
    /// Something no checkpoint holds stands where the file belongs.
    InTheWay(Reason),
    /// The checkpoint left it out, so there is nothing to bring back.
    LeftOut(Reason),
    /// The checkpoint knows it only as a nested repository, without its content.
    NestedRepository,
    /// It changed while the restore was running.
    ChangedMeanwhile,
    /// The checkpoint does not have it, and whether it was left out then cannot be read any more.
    ReceiptDamaged,
    /// It could not be brought back, or not with everything, where it is.
    NotHeld(Lack),
}

/// What a file could not be given where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// Its permissions: the file system has others, and does not let them be changed.
    Mode,
    /// Being a symbolic link: the file system has none.
    Link,
    /// The owner or group of the file it replaces: only root may give them.
    Owner,
    /// Its name: the file system takes no such names.
    Name,
    /// Setuid and setgid bits: a store must not be able to make anybody somebody else.
    Identity,
    /// Its size: the file system holds no file that large, or this process may not write one.
    Size,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mode => "the file system does not hold its permissions",
            Self::Link => "the file system has no symbolic links",
            Self::Owner => "it belongs to another user or group now, who restored it",
            Self::Identity => "its setuid and setgid bits are not kept",
            Self::Name => "the file system does not take its name",
            Self::Size => "it is larger than a file may be here",
        })
    }
}

impl KeptWhy {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::NotSaved(_) => "not-saved",
            Self::InTheWay(_) => "in-the-way",
            Self::LeftOut(_) => "left-out",
            Self::NestedRepository => "nested-repository",
            Self::ChangedMeanwhile => "changed-meanwhile",
            Self::ReceiptDamaged => "receipt-damaged",
            Self::NotHeld(_) => "not-held",
        }
    }
}

impl KeptWhy {
    /// Why no checkpoint holds what it is about, where that is the reason.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::NotSaved(reason) | Self::InTheWay(reason) | Self::LeftOut(reason) => Some(reason),
            Self::Asked
            | Self::NestedRepository
            | Self::ChangedMeanwhile
            | Self::ReceiptDamaged
            | Self::NotHeld(_) => None,
        }
    }
}

impl fmt::Display for KeptWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("kept as asked"),
            Self::NotSaved(reason) if reason.is_foreign() => {
                write!(f, "it is not part of this project ({})", reason.word())
            }
            Self::NotSaved(reason) => write!(f, "no checkpoint holds it ({})", reason.word()),
            Self::InTheWay(reason) => {
                write!(f, "something no checkpoint holds stands in the way ({})", reason.word())
            }
            Self::LeftOut(Reason::Purged) => f.write_str("it was purged from the checkpoint"),
            Self::LeftOut(reason) => write!(f, "the checkpoint left it out ({})", reason.word()),
            Self::NestedRepository => f.write_str("only its commit was recorded, not its files"),
            Self::ChangedMeanwhile => f.write_str("it changed while the restore was running"),
            Self::ReceiptDamaged => {
                f.write_str("whether the checkpoint left it out cannot be read any more")
            }
            Self::NotHeld(lack) => lack.fmt(f),
        }
    }
}

/// Why a restore could not be planned or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The present state of these files could not be saved; nothing was changed.
    #[error("the present state of {} could not be saved first", names(.paths))]
    Unsafe {
        /// The files.
        paths: Vec<RelPath>,
    },
    /// The checkpoint cannot be read. Nothing was changed, or the journal knows the way back.
    #[error("{path} cannot be read from the checkpoint")]
    Damaged {
        /// The file or directory.
        path: RelPath,
        /// What the store said.
        source: ObjectError,
    },
    /// What is to be displaced cannot be brought back from the store, and could not be stored again; nothing was changed.
    #[error("the stored copy of {path} cannot be read back, and it could not be stored again")]
    Unproven {
        /// The file.
        path: RelPath,
        /// Why not.
        source: Box<crate::error::Error>,
    },
    /// The checkpoint's list of modes is malformed; nothing was changed.
    #[error("the checkpoint's list of modes is malformed")]
    BadModes,
    /// On this file system these are not different names; nothing was changed.
    #[error("the file system takes these names for one: {}", names(.paths))]
    OneName {
        /// The names, those that belong together one after the other.
        paths: Vec<RelPath>,
    },
    /// Writing stopped part way. The journal knows how to go on or back.
    #[error("the restore stopped at {path}")]
    Stopped {
        /// Where.
        path: RelPath,
        /// What the system said.
        source: herma_fs::Error,
    },
}

impl RestoreError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Damaged { source: ObjectError::Fs(_), .. } => ErrorKind::Failed,
            Self::Damaged { .. } | Self::Unproven { .. } | Self::BadModes => ErrorKind::Damaged,
            _ => ErrorKind::Failed,
        }
    }
}

fn names(paths: &[RelPath]) -> String {
    let shown: Vec<String> = paths.iter().take(3).map(ToString::to_string).collect();
    match paths.len() {
        0..=3 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), more - 3),
    }
}
