//! The files as they are, as one side of a comparison.

use std::sync::Arc;

use herma_diff::{DiffError, Side};
use herma_fs::Dir;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::{ObjectId, RelPath};

use crate::reason::Reason;
use crate::stat_cache::{EntryKind, StatCache};

/// The files as they are, described by a scan.
pub struct PresentSide {
    root: Dir,
    /// What the scan found.
    pub cache: Arc<StatCache>,
}

impl PresentSide {
    /// The present of the project at `root`.
    pub fn new(root: Dir, cache: Arc<StatCache>) -> Self {
        Self { root, cache }
    }

    /// What could not be read.
    pub fn unreadable(&self) -> Vec<RelPath> {
        let unreadable = self.cache.left_out().filter(|item| item.reason == Reason::Unreadable);
        unreadable.filter_map(|item| RelPath::new(item.path).ok()).collect()
    }
}

impl Side for &PresentSide {
    fn entries(&self, path: &RelPath, _id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        let vanished = || DiffError::Vanished { path: path.clone() };
        let dir = self.cache.dir_at(path.as_bytes()).ok_or_else(vanished)?;
        let mut entries = Vec::new();
        for entry in self.cache.entries(dir).ok_or_else(vanished)? {
            let entry = entry.ok_or_else(vanished)?;
            let (mode, id) = match entry.kind.mode() {
                Some(mode) => (mode, entry.id),
                None if entry.kind == EntryKind::Directory => {
                    let below = entry.child().and_then(|child| self.cache.dir(child));
                    (EntryMode::Directory, below.ok_or_else(vanished)?.tree)
                }
                None => continue,
            };
            if id.is_null() {
                continue;
            }
            let name = self.cache.name(&entry).ok_or_else(vanished)?.to_bytes().into();
            entries.push(TreeEntry { mode, name, id });
        }
        Ok(entries)
    }

    fn content(
        &self,
        path: &RelPath,
        _id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let vanished = || DiffError::Vanished { path: path.clone() };
        let entry = self.cache.entry_at(path.as_bytes()).ok_or_else(vanished)?;
        if entry.size > limit {
            return Ok(None);
        }
        let (parent, name) = path.split().ok_or_else(vanished)?;
        let dir = self.root.open_beneath(parent.as_bytes())?;
        if entry.kind == EntryKind::Symlink {
            return Ok(Some(dir.read_link(name)?));
        }
        Ok(dir.read_opt(name, limit)?)
    }
}
