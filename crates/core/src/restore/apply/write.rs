//! Changes one name in a directory so that nothing is lost, whoever else is writing there.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU32, Ordering};

use herma_fs::file::{ask_for_file_mode, read_at};
use herma_fs::holes::Holes;
use herma_fs::{Dir, Errno, FileKind, Stat};
use herma_records::journal::{TempKind, temp_name};
use herma_store::object::{EntryMode, Hasher, Kind, id_of};
use herma_store::objects::{ObjectError, Objects};
use herma_store::pack::write::recent::RecentContents;
use herma_store::{ObjectId, RelPath};
use herma_worktree::owner::Boundary;
use herma_worktree::stat_cache::EntryRecord;

use crate::restore::apply::fresh::Fresh;
use crate::save::read_ahead::{Content, ReadAhead, read_link_target};
use crate::types::kept::Lack;

/// Setuid and setgid of a file that is replaced.
const TAKEN_OVER: u32 = 0o6000;

/// Why one name could not be changed.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The store could not deliver the content.
    Object(ObjectError),
    /// The file system refused.
    Fs(herma_fs::Error),
    /// It is done, but what was there before could not be removed. It goes by a temporary name now.
    NotRemoved(herma_fs::Error),
}

impl From<herma_fs::Error> for WriteError {
    fn from(error: herma_fs::Error) -> Self {
        Self::Fs(error)
    }
}

/// Did it work?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Yes,
    /// All but this, which cannot be had here.
    But(Lack),
    /// Nothing was done: somebody had changed the file since it was saved.
    ChangedMeanwhile,
    /// Nothing was done: this cannot be had here.
    No(Lack),
}

/// Writes and removes files of one restore.
pub(crate) struct Writer<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) token: u32,
    pub(crate) serial: AtomicU32,
    pub(crate) read_ahead: &'a ReadAhead,
    /// Contents that were saved a moment ago.
    pub(crate) recent: &'a RecentContents,
    /// Sync each file, rather than the whole file system at the end?
    pub(crate) sync_each: bool,
    /// Is all of it written to a directory that was empty and is nobody's yet?
    pub(crate) fresh: Option<Fresh<'a>>,
}

