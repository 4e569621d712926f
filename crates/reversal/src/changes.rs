//! What a run did: which files it changed, moved or gave other permissions.

use std::collections::{BTreeMap, BTreeSet};

use herma_diff::renames::detect;
use herma_diff::{Change, DiffError, RenameOptions, compare};
use herma_store::RelPath;

use super::view::{Reader, Role, StateView};

/// Do both states know more of permissions than who may execute?
pub(crate) fn modes_known(base: &Reader<'_>, theirs: &Reader<'_>) -> bool {
    !base.view.modes.unknown && !theirs.view.modes.unknown
}

/// How `theirs` differs from `base`: moves recognised, and files of which only the mode differs added.
pub(crate) fn changes_between(
    base: &Reader<'_>,
    theirs: &Reader<'_>,
) -> Result<Vec<Change>, DiffError> {
    let (old, new) = (&base.view, &theirs.view);
    let changes = compare(Some((old.side, old.tree)), Some((new.side, new.tree)), &[])?;
    // What one of the states left out may have been there all the time: nothing was moved there, or from there.
    let is_said = |c: &Change| old.left_out(&c.path).is_none() && new.left_out(&c.path).is_none();
    let (said, unsaid) = changes.into_iter().partition(is_said);
    let mut changes = detect(said, old.side, new.side, &RenameOptions::default())?.changes;
    if !Vec::is_empty(&unsaid) {
        changes.extend(unsaid);
        changes.sort_by(|a, b| a.path.cmp(&b.path));
    }
    add_other_modes(base, theirs, &mut changes)?;
    Ok(changes)
}

/// Files that have other permissions in one state than in the other, and are otherwise the same.
pub fn other_modes(one: StateView<'_>, other: StateView<'_>) -> Result<Vec<RelPath>, DiffError> {
    let (one, other) = (Reader::new(one, Role::Saved), Reader::new(other, Role::Saved));
    let mut changes = Vec::new();
    add_other_modes(&one, &other, &mut changes)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

fn add_other_modes(
    base: &Reader<'_>,
    theirs: &Reader<'_>,
    changes: &mut Vec<Change>,
) -> Result<(), DiffError> {
    if !modes_known(base, theirs) {
        return Ok(());
    }
    let candidates = if base.view.modes.usual == theirs.view.modes.usual {
        differing(&base.view.modes.files, &theirs.view.modes.files)
    } else {
        let files = base.view.all_files()?;
        files.into_iter().map(|file| file.path).collect()
    };
    for path in candidates {
        let (Some(old), Some(new)) = (base.file(&path)?, theirs.file(&path)?) else { continue };
        if old.state == new.state && old.full_mode != new.full_mode {
            changes.push(Change { path, old: Some(old.state), new: Some(new.state), from: None });
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// The keys under which two maps do not have the same.
pub(crate) fn differing(
    a: &BTreeMap<RelPath, u32>,
    b: &BTreeMap<RelPath, u32>,
) -> BTreeSet<RelPath> {
    let not_in = |other: &BTreeMap<RelPath, u32>, (path, mode): (&RelPath, &u32)| {
        (other.get(path) != Some(mode)).then(|| path.clone())
    };
    let only_a = a.iter().filter_map(|item| not_in(b, item));
    let only_b = b.iter().filter_map(|item| not_in(a, item));
    only_a.chain(only_b).collect()
}
