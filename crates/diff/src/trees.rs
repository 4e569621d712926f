//! Which paths differ: two trees walked together.
//!
//! Directories with equal ids are not entered, so the walk costs what changed, not what exists. It
//! keeps its own list of directories still to visit: a tree can be deeper than a thread's stack.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;

use herma_store::object::{EntryMode, TreeEntry};
use herma_store::threads::shared_out;
use herma_store::{ObjectId, RelPath};

use crate::{Change, DiffError, FileState, Side};

/// More entries than any project has.
const MAX_ENTRIES: usize = 10_000_000;

/// Trees can name each other so that a few kilobytes spell out billions of paths. Copies of a directory
/// are common, so many entries seen before elsewhere are.
const MAX_REPEATED: usize = 1_000_000;

/// So many directories are read at once.
const BATCH: usize = 8;

/// Or so deep that their paths alone fill the memory.
const MAX_PATH_BYTES: usize = 2 << 30;

/// Lists the files that differ between two states, sorted by the bytes of their paths.
///
/// `None` is a state without files. With a `scope`, only paths equal to or below one of its paths
/// count, and directories that lead to none of them are not read. A file replaced by a directory is a
/// deletion and additions; directories themselves are never changes.
pub fn compare(
    old: Option<(&dyn Side, ObjectId)>,
    new: Option<(&dyn Side, ObjectId)>,
    scope: &[RelPath],
) -> Result<Vec<Change>, DiffError> {
    let mut walk = Walk {
        old: old.map(|(side, _)| side),
        new: new.map(|(side, _)| side),
        scope: scope.iter().collect(),
        pending: Vec::new(),
        changes: Vec::new(),
        seen: HashSet::new(),
        entries_seen: 0,
        entries_repeated: 0,
        path_bytes: 0,
    };
    let in_scope = scope.is_empty() || scope.iter().any(RelPath::is_root);
    walk.push_directory(RelPath::root(), old.map(|(_, id)| id), new.map(|(_, id)| id), in_scope);
    while !walk.pending.is_empty() {
        let first = walk.pending.len().saturating_sub(BATCH);
        let batch = walk.pending.split_off(first);
        let read = shared_out(&batch, |each| walk.read(each));
        for (directory, read) in batch.iter().zip(read) {
            walk.compare_directory(directory, read?)?;
        }
    }
    walk.changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.changes)
}

/// A directory still to be compared.
struct Directory {
    path: RelPath,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    /// Everything below counts; otherwise only what the scope names.
    in_scope: bool,
}

struct Walk<'a> {
    old: Option<&'a dyn Side>,
    new: Option<&'a dyn Side>,
    scope: BTreeSet<&'a RelPath>,
    pending: Vec<Directory>,
    changes: Vec<Change>,
    /// Trees that were entered at some path already.
    seen: HashSet<ObjectId>,
    entries_seen: usize,
    entries_repeated: usize,
    path_bytes: usize,
}

impl Walk<'_> {
    fn push_directory(
        &mut self,
        path: RelPath,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        in_scope: bool,
    ) {
        if old != new {
            self.pending.push(Directory { path, old, new, in_scope });
        }
    }

    /// What both sides have in a directory.
    fn read(&self, directory: &Directory) -> Result<[Vec<TreeEntry>; 2], DiffError> {
        let entries = |side: Option<&dyn Side>, id| match (side, id) {
            (Some(side), Some(id)) if id != ObjectId::EMPTY_TREE => {
                side.entries(&directory.path, &id)
            }
            _ => Ok(Vec::new()),
        };
        Ok([entries(self.old, directory.old)?, entries(self.new, directory.new)?])
    }

    fn compare_directory(
        &mut self,
        directory: &Directory,
        [old, new]: [Vec<TreeEntry>; 2],
    ) -> Result<(), DiffError> {
        self.count(directory.old, old.len())?;
        self.count(directory.new, new.len())?;
        // By name alone: git's order puts `a` the directory after `a.b`, and `a` the file before it; here both must meet.
        let mut pairs: BTreeMap<_, [Option<&TreeEntry>; 2]> = BTreeMap::new();
        for (side, entries) in [&old, &new].into_iter().enumerate() {
            for entry in entries {
                pairs.entry(&entry.name).or_default()[side] = Some(entry);
            }
        }
        for [old, new] in pairs.into_values() {
            self.compare_entries(directory, old, new);
        }
        Ok(())
    }

    /// Notes that a directory with so many entries was entered.
    fn count(&mut self, tree: Option<ObjectId>, entries: usize) -> Result<(), DiffError> {
        self.entries_seen += entries;
        if tree.is_some_and(|tree| !self.seen.insert(tree)) {
            self.entries_repeated += entries;
        }
        let limit = if self.entries_repeated > MAX_REPEATED {
            MAX_REPEATED
        } else if self.entries_seen > MAX_ENTRIES || self.path_bytes > MAX_PATH_BYTES {
            MAX_ENTRIES
        } else {
            return Ok(());
        };
        Err(DiffError::TooMany { limit })
    }

    /// Compares what the two sides have under one name. At least one side has something.
    fn compare_entries(
        &mut self,
        directory: &Directory,
        old: Option<&TreeEntry>,
        new: Option<&TreeEntry>,
    ) {
        if old == new {
            return;
        }
        let Some(name) = old.or(new).map(|entry| &entry.name) else { return };
        let path = directory.path.join(name);
        self.path_bytes += path.as_bytes().len();
        let in_scope = directory.in_scope || self.scope.contains(&path);

        let old_directory = directory_id(old);
        let new_directory = directory_id(new);
        if in_scope {
            let (old, new) = (file_state(old), file_state(new));
            if old.is_some() || new.is_some() {
                self.changes.push(Change { path: path.clone(), old, new, from: None });
            }
        }
        if in_scope || self.leads_into_scope(&path) {
            self.push_directory(path, old_directory, new_directory, in_scope);
        }
    }

    fn leads_into_scope(&self, directory: &RelPath) -> bool {
        // Between `dir` and `dir/x` other names may sort (`dir.x`), so the search starts at `dir/`.
        let first = directory.join(b"");
        let mut below = self.scope.range::<RelPath, _>((Bound::Excluded(&first), Bound::Unbounded));
        below.next().is_some_and(|path| path.starts_with(directory))
    }
}

