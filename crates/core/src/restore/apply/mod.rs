//! Carries out a plan.
//!
//! Order: whatever stands where something of another kind belongs is removed first; then directories are
//! made and files written; then everything else is removed, files before the directories they were in;
//! modes of directories come last, so that a read-only one does not get in the way of its own content.
//! Directories that refuse changes are opened up for the time of the restore.

pub(crate) mod as_written;
pub(crate) mod fresh;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use herma_fs::{Dir, Errno};
use herma_store::RelPath;
use herma_worktree::lists::KEPT_DIRECTORY_BITS;
use herma_worktree::stat_cache::StatCache;
use rayon::prelude::*;

use super::plan::Prepared;
use super::{ActionKind, Kept, KeptWhy, Lack, RestoreError};
use crate::restore::apply::fresh::Fresh;
use crate::restore::apply::write::{Done, WriteError, Writer, is_same_file};

/// So many files of a directory are written one after another.
const GROUP: usize = 8;

/// What applying a plan did.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) written: usize,
    pub(crate) removed: usize,
    /// What changed while the restore was running, and was therefore left alone.
    pub(crate) kept: Vec<Kept>,
}

/// Applies a plan below `root`.
pub(crate) struct Applier<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) present: &'a StatCache,
    pub(crate) writer: Writer<'a>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) progress: &'a (dyn Fn(u64) + Sync),
    /// Directories opened up for this restore, with the mode they had, and those made by it, with the mode they shall have.
    pub(crate) opened: Mutex<BTreeMap<RelPath, u32>>,
    pub(crate) applied: Mutex<Applied>,
}

