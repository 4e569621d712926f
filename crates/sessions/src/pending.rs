//! The deletion that is under way: rows and files cannot go in one step, so the ids are written down
//! first.
//!
//! `<home>/sessions/.herma/pending` lists the sessions whose rows are about to go. It is synced before the
//! first row goes, and removed after the last file is gone. After a crash the next deletion reads it: an
//! id that has no row any more was deleted, so its files go; an id that still has one was not, and is
//! forgotten. Only one process deletes at a time, by a lock in the same place.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use herma_fs::lock::{Acquired, Lock};
use herma_fs::publish::{Temp, sweep};
use herma_fs::{Dir, IfThere, lock};

use crate::error::{Error, Result};

const PLACE: &str = ".herma";
const JOURNAL: &str = "pending";
const DAMAGED: &str = "pending.damaged";
pub(crate) const HEADER: &str = "herma pending deletions 1";
/// No id is longer when it is written down.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// How long another deletion is waited for.
const WAIT: Duration = Duration::from_secs(10);

/// The place beside the transcripts where a deletion writes down what it does, held by this process.
#[derive(Debug)]
pub(crate) struct Workplace {
    dir: Dir,
    _lock: Lock,
}

/// What an earlier deletion left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// A list of sessions.
    Sessions,
    /// A list that makes no sense; it was set aside under this name.
    Damaged(&'static str),
}

/// Is a deletion unfinished, or under way?
pub fn is_pending(sessions: &Dir) -> Result<bool> {
    let Some(dir) = sessions.open_dir(PLACE).if_there()? else { return Ok(false) };
    Ok(dir.stat_opt(JOURNAL)?.is_some())
}

impl Workplace {
    /// Takes the place, waiting for another process that has it, but not for long.
    pub(crate) fn take(sessions: &Dir) -> Result<Self> {
        let dir = sessions.ensure_dir(PLACE, 0o700)?;
        let lock = match lock::acquire(&dir, "lock", lock::Mode::Exclusive, WAIT)? {
            Acquired::Yes(lock) => lock,
            Acquired::Busy { holder } => return Err(Error::OtherCleaner { holder }),
            Acquired::Unsupported => return Err(Error::NoLocks(sessions.path().to_owned())),
        };
        // ORDER: the place itself is durable before a list in it is relied on, also if it was made by a process
        // that did not get so far.
        sessions.sync()?;
        let place = Self { dir, _lock: lock };
        sweep(&place.dir);
        Ok(place)
    }

    /// The directory, for files that are being written.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Calls `each` with the sessions an earlier deletion wrote down.
    pub(crate) fn read(&self, each: impl FnMut(&str) -> Result<()>) -> Result<Left> {
        let file = self.dir.open_file(JOURNAL).if_there()?;
        let Some(file) = file else { return Ok(Left::Nothing) };
        if read_list(file, &self.dir.path().join(JOURNAL), each)? {
            return Ok(Left::Sessions);
        }
        self.dir.rename(JOURNAL, &self.dir, DAMAGED)?;
        Ok(Left::Damaged(DAMAGED))
    }

    /// Starts a new list in place of the old one.
    pub(crate) fn start(&self) -> Result<Journal<'_>> {
        let mut journal = Journal {
            temp: Temp::create(&self.dir)?,
            dir: &self.dir,
            buffer: String::new(),
            count: 0,
        };
        journal.line(HEADER)?;
        Ok(journal)
    }

    /// All files are gone: nothing is pending any more.
    pub(crate) fn done(&self) -> Result<()> {
        self.dir.remove_if_there(JOURNAL)?;
        Ok(self.dir.sync()?)
    }
}

/// A list being written.
pub(crate) struct Journal<'w> {
    temp: Temp<'w>,
    dir: &'w Dir,
    buffer: String,
    count: u64,
}

