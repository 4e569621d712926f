//! The two things a comparison can stand on: a checkpoint in the store, or the files as they are.

use std::sync::Arc;

use herma_diff::{DiffError, Side};
use herma_fs::Dir;
use herma_store::error::StoreError;
use herma_store::object::{EntryMode, Kind, Object, TreeEntry, parse_tree};
use herma_store::objects::{ObjectError, Objects};
use herma_store::{ObjectId, RelPath};

use crate::worktree::reason::Reason;
use crate::worktree::stat_cache::{EntryKind, StatCache};

/// A checkpoint, read from the store.
pub(crate) struct StoreSide<'s> {
    objects: &'s Objects,
    pending: Option<&'s Pending<'s>>,
}

/// Reads an object that is not published yet.
pub(crate) type Pending<'s> = dyn Fn(&ObjectId) -> Result<Option<Object>, StoreError> + Sync + 's;

impl<'s> StoreSide<'s> {
    /// What the store holds.
    pub(crate) fn new(objects: &'s Objects) -> Self {
        Self { objects, pending: None }
    }

    /// What the store will hold once what is pending is published.
    pub(crate) fn with_pending(objects: &'s Objects, pending: &'s Pending<'s>) -> Self {
        Self { objects, pending: Some(pending) }
    }

    fn pending(&self, id: &ObjectId) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(pending) = self.pending else {
            return Ok(None);
        };
        Ok(pending(id)?.map(|object| object.data))
    }
}

fn store_error(path: &RelPath, error: impl std::error::Error + Send + Sync + 'static) -> DiffError {
    DiffError::Store { path: path.clone(), source: Box::new(error) }
}

impl Side for StoreSide<'_> {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        if *id == ObjectId::EMPTY_TREE {
            return Ok(Vec::new());
        }
        if let Some(data) = self.pending(id).map_err(|e| store_error(path, e))? {
            return parse_tree(&data).map_err(|e| store_error(path, e));
        }
        self.objects.read_tree(id).map_err(|e| store_error(path, e))
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        match self.pending(id) {
            // More than any limit: nobody reads so much to compare it.
            Err(StoreError::TooLarge { .. }) => return Ok(None),
            Err(e) => return Err(store_error(path, e)),
            Ok(Some(data)) => return Ok((data.len() as u64 <= limit).then_some(data)),
            Ok(None) => {}
        }
        let (kind, size) = self.objects.read_header(id).map_err(|e| store_error(path, e))?;
        if kind != Kind::Blob {
            let what = "it is not a file".to_owned();
            return Err(store_error(path, ObjectError::Damaged { id: *id, what }));
        }
        if size > limit {
            return Ok(None);
        }
        let object = self.objects.read(id).map_err(|e| store_error(path, e))?;
        Ok(Some(object.data))
    }
}

/// The files as they are, described by a scan.
pub struct PresentSide {
    root: Dir,
    cache: Arc<StatCache>,
}

impl PresentSide {
    /// The present of the project at `root`.
    pub fn new(root: Dir, cache: Arc<StatCache>) -> Self {
        Self { root, cache }
    }

    /// What the scan found.
    pub(crate) fn cache(&self) -> &StatCache {
        &self.cache
    }

    /// What could not be read.
    pub(crate) fn unreadable(&self) -> Vec<RelPath> {
        let mut found = Vec::new();
        self.cache.each_left_out(|path, why| {
            if why.reason == Reason::Unreadable {
                found.extend(RelPath::new(path));
            }
            true
        });
        found
    }
}

impl Side for &PresentSide {
    fn entries(&self, path: &RelPath, _id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        let vanished = || DiffError::Vanished { path: path.clone() };
        let dir = self.cache.dir_at(path.as_bytes()).ok_or_else(vanished)?;
        let mut entries = Vec::new();
        for entry in self.cache.entries(dir).ok_or_else(vanished)? {
            let entry = entry.ok_or_else(vanished)?;
            let (mode, id) = match entry.kind {
                EntryKind::File => (EntryMode::File, entry.id),
                EntryKind::Executable => (EntryMode::Executable, entry.id),
                EntryKind::Symlink => (EntryMode::Symlink, entry.id),
                EntryKind::Directory => {
                    let below =
                        entry.child().and_then(|c| self.cache.dir(c)).ok_or_else(vanished)?;
                    if below.tree.is_null() {
                        continue;
                    }
                    (EntryMode::Directory, below.tree)
                }
                EntryKind::LeftOut(_) | EntryKind::Watched(_) => continue,
            };
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
