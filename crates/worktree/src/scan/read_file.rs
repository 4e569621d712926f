//! Reads one file of the project into a sink, and notices when it changes meanwhile.
//!
//! The descriptor is examined before and after reading. If the file moved under us it is read again, a
//! few times; then what was read last is kept and the file is listed as unstable. Whatever is wrong
//! with one file costs one line in the receipt, never the checkpoint. A process that can open no more files learns
//! nothing about any of them, and there is no checkpoint.
//!
//! A file that changed a moment ago may be changing still without its times telling: they move when a write
//! begins and when a page is first stored to, not with every byte. Such a file is read twice. If both
//! readings agree, the file was so at the moment between them.
//!
//! And a page that a program has mapped and stored to is stored to again without any of the times moving, until
//! it was written out. Of a file that changed lately, the pages are therefore written out before it is read, or
//! what was read is not believed next time ([`Recent`]).

use std::cell::RefCell;
use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU32, Ordering};

use herma_fs::file::{read_at, read_at_least, stat_file, write_back};
use herma_fs::{Dir, Errno, FileKind, Stat, is_want_of_resources};
use herma_store::ObjectId;
use herma_store::error::StoreError;
use herma_store::object::Kind;

use crate::reason::Reason;
use crate::secrets::Finding;
use crate::sink::{HashOnly, Sink};
use crate::stat_cache::{EntryKind, EntryRecord};

/// Files up to this size are read whole; larger ones are streamed.
const WHOLE: u64 = 8 << 20;
/// How often a changing file is read before it is called unstable.
const MAX_READ_TRIES: usize = 4;
/// Files changed within this time may still have dirty pages that a mapping writes to unseen.
const MAYBE_DIRTY_NANOS: i64 = 60_000_000_000;
/// Writing back is a courtesy to such files; a bulk save does not pay for it.
const WRITE_BACKS: u32 = 32;

/// In nanoseconds, as all times.
const SECOND: i64 = 1_000_000_000;

/// What is done about a file that changed lately, so that no change to come is missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recent {
    /// Its pages are written out, as long as there are few such files: the next save can then believe its times.
    WrittenBack,
    /// Nothing: the next save reads it again. For whoever cannot wait for the disk, or notes nothing.
    #[default]
    ReadAgain,
}

/// How files are read in one scan.
pub(crate) struct Reader<'a> {
    /// Where the content goes.
    pub(crate) sink: &'a dyn Sink,
    /// Larger files are left out.
    pub(crate) max_size: Option<u64>,
    /// The file clock when the scan began.
    pub(crate) started: i64,
    /// A file last changed at or after this moment is read again next time.
    pub(crate) settle_before: i64,
    /// What is done about files that changed lately.
    pub(crate) recent: Recent,
    /// Write-backs asked for so far.
    pub(crate) write_backs: AtomicU32,
}

/// So much of a file is compared at a time with what was read of it before.
const PIECE: usize = 64 << 10;

thread_local! {
    /// The file that was last read whole.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// A piece of it, read again.
    static AGAIN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a look into a file's content came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// It is saved, although it looks like it holds a secret if one is named.
    Saved(Option<Finding>),
    /// It looks like it holds a secret, and is left out.
    LeftOut(Finding),
}

/// Looks into the content of a file.
pub(crate) type JudgeContent<'j> = &'j dyn Fn(&[u8]) -> Judged;

/// One attempt at a file.
enum Attempt {
    /// It is as the record says.
    Done(EntryRecord),
    /// It changed while it was read as the record says.
    Unsteady(EntryRecord),
    Again,
    Gone,
}

