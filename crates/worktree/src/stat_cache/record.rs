//! What the stat cache knows about one entry and one directory.

use herma_fs::{FileKind, Stat};
use herma_store::ObjectId;
use herma_store::object::EntryMode;

use super::DIR_RECORD;
use crate::reason::Reason;
use crate::secrets::Finding;

/// No directory record.
pub(crate) const NONE: u32 = u32::MAX;

/// What an entry is in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A captured file.
    File,
    /// A captured file the owner may execute.
    Executable,
    /// A captured symlink.
    Symlink,
    /// A directory that was entered.
    Directory,
    /// Left out; nothing about it but its name matters.
    LeftOut(Reason),
    /// Left out because of its state, so it is looked at again every time.
    Watched(Reason),
}

impl EntryKind {
    pub(crate) fn encode(self) -> (u8, u8) {
        match self {
            Self::File => (0, 0),
            Self::Executable => (1, 0),
            Self::Symlink => (2, 0),
            Self::Directory => (3, 0),
            Self::LeftOut(reason) => (4, reason as u8),
            Self::Watched(reason) => (5, reason as u8),
        }
    }

    pub(crate) fn decode(kind: u8, reason: u8) -> Option<Self> {
        Some(match kind {
            0 => Self::File,
            1 => Self::Executable,
            2 => Self::Symlink,
            3 => Self::Directory,
            4 => Self::LeftOut(Reason::from_number(reason)?),
            5 => Self::Watched(Reason::from_number(reason)?),
            _ => return None,
        })
    }

    /// Is it part of the checkpoint's tree as a file or link?
    pub fn is_captured_file(self) -> bool {
        self.mode().is_some()
    }

    /// What it is in a tree, if it is a file or link there.
    pub fn mode(self) -> Option<EntryMode> {
        match self {
            Self::File => Some(EntryMode::File),
            Self::Executable => Some(EntryMode::Executable),
            Self::Symlink => Some(EntryMode::Symlink),
            Self::Directory | Self::LeftOut(_) | Self::Watched(_) => None,
        }
    }

    /// Why receipts mention an entry of this kind, if they do.
    pub(crate) fn listed_reason(
        self,
        unstable: bool,
        holds_secret: bool,
        mode: u16,
    ) -> Option<Reason> {
        let is_file = matches!(self, Self::File | Self::Executable);
        let identity = (is_file && mode & 0o6000 != 0).then_some(Reason::Identity);
        let secret = holds_secret.then_some(Reason::SavedSecret);
        let unstable = unstable.then_some(Reason::Unstable);
        self.left_out().or(unstable).or(secret).or(identity)
    }

    /// Why it is left out, if it is.
    pub fn left_out(self) -> Option<Reason> {
        match self {
            Self::LeftOut(reason) | Self::Watched(reason) => Some(reason),
            _ => None,
        }
    }
}

/// What the cache knows about one name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRecord {
    /// What it is.
    pub kind: EntryKind,
    /// It changed too recently to be believed next time, or must be looked at again anyway.
    pub unsettled: bool,
    /// It kept changing while it was read.
    pub unstable: bool,
    /// Is (or was) it a directory? For what is left out, rules may depend on it.
    pub is_dir: bool,
    /// It has several names, so it may change without anything happening in this directory.
    pub linked: bool,
    /// A directory left out by rule in which something is wanted after all.
    pub descend: Option<Reason>,
    /// The secret its content looks like it holds: it is left out for it, or saved with a warning.
    pub secret: Option<Finding>,
    /// Permission bits.
    pub mode: u16,
    /// Size in bytes.
    pub size: u64,
    /// Content time.
    pub mtime: i64,
    /// Change time.
    pub ctime: i64,
    /// Inode.
    pub ino: u64,
    /// The blob, for captured files and links.
    pub id: ObjectId,
    pub(crate) name_offset: u32,
    pub(crate) name_len: u16,
    pub(crate) child: u32,
}

impl EntryRecord {
    /// A record before it has a place in a cache.
    pub fn new(kind: EntryKind, stat: Option<&Stat>, id: ObjectId) -> Self {
        Self {
            kind,
            unsettled: false,
            unstable: false,
            is_dir: kind == EntryKind::Directory,
            linked: stat.is_some_and(has_other_names),
            descend: None,
            secret: None,
            mode: stat.map_or(0, |s| s.mode as u16),
            size: stat.map_or(0, |s| s.size),
            mtime: stat.map_or(0, |s| s.mtime),
            ctime: stat.map_or(0, |s| s.ctime),
            ino: stat.map_or(0, |s| s.ino),
            id,
            name_offset: 0,
            name_len: 0,
            child: NONE,
        }
    }

