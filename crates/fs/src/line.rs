//! The line in front of a lock: who asked first is served first.
//!
//! The kernel wakes everybody who waits for a lock and gives it to whoever runs first, so that on a busy
//! machine a newcomer beats those who slept, and some of them sleep for seconds. Here everybody who has to
//! wait draws a number and waits for the one before to be done, not for the lock.
//!
//! A number is a byte of the lock file, locked by its owner from drawing it until the lock is let go. All of
//! these are locks of an open file: they die with their holder, however it ends. The line is a courtesy,
//! never what protects anything: that is the lock itself. Where it cannot be had (a read-only lock file, a
//! network file system), there is none.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;

/// Where the last number drawn is noted, behind the process id of the holder.
const COUNTER: u64 = 16;
const DIGITS: usize = 16;
/// The byte that is locked while a number is drawn.
const DOOR: i64 = 1 << 32;
/// The byte of number 0.
const FIRST: i64 = DOOR + 1;
/// Numbers begin again after so many; nobody waits that long.
const MAX_TICKETS: i64 = 1 << 40;

/// A place in the line.
#[derive(Debug)]
pub(crate) struct Place {
    number: i64,
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Free,
}

/// Is somebody waiting?
pub(crate) fn is_empty(file: &File) -> bool {
    let mut wanted = range(Kind::Write, FIRST, 0);
    // SAFETY: the descriptor is open as long as `file` is borrowed, and `wanted` is a valid value that the
    // call may write to.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut wanted) };
    asked != 0 || wanted.l_type == libc::F_UNLCK as libc::c_short
}

impl Place {
    /// Goes to the end of the line; `None` where there is none.
    pub(crate) fn draw(file: &File) -> Option<Self> {
        set(file, libc::F_OFD_SETLKW, range(Kind::Write, DOOR, 1)).ok()?;
        let drawn = Self::next(file);
        let _ = set(file, libc::F_OFD_SETLK, range(Kind::Free, DOOR, 1));
        drawn
    }

    fn next(file: &File) -> Option<Self> {
        let mut text = [0; DIGITS];
        let last = file.read_exact_at(&mut text, COUNTER).ok();
        let last = last.and_then(|()| std::str::from_utf8(&text).ok()?.trim().parse().ok());
        let number = last.map_or(1, |last: i64| (last + 1).rem_euclid(MAX_TICKETS));
        let noted = format!("{number:<width$}\n", width = DIGITS - 1);
        file.write_all_at(noted.as_bytes(), COUNTER).ok()?;
        let own = range(Kind::Write, FIRST + number, 1);
        set(file, libc::F_OFD_SETLK, own).ok()?;
        Some(Self { number })
    }

    /// Waits until the one before is done.
    pub(crate) fn wait(&self, file: &File) {
        if self.number > 0 {
            let before = || range(Kind::Read, FIRST + self.number - 1, 1);
            let _ = set(file, libc::F_OFD_SETLKW, before());
            let _ = set(file, libc::F_OFD_SETLK, range(Kind::Free, before().l_start, 1));
        }
    }

    /// Leaves the line: the next one is served.
    pub(crate) fn leave(&self, file: &File) {
        let own = range(Kind::Free, FIRST + self.number, 1);
        let _ = set(file, libc::F_OFD_SETLK, own);
    }
}

fn range(kind: Kind, start: i64, length: i64) -> libc::flock {
    let kind = match kind {
        Kind::Read => libc::F_RDLCK,
        Kind::Write => libc::F_WRLCK,
        Kind::Free => libc::F_UNLCK,
    };
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

fn set(file: &File, command: libc::c_int, wanted: libc::flock) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| {
        // SAFETY: the descriptor is open as long as `file` is borrowed, and `wanted` is a valid value that
        // outlives the call.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const wanted) };
        match done {
            0 => Ok(()),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    })
}
