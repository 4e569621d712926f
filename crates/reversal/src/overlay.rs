//! The result so far: the present, and over it what is different.
//!
//! Files are simple: an overlay says what is at a path, or that nothing is. Directories are there because
//! the present has them, because the overlay makes them, or because something in them stays; the overlay
//! can only *release* one, which is then gone if nothing is left in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use herma_diff::{DiffError, Side};
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::{ObjectId, RelPath};
use herma_worktree::reason::Reason;

use super::view::{Bytes, Entry, Reader};
use super::{Conflict, Content, Outcome, Reversed};

/// The present, and what is different from it.
#[derive(Clone)]
pub(crate) struct Overlay<'a> {
    pub(crate) present: Rc<Reader<'a>>,
    /// What is at a path; `None`: no file.
    pub(crate) files: BTreeMap<RelPath, Option<Entry<'a>>>,
    /// Directories that are made, have another mode, or are released.
    pub(crate) directories: BTreeMap<RelPath, Held>,
}

/// A directory of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Its mode, as long as it exists.
    pub(crate) mode: u32,
    /// Does it exist only for what is in it?
    pub(crate) released: bool,
}

impl<'a> Overlay<'a> {
    /// What is at a path.
    pub(crate) fn file(&self, path: &RelPath) -> Result<Option<Entry<'a>>, DiffError> {
        match self.files.get(path) {
            Some(entry) => Ok(entry.clone()),
            None => self.present.file(path),
        }
    }

    /// The directory at a path, and its mode.
    pub(crate) fn directory(&self, path: &RelPath) -> Result<Option<u32>, DiffError> {
        let Some(held) = self.directories.get(path) else { return self.present.directory(path) };
        let exists = !held.released || self.stays(path, &BTreeSet::new())?;
        Ok(exists.then_some(held.mode))
    }

    /// Notes the mode of a directory, and whether it exists only for what is in it.
    pub(crate) fn hold(&mut self, path: &RelPath, mode: u32, released: bool) {
        self.directories.insert(path.clone(), Held { mode, released });
    }

    /// Is there a directory at this path that exists by itself, or because of what is in it? `gone` names
    /// directories known to go.
    fn stays(&self, path: &RelPath, gone: &BTreeSet<RelPath>) -> Result<bool, DiffError> {
        if below(&self.files, path).any(|(_, entry)| entry.is_some())
            || below(&self.directories, path).any(|(_, held)| !held.released)
            || self.directories.get(path).is_some_and(|held| !held.released)
        {
            return Ok(true);
        }
        let listed = &self.present.view.modes.directories;
        let own = listed.get_key_value(path);
        let mut listed = below(listed, path).chain(own);
        if listed.any(|(dir, _)| !self.directories.contains_key(dir))
            || self.present.view.left_out_below(path)
        {
            return Ok(true);
        }
        let mut pending = vec![path.clone()];
        while let Some(dir) = pending.pop() {
            let Some(listing) = self.present.listing(&dir)? else { continue };
            if !self.directories.contains_key(&dir) {
                return Ok(true);
            }
            for (name, (mode, _)) in listing.iter() {
                let path = dir.join(name);
                if *mode != EntryMode::Directory {
                    if !self.files.contains_key(&path) {
                        return Ok(true);
                    }
                } else if !gone.contains(&path) {
                    pending.push(path);
                }
            }
        }
        Ok(false)
    }

    /// Does something keep a new file from being put at this path?
    pub(crate) fn is_blocked(&self, path: &RelPath) -> Result<bool, DiffError> {
        Ok(self.is_below_a_file(path)? || self.stays(path, &BTreeSet::new())?)
    }

    /// Is there a file where a directory above this path would have to be?
    pub(crate) fn is_below_a_file(&self, path: &RelPath) -> Result<bool, DiffError> {
        for dir in path.ancestors() {
            if self.file(&dir)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the directories above a path that are not there, with the modes they have in `theirs`.
    pub(crate) fn make_directories(
        &mut self,
        theirs: &Reader<'a>,
        path: &RelPath,
    ) -> Result<(), DiffError> {
        let mut missing = Vec::new();
        for dir in path.ancestors() {
            if self.directory(&dir)?.is_some() {
                break;
            }
            missing.push(dir);
        }
        for dir in missing {
            self.hold(&dir, theirs.view.modes.directory(&dir), /*released*/ false);
        }
        Ok(())
    }

    /// What differs from the present in the end.
    pub(crate) fn finish(&self, notes: Notes) -> Result<Reversed, DiffError> {
        let mut changes = BTreeMap::new();
        for (path, entry) in &self.files {
            let now = self.present.file(path)?;
            let outcome = match (entry, &now) {
                (None, None) => continue,
                (None, Some(_)) => Outcome::Gone,
                (Some(entry), Some(now)) if is_same(entry, now) => continue,
                (Some(entry), _) => outcome(entry, now.as_ref()),
            };
            changes.insert(path.clone(), outcome);
        }
        self.finish_directories(&mut changes)?;
        let is_merged = |path: &RelPath| match changes.get(path) {
            Some(Outcome::File { content, .. }) => matches!(content, Content::Merged(_)),
            _ => false,
        };
        let mut conflicts = notes.conflicts;
        conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        conflicts.dedup();
        let merged = notes.merged.into_iter().filter(is_merged).collect();
        Ok(Reversed {
            conflicts,
            kept: notes.kept.into_iter().collect(),
            left: notes.left,
            merged,
            renamed: self.renamed(&changes),
            changes,
        })
    }

    fn finish_directories(
        &self,
        changes: &mut BTreeMap<RelPath, Outcome>,
    ) -> Result<(), DiffError> {
        // Names sort behind what they are below, so that this goes from the inside out.
        let mut gone = BTreeSet::new();
        for (path, held) in self.directories.iter().rev() {
            let now = self.present.directory(path)?;
            let exists = !held.released || self.stays(path, &gone)?;
            if !exists {
                gone.insert(path.clone());
            }
            let then = exists.then_some(held.mode);
            match (now, then) {
                (Some(_), None) => {
                    changes.entry(path.clone()).or_insert(Outcome::Gone);
                }
                (now, Some(full_mode)) if now != then => {
                    changes.insert(path.clone(), Outcome::Directory { full_mode });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Files that are somewhere else in the end.
    fn renamed(&self, changes: &BTreeMap<RelPath, Outcome>) -> Vec<(RelPath, RelPath)> {
        let mut renamed = Vec::new();
        for (path, entry) in &self.files {
            let was = entry.as_ref().and_then(|entry| entry.continues.as_ref());
            let Some(was) = was.filter(|_| changes.contains_key(path)) else { continue };
            let left = matches!(changes.get(was), Some(Outcome::Gone | Outcome::Directory { .. }));
            if left {
                renamed.push((was.clone(), path.clone()));
            }
        }
        renamed
    }
}

/// What is said about a result besides what changes.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) kept: BTreeMap<RelPath, Reason>,
    pub(crate) left: BTreeMap<RelPath, RelPath>,
    pub(crate) merged: BTreeSet<RelPath>,
}

fn is_same(a: &Entry<'_>, b: &Entry<'_>) -> bool {
    a.state == b.state && a.full_mode == b.full_mode
}

fn outcome(entry: &Entry<'_>, now: Option<&Entry<'_>>) -> Outcome {
    let id = entry.state.id;
    let content = match &entry.bytes {
        _ if now.is_some_and(|now| now.has_content_of(entry)) => Content::Present(id),
        Bytes::Present(..) => Content::Present(id),
        Bytes::Saved(..) => Content::Stored(id),
        Bytes::Merged(bytes) => Content::Merged(bytes.clone()),
    };
    Outcome::File { mode: entry.state.mode, content, full_mode: entry.full_mode }
}

/// What a map has below a directory, without the directory itself.
pub(crate) fn below<'m, V>(
    map: &'m BTreeMap<RelPath, V>,
    directory: &RelPath,
) -> impl Iterator<Item = (&'m RelPath, &'m V)> + use<'m, V> {
    // Between `dir` and `dir/x` other names may sort (`dir.x`), so the search starts at `dir/`.
    let first = directory.join(b"");
    let directory = directory.clone();
    map.range::<RelPath, _>((Bound::Excluded(&first), Bound::Unbounded))
        .take_while(move |(path, _)| path.starts_with(&directory))
}

/// The contents of the result so far, for finding out what moved.
pub(crate) struct CurrentSide<'o, 'a> {
    pub(crate) present: &'a dyn Side,
    pub(crate) files: &'o BTreeMap<RelPath, Option<Entry<'a>>>,
}

impl Side for CurrentSide<'_, '_> {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        self.present.entries(path, id)
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        match self.files.get(path) {
            Some(Some(entry)) => entry.read(limit),
            _ => self.present.content(path, id, limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Undo, World};

    #[test]
    fn a_thousand_levels_made_and_undone_do_not_overflow_the_stack() {
        let deep = "d/".repeat(1000) + "f";
        let from = World::new().file("other", "1\n");
        let to = from.clone().file(&deep, "2\n");
        let undo = Undo::of(&from, &to, &to);
        assert_eq!(undo.run_without_saving().changes.len(), 1001);
        let undo = Undo::of(&to, &from, &from);
        assert_eq!(undo.run_without_saving().changes.len(), 1001);
    }
}