impl Writer<'_> {
    fn temp(&self, kind: TempKind) -> String {
        temp_name(self.token, kind, self.serial.fetch_add(1, Ordering::Relaxed))
    }

    /// Puts content at `path`, which is in `dir`. `expected` is what the safety checkpoint holds for it.
    pub(crate) fn put(
        &self,
        dir: &Dir,
        path: &RelPath,
        content: &Content,
        expected: Option<&EntryRecord>,
    ) -> Result<Done, WriteError> {
        let Some((parent, name)) = path.split() else { return Ok(Done::Yes) };
        if let Some(fresh) = &self.fresh {
            return self.put_fresh(fresh, dir, (&parent, name), content);
        }
        // What replaces a file is to be its owner's as that was.
        let replaced = expected.and_then(|_| dir.stat(name).ok());
        let (ready, lack) = match self.prepare(dir, content, replaced.as_ref()) {
            Ok((_, Some(Lack::Link))) => return Ok(Done::No(Lack::Link)),
            Err(WriteError::Fs(e)) if e.is_too_large() => return Ok(Done::No(Lack::Size)),
            prepared => prepared?,
        };
        let done = self.swap_in(dir, &ready, name, expected);
        match done {
            Ok(Done::Yes) => Ok(lack.map_or(Done::Yes, Done::But)),
            // It is not what was prepared that goes by that name now.
            Err(WriteError::NotRemoved(_)) => done,
            _ => {
                // What was prepared is in the store; the project's own file is in its place.
                let _ = dir.remove_file(ready.as_str());
                done
            }
        }
    }

    /// Makes a file where nobody works yet: it has its name at once.
    fn put_fresh(
        &self,
        fresh: &Fresh<'_>,
        dir: &Dir,
        (parent, name): (&RelPath, &[u8]),
        content: &Content,
    ) -> Result<Done, WriteError> {
        fresh.check(dir)?;
        let made = match content.mode {
            EntryMode::Symlink => self.make_link(dir, name, content, None),
            _ => self.make_file(dir, name, content, None, |file| {
                fresh.share(parent, name, content, file)
            }),
        };
        match made {
            Ok(Some(Lack::Link)) => Ok(Done::No(Lack::Link)),
            Ok(lack) => Ok(lack.map_or(Done::Yes, Done::But)),
            Err(WriteError::Fs(e)) if e.is_too_large() => {
                dir.remove_if_there(name)?;
                Ok(Done::No(Lack::Size))
            }
            Err(WriteError::Fs(e)) if e.may_be_unfit_name() => self.without_name(dir, e),
            Err(e) => Err(e),
        }
    }

    /// Writes the content beside its target. The name it gets says that it is complete.
    fn prepare(
        &self,
        dir: &Dir,
        content: &Content,
        replaced: Option<&Stat>,
    ) -> Result<(String, Option<Lack>), WriteError> {
        let unfinished = self.temp(TempKind::Unfinished);
        let made = match content.mode {
            EntryMode::Symlink => self.make_link(dir, unfinished.as_bytes(), content, replaced),
            _ => self.make_file(dir, unfinished.as_bytes(), content, replaced, |_| Ok(false)),
        };
        let ready = self.temp(TempKind::Finished);
        let finished = made.and_then(|lack| {
            if lack != Some(Lack::Link) {
                dir.rename_new(unfinished.as_str(), dir, ready.as_str())?;
            }
            Ok(lack)
        });
        let lack = finished.inspect_err(|_| {
            // Best effort: a file that stays is swept by the next command.
            let _ = dir.remove_file(unfinished.as_str());
        })?;
        Ok((ready, lack))
    }

    fn make_link(
        &self,
        dir: &Dir,
        name: &[u8],
        content: &Content,
        replaced: Option<&Stat>,
    ) -> Result<Option<Lack>, WriteError> {
        let target = read_link_target(self.objects, &content.id).map_err(WriteError::Object)?;
        match dir.symlink(&target[..], name) {
            Ok(()) => keep_owner(dir, name, replaced),
            Err(e) if e.is_without_links() => Ok(Some(Lack::Link)),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes a file, unless `filled` with what is known to be the content.
    fn make_file(
        &self,
        dir: &Dir,
        name: &[u8],
        content: &Content,
        replaced: Option<&Stat>,
        filled: impl FnOnce(&File) -> io::Result<bool>,
    ) -> Result<Option<Lack>, WriteError> {
        let mut file = dir.create_new(name)?;
        let fail = |source: io::Error| {
            let path = dir.path().join(OsStr::from_bytes(name));
            WriteError::Fs(herma_fs::Error::on("write", &path, source))
        };
        if !filled(&file).map_err(fail)? {
            self.fill(&mut file, content, &fail)?;
        }
        // ORDER: the owner before the mode, of which a change of owner takes away what may make others that owner.
        let lack = keep_owner(dir, name, replaced)?;
        // Those bits no checkpoint brings back: they stay as they are, for the same owner.
        let same_owner = replaced.filter(|_| lack.is_none());
        let taken_over = same_owner.map_or(0, |replaced| replaced.mode & TAKEN_OVER);
        let has_mode = ask_for_file_mode(&file, content.bits | taken_over).map_err(fail)?;
        if self.sync_each {
            file.sync_all().map_err(fail)?;
        }
        Ok(lack.or((!has_mode).then_some(Lack::Mode)))
    }

    /// Writes the content to an empty file.
    fn fill(
        &self,
        file: &mut File,
        content: &Content,
        fail: &dyn Fn(io::Error) -> WriteError,
    ) -> Result<(), WriteError> {
        let mut holes = Holes::new(file);
        if let Some(bytes) = self.read_ahead.get(&content.id) {
            holes.write(bytes).map_err(fail)?;
        } else {
            // Every byte is checked against the id on its way; a mismatch is an error after the fact, and
            // the file is then discarded.
            let streamed = self.objects.stream_blob(&content.id, &mut |bytes| holes.write(bytes));
            streamed.map_err(|e| match e {
                ObjectError::Sink(source) => fail(source),
                other => WriteError::Object(other),
            })?;
        }
        holes.finish().map_err(fail)
    }

    /// Gives the prepared file its name, and checks what came back in exchange.
    fn swap_in(
        &self,
        dir: &Dir,
        ready: &str,
        name: &[u8],
        expected: Option<&EntryRecord>,
    ) -> Result<Done, WriteError> {
        let Some(expected) = expected else {
            return match dir.rename_new(ready, dir, name) {
                Ok(()) => Ok(Done::Yes),
                Err(e) if e.is_exists() => Ok(Done::ChangedMeanwhile),
                Err(e) => self.without_name(dir, e),
            };
        };
        if !is_untouched(dir, name, expected)? {
            return Ok(Done::ChangedMeanwhile);
        }
        match dir.exchange(ready, name) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return self.swap_by_renaming(dir, ready, name, expected);
            }
            Err(Errno::NOENT) => return Ok(Done::ChangedMeanwhile),
            Err(e) => return Err(herma_fs::Error::at("exchange", dir.path(), name, e).into()),
        }
        if is_saved(dir, ready, expected, self.recent) {
            remove_replaced(dir, ready)?;
            return Ok(Done::Yes);
        }
        // Somebody changed the file between the check and the exchange: their version goes back.
        dir.exchange(ready, name).map_err(|e| {
            WriteError::NotRemoved(herma_fs::Error::at("exchange", dir.path(), name, e))
        })?;
        Ok(Done::ChangedMeanwhile)
    }

    /// The same where a file system cannot exchange: the old file is moved beside and looked at there, and it goes only
    /// when the new one has its name. For that moment nothing has it.
    fn swap_by_renaming(
        &self,
        dir: &Dir,
        ready: &str,
        name: &[u8],
        expected: &EntryRecord,
    ) -> Result<Done, WriteError> {
        let aside = self.temp(TempKind::Finished);
        match dir.rename_new(name, dir, aside.as_str()) {
            Err(e) if e.is_not_found() => return Ok(Done::ChangedMeanwhile),
            moved => moved?,
        }
        if !is_saved(dir, &aside, expected, self.recent) {
            put_back(dir, &aside, name)?;
            return Ok(Done::ChangedMeanwhile);
        }
        let done = match dir.rename_new(ready, dir, name) {
            Ok(()) => Done::Yes,
            // Somebody made another one meanwhile, which is in no checkpoint: it stays.
            Err(e) if e.is_exists() => Done::ChangedMeanwhile,
            Err(e) => {
                put_back(dir, &aside, name)?;
                return Err(e.into());
            }
        };
        remove_replaced(dir, &aside)?;
        Ok(done)
    }

    /// Makes a directory that is not there.
    pub(crate) fn make_directory(&self, dir: &Dir, name: &[u8]) -> Result<Done, WriteError> {
        match dir.create_dir(name, 0o700) {
            Ok(_) => Ok(Done::Yes),
            Err(e) if e.is_exists() => Ok(Done::ChangedMeanwhile),
            Err(e) => self.without_name(dir, e),
        }
    }

    /// A new name could not be had. If another one can, it is this one the file system does not take.
    fn without_name(&self, dir: &Dir, error: herma_fs::Error) -> Result<Done, WriteError> {
        let other = self.temp(TempKind::Unfinished);
        let made = || dir.create_new(other.as_str());
        if error.may_be_unfit_name() && made().is_ok() && dir.remove_file(other.as_str()).is_ok() {
            return Ok(Done::No(Lack::Name));
        }
        Err(error.into())
    }

    /// Removes the file or link `name`, which the safety checkpoint holds as `expected`.
    pub(crate) fn remove(
        &self,
        dir: &Dir,
        name: &[u8],
        expected: &EntryRecord,
    ) -> Result<Done, WriteError> {
        if dir.stat_opt(name)?.is_none() {
            return Ok(Done::Yes);
        }
        if !is_untouched(dir, name, expected)? {
            return Ok(Done::ChangedMeanwhile);
        }
        let aside = self.temp(TempKind::Finished);
        dir.rename_new(name, dir, aside.as_str())?;
        if is_saved(dir, &aside, expected, self.recent) {
            remove_replaced(dir, &aside)?;
            return Ok(Done::Yes);
        }
        put_back(dir, &aside, name)?;
        Ok(Done::ChangedMeanwhile)
    }
}

