//! Locks that die with their holder.
//!
//! A lock is `flock` on a file that always exists. The kernel frees it when the process ends, however
//! it ends, so there is never a lock file to delete by hand. The holder writes its process id into the
//! file, for messages only.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::line::Place;
use crate::sync::point;
use crate::{Dir, Error, Result, line};

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
    place: Option<Place>,
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
        if let Some(place) = &self.place {
            place.leave(&self.file);
        }
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
    let file = match dir.open_file(name) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e),
    };
    let acquired = acquire_on(file, mode, wait);
    acquired.map(Some).map_err(|e| Error::on("lock", &dir.path().join(name), e))
}

fn acquire_on(file: File, mode: Mode, wait: Duration) -> std::result::Result<Acquired, Errno> {
    let (at_once, in_line) = match mode {
        Mode::Shared => (FlockOperation::NonBlockingLockShared, FlockOperation::LockShared),
        Mode::Exclusive => {
            (FlockOperation::NonBlockingLockExclusive, FlockOperation::LockExclusive)
        }
    };
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let mut place = None;
    // Who comes last does not take what somebody has been waiting for.
    let mut answer = if wait.is_zero() || line::is_empty(&file) {
        ask(&file, at_once)
    } else {
        Err(Errno::WOULDBLOCK)
    };
    if answer == Err(Errno::WOULDBLOCK) && !wait.is_zero() {
        (place, answer) = if cfg!(shuttle) {
            (None, take_turns(&file, at_once))
        } else {
            stand_in_line(&file, in_line, wait)?
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
    match (mode, &place) {
        (Mode::Exclusive, _) => write_holder(&file),
        // The next one may share it.
        (Mode::Shared, Some(place)) => place.leave(&file),
        (Mode::Shared, None) => {}
    }
    Ok(Acquired::Yes(Lock { file, place, waited }))
}

pub(crate) fn ask(file: &File, operation: FlockOperation) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| flock(file, operation))
}

/// Waits for those who came before, then for the lock; `WOULDBLOCK` when that takes longer than `wait`.
fn stand_in_line(
    file: &File,
    operation: FlockOperation,
    wait: Duration,
) -> std::result::Result<(Option<Place>, rustix::io::Result<()>), Errno> {
    let asking = file.try_clone().map_err(|e| errno_of(&e))?;
    // Holds nothing back: an answer is taken by the one who waits, or not at all.
    let (sender, receiver) = mpsc::sync_channel(0);
    let asker = thread::Builder::new().name("lock".to_owned());
    // The calls cannot be told when to give up, so a thread makes them.
    let spawned = asker.spawn(move || {
        let place = Place::draw(&asking);
        if let Some(place) = &place {
            place.wait(&asking);
        }
        let answer = ask(&asking, operation);
        if let Err(mpsc::SendError((place, _))) = sender.send((place, answer)) {
            // Nobody waits any more.
            let _ = flock(&asking, FlockOperation::Unlock);
            if let Some(place) = place {
                place.leave(&asking);
            }
        }
    });
    spawned.map_err(|e| errno_of(&e))?;
    Ok(receiver.recv_timeout(wait).unwrap_or((None, Err(Errno::WOULDBLOCK))))
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
        // The one who gave up is served first, and lets go at once.
        let Acquired::Yes(second) = take(Duration::from_secs(60)) else {
            panic!("nobody wants it");
        };
        drop(second);
    }

    #[test]
    fn who_asked_first_is_served_first() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let take = |wait| acquire(&dir, "lock", Mode::Exclusive, wait).unwrap();
        let Acquired::Yes(first) = take(Duration::ZERO) else {
            panic!("nobody holds it");
        };
        let order = std::sync::Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..4 {
                let (take, order) = (&take, &order);
                scope.spawn(move || {
                    let Acquired::Yes(lock) = take(Duration::from_secs(60)) else {
                        panic!("it is let go");
                    };
                    order.lock().unwrap().push(number);
                    thread::sleep(Duration::from_millis(30));
                    drop(lock);
                });
                thread::sleep(Duration::from_millis(30));
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn who_wants_it_alone_does_not_wait_for_those_who_come_later_to_share_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let take = |mode, wait| acquire(&dir, "lock", mode, wait).unwrap();
        let first = take(Mode::Shared, Duration::ZERO);
        let order = std::sync::Mutex::new(Vec::new());
        thread::scope(|scope| {
            let (take, order) = (&take, &order);
            let ask = |mode, name| {
                scope.spawn(move || {
                    let lock = take(mode, Duration::from_secs(60));
                    order.lock().unwrap().push(name);
                    drop(lock);
                });
            };
            ask(Mode::Exclusive, "alone");
            let file = dir.open_permanent("lock").unwrap();
            while line::is_empty(&file) {
                thread::sleep(Duration::from_millis(1));
            }
            ask(Mode::Shared, "later");
            // Who does not wait behind the other one has it at once.
            thread::sleep(Duration::from_millis(50));
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), ["alone", "later"]);
    }
}
