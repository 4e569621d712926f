//! Git's `<name>.lock` protocol, without git's locks that stay for ever.
//!
//! A concurrent git must see our lock and we must see git's, so the lock is the file `<name>.lock`, and
//! the new content is that file, renamed. But ours is a hard link to a file in `herma/tmp` whose name
//! tells who made it: when that process is gone, the lock is stale and removed at once. A lock of
//! another program is waited for, and removed only when it is ten minutes old, or older than the machine's
//! running time: who took it before the machine was started is gone.
//!
//! Where there are no hard links, that file in `herma/tmp` holds the lock's name instead.

use std::time::{Duration, Instant};

use herma_fs::lock::Acquired;
use herma_fs::process::{TempName, since_boot};
use herma_fs::publish::{Durability, Temp};
use herma_fs::{Dir, Stat, lock, sync};

use crate::error::StoreError;

/// How long a lock held by somebody else is waited for.
const WAIT: Duration = Duration::from_secs(1);

/// The age, in nanoseconds, at which another program's lock is taken for left behind.
const ABANDONED_AFTER: i64 = 600 * 1_000_000_000;

/// A clock that is set right soon after the start makes what was locked before look older, by this much at most.
const CLOCK_STEP: i64 = 5 * 1_000_000_000;

/// No path in the store that is locked is longer.
const MAX_NOTE_BYTES: u64 = 4096;

/// The permanent file whose lock is held while stale locks are removed.
pub(crate) const SWEEP: &str = "sweep";

/// A held `<target>.lock`; dropping it gives it up without a change.
#[derive(Debug)]
pub(crate) struct LockFile<'a> {
    /// Its drop removes the temporary name.
    temp: Option<Temp<'a>>,
    /// Where there are no hard links the lock is `temp` itself, and this says whose it is.
    note: Option<Temp<'a>>,
    dir: &'a Dir,
    target: String,
    /// Is the lock a second name of `temp`?
    linked: bool,
}

impl<'a> LockFile<'a> {
    /// Takes the lock on `target` in `dir`. `herma` is Herma's own directory and `directory` the one for
    /// temporary files; `what` is the target's path in the store.
    pub(crate) fn acquire(
        herma: &Dir,
        directory: &'a Dir,
        dir: &'a Dir,
        target: &str,
        what: &str,
    ) -> Result<Self, StoreError> {
        let temp = Temp::create_private(directory)?;
        let now = herma_fs::file::stat_file(temp.file())
            .map_err(|e| herma_fs::Error::on("look at", directory.path(), e))?
            .mtime;
        let started = Instant::now();
        let mut temp = Some(temp);
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) = Self::try_once(&mut temp, directory, dir, target, what)? {
                return Ok(lock);
            }
            match examine(herma, directory, dir, (&lock_name(target), what), now)? {
                Held::No => {}
                Held::By(holder) if started.elapsed() >= WAIT => {
                    let what = what.to_owned();
                    return Err(StoreError::Busy { what, holder, waited: started.elapsed() });
                }
                Held::By(_) => {
                    sync::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(40));
                }
            }
        }
    }

    /// Tries to take the lock; `None` if somebody has it.
    fn try_once(
        temp: &mut Option<Temp<'a>>,
        directory: &'a Dir,
        dir: &'a Dir,
        target: &str,
        what: &str,
    ) -> Result<Option<Self>, StoreError> {
        let name = lock_name(target);
        let Some(own) = temp.as_mut() else { return Err(StoreError::Abandoned) };
        let plain = match directory.link(own.name(), dir, name.as_str()) {
            Ok(()) => None,
            Err(e) if e.is_exists() => return Ok(None),
            Err(e) if !e.is_without_links() => return Err(e.into()),
            Err(_) => {
                // ORDER: what says whose lock it is comes before the lock, and goes after it.
                own.write(&note_of(what))?;
                match Temp::create_as(dir, &name) {
                    Ok(plain) => Some(plain),
                    Err(e) if e.is_exists() => {
                        // Who only waits for a lock must not be taken for its holder.
                        own.cut(0)?;
                        return Ok(None);
                    }
                    Err(e) => return Err(e.into()),
                }
            }
        };
        let linked = plain.is_none();
        let (temp, note) = match plain {
            None => (temp.take(), None),
            plain => (plain, temp.take()),
        };
        Ok(Some(Self { temp, note, dir, target: target.to_owned(), linked }))
    }

    /// Appends to the new content.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match &mut self.temp {
            Some(temp) => Ok(temp.write(bytes)?),
            None => Err(StoreError::Abandoned),
        }
    }

    /// Makes the new content durable, puts it in the target's place and makes that durable.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        self.commit_with(Durability::Synced)
    }

    /// The same, where a power cut may bring the old content back unless it is to be
    /// [`Durability::Synced`].
    pub(crate) fn commit_with(mut self, durability: Durability) -> Result<(), StoreError> {
        let Some(temp) = &self.temp else { return Err(StoreError::Abandoned) };
        // ORDER: content before name, or a power cut leaves an empty file under the name.
        temp.sync()?;
        if self.linked {
            let name = lock_name(&self.target);
            self.dir.rename(name.as_str(), self.dir, self.target.as_str())?;
            self.linked = false;
            // ORDER: now, as the drop gives up what it still finds here, and the lock may be somebody else's by then.
            drop(self.temp.take());
        } else if let Some(temp) = self.temp.take() {
            temp.publish(self.dir, &self.target)?;
        }
        if durability == Durability::Synced {
            self.dir.sync()?;
        }
        Ok(())
    }
}

