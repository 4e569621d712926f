//! The store's locks: shared for everyone who saves or reads, exclusive for the last short phase of
//! collection, and one per project for saving and restoring it.
//!
//! Order: project before store. Where the file system has no locks, savers go on without one (a store
//! only grows, and every publish is atomic) and collection refuses.

use std::ffi::OsStr;
use std::time::Duration;

use herma_fs::lock;
use herma_fs::lock::Acquired;
use herma_fs::lock::Lock;
use herma_fs::lock::Mode;

use super::error::StoreError;
use super::layout::Access;
use super::layout::StoreDirs;
use super::layout::ensure_dir;
use crate::id::ProjectId;

/// A lock held until it is dropped.
#[derive(Debug)]
#[must_use = "a lock is given up as soon as it is dropped"]
pub struct Guard {
    lock: Option<Lock>,
}

impl Guard {
    /// Is a lock really held? Not where the file system has none, nor in a store that readers find
    /// without a lock file.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }
}

impl StoreDirs {
    /// Keeps collection from removing anything while the guard lives.
    pub fn lock_shared(&self, wait: Duration) -> Result<Guard, StoreError> {
        let Some(herma) = self.herma() else {
            return Ok(Guard { lock: None });
        };
        let acquired = match self.access() {
            Access::Write => Some(lock::acquire(&herma.dir, "lock", Mode::Shared, wait)?),
            Access::Read => lock::acquire_existing(&herma.dir, "lock", Mode::Shared, wait)?,
        };
        match acquired {
            Some(acquired) => guard(acquired, "the store", wait),
            None => Ok(Guard { lock: None }),
        }
    }

    /// Keeps everybody else out of the store while the guard lives.
    pub fn lock_exclusive(&self, wait: Duration) -> Result<Guard, StoreError> {
        let herma = self.for_writing()?;
        let acquired = lock::acquire(&herma.dir, "lock", Mode::Exclusive, wait)?;
        let guard = guard(acquired, "the store", wait)?;
        if guard.is_locked() {
            Ok(guard)
        } else {
            Err(StoreError::NoLocks)
        }
    }

    /// Keeps others from saving or restoring this project while the guard lives.
    pub fn lock_project(&self, project: &ProjectId, wait: Duration) -> Result<Guard, StoreError> {
        let projects = &self.for_writing()?.projects;
        let dir = ensure_dir(projects, OsStr::new(project.as_str()))?;
        let acquired = lock::acquire(&dir, "lock", Mode::Exclusive, wait)?;
        guard(acquired, &format!("project {project}"), wait)
    }
}

fn guard(acquired: Acquired, what: &str, waited: Duration) -> Result<Guard, StoreError> {
    match acquired {
        Acquired::Yes(lock) => Ok(Guard { lock: Some(lock) }),
        Acquired::Unsupported => Ok(Guard { lock: None }),
        Acquired::Busy { holder } => Err(StoreError::Busy {
            what: what.to_owned(),
            holder,
            waited,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::layout;
    use crate::store::testing::Fresh;

    const NO_WAIT: Duration = Duration::ZERO;

    #[test]
    fn an_exclusive_lock_waits_for_shared_ones_and_names_the_holder() {
        let fresh = Fresh::new();
        let first = fresh.dirs.lock_shared(NO_WAIT).unwrap();
        let second = fresh.dirs.lock_shared(NO_WAIT).unwrap();
        assert!(first.is_locked() && second.is_locked());
        let refused = fresh.dirs.lock_exclusive(Duration::from_millis(5));
        assert!(
            matches!(refused, Err(StoreError::Busy { .. })),
            "{refused:?}"
        );
        drop((first, second));
        let _exclusive = fresh.dirs.lock_exclusive(NO_WAIT).unwrap();
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
        assert!(
            fresh
                .dirs
                .lock_project(&other, NO_WAIT)
                .unwrap()
                .is_locked()
        );
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn readers_do_without_a_lock_file_and_cannot_lock_for_writing() {
        let fresh = Fresh::new();
        let base = fresh.directory.path().join("checkpoints");
        let reader = layout::open(&base).unwrap().unwrap();
        assert!(reader.lock_shared(NO_WAIT).unwrap().is_locked());
        assert!(matches!(
            reader.lock_exclusive(NO_WAIT),
            Err(StoreError::ReadOnly)
        ));
        std::fs::remove_file(fresh.store().join("herma/lock")).unwrap();
        assert!(!reader.lock_shared(NO_WAIT).unwrap().is_locked());
        assert!(
            !fresh.store().join("herma/lock").exists(),
            "a reader writes nothing"
        );
    }
}