fn directory_id(entry: Option<&TreeEntry>) -> Option<ObjectId> {
    entry.filter(|entry| entry.mode == EntryMode::Directory).map(|entry| entry.id)
}

fn file_state(entry: Option<&TreeEntry>) -> Option<FileState> {
    entry
        .filter(|entry| entry.mode != EntryMode::Directory)
        .map(|entry| FileState { mode: entry.mode, id: entry.id })
}

/// What is at a path of a state.
pub fn entry_at(
    side: &dyn Side,
    tree: ObjectId,
    path: &RelPath,
) -> Result<Option<(EntryMode, ObjectId)>, DiffError> {
    let mut dir = RelPath::root();
    let mut here = Some((EntryMode::Directory, tree));
    for name in path.components() {
        let Some((EntryMode::Directory, id)) = here else { return Ok(None) };
        let entries = side.entries(&dir, &id)?;
        here = entries.iter().find(|e| e.name == name).map(|e| (e.mode, e.id));
        dir = dir.join(name);
    }
    Ok(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Files, Memory};

    fn changed(old: &Files, new: &Files, scope: &[&str]) -> Vec<(String, bool, bool)> {
        let (old, old_root) = Memory::of(old);
        let (new, new_root) = Memory::of(new);
        let scope: Vec<_> = scope.iter().map(|path| RelPath::new(*path).unwrap()).collect();
        compare(Some((&old, old_root)), Some((&new, new_root)), &scope)
            .unwrap()
            .into_iter()
            .map(|c| (c.path.to_string(), c.old.is_some(), c.new.is_some()))
            .collect()
    }

    fn paths(changes: &[(String, bool, bool)]) -> Vec<&str> {
        changes.iter().map(|(path, ..)| path.as_str()).collect()
    }

    #[test]
    fn a_file_that_becomes_a_directory_is_a_deletion_and_additions() {
        let old = Files::new().file("a", "1").file("a.b", "same").file("z/y", "1");
        let new =
            Files::new().file("a/x", "1").file("a/y/z", "1").file("a.b", "same").file("z", "1");
        let expected = [
            ("a".to_owned(), true, false),
            ("a/x".to_owned(), false, true),
            ("a/y/z".to_owned(), false, true),
            ("z".to_owned(), false, true),
            ("z/y".to_owned(), true, false),
        ];
        assert_eq!(changed(&old, &new, &[]), expected);
    }

    #[test]
    fn changes_are_sorted_by_the_bytes_of_their_paths() {
        let old = Files::new();
        let new = Files::new().file("a/b", "1").file("a.b", "1").file("a-b", "1").file("a0", "1");
        assert_eq!(paths(&changed(&old, &new, &[])), ["a-b", "a.b", "a/b", "a0"]);
    }

    #[test]
    fn a_scope_takes_the_path_and_what_is_below_and_nothing_else() {
        let old = Files::new();
        let new = ["src/a/x", "src/a/y", "src/ab", "src/b", "top", "src.txt"]
            .iter()
            .fold(Files::new(), |files, path| files.file(path, "1"));
        assert_eq!(paths(&changed(&old, &new, &["src/a"])), ["src/a/x", "src/a/y"]);
        assert_eq!(paths(&changed(&old, &new, &["src/a/y", "top"])), ["src/a/y", "top"]);
        assert_eq!(paths(&changed(&old, &new, &["top/none", "src/b"])), ["src/b"]);
        assert_eq!(changed(&old, &new, &[""]).len(), 6);
        assert!(changed(&old, &new, &["sr"]).is_empty());
    }

    #[test]
    fn directories_outside_the_scope_are_not_read() {
        let (new, root) =
            Memory::of(&Files::new().file("in/a", "1").file("out/b", "2").file("in.c/d", "3"));
        let out = new.entries(&RelPath::root(), &root).unwrap();
        let out = out.iter().find(|entry| entry.name == "out").unwrap().id;
        let new = new.without(&out);
        let scope = [RelPath::new("in/a").unwrap()];
        assert_eq!(compare(None, Some((&new, root)), &scope).unwrap().len(), 1);
        assert!(compare(None, Some((&new, root)), &[]).is_err());
    }

    #[test]
    fn a_missing_side_means_everything_is_new_or_gone() {
        let (side, root) = Memory::of(&Files::new().file("a/b", "1").file("c", "2"));
        let added = compare(None, Some((&side, root)), &[]).unwrap();
        assert!(added.iter().all(|c| c.old.is_none() && c.new.is_some()) && added.len() == 2);
        let deleted = compare(Some((&side, root)), None, &[]).unwrap();
        assert!(deleted.iter().all(|c| c.old.is_some() && c.new.is_none()) && deleted.len() == 2);
        assert!(compare(None, None, &[]).unwrap().is_empty());
    }

    #[test]
    fn four_thousand_levels_do_not_overflow_the_stack() {
        let deep = |content: &str| Files::new().file(&("d/".repeat(4000) + "f"), content);
        assert_eq!(changed(&deep("1"), &deep("2"), &[]).len(), 1);
    }
}