impl Drop for LockFile<'_> {
    fn drop(&mut self) {
        // What is published is no lock any more.
        let is_held = self.linked || self.temp.is_some();
        if !is_held {
            return;
        }
        // ORDER: the lock goes before the temporary name, which is what says whose lock it is.
        let name = lock_name(&self.target);
        let gone = || self.dir.remove_if_there(name.as_str()).is_ok();
        if gone() || gone() {
            return;
        }
        // With it, the lock is stale as soon as this process is gone; without it, it would be
        // taken for another program's and waited for.
        let says_whose = if self.linked { &mut self.temp } else { &mut self.note };
        says_whose.take().into_iter().for_each(Temp::leave);
    }
}

const NOTE: &str = "lock ";

/// What a temporary file holds that says that the lock on this is its maker's.
fn note_of(what: &str) -> Vec<u8> {
    format!("{NOTE}{what}\n").into_bytes()
}

/// Which path in the store a temporary file says its maker has locked, if it says so.
pub(crate) fn noted_lock(tmp: &Dir, name: &str) -> Option<String> {
    // Longer, or gone by now: it is no note.
    let bytes = tmp.read_opt(name, MAX_NOTE_BYTES).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let path = text.strip_prefix(NOTE)?.strip_suffix('\n')?;
    Some(path.to_owned())
}

pub(crate) fn lock_name(target: &str) -> String {
    format!("{target}.lock")
}

/// Who has a lock that could not be taken.
enum Held {
    /// Nobody any more.
    No,
    /// A process, known by id if it is one of ours.
    By(Option<u32>),
}

/// Finds out who holds the lock `name` on `what`, and removes it if it is stale.
fn examine(
    herma: &Dir,
    tmp: &Dir,
    dir: &Dir,
    (name, what): (&str, &str),
    now: i64,
) -> Result<Held, StoreError> {
    // Between looking at a lock and removing it, nobody else may remove it and take it anew.
    let _guard = match lock::acquire(herma, SWEEP, lock::Mode::Exclusive, WAIT)? {
        Acquired::Busy { .. } => return Ok(Held::By(None)),
        Acquired::Yes(guard) => Some(guard),
        Acquired::Unsupported => None,
    };
    let Some(found) = dir.stat_opt(name)? else { return Ok(Held::No) };
    match owner_of(tmp, &found, what)? {
        Some((owner, _)) if owner.owner_lives() => Ok(Held::By(Some(owner.pid()))),
        Some((_, temp_name)) => {
            dir.remove_if_there(name)?;
            tmp.remove_if_there(temp_name.as_str())?;
            Ok(Held::No)
        }
        None if is_abandoned(now.saturating_sub(found.mtime), since_boot()) => {
            dir.remove_if_there(name)?;
            Ok(Held::No)
        }
        None => Ok(Held::By(None)),
    }
}

/// Is nobody behind a lock of this age, in nanoseconds, for which no temporary file speaks? It may be another
/// program's; or ours, and a power cut took the temporary name and left the lock.
fn is_abandoned(age: i64, since_boot: Duration) -> bool {
    let since_boot = i64::try_from(since_boot.as_nanos()).unwrap_or(i64::MAX);
    age > ABANDONED_AFTER.min(since_boot.saturating_add(CLOCK_STEP))
}

