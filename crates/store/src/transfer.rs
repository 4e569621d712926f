//! Copies commits with all they need out of another repository.
//!
//! An object is added only after everything below it was: what arrives is whole, or does not arrive. A
//! tree with a missing file therefore stays behind, with every commit that needs it, and the reason is
//! kept. Nothing of the other repository is believed; its objects are hashed as they are read.

use std::collections::HashMap;

use super::error::{StoreError, in_full};
use super::object::{EntryMode, Kind, TreeEntry};
use super::objects::{ObjectError, Objects};
use crate::ObjectId;
use crate::pack::write::PackWriter;

/// One way from another repository into a pack.
pub struct Transfer<'a, 'w> {
    from: &'a Objects,
    to: &'a PackWriter<'w>,
    /// What was tried: fine, or why not.
    tried: HashMap<(ObjectId, Kind), Option<String>>,
}

/// A tree on the way down.
struct Level {
    id: ObjectId,
    left: std::vec::IntoIter<TreeEntry>,
    problem: Option<String>,
}

impl<'a, 'w> Transfer<'a, 'w> {
    /// Copies from one store to the pack of another.
    pub fn new(from: &'a Objects, to: &'a PackWriter<'w>) -> Self {
        Self { from, to, tried: HashMap::new() }
    }

    /// Copies a commit with its tree, if all of that is whole; otherwise says what is not. Its parents
    /// are not looked at.
    pub fn commit(&mut self, id: &ObjectId, tree: &ObjectId) -> Result<Option<String>, StoreError> {
        if let Some(problem) = self.tree(tree)? {
            return Ok(Some(problem));
        }
        self.copy(id, Kind::Commit)
    }

    fn tree(&mut self, root: &ObjectId) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.tried.get(&(*root, Kind::Tree)) {
            return Ok(known.clone());
        }
        let mut levels = vec![self.open(*root)];
        while let Some(level) = levels.last_mut() {
            let next = level.left.next().filter(|_| level.problem.is_none());
            let Some(entry) = next else {
                let Some(level) = levels.pop() else { break };
                let problem = self.close(level)?;
                if let Some(above) = levels.last_mut() {
                    above.problem = above.problem.take().or(problem);
                }
                continue;
            };
            let kind = match entry.mode {
                EntryMode::Directory => Kind::Tree,
                _ => Kind::Blob,
            };
            match (entry.mode, self.tried.get(&(entry.id, kind))) {
                // The commit of a nested repository was never stored.
                (EntryMode::Nested, _) => {}
                (_, Some(known)) => level.problem.clone_from(known),
                (EntryMode::Directory, None) => {
                    let below = self.open(entry.id);
                    levels.push(below);
                }
                (_, None) => level.problem = self.copy(&entry.id, Kind::Blob)?,
            }
        }
        Ok(self.tried.get(&(*root, Kind::Tree)).cloned().flatten())
    }

    fn open(&self, id: ObjectId) -> Level {
        let (entries, problem) = match self.from.read_tree(&id) {
            Ok(entries) => (entries, None),
            Err(e) => (Vec::new(), Some(in_full(&e))),
        };
        Level { id, left: entries.into_iter(), problem }
    }

    /// Copies a tree whose entries have all been seen to.
    fn close(&mut self, level: Level) -> Result<Option<String>, StoreError> {
        if level.problem.is_none() {
            return self.copy(&level.id, Kind::Tree);
        }
        self.tried.insert((level.id, Kind::Tree), level.problem.clone());
        Ok(level.problem)
    }

    fn copy(&mut self, id: &ObjectId, kind: Kind) -> Result<Option<String>, StoreError> {
        let problem = match self.from.read(id) {
            Ok(object) if object.kind == kind => {
                self.to.add(kind, &object.data)?;
                None
            }
            Ok(object) => Some(in_full(&ObjectError::wrong_kind(id, object.kind, kind))),
            Err(e) => Some(in_full(&e)),
        };
        self.tried.insert((*id, kind), problem.clone());
        Ok(problem)
    }
}
