//! What is at a path of a checkpoint, and whether a path is one that anybody ever had.

use bstr::BString;
use herma_diff::{StoreSide, entry_at};
use herma_fs::Dir;
use herma_store::RelPath;
use herma_store::object::EntryMode;

use crate::engine::operation::Operation;
use crate::error::Result;
use crate::types::checkpoint::Checkpoint;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEntry {
    /// Its name.
    pub name: BString,
    /// Is it a directory?
    pub is_directory: bool,
}

impl Operation<'_> {
    /// What a directory holds in a checkpoint; nothing if there is none.
    pub(crate) fn entries_at(
        &self,
        checkpoint: &Checkpoint,
        directory: &RelPath,
    ) -> Result<Vec<NamedEntry>> {
        let tree = self.store.objects.read_commit(&checkpoint.id)?.tree;
        let side = StoreSide::new(&self.store.objects);
        let Some((EntryMode::Directory, id)) = entry_at(&side, tree, directory)? else {
            return Ok(Vec::new());
        };
        let entries = self.store.objects.read_tree(&id)?;
        let named = entries.into_iter().map(|entry| NamedEntry {
            is_directory: entry.mode == EntryMode::Directory,
            name: entry.name,
        });
        Ok(named.collect())
    }

    /// The newest checkpoint that has something at this path.
    pub(crate) fn newest_with(&self, path: &RelPath) -> Result<Option<Checkpoint>> {
        for checkpoint in self.timeline()? {
            if self.is_in(&checkpoint, path)? {
                return Ok(Some(checkpoint));
            }
        }
        Ok(None)
    }

    /// The first of these paths that is neither on disk nor in any checkpoint, nor was left out of one: it is mistyped.
    pub(crate) fn first_unknown(&self, paths: &[RelPath]) -> Result<Option<RelPath>> {
        for path in paths {
            if !self.is_on_disk(path)
                && self.newest_with(path)?.is_none()
                && !self.was_left_out(path)?
            {
                return Ok(Some(path.clone()));
            }
        }
        Ok(None)
    }

    fn is_in(&self, checkpoint: &Checkpoint, path: &RelPath) -> Result<bool> {
        let tree = self.store.objects.read_commit(&checkpoint.id)?.tree;
        Ok(entry_at(&StoreSide::new(&self.store.objects), tree, path)?.is_some())
    }

    fn was_left_out(&self, path: &RelPath) -> Result<bool> {
        for checkpoint in self.timeline()? {
            let left_out = self.receipt(&checkpoint)?.left_out;
            if left_out.iter().any(|one| one.path[..] == *path.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_on_disk(&self, path: &RelPath) -> bool {
        let Some((parent, name)) = path.split() else { return true };
        let is_there = |root: Dir| root.open_beneath(parent.as_bytes())?.stat(name);
        self.open_root().is_ok_and(|root| is_there(root).is_ok())
    }
}
