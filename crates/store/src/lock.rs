//! The store's locks: shared for everyone who saves or reads, exclusive for the last short phase of
//! collection, one for the collector itself, and one per project for saving and restoring it.
//!
//! Order: collector, store, project. Where the file system has no locks, savers go on without one (a
//! store only grows, and every publish is atomic) and collection refuses.
//!
//! `flock` is not fair: where savers follow each other closely somebody always holds the shared lock,
//! and the exclusive one would never be had. So everybody passes through a gate. Who wants the store for
//! itself closes it, for a moment that is shorter than anyone would notice, and waits for those inside
//! to leave; if one of them takes longer, the gate opens again. Nothing but fairness rests on the gate.

use std::time::Duration;

use herma_fs::lock::{Acquired, Lock, Mode};
use herma_fs::{Dir, lock};

use crate::ProjectId;
use crate::error::StoreError;
use crate::layout::{Access, StoreDirs};

/// The file whose lock every user of the store holds.
const STORE: &str = "lock";
/// The file whose lock is held for a moment on the way to that one.
const GATE: &str = "gate";
/// The permanent file that a collector, or whoever else moves packs, holds: one at a time.
pub(crate) const COLLECT: &str = "collect";

/// A lock held until it is dropped.
#[derive(Debug)]
#[must_use = "a lock is given up as soon as it is dropped"]
pub struct Guard {
    lock: Option<Lock>,
    waited: Duration,
}

impl Guard {
    fn without_lock() -> Self {
        Self { lock: None, waited: Duration::ZERO }
    }

    /// Is a lock really held? Not where the file system has none, nor in a store that readers find
    /// without a lock file.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// How long others kept it from being had.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl StoreDirs {
    /// Keeps collection from removing anything while the guard lives.
    pub fn lock_shared(&self, wait: Duration) -> Result<Guard, StoreError> {
        // Whether or not the gate opened in time, the lock itself decides.
        let gate = self.shared(GATE, wait)?;
        let Some(acquired) = self.shared(STORE, wait)? else { return Ok(Guard::without_lock()) };
        let mut guard = guard(acquired, "the store", wait)?;
        guard.waited += match gate {
            Some(Acquired::Yes(gate)) => gate.waited(),
            Some(Acquired::Busy { .. }) => wait,
            Some(Acquired::Unsupported) | None => Duration::ZERO,
        };
        Ok(guard)
    }

    /// Asks for a shared lock; `None` where a reader finds no lock file.
    fn shared(&self, name: &str, wait: Duration) -> Result<Option<Acquired>, StoreError> {
        let Some(herma) = self.herma() else { return Ok(None) };
        Ok(match self.access() {
            Access::Write => Some(lock::acquire(&herma.dir, name, Mode::Shared, wait)?),
            Access::Read => lock::acquire_existing(&herma.dir, name, Mode::Shared, wait)?,
        })
    }

    /// Keeps everybody else out of the store while the guard lives. Nobody new gets in during the wait,
    /// so it should be a short one.
    pub fn lock_exclusive(&self, wait: Duration) -> Result<Guard, StoreError> {
        let herma = self.for_writing()?;
        let _gate = lock::acquire(&herma.dir, GATE, Mode::Exclusive, wait)?;
        exclusive(&herma.dir, STORE, "the store", wait)
    }

    /// Keeps collectors out while the guard lives. Taken before the store's own lock.
    pub fn lock_collect(&self, wait: Duration) -> Result<Guard, StoreError> {
        exclusive(&self.for_writing()?.dir, COLLECT, "the collection", wait)
    }

    /// Is somebody collecting just now?
    pub fn is_collecting(&self) -> Result<bool, StoreError> {
        let Some(herma) = self.herma() else { return Ok(false) };
        let asked = lock::acquire_existing(&herma.dir, COLLECT, Mode::Shared, Duration::ZERO)?;
        Ok(matches!(asked, Some(Acquired::Busy { .. })))
    }

