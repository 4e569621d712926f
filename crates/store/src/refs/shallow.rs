//! Git's `shallow` file: commits whose parents were given up.
//!
//! Where history is cut, the commit is named here and not rewritten: `git log` and `git fsck` stop at
//! it, and no checkpoint changes its id.

use std::collections::BTreeSet;

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::layout::plain_file::read_plain;
use crate::lock_file::LockFile;

const FILE: &str = "shallow";

/// About a million commits.
const MAX_SIZE: u64 = 41 << 20;

/// The `shallow` file of a store.
#[derive(Debug)]
pub struct Shallow<'a> {
    dirs: &'a StoreDirs,
}

impl StoreDirs {
    /// The commits whose parents were given up.
    pub fn shallow(&self) -> Shallow<'_> {
        Shallow { dirs: self }
    }
}

impl Shallow<'_> {
    /// All commits in the file.
    pub fn read(&self) -> Result<BTreeSet<ObjectId>, StoreError> {
        let bytes = read_plain(self.dirs.store(), FILE, FILE, MAX_SIZE)?;
        parse(&bytes.unwrap_or_default())
    }

    /// Adds commits, durably; those that are in the file already cost nothing.
    pub fn add(&self, commits: &[ObjectId]) -> Result<(), StoreError> {
        self.change(|ids| ids.extend(commits))
    }

    /// Removes commits, durably: for those that are no longer in the store.
    pub fn remove(&self, commits: &[ObjectId]) -> Result<(), StoreError> {
        self.change(|ids| ids.retain(|id| !commits.contains(id)))
    }

    fn change(&self, change: impl Fn(&mut BTreeSet<ObjectId>)) -> Result<(), StoreError> {
        let herma = self.dirs.for_writing()?;
        let store = self.dirs.store();
        let mut lock = LockFile::acquire(&herma.dir, &herma.tmp, store, FILE, FILE)?;
        let before = self.read()?;
        let mut ids = before.clone();
        change(&mut ids);
        if ids == before {
            return Ok(());
        }
        lock.write(render(&ids).as_bytes())?;
        lock.commit()
    }
}

/// The commits a file of this content names.
pub(crate) fn parse(bytes: &[u8]) -> Result<BTreeSet<ObjectId>, StoreError> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if text.is_empty() {
        return Ok(BTreeSet::new());
    }
    let parse = |line: &[u8]| {
        let damaged = || StoreError::damaged_file(FILE, "a line is not an object id");
        ObjectId::from_hex(line).ok_or_else(damaged)
    };
    text.split(|b| *b == b'\n').map(parse).collect()
}

/// The content of a file that names these commits.
pub(crate) fn render(ids: &BTreeSet<ObjectId>) -> String {
    let lines: Vec<String> = ids.iter().map(|id| format!("{id}\n")).collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fresh;

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn commits_are_added_once_and_git_stops_at_them() {
        let fresh = Fresh::new();
        let tree = fresh.git(&["mktree"]);
        let first = fresh.git(&["commit-tree", "-m", "one", tree.trim()]);
        let second = fresh.git(&["commit-tree", "-m", "two", "-p", first.trim(), tree.trim()]);
        let second_id = ObjectId::from_hex(second.trim().as_bytes()).unwrap();
        fresh.git(&["update-ref", "refs/hermes/x", second.trim()]);
        let shallow = fresh.dirs.shallow();
        assert!(shallow.read().unwrap().is_empty());
        shallow.add(&[second_id]).unwrap();
        shallow.add(&[second_id]).unwrap();
        assert_eq!(shallow.read().unwrap().into_iter().collect::<Vec<_>>(), [second_id]);
        assert_eq!(fresh.git(&["rev-list", "refs/hermes/x"]), second);
        fresh.assert_sound();
        assert!(fresh.temporary_files().is_empty());
        shallow.remove(&[second_id]).unwrap();
        assert!(shallow.read().unwrap().is_empty());
        assert_eq!(fresh.git(&["rev-list", "refs/hermes/x"]), format!("{second}{first}"));
        std::fs::write(fresh.store().join("shallow"), "nonsense\n").unwrap();
        assert!(matches!(shallow.add(&[second_id]), Err(StoreError::DamagedFile { .. })));
    }
}