    /// Is the file exactly as it was recorded, and was the record to be believed?
    pub fn is_clean(&self, stat: &Stat) -> bool {
        !self.unsettled && self.same_state(stat)
    }

    /// Does the file look as it was recorded?
    pub fn same_state(&self, stat: &Stat) -> bool {
        self.ctime == stat.ctime
            && self.mtime == stat.mtime
            && self.size == stat.size
            && self.ino == stat.ino
            && u32::from(self.mode) == stat.mode
            && self.linked == has_other_names(stat)
    }

    /// Must it be looked at even where nothing is known to have changed?
    pub(crate) fn wants_a_look(&self) -> bool {
        self.unsettled || self.unstable || self.linked
    }

    /// Why receipts mention it, if they do.
    pub fn listed_reason(&self) -> Option<Reason> {
        self.kind.listed_reason(self.unstable, self.secret.is_some(), self.mode)
    }

    /// Do settings and ignore files have a say in what was made of its state?
    pub(crate) fn is_state_judged(&self) -> bool {
        matches!(self.kind, EntryKind::Watched(_)) || self.secret.is_some()
    }

    /// The directory record below this entry.
    pub fn child(&self) -> Option<u32> {
        (self.child != NONE).then_some(self.child)
    }
}

/// Is this a file that can be reached by another name, too?
pub(crate) fn has_other_names(stat: &Stat) -> bool {
    stat.kind != FileKind::Directory && stat.links > 1
}

/// What the cache knows about one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirRecord {
    /// Content time.
    pub mtime: i64,
    /// Change time.
    pub ctime: i64,
    /// Inode.
    pub ino: u64,
    /// Permission bits.
    pub mode: u16,
    /// It changed too recently for its listing to be believed.
    pub unsettled: bool,
    /// Its list of what was left out was made by a save that found nothing changed, so it was not
    /// stored: the next checkpoint has to store it.
    pub pending: bool,
    /// Its tree, [`ObjectId::NULL`] when nothing in it is captured.
    pub tree: ObjectId,
    /// Its list of modes, [`ObjectId::NULL`] when there is nothing to say.
    pub modes: ObjectId,
    /// Its list of what was left out, [`ObjectId::NULL`] when there is nothing to say.
    pub left: ObjectId,
    /// Does it contain a `.gitignore` or a `.hermaignore`?
    pub ignore_files: IgnoreFiles,
    /// Is there a `.git` in it? Then it may become somebody else's with nothing changing in it.
    pub repository: bool,
    /// Must something here or below be looked at even where nothing is known to have changed?
    pub look: bool,
    /// Is this record or one below it pending?
    pub pending_below: bool,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl DirRecord {
    /// A record before it has a place in a cache.
    pub fn new(stat: &Stat, unsettled: bool) -> Self {
        Self {
            mtime: stat.mtime,
            ctime: stat.ctime,
            ino: stat.ino,
            mode: stat.mode as u16,
            unsettled,
            pending: false,
            tree: ObjectId::NULL,
            modes: ObjectId::NULL,
            left: ObjectId::NULL,
            ignore_files: IgnoreFiles::default(),
            repository: false,
            look: unsettled,
            pending_below: false,
            first: 0,
            count: 0,
        }
    }

    pub(crate) fn encode(&self) -> [u8; DIR_RECORD] {
        let mut b = [0; DIR_RECORD];
        b[0..4].copy_from_slice(&self.first.to_le_bytes());
        b[4..8].copy_from_slice(&self.count.to_le_bytes());
        b[8..16].copy_from_slice(&self.mtime.to_le_bytes());
        b[16..24].copy_from_slice(&self.ctime.to_le_bytes());
        b[24..32].copy_from_slice(&self.ino.to_le_bytes());
        b[32..34].copy_from_slice(&self.mode.to_le_bytes());
        b[34] = u8::from(self.unsettled)
            | (u8::from(self.pending) << 1)
            | (u8::from(self.ignore_files.git) << 2)
            | (u8::from(self.ignore_files.herma) << 3)
            | (u8::from(self.look) << 4)
            | (u8::from(self.pending_below) << 5)
            | (u8::from(self.repository) << 6);
        b[36..56].copy_from_slice(self.tree.as_bytes());
        b[56..76].copy_from_slice(self.modes.as_bytes());
        b[76..96].copy_from_slice(self.left.as_bytes());
        b
    }

    /// Is the directory itself exactly as recorded?
    pub fn same_state(&self, stat: &Stat) -> bool {
        self.ctime == stat.ctime
            && self.mtime == stat.mtime
            && self.ino == stat.ino
            && u32::from(self.mode) == stat.mode
    }
}

/// Which ignore files a directory contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreFiles {
    /// `.gitignore`
    pub git: bool,
    /// `.hermaignore`
    pub herma: bool,
}
