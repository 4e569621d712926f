//! What the store holds already, for the question whether a file that looks like a secret may be left out.
//!
//! A file that any checkpoint of the project has stays in the next one: without it, going back to that
//! checkpoint would overwrite what nobody could bring back. The same holds for content the store has: what a
//! restore has just written must look saved to whoever compares.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use herma_store::ObjectId;
use herma_store::object::EntryMode;
use herma_store::objects::Objects;
use herma_worktree::saved::AlreadySaved;

use crate::engine::Project;
use crate::engine::history::History;
use crate::engine::open::OpenStore;

/// The store, as far as it can tell. What cannot be read was not saved.
pub(crate) struct SavedBefore<'a> {
    project: &'a Project,
    store: Option<&'a OpenStore>,
    /// The trees of the project's checkpoints, the newest first; read when first asked.
    trees: OnceLock<Vec<ObjectId>>,
}

impl<'a> SavedBefore<'a> {
    /// Asks this store, if there is one, about this project.
    pub(crate) fn new(project: &'a Project, store: Option<&'a OpenStore>) -> Self {
        Self { project, store, trees: OnceLock::new() }
    }

    fn trees(&self, store: &OpenStore) -> &[ObjectId] {
        self.trees.get_or_init(|| {
            let history = History::load(store, self.project.id());
            let entries = history.map(|history| history.entries).unwrap_or_default();
            let newest_first = entries.iter().rev();
            let commits =
                newest_first.filter_map(|entry| store.objects.read_commit(&entry.id).ok());
            let mut trees: Vec<_> = commits.map(|commit| commit.tree).collect();
            trees.dedup();
            trees
        })
    }
}

impl AlreadySaved for SavedBefore<'_> {
    fn has_path(&self, path: &[u8]) -> bool {
        self.store.is_some_and(|store| {
            let mut trees = self.trees(store).iter();
            trees.any(|tree| has_file(&store.objects, tree, path).unwrap_or(false))
        })
    }

    fn has_content(&self, id: &ObjectId) -> bool {
        let found = self.store.map(|store| store.objects.contains(id));
        matches!(found, Some(Ok(true)))
    }

    fn has_project(&self, directory: &[u8]) -> bool {
        let directory = self.project.root.join(OsStr::from_bytes(directory));
        self.store.is_some_and(|store| store.knows(&directory))
    }
}

/// Does a tree have a file or link at this path? `None` if it cannot be read.
fn has_file(objects: &Objects, tree: &ObjectId, path: &[u8]) -> Option<bool> {
    let mut tree = *tree;
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let entries = objects.read_tree(&tree).ok()?;
        let Some(entry) = entries.into_iter().find(|entry| entry.name == name) else {
            return Some(false);
        };
        let is_last = names.peek().is_none();
        match entry.mode {
            EntryMode::Directory if !is_last => tree = entry.id,
            mode => return Some(is_last && mode != EntryMode::Directory),
        }
    }
    Some(false)
}