/// Can this be the file the safety checkpoint holds? Times and the inode are another matter: renaming a file or removing another
/// name of it moves `ctime` too, and some file systems give a file that is renamed another time or number.
fn looks_saved(stat: &Stat, saved: &EntryRecord) -> bool {
    stat.size == saved.size
        && stat.mode == u32::from(saved.mode)
        && matches!(stat.kind, FileKind::File | FileKind::Symlink)
}

/// Is `name` what the safety checkpoint holds, as far as time stamps tell, and its content where they
/// do not?
fn is_untouched(dir: &Dir, name: &[u8], saved: &EntryRecord) -> Result<bool, herma_fs::Error> {
    Ok(dir.stat_opt(name)?.is_some_and(|stat| {
        let times = (stat.mtime, stat.ctime);
        let is_same = stat.ino == saved.ino && times == (saved.mtime, saved.ctime);
        looks_saved(&stat, saved) && (is_same || content_id(dir, name) == Some(saved.id))
    }))
}

/// Is `name` the file the safety checkpoint holds, whatever its mode is by now?
pub(crate) fn is_same_file(
    dir: &Dir,
    name: &[u8],
    saved: &EntryRecord,
) -> Result<bool, herma_fs::Error> {
    let Some(stat) = dir.stat_opt(name)? else { return Ok(false) };
    let is_mounted = Boundary::around(&dir.stat_self()?).is_mounted(&stat);
    let is_it = || stat.ino == saved.ino || content_id(dir, name) == Some(saved.id);
    Ok(!is_mounted && is_it())
}