impl Journal<'_> {
    fn line(&mut self, text: &str) -> Result<()> {
        self.buffer.push_str(text);
        self.buffer.push('\n');
        if self.buffer.len() > 1 << 16 {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.temp.write(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(())
    }

    /// Adds a session.
    pub(crate) fn add(&mut self, id: &str) -> Result<()> {
        self.count += 1;
        self.line(&format!("id {}", escape(id)))
    }

    /// Makes the list durable. Only now may the first row go.
    pub(crate) fn publish(mut self) -> Result<()> {
        self.line(&format!("end {}", self.count))?;
        self.flush()?;
        self.temp.sync()?;
        self.temp.publish(self.dir, JOURNAL)?;
        self.dir.sync()?;
        Ok(())
    }
}

/// Calls `each` with the sessions in a list, and tells whether it has its end: if not, none of them counts.
pub(crate) fn read_list(
    list: impl Read,
    path: &Path,
    mut each: impl FnMut(&str) -> Result<()>,
) -> Result<bool> {
    let mut lines = Lines::new(list, MAX_LINE_BYTES, path);
    let mut count = 0u64;
    if lines.next()?.as_deref() != Some(HEADER.as_bytes()) {
        return Ok(false);
    }
    while let Some(line) = lines.next()? {
        let line = String::from_utf8(line).unwrap_or_default();
        if let Some(end) = line.strip_prefix("end ") {
            return Ok(end.parse() == Ok(count));
        }
        let Some(id) = line.strip_prefix("id ").and_then(unescape) else { return Ok(false) };
        each(&id)?;
        count += 1;
    }
    Ok(false)
}

/// The whole lines of a file.
pub(crate) struct Lines<'p, R> {
    from: BufReader<R>,
    max_line_bytes: u64,
    path: &'p Path,
}

impl<'p, R: Read> Lines<'p, R> {
    pub(crate) fn new(from: R, max_line_bytes: u64, path: &'p Path) -> Self {
        Self { from: BufReader::new(from), max_line_bytes, path }
    }

    /// The next line, without its end; one without its end was cut off, and is none.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let read = (&mut self.from).take(self.max_line_bytes).read_until(b'\n', &mut line);
        read.map_err(|e| herma_fs::Error::on("read", self.path, e))?;
        Ok((line.pop() == Some(b'\n')).then_some(line))
    }
}

/// An id on one line: `%`, control characters and what a terminal could act on as `%XX`.
pub(crate) fn escape(id: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte == b'%' || !(b' '..=b'~').contains(&byte) {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02x}");
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// The id on a line that [`escape`] wrote.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = rest.get(2..)?;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(place: &Workplace) -> (Vec<String>, Left) {
        let mut ids = Vec::new();
        let left = place
            .read(|id| {
                ids.push(id.to_owned());
                Ok(())
            })
            .unwrap();
        (ids, left)
    }

    #[test]
    fn any_id_is_read_back_as_it_was_written() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let place = Workplace::take(&dir).unwrap();
        assert_eq!(read(&place), (Vec::new(), Left::Nothing));
        let ids = ["a", "", "50%", "line\nbreak", "../up", "日本", "end 1", "\u{0}"];
        let mut journal = place.start().unwrap();
        for id in ids {
            journal.add(id).unwrap();
        }
        journal.publish().unwrap();
        assert!(is_pending(&dir).unwrap());
        assert_eq!(read(&place), (ids.map(str::to_owned).to_vec(), Left::Sessions));
        place.done().unwrap();
        assert!(!is_pending(&dir).unwrap());
    }

    #[test]
    fn a_list_that_makes_no_sense_is_set_aside() {
        for bad in [
            "",
            "something else\n",
            "herma pending deletions 1\nid a\n",
            "herma pending deletions 1\nid a\nend 2\n",
            "herma pending deletions 1\nid %zz\nend 1\n",
            "herma pending deletions 1\n\u{fe0f}\nend 1\n",
        ] {
            let temp = tempfile::tempdir().unwrap();
            let dir = Dir::open(temp.path()).unwrap();
            let place = Workplace::take(&dir).unwrap();
            let mut file = Temp::create(place.dir()).unwrap();
            file.write(bad.as_bytes()).unwrap();
            file.publish(place.dir(), JOURNAL).unwrap();
            assert_eq!(read(&place).1, Left::Damaged(DAMAGED), "{bad:?}");
            assert!(!is_pending(&dir).unwrap());
        }
    }

    #[test]
    fn what_a_killed_process_was_writing_is_swept() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let own = dir.ensure_dir(PLACE, 0o700).unwrap();
        own.create_new("tmp-0000000a-1-1-1-0").unwrap();
        Workplace::take(&dir).unwrap();
        assert!(own.stat_opt("tmp-0000000a-1-1-1-0").unwrap().is_none());
    }
}
