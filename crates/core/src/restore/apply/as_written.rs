//! Are the files that a restore replaced as it wrote them?
//!
//! Most restores only replace files, in a project that has the same names as the checkpoint. If each of these then holds what the
//! checkpoint has for it, byte for byte and with its mode, the project is in the checkpoint's state, and nobody has to look
//! through the directories around them to know. Whatever is not that simple, or not so, is looked at as a whole.

use herma_fs::file::{read_at, stat_file};
use herma_fs::{Dir, FileKind};
use herma_store::RelPath;
use herma_worktree::lists::{KEPT_BITS, KEPT_DIRECTORY_BITS};

use crate::restore::ActionKind;
use crate::restore::plan::Prepared;
use crate::save::read_ahead::Content;
use crate::types::kept::{Kept, KeptWhy};

/// Files that say what a save leaves out: with another one of these, the same files are another state.
const RULES: [&[u8]; 2] = [b".gitignore", b".hermaignore"];

/// Did this plan only replace files, and are all of them as they were to be?
pub(crate) fn is_all_as_written(root: &Dir, prepared: &Prepared) -> bool {
    let plan = &prepared.plan;
    // What the checkpoint left out belongs to neither state: if it did, their names would differ.
    let is_outside = |kept: &Kept| matches!(kept.why, KeptWhy::LeftOut(_));
    let only_replaces = plan.kept.iter().all(is_outside) && !plan.actions.is_empty();
    let is_simple = only_replaces && !plan.receipt_damaged;
    if !is_simple || !plan.actions.iter().all(|a| replaces_a_file(a.kind, &a.path)) {
        return false;
    }
    let mut opened: Option<(RelPath, Dir)> = None;
    for action in &plan.actions {
        let Some((parent, name)) = action.path.split() else { return false };
        // Sorted by path, the files of a directory mostly follow each other.
        if opened.as_ref().is_none_or(|(path, _)| *path != parent) {
            opened = open_as_planned(root, &parent, prepared).map(|dir| (parent, dir));
        }
        let content = prepared.contents.get(&action.path);
        let (Some((_, dir)), Some(content)) = (&opened, content) else { return false };
        if !holds(dir, name, content, prepared) {
            return false;
        }
    }
    true
}

fn replaces_a_file(kind: ActionKind, path: &RelPath) -> bool {
    let name = path.split().map(|(_, name)| name);
    kind == ActionKind::Write { new: false } && !name.is_some_and(|name| RULES.contains(&name))
}

/// A directory, if it has the mode it was to end up with.
fn open_as_planned(root: &Dir, path: &RelPath, prepared: &Prepared) -> Option<Dir> {
    let dir = root.open_beneath(path.as_bytes()).ok()?;
    let mode = dir.stat_self().ok()?.mode & KEPT_DIRECTORY_BITS;
    let wanted = prepared.directory_modes.get(path);
    wanted.is_none_or(|directory| directory.wanted == mode).then_some(dir)
}

/// Is this a file with this content and mode? Only what was small enough to be kept in memory can be compared.
fn holds(dir: &Dir, name: &[u8], content: &Content, prepared: &Prepared) -> bool {
    let Some(wanted) = prepared.read_ahead.get(&content.id) else { return false };
    let Ok(file) = dir.open_file_raw(name) else { return false };
    let is_like_it = stat_file(&file).is_ok_and(|stat| {
        stat.kind == FileKind::File
            && stat.size == wanted.len() as u64
            && stat.mode & KEPT_BITS == content.bits
    });
    // One byte more shows that it grew.
    let mut found = vec![0; wanted.len() + 1];
    is_like_it && read_at(&file, &mut found, 0).is_ok_and(|read| found[..read] == *wanted)
}