    /// Keeps others from saving or restoring this project while the guard lives.
    pub fn lock_project(&self, project: &ProjectId, wait: Duration) -> Result<Guard, StoreError> {
        let projects = &self.for_writing()?.projects;
        let dir = projects.ensure_private(project.as_str())?;
        let acquired = lock::acquire(&dir, "lock", Mode::Exclusive, wait)?;
        guard(acquired, &format!("project {project}"), wait)
    }
}

/// Keeps everybody out of a store that is given up, in whatever state it is.
pub fn lock_whole(herma: &Dir, wait: Duration) -> Result<[Guard; 2], StoreError> {
    // ORDER: the collector takes its own lock first and then the store's; the other way round the two
    // would wait for each other.
    let collect = exclusive(herma, COLLECT, "the collection", wait)?;
    let store = exclusive(herma, "lock", "the store", wait)?;
    Ok([collect, store])
}

fn exclusive(herma: &Dir, name: &str, what: &str, wait: Duration) -> Result<Guard, StoreError> {
    let acquired = lock::acquire(herma, name, Mode::Exclusive, wait)?;
    let guard = guard(acquired, what, wait)?;
    if guard.is_locked() { Ok(guard) } else { Err(StoreError::NoLocks) }
}

fn guard(acquired: Acquired, what: &str, waited: Duration) -> Result<Guard, StoreError> {
    match acquired {
        Acquired::Yes(lock) => Ok(Guard { waited: lock.waited(), lock: Some(lock) }),
        Acquired::Unsupported => Ok(Guard::without_lock()),
        Acquired::Busy { holder } => {
            Err(StoreError::Busy { what: what.to_owned(), holder, waited })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;
    use crate::testing::Fresh;

    const NO_WAIT: Duration = Duration::ZERO;

    #[test]
    fn an_exclusive_lock_waits_for_shared_ones_and_names_the_holder() {
        let fresh = Fresh::new();
        let first = fresh.dirs.lock_shared(NO_WAIT).unwrap();
        let second = fresh.dirs.lock_shared(NO_WAIT).unwrap();
        assert!(first.is_locked() && second.is_locked());
        let refused = fresh.dirs.lock_exclusive(Duration::from_millis(5));
        assert!(matches!(refused, Err(StoreError::Busy { .. })), "{refused:?}");
        drop((first, second));
        // A process that another test starts just now has the locks too, until it becomes another program.
        let wait = Duration::from_secs(10);
        let _exclusive = fresh.dirs.lock_exclusive(wait).unwrap();
        match fresh.dirs.lock_shared(NO_WAIT) {
            Err(StoreError::Busy { holder, .. }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn projects_are_locked_apart() {
        let fresh = Fresh::new();
        let one = ProjectId::parse(b"0123456789abcdef").unwrap();
        let other = ProjectId::parse(b"fedcba9876543210").unwrap();
        let _held = fresh.dirs.lock_project(&one, NO_WAIT).unwrap();
        assert!(fresh.dirs.lock_project(&one, NO_WAIT).is_err());
        assert!(fresh.dirs.lock_project(&other, NO_WAIT).unwrap().is_locked());
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn readers_do_without_a_lock_file_and_cannot_lock_for_writing() {
        let fresh = Fresh::new();
        let base = fresh.directory.path().join("checkpoints");
        let reader = layout::open(&base).unwrap().unwrap();
        assert!(reader.lock_shared(NO_WAIT).unwrap().is_locked());
        assert!(matches!(reader.lock_exclusive(NO_WAIT), Err(StoreError::ReadOnly)));
        std::fs::remove_file(fresh.store().join("herma/lock")).unwrap();
        assert!(!reader.lock_shared(NO_WAIT).unwrap().is_locked());
        assert!(!fresh.store().join("herma/lock").exists(), "a reader writes nothing");
    }
}
