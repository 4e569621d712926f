//! Which copies there are, and how they go.
//!
//! A copy goes in the order that leaves what is left over on record: it is no longer whole, then its directory goes, then its
//! refs, then the record. Only the very directory that was made is removed, and only what was made of it without anything in it
//! that is nowhere else, unless somebody named it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use herma_fs::place::Place;
use herma_fs::{Dir, FileKind, IfThere};
use herma_records::copy::CopyRecord;
use herma_records::step::Step;
use herma_store::error::StoreError;

use crate::cleanup::execute;
use crate::copies::{CopyState, KnownCopy, RemovedCopy};
use crate::engine::lock::lock_project;
use crate::engine::{Engine, NoProgress};
use crate::error::{Error, Result};
use crate::projects::adopt;

impl Engine {
    /// All copies that are on record, the oldest first.
    pub fn copies(&self) -> Result<Vec<KnownCopy>> {
        let Some(store) = self.open_for_reading()? else { return Ok(Vec::new()) };
        let Some(herma) = store.dirs.herma() else { return Ok(Vec::new()) };
        let mut all = CopyRecord::all(&herma.dir)?;
        all.sort_by_key(|record| (record.made, record.attempt.map(|one| one.index), record.path()));
        let known = |record: CopyRecord| {
            let state = state_of(&record)?;
            Ok(KnownCopy { record, state })
        };
        all.into_iter().map(known).collect()
    }

    /// Removes a copy and all that is known of it. One in which anything was changed stays unless it is to go `anyway`.
    pub fn remove_copy(&self, copy: &CopyRecord, anyway: bool) -> Result<RemovedCopy> {
        let store = self.open_for_writing()?;
        let herma = store.dirs.for_writing()?;
        let id = copy.id();
        if !anyway && self.is_changed(copy)? {
            return Ok(RemovedCopy::Changed);
        }
        let lock = match lock_project(&store.dirs, &id, Duration::ZERO) {
            Err(Error::Store(StoreError::Busy { .. })) => return Ok(RemovedCopy::Busy),
            lock => lock?,
        };
        if self.is_worked_in(copy)? {
            return Ok(RemovedCopy::Busy);
        }
        // Somebody else may have removed it, and made another one.
        let Some(mut record) = CopyRecord::read(&herma.dir, &id)? else {
            return Ok(RemovedCopy::Removed);
        };
        if record.made != copy.made || record.checkpoint != copy.checkpoint {
            return Ok(RemovedCopy::Busy);
        }
        record.is_whole = false;
        // ORDER: half a copy is none, and is on record as that; the record goes last.
        record.write(&herma.tmp, &herma.dir)?;
        remove_directory(&record)?;
        adopt::forget(&store, &id)?;
        execute::forget(&store, &id)?;
        record.remove(&herma.dir)?;
        drop(lock);
        Ok(RemovedCopy::Removed)
    }

    /// Does a command run in a copy, whose end somebody waits for?
    fn is_worked_in(&self, copy: &CopyRecord) -> Result<bool> {
        if state_of(copy)? != CopyState::There {
            return Ok(false);
        }
        let open = self.project(&copy.path())?.open_steps()?;
        Ok(open.iter().any(Step::has_live_owner))
    }

    /// Is anything in a copy that is nowhere else?
    fn is_changed(&self, copy: &CopyRecord) -> Result<bool> {
        if state_of(copy)? != CopyState::There {
            return Ok(false);
        }
        let project = self.project(&copy.path())?;
        // Commits are seen by no checkpoint.
        if project.open_root()?.stat_opt(".git")?.is_some() {
            return Ok(true);
        }
        let operation = project.reading(&NoProgress)?;
        let history = operation.load_history()?;
        let Some(newest) = history.newest() else { return Ok(true) };
        if history.entries.len() > 1 || newest.id != copy.checkpoint {
            return Ok(true);
        }
        let present = operation.look_holding(&history, &[newest.id])?;
        let was = operation.state_of_checkpoint(&newest.id);
        Ok(was != Some((present.tree, present.modes)))
    }
}

/// What became of a copy.
pub(crate) fn state_of(record: &CopyRecord) -> Result<CopyState> {
    let there = open(record)?.is_some_and(|(_, dir)| is_own(record, &dir) == Some(true));
    Ok(match (record.is_whole, there) {
        (true, true) => CopyState::There,
        (true, false) => CopyState::Gone,
        (false, _) => CopyState::Unfinished,
    })
}

fn is_own(record: &CopyRecord, dir: &Dir) -> Option<bool> {
    record.is_own(&Place::of(dir).ok()?)
}

/// The directory a copy is in, and its own.
fn open(record: &CopyRecord) -> Result<Option<(Dir, Dir)>> {
    let path = record.path();
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let Some(parent) = Dir::open(parent).if_there()? else { return Ok(None) };
    // A link or a file in its place is somebody else's.
    let stat = parent.stat_opt(name)?.filter(|stat| stat.kind == FileKind::Directory);
    let Some(_) = stat else { return Ok(None) };
    Ok(parent.open_dir(name).if_there()?.map(|own| (parent, own)))
}

/// Removes the directory of a copy, if it is the one that was made.
fn remove_directory(record: &CopyRecord) -> Result<()> {
    let path = record.path();
    let (Some((parent, own)), Some(name)) = (open(record)?, path.file_name()) else {
        return Ok(());
    };
    match is_own(record, &own) {
        Some(true) => {
            let Ok(name) = CString::new(name.as_bytes()) else { return Ok(()) };
            parent.remove_tree(&name)?;
            parent.sync()?;
        }
        // It was not noted which one it is: then nothing was put into it yet.
        None => drop(parent.remove_dir(name)),
        Some(false) => {}
    }
    Ok(())
}
