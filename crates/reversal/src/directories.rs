//! The same three-way rule for directories: do they exist, and with which mode?
//!
//! A directory is there or not, so two sides can never disagree about that: whoever changed it since the
//! base is right. A directory that a run made is *released*: it goes when nothing is left in it. That is
//! done before the run's files are put in their places, because one may belong where a directory was;
//! directories that come back are made afterwards.

use std::collections::BTreeSet;

use herma_diff::{Change, DiffError};
use herma_store::RelPath;

use super::changes::{differing, modes_known};
use super::decide::{Merger, Step};
use super::entries::three_way_mode;
use super::{Conflict, ConflictWhy, Decided};

/// A directory that a run made, removed or gave another mode.
pub(crate) struct DirectoryChange {
    path: RelPath,
    /// Its mode in the base; `None`: it does not exist there.
    base: Option<u32>,
    /// Its mode in theirs.
    theirs: Option<u32>,
}

impl<'a> Merger<'a> {
    /// The directories a run changed, outermost first.
    pub(crate) fn directory_changes(
        &mut self,
        step: &Step<'a>,
        changes: &[Change],
    ) -> Result<Vec<DirectoryChange>, DiffError> {
        let known = modes_known(&step.base, &step.theirs);
        let mut found = Vec::new();
        for path in candidates(step, changes, known)? {
            let (base, theirs) = (step.base.directory(&path)?, step.theirs.directory(&path)?);
            let is_same = if known { base == theirs } else { base.is_some() == theirs.is_some() };
            if is_same || !self.is_in_scope(&path) {
                continue;
            }
            if let Some((place, reason)) = self.left_out(step, &path) {
                self.notes.left.insert(path, place.clone());
                self.notes.kept.insert(place, reason);
                continue;
            }
            found.push(DirectoryChange { path, base, theirs });
        }
        Ok(found)
    }

    /// Releases directories that are to go, and sets the modes of those that stay.
    pub(crate) fn release(&mut self, changes: &[DirectoryChange]) -> Result<(), DiffError> {
        for DirectoryChange { path, base, theirs } in changes {
            let Some(ours) = self.overlay.directory(path)? else { continue };
            match (base, theirs) {
                (Some(_), None) => self.overlay.hold(path, ours, /*released*/ true),
                (Some(_), Some(theirs)) => self.set_mode(path, *base, ours, *theirs),
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Makes directories that come back.
    pub(crate) fn create(
        &mut self,
        step: &Step<'a>,
        changes: &[DirectoryChange],
    ) -> Result<(), DiffError> {
        for DirectoryChange { path, base, theirs } in changes {
            let (None, Some(theirs)) = (base, theirs) else { continue };
            if let Some(ours) = self.overlay.directory(path)? {
                // It may have been released by a later run, and be there only for what is in it.
                if let Some(held) = self.overlay.directories.get_mut(path) {
                    held.released = false;
                }
                if modes_known(&step.base, &step.theirs) {
                    self.set_mode(path, None, ours, *theirs);
                }
                continue;
            }
            if self.overlay.file(path)?.is_some() || self.overlay.is_below_a_file(path)? {
                // It cannot come back; each file that belongs in it says so itself.
                if step.theirs.listing(path)?.is_none() {
                    self.note_conflict(path, ConflictWhy::InTheWay, Decided::Left);
                }
                continue;
            }
            self.overlay.make_directories(&step.theirs, path)?;
            self.overlay.hold(path, *theirs, /*released*/ false);
        }
        Ok(())
    }

    fn set_mode(&mut self, path: &RelPath, base: Option<u32>, ours: u32, theirs: u32) {
        let (mode, in_conflict) = three_way_mode(base, ours, theirs, self.conflicts);
        if in_conflict {
            self.note_conflict(path, ConflictWhy::Mode, self.conflicts.about_whole());
        }
        if mode != ours {
            let held = self.overlay.directories.get(path);
            let released = held.is_some_and(|held| held.released);
            self.overlay.hold(path, mode, released);
        }
    }

    fn note_conflict(&mut self, path: &RelPath, why: ConflictWhy, decided: Decided) {
        if decided == Decided::Left {
            self.notes.left.insert(path.clone(), path.clone());
        }
        self.notes.conflicts.push(Conflict { path: path.clone(), why, decided });
    }
}

/// The directories that may differ between the two states of a run.
fn candidates(
    step: &Step<'_>,
    changes: &[Change],
    known: bool,
) -> Result<BTreeSet<RelPath>, DiffError> {
    let mut found = BTreeSet::new();
    for change in changes {
        add_above(&mut found, change.old_path());
        add_above(&mut found, &change.path);
    }
    if !known {
        return Ok(found);
    }
    let (base, theirs) = (&step.base.view, &step.theirs.view);
    let listed = (&base.modes.directories, &theirs.modes.directories);
    if base.modes.usual == theirs.modes.usual {
        found.extend(differing(listed.0, listed.1));
    } else {
        for file in base.all_files()?.iter().chain(&theirs.all_files()?) {
            add_above(&mut found, &file.path);
        }
        found.extend(listed.0.keys().chain(listed.1.keys()).cloned());
        found.insert(RelPath::root());
    }
    Ok(found)
}

/// Adds the directories a path is in.
fn add_above(found: &mut BTreeSet<RelPath>, path: &RelPath) {
    for dir in path.ancestors() {
        // Whoever added this one added those above it as well.
        if !found.insert(dir) {
            break;
        }
    }
}
