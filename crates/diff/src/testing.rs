//! States of a project held in memory, for tests.

// What a test builds wrongly fails the test.
#![allow(clippy::unwrap_used, clippy::return_self_not_must_use)]

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use herma_store::object::{EntryMode, Kind, TreeEntry, compare_names, id_of, push_tree_entry};
use herma_store::{ObjectId, RelPath};

use crate::{DiffError, Side};

/// One line for each number, ended by a newline.
pub fn numbered_lines(range: Range<u32>, line: impl Fn(u32) -> String) -> String {
    range.fold(String::new(), |text, number| text + &line(number) + "\n")
}

/// The files of one state.
#[derive(Clone, Debug, Default)]
pub struct Files(pub BTreeMap<Vec<u8>, (EntryMode, Vec<u8>)>);

impl Files {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one file more.
    pub fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.entry(path, EntryMode::File, content)
    }

    /// With a file, a link or a nested repository more.
    pub fn entry(
        mut self,
        path: impl AsRef<[u8]>,
        mode: EntryMode,
        content: impl AsRef<[u8]>,
    ) -> Self {
        self.0.insert(path.as_ref().to_vec(), (mode, content.as_ref().to_vec()));
        self
    }
}

/// A side held in memory. A nested repository's "content" is its commit id.
pub struct Memory {
    trees: HashMap<ObjectId, Vec<TreeEntry>>,
    blobs: HashMap<ObjectId, Vec<u8>>,
}

impl Memory {
    /// The side with these files, and its root tree's id.
    pub fn of(files: &Files) -> (Self, ObjectId) {
        let mut blobs = HashMap::new();
        let mut directories: BTreeMap<(usize, RelPath), Vec<TreeEntry>> = BTreeMap::new();
        directories.entry((0, RelPath::root())).or_default();
        for (path, (mode, content)) in &files.0 {
            let id = if *mode == EntryMode::Nested {
                ObjectId::from_slice(content).unwrap()
            } else {
                let id = id_of(Kind::Blob, content).unwrap();
                blobs.insert(id, content.clone());
                id
            };
            let path = RelPath::new(path.clone()).unwrap();
            let (mut parent, name) = path.split().unwrap();
            let mut depth = parent.components().count();
            let entry = TreeEntry { mode: *mode, name: name.into(), id };
            directories.entry((depth, parent.clone())).or_default().push(entry);
            while let Some((above, _)) = parent.split() {
                depth -= 1;
                directories.entry((depth, above.clone())).or_default();
                parent = above;
            }
        }
        let mut trees = HashMap::new();
        // The deepest directories come last, and name themselves in the one above.
        while let Some(((depth, path), mut entries)) = directories.pop_last() {
            let is_dir = |entry: &TreeEntry| entry.mode == EntryMode::Directory;
            entries.sort_by(|a, b| compare_names(&a.name, is_dir(a), &b.name, is_dir(b)));
            let mut bytes = Vec::new();
            for entry in &entries {
                push_tree_entry(&mut bytes, entry.mode, &entry.name, &entry.id);
            }
            let id = id_of(Kind::Tree, &bytes).unwrap();
            trees.insert(id, entries);
            let Some((parent, name)) = path.split() else { return (Self { trees, blobs }, id) };
            let entry = TreeEntry { mode: EntryMode::Directory, name: name.into(), id };
            directories.get_mut(&(depth - 1, parent)).unwrap().push(entry);
        }
        unreachable!("the root is always there");
    }

    /// The same side after losing one tree or file.
    pub fn without(mut self, id: &ObjectId) -> Self {
        self.trees.remove(id);
        self.blobs.remove(id);
        self
    }
}

impl Side for Memory {
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        let missing = || DiffError::Vanished { path: path.clone() };
        self.trees.get(id).cloned().ok_or_else(missing)
    }

    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let missing = || DiffError::Vanished { path: path.clone() };
        let content = self.blobs.get(id).ok_or_else(missing)?;
        Ok((content.len() as u64 <= limit).then(|| content.clone()))
    }
}