/// Is what was just taken out of its place exactly what the safety checkpoint holds, byte for byte?
/// Somebody may have written to it a moment ago and put its time back. What cannot be looked at is not.
fn is_saved(dir: &Dir, name: &str, saved: &EntryRecord, recent: &RecentContents) -> bool {
    let Some(stat) = dir.stat(name).ok().filter(|stat| looks_saved(stat, saved)) else {
        return false;
    };
    if stat.kind == FileKind::File && recent.length_of(&saved.id) == Some(stat.size as usize) {
        return read_whole(dir, name, stat.size as usize)
            .is_some_and(|content| recent.is(&saved.id, &content) == Some(true));
    }
    content_id(dir, name.as_bytes()) == Some(saved.id)
}

/// The content of a file of so many bytes; `None` if it cannot be read, or is not that long.
fn read_whole(dir: &Dir, name: &str, size: usize) -> Option<Vec<u8>> {
    let file = dir.open_file(name).ok()?;
    // One byte more shows that it grew.
    let mut content = vec![0; size + 1];
    let read = read_at(&file, &mut content, 0).ok()?;
    content.truncate(size);
    (read == size).then_some(content)
}

/// The id of what a file or link holds, whatever its size; `None` if it cannot be read or changes
/// meanwhile.
pub(crate) fn content_id(dir: &Dir, name: &[u8]) -> Option<ObjectId> {
    let stat = dir.stat(name).ok()?;
    if stat.kind == FileKind::Symlink {
        return id_of(Kind::Blob, &dir.read_link(name).ok()?);
    }
    let file = dir.open_file(name).ok()?;
    let mut hasher = Hasher::new(Kind::Blob, stat.size);
    let mut buffer = vec![0; stat.size.clamp(1, 1 << 20) as usize];
    let mut at = 0;
    loop {
        let read = read_at(&file, &mut buffer, at).ok()?;
        if read == 0 {
            return hasher.finish().filter(|_| at == stat.size);
        }
        hasher.update(&buffer[..read]);
        at += read as u64;
    }
}

/// Removes what was replaced. Whoever fails here must not begin anew: the name has what it is to have.
fn remove_replaced(dir: &Dir, name: &str) -> Result<(), WriteError> {
    dir.remove_file(name).or_else(|_| dir.remove_file(name)).map_err(WriteError::NotRemoved)
}

/// Gives what replaces a file its owner and group.
fn keep_owner(dir: &Dir, name: &[u8], replaced: Option<&Stat>) -> Result<Option<Lack>, WriteError> {
    let Some(replaced) = replaced else { return Ok(None) };
    let is_kept = dir.ask_for_owner(name, replaced.uid, replaced.gid)?;
    Ok((!is_kept).then_some(Lack::Owner))
}

