//! Where paths are in a checkpoint's tree, and where certain contents are.
//!
//! Trees are shared by many checkpoints, so what was found in one is remembered by its id.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use herma_diff::{DiffError, StoreSide, compare};
use herma_store::object::{EntryMode, TreeEntry};
use herma_store::objects::{ObjectError, Objects};
use herma_store::{ObjectId, RelPath};

/// So many places of contents in one tree are looked at; a project with more is an attack.
const MAX_PLACES: usize = 1 << 20;

/// A file or link in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where it is.
    pub(crate) path: RelPath,
    /// Its content.
    pub(crate) id: ObjectId,
    /// What it is.
    pub(crate) mode: EntryMode,
}

impl Place {
    /// The content, if there is anything in it to be rid of: an empty file tells nothing, and the commit
    /// of a nested repository was never ours.
    pub(crate) fn content(&self) -> Option<ObjectId> {
        let is_ours = self.mode != EntryMode::Nested && self.id != ObjectId::EMPTY_BLOB;
        is_ours.then_some(self.id)
    }
}

/// Finds certain contents, wherever they are.
pub(crate) struct Contents<'a> {
    objects: &'a Objects,
    wanted: BTreeSet<ObjectId>,
    /// For each tree that was walked, the places in it, relative to it.
    known: HashMap<ObjectId, Rc<[Place]>>,
}

/// Every file, link and nested repository of a tree that is one of these paths or below one.
pub(crate) fn at_paths(
    objects: &Objects,
    tree: ObjectId,
    paths: &[RelPath],
) -> Result<Vec<Place>, DiffError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let side = StoreSide::new(objects);
    let found = compare(None, Some((&side, tree)), paths)?;
    let places = found.into_iter().filter_map(|change| {
        let state = change.new?;
        Some(Place { path: change.path, id: state.id, mode: state.mode })
    });
    Ok(places.collect())
}

impl<'a> Contents<'a> {
    /// Looks for these contents.
    pub(crate) fn new(objects: &'a Objects, wanted: BTreeSet<ObjectId>) -> Self {
        Self { objects, wanted, known: HashMap::new() }
    }

    /// Every place below a tree where one of the contents is.
    pub(crate) fn below(&mut self, tree: ObjectId) -> Result<Rc<[Place]>, ObjectError> {
        if self.wanted.is_empty() {
            return Ok(Rc::default());
        }
        // From the inside out, without recursion: a crafted tree may be deep.
        let mut pending = vec![tree];
        while let Some(next) = pending.last().copied() {
            if self.known.contains_key(&next) {
                pending.pop();
                continue;
            }
            let entries = self.entries(&next)?;
            let before = pending.len();
            let directories = entries.iter().filter(|e| e.mode == EntryMode::Directory);
            pending.extend(directories.map(|e| e.id).filter(|id| !self.known.contains_key(id)));
            if pending.len() == before {
                let places = self.places(&next, &entries)?;
                self.known.insert(next, places);
                pending.pop();
            }
        }
        Ok(self.known.get(&tree).cloned().unwrap_or_default())
    }

    fn entries(&self, tree: &ObjectId) -> Result<Vec<TreeEntry>, ObjectError> {
        if *tree == ObjectId::EMPTY_TREE {
            return Ok(Vec::new());
        }
        self.objects.read_tree(tree)
    }

    /// The places in one tree, of whose directories all are known.
    fn places(&self, tree: &ObjectId, entries: &[TreeEntry]) -> Result<Rc<[Place]>, ObjectError> {
        let mut found = Vec::new();
        for entry in entries {
            let here = RelPath::root().join(&entry.name);
            match entry.mode {
                EntryMode::Nested => {}
                EntryMode::Directory => {
                    let below = self.known.get(&entry.id).into_iter().flat_map(|b| b.iter());
                    found.extend(
                        below.map(|place| Place {
                            path: beneath(&here, &place.path),
                            ..place.clone()
                        }),
                    );
                }
                mode if self.wanted.contains(&entry.id) => {
                    found.push(Place { path: here, id: entry.id, mode });
                }
                _ => {}
            }
            if found.len() > MAX_PLACES {
                return Err(ObjectError::Damaged {
                    id: *tree,
                    what: "it has one file in more places than a project can have".to_owned(),
                });
            }
        }
        Ok(found.into())
    }
}

fn beneath(directory: &RelPath, path: &RelPath) -> RelPath {
    path.components().fold(directory.clone(), |at, name| at.join(name))
}