impl Applier<'_> {
    /// Carries out the plan.
    pub(crate) fn apply(self) -> Result<Applied, RestoreError> {
        Ok(self.apply_sharing()?.0)
    }

    /// The same, and how many files share their blocks with those of another tree.
    pub(crate) fn apply_sharing(self) -> Result<(Applied, usize), RestoreError> {
        let result = self.carry_out();
        // Modes are put back even when something stopped the rest.
        let modes = self.set_directory_modes();
        result?;
        modes?;
        let shared = self.writer.fresh.as_ref().map_or(0, Fresh::shared);
        Ok((self.applied.into_inner().unwrap_or_else(PoisonError::into_inner), shared))
    }

    fn carry_out(&self) -> Result<(), RestoreError> {
        let (first, last) = self.removals();
        self.remove_files(&first)?;
        self.remove_directories(/*in_the_way*/ true)?;
        self.make_directories()?;
        self.write_files()?;
        self.remove_files(&last)?;
        self.remove_directories(/*in_the_way*/ false)?;
        self.set_file_modes()
    }

    fn paths(&self, wanted: impl Fn(ActionKind) -> bool) -> Vec<&RelPath> {
        let actions = self.prepared.plan.actions.iter();
        actions.filter(|action| wanted(action.kind)).map(|action| &action.path).collect()
    }

    /// Files to remove, those in the way of something else first.
    fn removals(&self) -> (Vec<&RelPath>, Vec<&RelPath>) {
        self.paths(|kind| kind == ActionKind::RemoveFile).into_iter().partition(|path| {
            self.is_in_the_way(path) || self.prepared.directory_modes.contains_key(*path)
        })
    }

    fn remove_files(&self, paths: &[&RelPath]) -> Result<(), RestoreError> {
        paths.par_iter().with_max_len(1).try_for_each(|path| self.remove_file(path))
    }

    fn remove_file(&self, path: &RelPath) -> Result<(), RestoreError> {
        let Some((parent, name)) = path.split() else { return Ok(()) };
        let Some(expected) = self.present.entry_at(path.as_bytes()) else { return Ok(()) };
        let dir = match self.root.open_within(parent.as_bytes()) {
            Ok(dir) => dir,
            Err(e) if e.is_not_found() => return Ok(()),
            Err(e) if is_mounted_over(&e) => {
                self.note_changed(path);
                return Ok(());
            }
            Err(_) => self.open_directory(&parent)?,
        };
        let remove = || self.writer.remove(&dir, name, &expected);
        let done = self.with_access(&parent, remove, path)?;
        self.note_done(path, done, |applied| applied.removed += 1);
        Ok(())
    }

    /// Does a file or link take the place of this directory, or of one it is in?
    fn is_in_the_way(&self, path: &RelPath) -> bool {
        let mut places = path.ancestors().chain([path.clone()]);
        places.any(|place| self.prepared.contents.contains_key(&place))
    }

    /// Removes directories that are empty by now, deepest first: those in the way of a file, or the
    /// others. One that is not empty holds something that appeared meanwhile, and stays.
    fn remove_directories(&self, in_the_way: bool) -> Result<(), RestoreError> {
        let mut paths = self.paths(|kind| kind == ActionKind::RemoveDirectory);
        // A directory a file replaces has a write action instead; its own removal is implied.
        let replaced: Vec<RelPath> = self.replaced_directories();
        paths.extend(replaced.iter());
        paths.sort_unstable();
        paths.dedup();
        for path in paths.into_iter().rev() {
            if self.is_in_the_way(path) != in_the_way {
                continue;
            }
            let Some((parent, name)) = path.split() else { continue };
            let Ok(dir) = self.open_directory(&parent) else { continue };
            let remove = || match dir.remove_dir(name) {
                Ok(()) => Ok(Done::Yes),
                Err(e) => match e.errno() {
                    Some(Errno::NOENT) => Ok(Done::Yes),
                    Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => {
                        Ok(Done::ChangedMeanwhile)
                    }
                    // Some file systems do not say that it is not empty.
                    Some(Errno::PERM) if self.is_filled(path) => Ok(Done::ChangedMeanwhile),
                    _ => Err(WriteError::Fs(e)),
                },
            };
            let done = self.with_access(&parent, remove, path)?;
            self.note_done(path, done, |applied| applied.removed += 1);
        }
        Ok(())
    }

    /// Present directories that a file or link takes the place of, with everything below them.
    fn replaced_directories(&self) -> Vec<RelPath> {
        let mut found = Vec::new();
        for path in self.prepared.contents.keys().filter(|path| !path.is_root()) {
            let Some(dir) = self.present.dir_at(path.as_bytes()) else { continue };
            let mut stack = vec![(path.clone(), dir)];
            while let Some((path, dir)) = stack.pop() {
                for entry in self.present.entries(dir).into_iter().flatten().flatten() {
                    if let (Some(child), Some(name)) = (entry.child(), self.present.name(&entry)) {
                        stack.push((path.join(name.to_bytes()), child));
                    }
                }
                found.push(path);
            }
        }
        found
    }

    fn make_directories(&self) -> Result<(), RestoreError> {
        for (path, mode) in &self.prepared.directory_modes {
            if mode.seen.is_none()
                && let Done::No(lack) = self.make_directory(path)?
            {
                self.note_kept(path, KeptWhy::NotHeld(lack));
            }
        }
        Ok(())
    }

    /// Makes a directory and those above it, as far as they are missing and can be had here.
    fn make_directory(&self, path: &RelPath) -> Result<Done, RestoreError> {
        let Some((parent, name)) = path.split() else { return Ok(Done::Yes) };
        let stopped = |source| RestoreError::Stopped { path: path.clone(), source };
        if self.root.open_within(path.as_bytes()).is_ok() {
            return Ok(Done::Yes);
        }
        let above = self.root.open_within(parent.as_bytes());
        if above.is_err_and(|e| e.may_be_unfit_name())
            && let Done::No(lack) = self.make_directory(&parent)?
        {
            return Ok(Done::No(lack));
        }
        let dir = self.open_directory(&parent)?;
        let make = || self.writer.make_directory(&dir, name);
        let done = self.with_access(&parent, make, path)?;
        match done {
            Done::Yes => {
                let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
                let wanted = self.prepared.directory_modes.get(path);
                opened.extend(wanted.map(|mode| (path.clone(), mode.wanted)));
                drop(opened);
                if self.writer.sync_each {
                    dir.sync().map_err(stopped)?;
                }
            }
            Done::ChangedMeanwhile => self.note_changed(path),
            Done::But(_) | Done::No(_) => {}
        }
        Ok(done)
    }

    /// Writes all files, a few of one directory after another, many such groups at once.
    fn write_files(&self) -> Result<(), RestoreError> {
        let writes =
            self.paths(|kind| matches!(kind, ActionKind::Write { .. } | ActionKind::Link { .. }));
        let mut by_parent: BTreeMap<RelPath, Vec<&RelPath>> = BTreeMap::new();
        for path in writes {
            if let Some((parent, _)) = path.split() {
                by_parent.entry(parent).or_default().push(path);
            }
        }
        let groups: Vec<(&RelPath, &[&RelPath])> = by_parent
            .iter()
            .flat_map(|(parent, paths)| paths.chunks(GROUP).map(move |group| (parent, group)))
            .collect();
        groups
            .par_iter()
            .with_max_len(1)
            .try_for_each(|(parent, paths)| self.write_group(parent, paths))
    }

    fn write_group(&self, parent: &RelPath, paths: &[&RelPath]) -> Result<(), RestoreError> {
        let opened = match self.root.open_within(parent.as_bytes()) {
            Err(e) if e.may_be_unfit_name() => {
                if let Done::No(lack) = self.make_directory(parent)? {
                    for path in paths {
                        self.note_kept(path, KeptWhy::NotHeld(lack));
                    }
                    return Ok(());
                }
                self.open_directory(parent)
            }
            Err(_) => self.open_directory(parent),
            Ok(dir) => Ok(dir),
        };
        let dir = match opened {
            Ok(dir) => dir,
            // Something that is no directory took the place of one meanwhile.
            Err(_) if self.is_obstructed(parent) => {
                for path in paths {
                    self.note_changed(path);
                }
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        for path in paths {
            let Some(content) = self.prepared.contents.get(*path) else { continue };
            let expected = self
                .present
                .entry_at(path.as_bytes())
                .filter(|entry| entry.kind.is_captured_file());
            let put = || self.writer.put(&dir, path, content, expected.as_ref());
            let done = self.with_access(parent, put, path)?;
            self.note_done(path, done, |applied| applied.written += 1);
        }
        if self.writer.sync_each {
            let stopped = |source| RestoreError::Stopped { path: parent.clone(), source };
            dir.sync().map_err(stopped)?;
        }
        Ok(())
    }

    fn is_filled(&self, directory: &RelPath) -> bool {
        let entries = |dir: Dir| dir.entries().ok();
        let opened = self.root.open_within(directory.as_bytes()).ok();
        opened.and_then(entries).is_some_and(|found| !found.is_empty())
    }

    fn is_obstructed(&self, directory: &RelPath) -> bool {
        let opened = self.root.open_within(directory.as_bytes());
        opened.is_err_and(|e| {
            let is_other = matches!(e.errno(), Some(Errno::NOTDIR | Errno::LOOP | Errno::NOENT));
            is_other || is_mounted_over(&e)
        })
    }

    /// Sets the modes of files whose content stays.
    fn set_file_modes(&self) -> Result<(), RestoreError> {
        for action in &self.prepared.plan.actions {
            let ActionKind::Mode { to, .. } = action.kind else { continue };
            let Some((parent, name)) = action.path.split() else { continue };
            let Some(expected) = self.present.entry_at(action.path.as_bytes()) else { continue };
            if expected.is_dir {
                continue;
            }
            if self.is_obstructed(&parent) {
                self.note_changed(&action.path);
                continue;
            }
            let dir = self.open_directory(&parent)?;
            let set = || {
                if !is_same_file(&dir, name, &expected)? {
                    return Ok(Done::ChangedMeanwhile);
                }
                if !dir.ask_for_mode(name, to)? {
                    return Ok(Done::No(Lack::Mode));
                }
                if self.writer.sync_each {
                    // ORDER: the mode is durable before the journal that would set it again closes.
                    dir.sync_file(name)?;
                }
                Ok(Done::Yes)
            };
            let done = self.with_access(&parent, set, &action.path)?;
            self.note_done(&action.path, done, |applied| applied.written += 1);
        }
        Ok(())
    }

    /// Gives directories the mode they are to have, and those opened up the mode they had.
    fn set_directory_modes(&self) -> Result<(), RestoreError> {
        let mut modes = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (path, mode) in &self.prepared.directory_modes {
            // One that was seen with this mode, and was neither opened up nor made, has it.
            if modes.contains_key(path) || mode.seen != Some(mode.wanted) {
                modes.insert(path.clone(), mode.wanted);
            }
        }
        for (path, mode) in modes.into_iter().rev() {
            let Ok(dir) = self.root.open_within(path.as_bytes()) else { continue };
            let stopped = |source| RestoreError::Stopped { path: path.clone(), source };
            let now = dir.stat_self().map_err(stopped)?.mode;
            // Bits a checkpoint does not keep, such as setgid on a shared directory, stay as they are.
            let to = (now & 0o6000) | mode;
            if now != to {
                if !dir.ask_for_mode_self(to).map_err(stopped)? {
                    self.note_kept(&path, KeptWhy::NotHeld(Lack::Mode));
                }
                if self.writer.sync_each {
                    // ORDER: as for the modes of files.
                    dir.sync().map_err(stopped)?;
                }
            }
        }
        Ok(())
    }

    fn note(&self, change: impl FnOnce(&mut Applied)) {
        let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut applied);
        (self.progress)((applied.written + applied.removed) as u64);
    }

    /// Notes what came of one path; `count` counts it if it was done.
    fn note_done(&self, path: &RelPath, done: Done, count: impl FnOnce(&mut Applied)) {
        if matches!(done, Done::Yes | Done::But(_)) {
            self.note(count);
        }
        match done {
            Done::Yes => {}
            Done::ChangedMeanwhile => self.note_changed(path),
            Done::But(lack) | Done::No(lack) => self.note_kept(path, KeptWhy::NotHeld(lack)),
        }
    }

    fn note_changed(&self, path: &RelPath) {
        self.note_kept(path, KeptWhy::ChangedMeanwhile);
    }

    fn note_kept(&self, path: &RelPath, why: KeptWhy) {
        let path = path.clone();
        self.note(|applied| applied.kept.push(Kept { path, why }));
    }

    /// Opens a directory of the project, opening up those above it that may not be entered.
    fn open_directory(&self, path: &RelPath) -> Result<Dir, RestoreError> {
        let stopped = |source| RestoreError::Stopped { path: path.clone(), source };
        match self.root.open_within(path.as_bytes()) {
            Err(e) if e.errno() == Some(Errno::ACCESS) => {}
            other => return other.map_err(stopped),
        }
        let mut above: Vec<RelPath> = path.ancestors().collect();
        above.reverse();
        above.push(path.clone());
        for directory in above {
            self.open_up(&directory).map_err(stopped)?;
        }
        self.root.open_within(path.as_bytes()).map_err(stopped)
    }

    /// Runs `work` in a directory; if that refuses, opens it up and tries once more.
    fn with_access(
        &self,
        directory: &RelPath,
        work: impl Fn() -> Result<Done, WriteError>,
        path: &RelPath,
    ) -> Result<Done, RestoreError> {
        let result = match work() {
            Err(WriteError::Fs(e)) if e.errno() == Some(Errno::ACCESS) => {
                let opened = self.open_up(directory);
                opened.map_err(|source| RestoreError::Stopped { path: path.clone(), source })?;
                work()
            }
            other => other,
        };
        let result = match result {
            // Something was mounted over it since it was looked at.
            Err(WriteError::Fs(e)) if is_mounted_over(&e) => Ok(Done::ChangedMeanwhile),
            other => other,
        };
        result.map_err(|e| match e {
            WriteError::Fs(source) | WriteError::NotRemoved(source) => {
                RestoreError::Stopped { path: path.clone(), source }
            }
            WriteError::Object(source) => RestoreError::Damaged { path: path.clone(), source },
        })
    }

    /// Lets the owner write to a directory, remembering the mode it had.
    fn open_up(&self, path: &RelPath) -> herma_fs::Result<()> {
        let open = |mode: u32| (mode & 0o700 != 0o700).then_some(mode | 0o700);
        let mode = if let Some((parent, name)) = path.split() {
            let dir = self.root.open_within(parent.as_bytes())?;
            let mode = dir.stat(name)?.mode;
            open(mode).map_or(Ok(()), |open| dir.set_mode(name, open))?;
            mode
        } else {
            let mode = self.root.stat_self()?.mode;
            open(mode).map_or(Ok(()), |open| self.root.set_mode_self(open))?;
            mode
        };
        if open(mode).is_some() {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.entry(path.clone()).or_insert(mode & KEPT_DIRECTORY_BITS);
        }
        Ok(())
    }
}

/// Does an error say that something is mounted where nothing was when the plan was made?
fn is_mounted_over(error: &herma_fs::Error) -> bool {
    matches!(error.errno(), Some(Errno::XDEV | Errno::BUSY))
}
