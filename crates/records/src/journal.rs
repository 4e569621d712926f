//! The journal of a restore in progress: enough to finish it or to reverse it after a crash.
//!
//! It is written and synced before the first file changes and removed, synced too, after the last one
//! is durable. Finding one means a restore was interrupted: the project may be part old, part new.

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, Result};
use herma_store::ObjectId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::RestoreOptions;
use crate::step::Undid;
use crate::undo::{Move, Reversed, UndoRecord};
use crate::{Version, encode, read_record};

/// Where it is, in a project's own directory.
pub const FILE: &str = "journal";

/// What a restore in progress set out to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The version of the record.
    pub version: Version,
    /// Part of the names of its temporary files.
    pub token: u32,
    /// The checkpoint of the state before.
    pub safety: ObjectId,
    /// The checkpoint to bring back.
    pub target: ObjectId,
    /// What part of it.
    #[serde(flatten)]
    pub options: RestoreOptions,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// How it moves the place where undo and redo stand.
    pub by: Move,
    /// Where they stood before it.
    pub undo: UndoRecord,
    /// Which steps it undoes, if it is about steps.
    #[serde(default)]
    pub undid: Option<Undid>,
}

impl Journal {
    /// Reads the journal of a project; `None` if no restore is in progress. One that cannot be read
    /// counts as none: after a power cut it was never synced, so no file was changed under it. A damaged one is told of by
    /// `verify` and by `repair`, with `Journal::safety_in`.
    pub fn read(dir: &Dir) -> Result<Option<Self>> {
        let bytes = read_record(dir, FILE, 16 << 20)?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes)))
    }

    /// The journal in these bytes, if it is one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The checkpoint of the state before, out of a journal that may be damaged elsewhere.
    pub fn safety_in(bytes: &[u8]) -> Option<ObjectId> {
        let name = b"\"safety\":\"";
        let at = bytes.windows(name.len()).position(|seen| seen == name)? + name.len();
        ObjectId::from_hex(bytes.get(at..at + 40)?)
    }

    /// The move it is about.
    pub fn what(&self) -> Reversed {
        let Self { target, by, .. } = *self;
        Reversed { target, options: self.options.clone(), by, undid: self.undid.clone() }
    }

    /// Makes the journal durable.
    pub fn write(&self, tmp: &Dir, dir: &Dir) -> Result<()> {
        write_file(tmp, dir, FILE, &encode(self), Durability::Synced)
    }

    /// Closes the journal: the restore is complete.
    pub fn close(dir: &Dir) -> Result<()> {
        match dir.remove_file(FILE) {
            Ok(()) => dir.sync(),
            Err(e) if e.is_not_found() => Ok(()),
            Err(e) => Err(e),
        }
    }
}

/// What a temporary file of a restore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TempKind {
    /// Being written; never complete, never anybody's only copy.
    Unfinished,
    /// Complete, or a file that was taken out of the project: look before removing it.
    Finished,
}

/// The name of a restore's temporary file.
pub fn temp_name(token: u32, kind: TempKind, serial: u32) -> String {
    let letter = match kind {
        TempKind::Unfinished => 'a',
        TempKind::Finished => 'b',
    };
    format!(".herma-{token:08x}{letter}{:07x}.tmp", serial & 0x0fff_ffff)
}

/// What kind of temporary file of the restore `token` a name is, if it is one.
pub fn parse_temp_name(name: &[u8], token: u32) -> Option<TempKind> {
    let middle = name.strip_prefix(b".herma-")?.strip_suffix(b".tmp")?;
    let rest = middle.strip_prefix(format!("{token:08x}").as_bytes())?;
    match rest.first()? {
        b'a' => Some(TempKind::Unfinished),
        b'b' => Some(TempKind::Finished),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use herma_store::RelPath;

    use super::*;

    #[test]
    fn a_journal_reads_back_even_with_paths_that_are_not_text() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let journal = Journal {
            version: Version,
            token: 7,
            safety: ObjectId::EMPTY_TREE,
            target: ObjectId::NULL,
            options: RestoreOptions {
                paths: vec![RelPath::new(*b"a\xff/b\n").unwrap()],
                keep: vec![RelPath::root()],
            },
            started: 5,
            by: Move::Redo,
            undid: None,
            undo: UndoRecord { past: vec![ObjectId::EMPTY_TREE], ..UndoRecord::default() },
        };
        journal.write(&dir, &dir).unwrap();
        assert_eq!(Journal::read(&dir).unwrap(), Some(journal));
        Journal::close(&dir).unwrap();
        Journal::close(&dir).unwrap();
        assert_eq!(Journal::read(&dir).unwrap(), None);
    }

    #[test]
    fn only_the_temporary_files_of_the_same_restore_are_recognised() {
        let name = temp_name(0xabc, TempKind::Finished, 3);
        assert_eq!(parse_temp_name(name.as_bytes(), 0xabc), Some(TempKind::Finished));
        assert_eq!(parse_temp_name(name.as_bytes(), 0xabd), None);
        assert_eq!(parse_temp_name(b".herma-x.tmp", 0), None);
    }
}