/// Gives a file back the name it was moved away from. Where that fails, it goes by a temporary name now.
fn put_back(dir: &Dir, aside: &str, name: &[u8]) -> Result<(), WriteError> {
    dir.rename_new(aside, dir, name).map_err(WriteError::NotRemoved)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use herma_worktree::stat_cache::EntryKind;

    use super::*;

    /// A file, and a record that fits it in everything but its content: as if somebody had written to it in the
    /// moment between the look at it and the move.
    fn written_meanwhile(place: &tempfile::TempDir) -> (Dir, EntryRecord) {
        std::fs::write(place.path().join("file"), "theirs").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let stat = dir.stat("file").unwrap();
        let saved = id_of(Kind::Blob, b"saved!").unwrap();
        let record = EntryRecord::new(EntryKind::File, Some(&stat), saved);
        assert!(is_untouched(&dir, b"file", &record).unwrap());
        (dir, record)
    }

    fn with_writer(dir: &Dir, work: impl FnOnce(&Writer<'_>)) {
        work(&Writer {
            objects: &Objects::open(dir.try_clone().unwrap()),
            token: 1,
            serial: AtomicU32::new(0),
            read_ahead: &ReadAhead::default(),
            recent: &RecentContents::default(),
            sync_each: false,
            fresh: None,
        });
    }

    fn assert_theirs(place: &tempfile::TempDir) {
        let content = std::fs::read_to_string(place.path().join("file")).unwrap();
        assert_eq!(content, "theirs");
    }

    #[test]
    fn an_edit_whose_time_was_put_back_is_seen_before_anything_moves() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, "saved!").unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let stat = dir.stat("file").unwrap();
        let saved = id_of(Kind::Blob, b"saved!").unwrap();
        let record = EntryRecord::new(EntryKind::File, Some(&stat), saved);
        // Another name comes and goes: a new change time, and nothing else.
        std::fs::hard_link(&path, place.path().join("name")).unwrap();
        std::fs::remove_file(place.path().join("name")).unwrap();
        assert!(is_untouched(&dir, b"file", &record).unwrap());
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "theirs").unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(before).unwrap();
        assert!(looks_saved(&dir.stat("file").unwrap(), &record));
        assert!(!is_untouched(&dir, b"file", &record).unwrap());
    }

    #[test]
    fn what_comes_back_in_exchange_and_was_not_saved_goes_back() {
        let place = tempfile::tempdir().unwrap();
        let (dir, record) = written_meanwhile(&place);
        std::fs::write(place.path().join("ready"), "restored").unwrap();
        with_writer(&dir, |writer| {
            let done = writer.swap_in(&dir, "ready", b"file", Some(&record));
            assert_eq!(done.unwrap(), Done::ChangedMeanwhile);
        });
        assert_theirs(&place);
    }

    /// As where a file system has neither exchange nor links.
    #[test]
    fn what_was_moved_beside_and_was_not_saved_goes_back() {
        let place = tempfile::tempdir().unwrap();
        let (dir, record) = written_meanwhile(&place);
        std::fs::write(place.path().join("ready"), "restored").unwrap();
        with_writer(&dir, |writer| {
            let done = writer.swap_by_renaming(&dir, "ready", b"file", &record);
            assert_eq!(done.unwrap(), Done::ChangedMeanwhile);
        });
        assert_theirs(&place);
    }

    #[test]
    fn a_file_that_comes_back_under_another_number_is_known_by_its_content() {
        let place = tempfile::tempdir().unwrap();
        let (dir, mut record) = written_meanwhile(&place);
        record.ino += 1;
        assert!(!is_untouched(&dir, b"file", &record).unwrap());
        record.id = id_of(Kind::Blob, b"theirs").unwrap();
        assert!(is_untouched(&dir, b"file", &record).unwrap());
    }

    #[test]
    fn a_file_that_gets_another_time_by_its_new_name_is_known_by_its_content() {
        let place = tempfile::tempdir().unwrap();
        let (dir, mut record) = written_meanwhile(&place);
        record.mtime += 2_000_000_000;
        assert!(!is_untouched(&dir, b"file", &record).unwrap());
        record.id = id_of(Kind::Blob, b"theirs").unwrap();
        assert!(is_untouched(&dir, b"file", &record).unwrap());
        assert!(is_saved(&dir, "file", &record, &RecentContents::default()));
    }

    #[test]
    fn what_was_saved_a_moment_ago_is_compared_with_the_file_byte_for_byte() {
        let place = tempfile::tempdir().unwrap();
        let (dir, mut record) = written_meanwhile(&place);
        let recent = RecentContents::with_room(100);
        recent.keep(record.id, Kind::Blob, b"saved!");
        assert_eq!(recent.length_of(&record.id), Some(6));
        assert!(!is_saved(&dir, "file", &record, &recent));
        // An id that is not this content's shows that it was compared and not hashed.
        record.id = id_of(Kind::Blob, b"another").unwrap();
        recent.keep(record.id, Kind::Blob, b"theirs");
        assert!(is_saved(&dir, "file", &record, &recent));
        record.size += 1;
        assert!(!is_saved(&dir, "file", &record, &recent));
    }

    #[test]
    fn what_was_to_be_removed_and_was_not_saved_stays() {
        let place = tempfile::tempdir().unwrap();
        let (dir, record) = written_meanwhile(&place);
        with_writer(&dir, |writer| {
            let done = writer.remove(&dir, b"file", &record).unwrap();
            assert_eq!(done, Done::ChangedMeanwhile);
        });
        assert_theirs(&place);
    }
}
