//! What is at a path of a checkpoint, and whether a path is one that anybody ever had.

use std::collections::HashSet;

use bstr::BString;
use herma_diff::{StoreSide, entry_at};
use herma_fs::Dir;
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::receipt::read_left_out;
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::{ObjectId, RelPath};

use crate::engine::history::{Entry, History};
use crate::engine::operation::Operation;
use crate::error::{Error, Result};

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

    /// Has a checkpoint something at this path?
    pub(crate) fn has(&self, checkpoint: &Checkpoint, path: &RelPath) -> Result<bool> {
        Ok(entry_at(&StoreSide::new(&self.store.objects), checkpoint.tree, path)?.is_some())
    }

    /// The newest checkpoint that has something at this path.
    pub(crate) fn newest_with(&self, path: &RelPath) -> Result<Option<Checkpoint>> {
        self.finish_purge()?;
        let history = self.load_history()?;
        let Some(number) = self.newest_number_with(&history, path)? else { return Ok(None) };
        Ok(history.readable_where(&self.store, |entry| entry.number == number)?.pop())
    }

    /// The first of these paths that is neither on disk nor in any checkpoint, nor was left out of one: it is mistyped.
    pub(crate) fn first_unknown(&self, paths: &[RelPath]) -> Result<Option<RelPath>> {
        let missing: Vec<_> = paths.iter().filter(|path| !self.is_on_disk(path)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        self.finish_purge()?;
        let history = self.load_history()?;
        let mut unknown = Vec::new();
        for path in missing {
            if self.newest_number_with(&history, path)?.is_none() {
                unknown.push(path);
            }
        }
        let unread = |_: &Entry| !unknown.is_empty();
        let mut receipts = HashSet::new();
        for checkpoint in history.readable_where(&self.store, unread)? {
            if receipts.insert(checkpoint.extra) || !checkpoint.purged.is_empty() {
                let left_out = read_left_out(&self.store.objects, &checkpoint)?;
                unknown.retain(|path| !left_out.iter().any(|one| one.path[..] == *path.as_bytes()));
            }
        }
        Ok(unknown.first().map(|path| (*path).clone()))
    }

    /// Reads from the newest checkpoint back, and no further than it must.
    fn newest_number_with(&self, history: &History, path: &RelPath) -> Result<Option<u64>> {
        let objects = &self.store.objects;
        let mut read = HashSet::new();
        for entry in history.entries.iter().rev() {
            let commit = match objects.read_commit(&entry.id).map_err(Error::from) {
                // What cannot be read must not hide the others.
                Err(error) if error.is_of_one_checkpoint() => continue,
                commit => commit?,
            };
            if is_in(commit.tree, path, &mut read, |tree| Ok(objects.read_tree(tree)?))? {
                return Ok(Some(entry.number));
            }
        }
        Ok(None)
    }

    pub(crate) fn is_on_disk(&self, path: &RelPath) -> bool {
        let Some((parent, name)) = path.split() else { return true };
        let is_there = |root: Dir| root.open_beneath(parent.as_bytes())?.stat(name);
        self.open_root().is_ok_and(|root| is_there(root).is_ok())
    }
}

/// Is a path in this state? States share most of their trees: those that were `read` at the same depth and led nowhere are not
/// read again, so nobody asks again once it was found.
fn is_in(
    tree: ObjectId,
    path: &RelPath,
    read: &mut HashSet<(usize, ObjectId)>,
    read_tree: impl Fn(&ObjectId) -> Result<Vec<TreeEntry>>,
) -> Result<bool> {
    let mut here = (EntryMode::Directory, tree);
    for (depth, name) in path.components().enumerate() {
        if here.0 != EntryMode::Directory || !read.insert((depth, here.1)) {
            return Ok(false);
        }
        let entries = read_tree(&here.1)?;
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
            return Ok(false);
        };
        here = (entry.mode, entry.id);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes([byte; 20])
    }

    #[test]
    fn a_path_that_nobody_had_is_looked_for_once_in_each_tree() {
        let read = RefCell::new(Vec::new());
        // The trees 1 to 3 are states; all but 3 share the directory `src`, which is 9.
        let read_tree = |tree: &ObjectId| -> Result<Vec<TreeEntry>> {
            read.borrow_mut().push(*tree);
            let src =
                |to: u8| TreeEntry { mode: EntryMode::Directory, name: "src".into(), id: id(to) };
            Ok(match tree {
                tree if *tree == id(9) => Vec::new(),
                tree if *tree == id(8) => vec![src(7)],
                tree if *tree == id(3) => vec![src(8)],
                _ => vec![src(9)],
            })
        };
        let path = RelPath::new("src/typo").unwrap();
        let mut seen = HashSet::new();
        for state in [1, 2, 1, 3, 2, 3] {
            assert!(!is_in(id(state), &path, &mut seen, read_tree).unwrap());
        }
        assert_eq!(*read.borrow(), [1, 9, 2, 3, 8].map(id));
        let path = RelPath::new("src/src").unwrap();
        assert!(is_in(id(3), &path, &mut HashSet::new(), read_tree).unwrap());
    }
}