/// The temporary file that is the same file as `found`, or says that it is its maker's, and who made it. Of several that
/// say so, one whose maker lives.
fn owner_of(tmp: &Dir, found: &Stat, what: &str) -> Result<Option<(TempName, String)>, StoreError> {
    let mut gone = None;
    for entry in tmp.entries()? {
        let Some(owner) = TempName::parse(entry.name.as_bytes()) else { continue };
        let name = entry.name.to_string_lossy().into_owned();
        let is_its = if found.links < 2 {
            noted_lock(tmp, &name).is_some_and(|noted| noted == what)
        } else {
            let stat = tmp.stat_opt(entry.name.as_c_str())?;
            stat.is_some_and(|stat| (stat.dev, stat.ino) == (found.dev, found.ino))
        };
        if is_its && owner.owner_lives() {
            return Ok(Some((owner, name)));
        }
        if is_its {
            gone = Some((owner, name));
        }
    }
    Ok(gone)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::testing::Fresh;

    #[test]
    fn a_lock_that_a_live_process_has_is_not_taken_away() {
        let fresh = Fresh::new();
        let herma = fresh.dirs.for_writing().unwrap();
        let take = || LockFile::acquire(&herma.dir, &herma.tmp, fresh.dirs.store(), "x", "x");
        let held = take().unwrap();
        match take() {
            Err(StoreError::Busy { holder, .. }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(held);
        take().unwrap();
    }

    #[test]
    fn whoever_has_published_takes_no_lock_away_from_the_next() {
        const ROUNDS: usize = 200;
        let fresh = Fresh::new();
        let herma = fresh.dirs.for_writing().unwrap();
        let store = fresh.dirs.store();
        let count = || {
            let text = store.read_opt("x", 10).unwrap().unwrap_or_default();
            String::from_utf8(text).unwrap().parse::<usize>().unwrap_or_default()
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let lock = LockFile::acquire(&herma.dir, &herma.tmp, store, "x", "x");
                        let mut lock = lock.unwrap();
                        lock.write((count() + 1).to_string().as_bytes()).unwrap();
                        lock.commit().unwrap();
                    }
                });
            }
        });
        assert_eq!(count(), 2 * ROUNDS);
        assert!(fresh.temporary_files().is_empty());
    }

    /// As a process that was killed leaves it where there are no hard links, and one that lives.
    #[test]
    fn without_links_a_lock_is_its_makers_for_as_long_as_that_lives() {
        let fresh = Fresh::new();
        let herma = fresh.dirs.for_writing().unwrap();
        let take = || LockFile::acquire(&herma.dir, &herma.tmp, fresh.dirs.store(), "x", "x");
        let note = |maker: &str| {
            std::fs::write(fresh.store().join("x.lock"), "half").unwrap();
            std::fs::write(fresh.store().join("herma/tmp").join(maker), note_of("x")).unwrap();
        };
        note("tmp-00000001-1-1-1-1");
        take().unwrap();
        assert!(fresh.temporary_files().is_empty());
        let alive = TempName::next().to_string();
        note(&alive);
        match take() {
            Err(StoreError::Busy { holder, .. }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        assert_eq!(fresh.temporary_files(), [alive]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_links_a_lock_keeps_others_out_and_leaves_nothing() {
        herma_testkit::plain::without_links(|| {
            let fresh = Fresh::new();
            let herma = fresh.dirs.for_writing().unwrap();
            let store = fresh.dirs.store();
            let take = || LockFile::acquire(&herma.dir, &herma.tmp, store, "x", "x");
            let mut held = take().unwrap();
            match take() {
                Err(StoreError::Busy { holder, .. }) => {
                    assert_eq!(holder, Some(std::process::id()));
                }
                other => panic!("{other:?}"),
            }
            held.write(b"new").unwrap();
            held.commit().unwrap();
            assert_eq!(store.read_opt("x", 10).unwrap().unwrap(), b"new");
            drop(take().unwrap());
            assert!(store.stat_opt("x.lock").unwrap().is_none());
            assert!(fresh.temporary_files().is_empty());
        });
    }

    #[test]
    fn a_lock_from_before_the_machine_was_started_is_nobodys() {
        let (second, minute) = (1_000_000_000, 60 * 1_000_000_000);
        let boot = Duration::from_secs;
        assert!(is_abandoned(2 * minute, boot(60)), "before a power cut");
        assert!(!is_abandoned(minute, boot(120)), "since the start");
        assert!(!is_abandoned(62 * second, boot(60)), "the clock was set");
        assert!(is_abandoned(11 * minute, boot(86_400)), "long ago");
        assert!(!is_abandoned(9 * minute, boot(86_400)));
        assert!(!is_abandoned(-minute, boot(1)), "from the future");
    }
}
