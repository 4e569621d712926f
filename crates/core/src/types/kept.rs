//! What a restore leaves as it is, and why.

use std::fmt;

use herma_store::RelPath;
use herma_worktree::reason::Reason;

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
    /// It changed since a restore was interrupted, and the end of that restore leaves it alone.
    ChangedSince,
    /// The checkpoint does not have it, and whether it was left out then cannot be read any more.
    ReceiptDamaged,
    /// It could not be brought back, or not with everything, where it is.
    NotHeld(Lack),
}

/// What a file could not be given where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Lack {
    /// Its permissions: the file system has others, and does not let them be changed.
    #[error("the file system does not hold its permissions")]
    Mode,
    /// Being a symbolic link: the file system has none.
    #[error("the file system has no symbolic links")]
    Link,
    /// The owner or group of the file it replaces: only root may give them.
    #[error("it belongs to another user or group now, who restored it")]
    Owner,
    /// Its name: the file system takes no such names.
    #[error("the file system does not take its name")]
    Name,
    /// Setuid and setgid bits: a store must not be able to make anybody somebody else.
    #[error("its setuid and setgid bits are not kept")]
    Identity,
    /// Its size: the file system holds no file that large, or this process may not write one.
    #[error("it is larger than a file may be here")]
    Size,
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
            Self::ChangedSince => "changed-since",
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
            | Self::ChangedSince
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
            Self::ChangedSince => f.write_str("it changed since the restore was interrupted"),
            Self::ReceiptDamaged => {
                f.write_str("whether the checkpoint left it out cannot be read any more")
            }
            Self::NotHeld(lack) => lack.fmt(f),
        }
    }
}