impl Reader<'_> {
    /// Was the last change long enough ago for the next one to be seen by its time?
    pub(crate) fn is_settled(&self, ctime: i64) -> bool {
        // Old file systems know no parts of a second, and a change up to one later has the same time.
        let later = if ctime % SECOND == 0 { SECOND } else { 0 };
        ctime.saturating_add(later) < self.settle_before
    }

    /// Captures the file or link `name`, last seen as `stat`. `None` when it is gone; [`StoreError::Source`] when this
    /// process cannot open it, whatever it is.
    pub(crate) fn capture(
        &self,
        dir: &Dir,
        name: &CStr,
        stat: Stat,
        judge: JudgeContent<'_>,
    ) -> Result<Option<EntryRecord>, StoreError> {
        let mut seen = stat;
        let mut last = None;
        for _ in 0..MAX_READ_TRIES {
            match self.attempt(dir, name, seen, judge)? {
                Attempt::Done(record) => return Ok(Some(record)),
                Attempt::Unsteady(record) => last = Some(record),
                Attempt::Again => {}
                Attempt::Gone => return Ok(None),
            }
            match dir.stat_raw(name) {
                Ok(stat) => seen = stat,
                Err(Errno::NOENT) => return Ok(None),
                Err(_) => break,
            }
        }
        Ok(Some(last.unwrap_or_else(|| self.watched(Reason::Unreadable, &seen))))
    }

    fn attempt(
        &self,
        dir: &Dir,
        name: &CStr,
        seen: Stat,
        judge: JudgeContent<'_>,
    ) -> Result<Attempt, StoreError> {
        match seen.kind {
            FileKind::Symlink => self.attempt_link(dir, name, seen),
            FileKind::File => self.attempt_file(dir, name, seen, judge),
            FileKind::Directory => Ok(Attempt::Again),
            FileKind::Special | FileKind::Unknown => {
                let kind = EntryKind::LeftOut(Reason::Special);
                Ok(Attempt::Done(self.left_out(kind, &seen)))
            }
        }
    }

    fn attempt_link(&self, dir: &Dir, name: &CStr, seen: Stat) -> Result<Attempt, StoreError> {
        match dir.read_link(name) {
            Ok(target) => {
                let id = self.sink.add(Kind::Blob, &target)?;
                Ok(Attempt::Done(self.record(id, &seen, None)))
            }
            Err(e) if e.is_not_found() => Ok(Attempt::Gone),
            Err(_) => Ok(Attempt::Again),
        }
    }

    fn attempt_file(
        &self,
        dir: &Dir,
        name: &CStr,
        seen: Stat,
        judge: JudgeContent<'_>,
    ) -> Result<Attempt, StoreError> {
        let watched = |reason, stat| Ok(Attempt::Done(self.watched(reason, stat)));
        if self.is_too_large(seen.size) {
            return watched(Reason::TooLarge, &seen);
        }
        let file = match dir.open_file_raw(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Attempt::Gone),
            Err(Errno::LOOP) => return Ok(Attempt::Again),
            Err(errno) if is_want_of_resources(errno) => {
                return Err(StoreError::Source(errno.into()));
            }
            Err(_) => return watched(Reason::Unreadable, &seen),
        };
        self.write_back_if_recent(&file, &seen);
        let Ok(before) = stat_file(&file) else { return watched(Reason::Unreadable, &seen) };
        if before.kind != FileKind::File {
            return Ok(Attempt::Again);
        }
        if self.is_too_large(before.size) {
            return watched(Reason::TooLarge, &before);
        }
        let read = if before.size <= WHOLE {
            self.whole(&file, before.size, judge)
        } else {
            let mut source = Read::take(&file, before.size);
            let id = self.sink.add_stream(before.size, &mut source);
            id.map(|id| (id, None))
        };
        match read {
            Ok((ObjectId::NULL, secret)) => {
                let record = self.watched(Reason::SecretContent, &before);
                Ok(Attempt::Done(EntryRecord { secret, ..record }))
            }
            Ok((id, secret)) => {
                let record = self.record(id, &before, secret);
                let is_settled = self.is_settled(before.ctime);
                let steady = (is_settled || has_still(&file, before.size, id))
                    && stat_file(&file).is_ok_and(|after| after == before);
                Ok(if steady {
                    Attempt::Done(record)
                } else {
                    Attempt::Unsteady(EntryRecord { unsettled: true, unstable: true, ..record })
                })
            }
            Err(StoreError::Changed { .. }) => Ok(Attempt::Again),
            Err(StoreError::Source(_) | StoreError::Collision) => {
                watched(Reason::Unreadable, &seen)
            }
            Err(e) => Err(e),
        }
    }

    fn is_too_large(&self, size: u64) -> bool {
        self.max_size.is_some_and(|max| size > max)
    }

    /// Reads a file in one go. Returns no id for one that is not to be saved.
    fn whole(
        &self,
        file: &File,
        size: u64,
        judge: JudgeContent<'_>,
    ) -> Result<(ObjectId, Option<Finding>), StoreError> {
        BUFFER.with_borrow_mut(|buffer| {
            // One byte more than expected, so that growth shows without another call; later growth shows in the stat after.
            let expected = size as usize;
            buffer.resize(expected + 1, 0);
            let read = read_at_least(file, buffer, 0, expected).map_err(StoreError::Source)?;
            buffer.truncate(read);
            let content = &buffer[..];
            match judge(content) {
                Judged::Saved(secret) => Ok((self.sink.add(Kind::Blob, content)?, secret)),
                Judged::LeftOut(finding) => Ok((ObjectId::NULL, Some(finding))),
            }
        })
    }

    fn write_back_if_recent(&self, file: &File, stat: &Stat) {
        if self.recent == Recent::WrittenBack
            && self.is_recent(stat)
            && self.write_backs.fetch_add(1, Ordering::Relaxed) < WRITE_BACKS
        {
            write_back(file);
        }
    }

    fn is_recent(&self, stat: &Stat) -> bool {
        self.started.saturating_sub(stat.ctime) < MAYBE_DIRTY_NANOS
    }

    /// Could the file change from here on without its times telling?
    fn may_change_unseen(&self, stat: &Stat) -> bool {
        self.recent == Recent::ReadAgain && stat.kind == FileKind::File && self.is_recent(stat)
    }

    fn record(&self, id: ObjectId, stat: &Stat, secret: Option<Finding>) -> EntryRecord {
        let kind = match stat.kind {
            FileKind::Symlink => EntryKind::Symlink,
            _ if stat.is_executable() => EntryKind::Executable,
            _ => EntryKind::File,
        };
        let unsettled = !self.is_settled(stat.ctime) || self.may_change_unseen(stat);
        EntryRecord { unsettled, secret, ..EntryRecord::new(kind, Some(stat), id) }
    }

    fn watched(&self, reason: Reason, stat: &Stat) -> EntryRecord {
        self.left_out(EntryKind::Watched(reason), stat)
    }

    fn left_out(&self, kind: EntryKind, stat: &Stat) -> EntryRecord {
        let mut record = EntryRecord::new(kind, Some(stat), ObjectId::NULL);
        record.unsettled =
            kind.left_out() == Some(Reason::Unreadable) || !self.is_settled(stat.ctime);
        record
    }
}

