//! Locks that die with their holder.
//!
//! A lock is `flock` on a file that always exists. The kernel frees it when the process ends, however
//! it ends, so there is never a lock file to delete by hand. The holder writes its process id into the
//! file, for messages only.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use rustix::fs::FlockOperation;
use rustix::fs::flock;
use rustix::io::Errno;

use crate::Dir;
use crate::Error;
use crate::Result;

/// Who else may hold the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Any number of shared holders together.
    Shared,
    /// Nobody else.
    Exclusive,
}

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
    waited: Duration,
}

impl Lock {
    /// How long it was held by others after it was asked for.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread forked meanwhile holds a copy of the
        // descriptor, and with it the lock, until it runs another program or ends. If this fails, there
        // is still the closing.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// What came of asking for a lock.
#[derive(Debug)]
pub enum Acquired {
    /// It is ours.
    Yes(Lock),
    /// Somebody kept it for the whole wait.
    Busy {
        /// The process that last said it holds the lock, if it said so.
        holder: Option<u32>,
    },
    /// This file system has no locks.
    Unsupported,
}

/// Takes the lock on `name` in `dir`, waiting at most `wait`.
pub fn acquire(dir: &Dir, name: &str, mode: Mode, wait: Duration) -> Result<Acquired> {
    let file = dir.open_permanent(name)?;
    acquire_on(file, mode, wait).map_err(|e| Error::on("lock", &dir.path().join(name), e))
}

/// Like [`acquire`], but the lock file is only opened for reading and may be missing: for readers of a
/// store they cannot write to. `None` when there is no such file.
pub fn acquire_existing(
    dir: &Dir,
    name: &str,
    mode: Mode,
    wait: Duration,
) -> Result<Option<Acquired>> {
    let file = match dir.open_file(name) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e),
    };
    let acquired = acquire_on(file, mode, wait);
    acquired
        .map(Some)
        .map_err(|e| Error::on("lock", &dir.path().join(name), e))
}

fn acquire_on(file: File, mode: Mode, wait: Duration) -> std::result::Result<Acquired, Errno> {
    let operation = match mode {
        Mode::Shared => FlockOperation::NonBlockingLockShared,
        Mode::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let mut pause = Duration::from_micros(200);
    loop {
        match flock(&file, operation) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) if waited < wait => {
                thread::sleep(pause);
                waited = start.elapsed();
                pause = (pause * 2).min(Duration::from_millis(10));
            }
            Err(Errno::WOULDBLOCK) => {
                return Ok(Acquired::Busy {
                    holder: read_holder(&file),
                });
            }
            Err(Errno::INTR) => {}
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => {
                return Ok(Acquired::Unsupported);
            }
            Err(e) => return Err(e),
        }
    }
    if mode == Mode::Exclusive {
        write_holder(&file);
    }
    Ok(Acquired::Yes(Lock { file, waited }))
}

/// Notes who holds the lock. Only messages read it, so failing to write it changes nothing.
fn write_holder(file: &File) {
    let _ = file.write_all_at(format!("{:<10}\n", std::process::id()).as_bytes(), 0);
}

fn read_holder(file: &File) -> Option<u32> {
    let mut text = [0; 10];
    file.read_exact_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_lock_is_free_even_while_a_forked_child_has_a_copy_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let take = || acquire(&dir, "lock", Mode::Exclusive, Duration::ZERO).unwrap();
        let Acquired::Yes(lock) = take() else {
            panic!("nobody holds it");
        };
        assert_eq!(lock.waited(), Duration::ZERO);
        // What a fork leaves in the child.
        let _copy = lock.file.try_clone().unwrap();
        assert!(matches!(take(), Acquired::Busy { .. }));
        drop(lock);
        assert!(matches!(take(), Acquired::Yes(_)));
    }
}
