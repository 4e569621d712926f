//! Writes the list of modes of a result, as a save would.
//!
//! A list names what is not usual, and what is usual follows from the root directory's mode. So if that
//! changes, every file and directory of the project is looked at; otherwise only what changes.

use std::collections::BTreeMap;

use herma_diff::DiffError;
use herma_store::object::{EntryMode, Kind, compare_names};
use herma_store::{ObjectId, RelPath};
use herma_worktree::lists::{ListBuilder, UsualModes};
use herma_worktree::modes::Modes;

use super::{Add, Trees};
use crate::view::Reader;
use crate::{Outcome, Reversed};

/// The modes of the result.
pub(super) fn modes_after(
    present: &Reader<'_>,
    reversed: &Reversed,
    trees: &Trees,
) -> Result<Modes, DiffError> {
    let now = present.view.modes;
    let usual = match reversed.changes.get(&RelPath::root()) {
        Some(Outcome::Directory { full_mode }) => UsualModes::below(*full_mode),
        _ => now.usual,
    };
    let mut modes = if usual == now.usual {
        Modes { unknown: false, ..now.clone() }
    } else {
        all_modes(present, usual)?
    };
    for (path, outcome) in &reversed.changes {
        modes.files.remove(path);
        match outcome {
            Outcome::Gone => {
                modes.directories.remove(path);
            }
            Outcome::File { mode, full_mode, .. } => {
                modes.directories.remove(path);
                note_file(&mut modes, path, *mode, *full_mode);
            }
            Outcome::Directory { full_mode } => {
                note_directory(&mut modes, trees, present, path, *full_mode)?;
            }
        }
    }
    // Directories that lost their last file, or got their first.
    for path in trees.keys().filter(|path| !path.is_root()) {
        if !reversed.changes.contains_key(path)
            && let Some(mode) = present.directory(path)?
        {
            note_directory(&mut modes, trees, present, path, mode)?;
        }
    }
    Ok(modes)
}

/// The present's modes, all that are not usual in the new sense.
fn all_modes(present: &Reader<'_>, usual: UsualModes) -> Result<Modes, DiffError> {
    let mut modes = Modes { usual, ..Modes::default() };
    for file in present.view.all_files()? {
        for dir in file.path.ancestors() {
            if modes.directories.contains_key(&dir) {
                break;
            }
            let mode = present.view.modes.directory(&dir);
            modes.directories.insert(dir, mode);
        }
        if let Some(entry) = present.file(&file.path)? {
            note_file(&mut modes, &file.path, entry.state.mode, entry.full_mode);
        }
    }
    modes.directories.retain(|_, mode| *mode != usual.directory());
    let listed = &present.view.modes.directories;
    for (path, mode) in listed.iter().filter(|(path, _)| !path.is_root()) {
        if *mode != usual.directory() || present.listing(path)?.is_none() {
            modes.directories.insert(path.clone(), *mode);
        }
    }
    Ok(modes)
}

fn note_file(modes: &mut Modes, path: &RelPath, mode: EntryMode, full_mode: u32) {
    let usual = match mode {
        EntryMode::File => modes.usual.file(/*executable*/ false),
        EntryMode::Executable => modes.usual.file(/*executable*/ true),
        EntryMode::Symlink | EntryMode::Directory | EntryMode::Nested => return,
    };
    if full_mode != usual {
        modes.files.insert(path.clone(), full_mode);
    }
}

fn note_directory(
    modes: &mut Modes,
    trees: &Trees,
    present: &Reader<'_>,
    path: &RelPath,
    mode: u32,
) -> Result<(), DiffError> {
    let has_files = match trees.get(path) {
        Some(tree) => tree.is_some(),
        None => present.listing(path)?.is_some(),
    };
    // The root exists without being mentioned.
    if mode != modes.usual.directory() || !(has_files || path.is_root()) {
        modes.directories.insert(path.clone(), mode);
    } else {
        modes.directories.remove(path);
    }
    Ok(())
}

/// What one directory's list says.
#[derive(Default)]
struct Listed<'m> {
    own: Option<u32>,
    files: Vec<(&'m [u8], u32)>,
    below: Vec<(Vec<u8>, ObjectId)>,
}

/// Stores the list of modes, from the inside out; `None` if there is nothing to say.
pub(super) fn write_lists<E>(modes: &Modes, add: &Add<'_, E>) -> Result<Option<ObjectId>, E> {
    let mut pending: BTreeMap<RelPath, Listed<'_>> = BTreeMap::new();
    pending.insert(RelPath::root(), Listed::default());
    for (path, mode) in &modes.directories {
        add_above(&mut pending, path);
        pending.entry(path.clone()).or_default().own = Some(*mode);
    }
    for (path, mode) in &modes.files {
        add_above(&mut pending, path);
        let name = path.as_bytes().rsplit(|byte| *byte == b'/').next();
        let parent = path.split().map(|(parent, _)| parent);
        if let (Some(parent), Some(name)) = (parent, name) {
            let listed = pending.entry(parent).or_default();
            listed.files.push((name, *mode));
        }
    }
    while let Some((dir, mut listed)) = pending.pop_last() {
        let mut list = ListBuilder::default();
        if dir.is_root() {
            list.usual_modes(modes.usual);
        }
        if let Some(mode) = listed.own {
            list.directory_mode(mode);
        }
        for (name, mode) in listed.files {
            list.file_mode(name, mode);
        }
        listed.below.sort_by(|(a, _), (b, _)| compare_names(a, true, b, true));
        for (name, below) in &listed.below {
            list.subdirectory(name, below);
        }
        let id = list.finish(|blob| add(Kind::Blob, blob), |tree| add(Kind::Tree, tree))?;
        match dir.split() {
            Some((parent, name)) if !id.is_null() => {
                let above = pending.entry(parent).or_default();
                above.below.push((name.to_vec(), id));
            }
            Some(_) => {}
            None => return Ok((!id.is_null()).then_some(id)),
        }
    }
    Ok(None)
}

fn add_above(pending: &mut BTreeMap<RelPath, Listed<'_>>, path: &RelPath) {
    for dir in path.ancestors() {
        pending.entry(dir).or_default();
    }
}