/// Has the file, read once more from its beginning, still the content of this id, which was read last?
fn has_still(mut file: &File, size: u64, id: ObjectId) -> bool {
    if size <= WHOLE {
        return BUFFER.with_borrow(|content| content.len() as u64 == size && holds(file, content));
    }
    file.rewind().is_ok()
        && HashOnly.add_stream(size, &mut Read::take(file, size)).is_ok_and(|again| again == id)
}

/// Is this what the file holds, as far as it goes?
fn holds(file: &File, content: &[u8]) -> bool {
    AGAIN.with_borrow_mut(|again| {
        again.resize(PIECE, 0);
        let mut pieces = content.chunks(PIECE).zip(0_u64..);
        pieces.all(|(piece, index)| {
            let again = &mut again[..piece.len()];
            let read = read_at(file, again, index * PIECE as u64);
            read.is_ok_and(|read| read == piece.len()) && again == piece
        })
    })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Somebody writes to the file whenever it is read.
    struct Restless(PathBuf);

    impl Sink for Restless {
        fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
            std::fs::write(&self.0, [data, b"+"].concat()).unwrap();
            HashOnly.add(kind, data)
        }

        fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
            HashOnly.add_stream(size, read)
        }
    }

    fn captured(sink: &dyn Sink, place: &tempfile::TempDir, settle_before: i64) -> EntryRecord {
        captured_by(sink, place, settle_before, Recent::WrittenBack, 0)
    }

    fn captured_by(
        sink: &dyn Sink,
        place: &tempfile::TempDir,
        settle_before: i64,
        recent: Recent,
        started: i64,
    ) -> EntryRecord {
        let dir = Dir::open(place.path()).unwrap();
        let reader = Reader {
            sink,
            max_size: None,
            started,
            settle_before,
            recent,
            write_backs: AtomicU32::new(0),
        };
        let stat = dir.stat("file").unwrap();
        let record = reader.capture(&dir, c"file", stat, &|_| Judged::Saved(None));
        let record = record.unwrap();
        record.expect("it is there")
    }

    #[test]
    fn a_time_without_parts_of_a_second_is_believed_a_second_later() {
        let reader = Reader {
            sink: &HashOnly,
            max_size: None,
            started: 0,
            settle_before: 10 * SECOND + SECOND / 2,
            recent: Recent::WrittenBack,
            write_backs: AtomicU32::new(0),
        };
        assert!(reader.is_settled(10 * SECOND + SECOND / 4));
        assert!(!reader.is_settled(10 * SECOND));
        assert!(reader.is_settled(9 * SECOND));
        assert!(!reader.is_settled(10 * SECOND + SECOND / 2));
    }

    #[test]
    fn a_file_that_changes_whenever_it_is_read_is_unstable() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "one").unwrap();
        assert!(captured(&Restless(file), &place, i64::MAX).unstable);
        assert!(!captured(&HashOnly, &place, i64::MAX).unstable);
    }

    #[test]
    fn what_a_file_holds_is_compared_to_the_last_byte() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let file = File::open(&path).unwrap();
            assert!(holds(&file, &content));
            assert!(!holds(&file, &[&content[..], b"+"].concat()));
            for at in [0, size / 2, size.saturating_sub(1)] {
                let mut other = content.clone();
                if let Some(byte) = other.get_mut(at) {
                    *byte ^= 1;
                    assert!(!holds(&file, &other), "{at} of {size}");
                }
            }
        }
    }

    #[test]
    fn a_file_that_changed_when_the_scan_began_is_read_again_next_time() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "one").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let changed = dir.stat("file").unwrap().ctime;
        assert!(captured(&HashOnly, &place, changed).unsettled);
        assert!(!captured(&HashOnly, &place, changed + 1).unsettled);
    }

    #[test]
    fn a_file_that_changed_lately_and_was_not_written_back_is_read_again_next_time() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "one").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let changed = dir.stat("file").unwrap().ctime;
        let settled = |recent, started| {
            !captured_by(&HashOnly, &place, changed + 1, recent, started).unsettled
        };
        assert!(settled(Recent::WrittenBack, changed + MAYBE_DIRTY_NANOS - 1));
        assert!(!settled(Recent::ReadAgain, changed + MAYBE_DIRTY_NANOS - 1));
        assert!(settled(Recent::ReadAgain, changed + MAYBE_DIRTY_NANOS));
    }
}
