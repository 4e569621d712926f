//! Locks that die with their holder.
//!
//! A lock is `flock` on a file that always exists. The kernel frees it when the process ends, however
//! it ends, so there is never a lock file to delete by hand. The holder writes its process id into the
//! file, for messages only.
//!
//! The kernel serves those who wait in no particular order. A queue of our own in front of it made 16 savers of one project wait
//! longer, not shorter (p99 of a save 1.9 to 2.3 s with it, 1.5 to 1.8 s without; unoptimised builds in turns, on a busy
//! machine), so there is none.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::sync::point;
use crate::{Dir, Error, IfThere, Result};

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
    point();
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
    let Some(file) = dir.open_file(name).if_there()? else { return Ok(None) };
    let acquired = acquire_on(file, mode, wait);
    acquired.map(Some).map_err(|e| Error::on("lock", &dir.path().join(name), e))
}

fn acquire_on(file: File, mode: Mode, wait: Duration) -> std::result::Result<Acquired, Errno> {
    let (at_once, waiting) = match mode {
        Mode::Shared => (FlockOperation::NonBlockingLockShared, FlockOperation::LockShared),
        Mode::Exclusive => {
            (FlockOperation::NonBlockingLockExclusive, FlockOperation::LockExclusive)
        }
    };
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let mut answer = ask(&file, at_once);
    if answer == Err(Errno::WOULDBLOCK) && !wait.is_zero() {
        answer = if cfg!(shuttle) {
            take_turns(&file, at_once)
        } else {
            wait_for(&file, waiting, wait)?
        };
        waited = start.elapsed();
    }
    match answer {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            return Ok(Acquired::Busy { holder: read_holder(&file) });
        }
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Acquired::Unsupported),
        Err(e) => return Err(e),
    }
    if mode == Mode::Exclusive {
        write_holder(&file);
    }
    Ok(Acquired::Yes(Lock { file, waited }))
}

pub(crate) fn ask(file: &File, operation: FlockOperation) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| flock(file, operation))
}

/// Waits for the lock; `WOULDBLOCK` when that takes longer than `wait`.
fn wait_for(
    file: &File,
    operation: FlockOperation,
    wait: Duration,
) -> std::result::Result<rustix::io::Result<()>, Errno> {
    let asking = file.try_clone().map_err(|e| errno_of(&e))?;
    // Holds nothing back: an answer is taken by the one who waits, or not at all.
    let (sender, receiver) = mpsc::sync_channel(0);
    let asker = thread::Builder::new().name("lock".to_owned());
    // The call cannot be told when to give up, so a thread makes it.
    let spawned = asker.spawn(move || {
        let answer = ask(&asking, operation);
        if sender.send(answer).is_err() {
            // Nobody waits any more.
            let _ = flock(&asking, FlockOperation::Unlock);
        }
    });
    spawned.map_err(|e| errno_of(&e))?;
    Ok(receiver.recv_timeout(wait).unwrap_or(Err(Errno::WOULDBLOCK)))
}

/// Where a scheduler runs all threads as one, waiting in the kernel would keep the holder from ever letting go.
fn take_turns(file: &File, at_once: FlockOperation) -> rustix::io::Result<()> {
    loop {
        match ask(file, at_once) {
            Err(Errno::WOULDBLOCK) => crate::sync::sleep(Duration::ZERO),
            answer => return answer,
        }
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
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

    #[test]
    fn nobody_waits_for_a_lock_that_was_given_up_after_waiting_in_vain() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let take = |wait| acquire(&dir, "lock", Mode::Exclusive, wait).unwrap();
        let Acquired::Yes(first) = take(Duration::ZERO) else {
            panic!("nobody holds it");
        };
        assert!(matches!(take(Duration::from_millis(20)), Acquired::Busy { .. }));
        drop(first);
        // The one who gave up may be given it first, and lets go at once.
        let Acquired::Yes(second) = take(Duration::from_secs(60)) else {
            panic!("nobody wants it");
        };
        drop(second);
    }
}
