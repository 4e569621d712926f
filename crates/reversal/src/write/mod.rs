//! Writes a result as objects, with the ids a save of it would have.
//!
//! Only directories with changes in them are written anew, from the inside out; everything else is named
//! as the present names it.

mod modes;

use std::collections::{BTreeMap, HashMap};

use herma_diff::DiffError;
use herma_store::object::{EntryMode, Kind, compare_names, push_tree_entry};
use herma_store::{ObjectId, RelPath};
use modes::{modes_after, write_lists};

use crate::view::{Listing, Reader, Role};
use crate::{Content, Outcome, Reversed, StateView};

/// Stores an object and returns its id.
pub(crate) type Add<'s, E> = dyn Fn(Kind, &[u8]) -> Result<ObjectId, E> + 's;

/// Stores the state that `reversed` makes of the present: its tree, and its list of modes if that has
/// something to say. Contents that some state has are not stored again.
pub fn write_state<E: From<DiffError>>(
    present: &StateView<'_>,
    reversed: &Reversed,
    add: &Add<'_, E>,
) -> Result<(ObjectId, Option<ObjectId>), E> {
    let present = Reader::new(*present, Role::Present);
    let trees = write_trees(&present, reversed, add)?;
    let root = trees.get(&RelPath::root()).copied().flatten();
    let modes = write_lists(&modes_after(&present, reversed, &trees)?, add)?;
    let unchanged = present.view.tree;
    let root = if trees.is_empty() { Some(unchanged) } else { root };
    Ok((root.unwrap_or(ObjectId::EMPTY_TREE), modes))
}

/// The directories that were written, and their trees; `None`: nothing is left in it.
pub(crate) type Trees = HashMap<RelPath, Option<ObjectId>>;

fn write_trees<E: From<DiffError>>(
    present: &Reader<'_>,
    reversed: &Reversed,
    add: &Add<'_, E>,
) -> Result<Trees, E> {
    let mut pending = changed_directories(present, reversed, add)?;
    let mut trees = Trees::new();
    // Names sort behind what they are below, so that this goes from the inside out.
    while let Some((dir, listing)) = pending.pop_last() {
        let tree =
            if listing.is_empty() { None } else { Some(add(Kind::Tree, &tree_bytes(&listing))?) };
        if let Some((parent, name)) = dir.split()
            && let Some(above) = pending.get_mut(&parent)
        {
            match tree {
                Some(id) => {
                    above.insert(name.into(), (EntryMode::Directory, id));
                }
                // A file may have taken the place of the directory.
                None if is_directory(above, name) => {
                    above.remove(name);
                }
                None => {}
            }
        }
        trees.insert(dir, tree);
    }
    if let Some(root @ None) = trees.get_mut(&RelPath::root()) {
        *root = Some(add(Kind::Tree, b"")?);
    }
    Ok(trees)
}

/// What every directory with changes in it holds afterwards; directories in it are as they were.
fn changed_directories<E: From<DiffError>>(
    present: &Reader<'_>,
    reversed: &Reversed,
    add: &Add<'_, E>,
) -> Result<BTreeMap<RelPath, Listing>, E> {
    let mut pending = BTreeMap::new();
    for (path, outcome) in &reversed.changes {
        let Some((parent, name)) = path.split() else { continue };
        for dir in path.ancestors().chain([RelPath::root()]) {
            if pending.contains_key(&dir) {
                break;
            }
            let listing = present.listing(&dir)?;
            pending.insert(dir, listing.map(|l| Listing::clone(&l)).unwrap_or_default());
        }
        let Some(listing) = pending.get_mut(&parent) else { continue };
        match outcome {
            Outcome::File { mode, content, .. } => {
                let id = match content {
                    Content::Stored(id) | Content::Present(id) => *id,
                    Content::Merged(bytes) => add(Kind::Blob, bytes)?,
                };
                listing.insert(name.into(), (*mode, id));
            }
            // What is in a directory comes and goes by itself.
            Outcome::Gone | Outcome::Directory { .. } if !is_directory(listing, name) => {
                listing.remove(name);
            }
            Outcome::Gone | Outcome::Directory { .. } => {}
        }
    }
    Ok(pending)
}

fn is_directory(listing: &Listing, name: &[u8]) -> bool {
    matches!(listing.get(name), Some((EntryMode::Directory, _)))
}

fn tree_bytes(listing: &Listing) -> Vec<u8> {
    let mut entries: Vec<_> = listing.iter().collect();
    let is_dir = |mode: EntryMode| mode == EntryMode::Directory;
    entries.sort_by(|(a, (a_mode, _)), (b, (b_mode, _))| {
        compare_names(a, is_dir(*a_mode), b, is_dir(*b_mode))
    });
    let mut bytes = Vec::new();
    for (name, (mode, id)) in entries {
        push_tree_entry(&mut bytes, *mode, name, id);
    }
    bytes
}
