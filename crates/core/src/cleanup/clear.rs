//! Giving up every checkpoint: the store, the archives and the repositories of version 1.
//!
//! Resume records of sessions and whatever else stands beside the store are not checkpoints and stay.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use herma_fs::{Dir, Errno};
use herma_store::error::StoreError;
use herma_store::layout::base::Found;
use herma_store::layout::{StoreDirs, base};
use herma_store::objects::Objects;
use herma_store::{ProjectId, layout, lock};

use crate::engine::Engine;
use crate::engine::history::History;
use crate::engine::open::ids_below;
use crate::error::{Error, Result};

/// How many checkpoints each project has.
pub type CheckpointCounts = BTreeMap<ProjectId, usize>;

/// What came of clearing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The bytes of the files that were removed.
    pub bytes_freed: u64,
    /// Was there anything to remove?
    pub deleted: bool,
    /// What stays beside where the store was, because it is nobody's checkpoint.
    pub kept: Vec<OsString>,
}

impl Engine {
    /// How many checkpoints each project has now.
    pub fn count_checkpoints(&self) -> Result<CheckpointCounts> {
        match self.open_for_reading()? {
            Some(store) => count(&store.dirs),
            None => Ok(CheckpointCounts::new()),
        }
    }

    /// Removes everything: the store, and what version 1 of Hermes left beside it. With what was `counted` before, nothing is
    /// removed if there is something else by now.
    pub fn clear(&self, counted: Option<&CheckpointCounts>) -> Result<Cleared> {
        let path = self.base();
        let Some((parent, dir)) = layout::open_base(&path)? else { return Ok(Cleared::default()) };
        let mut cleared = Cleared::default();
        self.clear_store(&dir, counted, &mut cleared)?;
        for entry in dir.entries()? {
            let name = entry.name.as_c_str();
            match base::classify(&dir, &entry)? {
                Found::Archive => {
                    let removed = base::remove_archive(&dir, name)?;
                    cleared.bytes_freed += removed.bytes_freed;
                    cleared.deleted |= removed.deleted || removed.bytes_freed > 0;
                }
                Found::Repository(_) => {
                    cleared.bytes_freed += base::discard(&dir, &dir, name)?;
                    cleared.deleted = true;
                }
                Found::LastPrune => {
                    let size = dir.stat(name)?.size;
                    dir.remove_file(name)?;
                    cleared.bytes_freed += size;
                    cleared.deleted = true;
                }
                // A store that is there now was made after ours went.
                Found::Store | Found::Leaving { .. } | Found::Foreign => {}
            }
        }
        cleared.bytes_freed += base::finish_leaving(&dir)?;
        for entry in dir.entries()? {
            match base::classify(&dir, &entry)? {
                Found::Store | Found::Leaving { .. } => {}
                _ => cleared.kept.push(base::os_name(&entry.name)),
            }
        }
        dir.sync()?;
        drop(dir);
        if let Some(name) = path.file_name() {
            remove_if_empty(&parent, name)?;
        }
        Ok(cleared)
    }

    fn clear_store(
        &self,
        dir: &Dir,
        counted: Option<&CheckpointCounts>,
        cleared: &mut Cleared,
    ) -> Result<()> {
        let Some(store) = layout::open_real(dir, OsStr::new("store"))? else { return Ok(()) };
        // Without Herma's directory no Herma has ever worked in it.
        let guards = match store.open_dir("herma") {
            Ok(herma) => Some(lock::lock_whole(&herma, self.options.settings.lock_wait)?),
            Err(e) if e.is_not_found() => None,
            Err(e) => return Err(e.into()),
        };
        if let Some(counted) = counted {
            // With the lock held nobody adds to what is counted here.
            let now =
                layout::open(&self.base())?.map_or(Ok(CheckpointCounts::new()), |d| count(&d));
            if now? != *counted {
                return Err(Error::ChangedSinceShown);
            }
        }
        let named = dir.stat_opt("store")?;
        let held = store.stat_self()?;
        if named.is_some_and(|named| (named.dev, named.ino) == (held.dev, held.ino)) {
            // The locks are held to the end: who waits for them then finds that the store is another.
            cleared.bytes_freed += base::discard(dir, dir, c"store")?;
            cleared.deleted = true;
        }
        drop(guards);
        Ok(())
    }
}

pub(crate) fn count(dirs: &StoreDirs) -> Result<CheckpointCounts> {
    let objects = Objects::open(dirs.objects().try_clone()?);
    let mut projects = BTreeSet::new();
    for prefix in ["refs/herma/", "refs/hermes/"] {
        projects.extend(ids_below(dirs, prefix)?);
    }
    let mut counts = CheckpointCounts::new();
    for project in projects {
        let entries = History::read(dirs, &objects, &project)?.entries.len();
        counts.insert(project, entries);
    }
    Ok(counts)
}

fn remove_if_empty(parent: &Dir, name: &OsStr) -> Result<(), StoreError> {
    match parent.remove_dir(name) {
        Ok(()) => Ok(parent.sync()?),
        Err(e) if matches!(e.errno(), Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT)) => {
            Ok(())
        }
        Err(e) => Err(e.into()),
    }
}
