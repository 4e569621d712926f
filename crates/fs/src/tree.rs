//! Whole directory trees below an open directory: how large they are, and removing them.
//!
//! Both walks are loops with one open directory at a time, so neither a deep tree nor a small limit on
//! open files stops them. Nothing follows a symlink, and neither walk enters a directory on which
//! something is mounted: what lies there belongs to somebody else.

use std::ffi::{CStr, CString};

use rustix::io::Errno;

use crate::process::effective_uid;
use crate::{Dir, Error, FileKind, Result, Stat};

/// How often a directory is listed again because somebody still puts files into it.
const ATTEMPTS: usize = 4;

/// A directory on the way down: its name and what is still to be visited in it.
struct Level {
    name: CString,
    left: Vec<CString>,
    attempts: usize,
}

/// A walk through one tree. `path` leads from the top to the directory that is open.
struct Walk {
    top: Dir,
    here: Dir,
    path: Vec<u8>,
    levels: Vec<Level>,
}

impl Dir {
    /// Removes the directory `name` with everything in it; returns the bytes of the ordinary files.
    ///
    /// Directories of ours that forbid it are made accessible first. Stops with an error at something
    /// that is mounted inside. What was removed until an error stays removed.
    pub fn remove_tree(&self, name: &CStr) -> Result<u64> {
        let top = self.open_below(name, Access::Change)?;
        let mut bytes = 0;
        let left = remove_files(&top, &mut bytes)?;
        let mut walk = Walk::new(top, left)?;
        loop {
            if let Some(name) = walk.next() {
                walk.enter(name, Access::Change)?;
                let left = remove_files(&walk.here, &mut bytes)?;
                walk.found(left);
            } else if let Some(level) = walk.leave()? {
                match walk.here.remove_dir(level.name.as_c_str()) {
                    Err(e) if e.is_not_found() => {}
                    Err(e) if is_not_empty(&e) && level.attempts < ATTEMPTS => {
                        walk.again(level)?;
                        let left = remove_files(&walk.here, &mut bytes)?;
                        walk.found(left);
                    }
                    other => other?,
                }
            } else {
                self.remove_dir(name)?;
                return Ok(bytes);
            }
        }
    }

    /// The sizes of all ordinary files in the directory `name`, added up.
    ///
    /// Files and directories that vanish meanwhile count for nothing, and so does what is mounted
    /// inside.
    pub fn tree_bytes(&self, name: &CStr) -> Result<u64> {
        Ok(self.tree_measure(name)?.bytes)
    }

    /// Like [`Self::tree_bytes`], with the latest time anything in it was changed.
    pub fn tree_measure(&self, name: &CStr) -> Result<TreeMeasure> {
        let top = self.open_below(name, Access::Look)?;
        let stat = top.stat_self()?;
        let mut found = TreeMeasure { bytes: 0, disk: stat.disk, newest: stat.mtime };
        let left = measure_files(&top, &mut found)?;
        let mut walk = Walk::new(top, left)?;
        loop {
            if let Some(name) = walk.next() {
                match walk.enter(name, Access::Look) {
                    Ok(()) => {
                        let left = measure_files(&walk.here, &mut found)?;
                        walk.found(left);
                    }
                    Err(e) if e.is_not_found() || e.errno() == Some(Errno::XDEV) => {}
                    Err(e) => return Err(e),
                }
            } else if walk.leave()?.is_none() {
                return Ok(found);
            }
        }
    }

    /// Opens the subdirectory `name` unless something is mounted there.
    fn open_below(&self, name: &CStr, access: Access) -> Result<Self> {
        let opened = match self.open_within(name.to_bytes()) {
            Err(e) if access == Access::Change && e.errno() == Some(Errno::ACCESS) => {
                self.allow_owner(name)?;
                self.open_within(name.to_bytes())?
            }
            other => other?,
        };
        let stat = opened.stat_self()?;
        if access == Access::Change && stat.mode & 0o700 != 0o700 && stat.uid == effective_uid() {
            opened.set_mode_self(stat.mode | 0o700)?;
        }
        Ok(opened)
    }

    fn allow_owner(&self, name: &CStr) -> Result<()> {
        let stat = self.stat(name)?;
        if stat.uid == effective_uid() {
            self.set_mode(name, stat.mode | 0o700)?;
        }
        Ok(())
    }
}

/// What a directory is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Look,
    Change,
}

impl Walk {
    fn new(top: Dir, left: Vec<CString>) -> Result<Self> {
        let here = top.try_clone()?;
        let levels = vec![Level { name: CString::default(), left, attempts: 0 }];
        Ok(Self { top, here, path: Vec::new(), levels })
    }

    /// The next subdirectory of the open one.
    fn next(&mut self) -> Option<CString> {
        self.levels.last_mut()?.left.pop()
    }

    /// Goes down into a subdirectory.
    fn enter(&mut self, name: CString, access: Access) -> Result<()> {
        self.here = self.here.open_below(&name, access)?;
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name.to_bytes());
        self.levels.push(Level { name, left: Vec::new(), attempts: 0 });
        Ok(())
    }

    /// Notes what is to be visited in the open directory.
    fn found(&mut self, left: Vec<CString>) {
        if let Some(level) = self.levels.last_mut() {
            level.left = left;
        }
    }

    /// Goes back up; `None` at the top.
    fn leave(&mut self) -> Result<Option<Level>> {
        if self.levels.len() < 2 {
            return Ok(None);
        }
        let level = self.levels.pop();
        let end = self.path.iter().rposition(|b| *b == b'/').unwrap_or(0);
        self.path.truncate(end);
        self.here = self.top.open_beneath(&self.path)?;
        Ok(level)
    }

    /// Goes down again into a directory that was not empty in the end.
    fn again(&mut self, level: Level) -> Result<()> {
        let attempts = level.attempts + 1;
        self.enter(level.name, Access::Change)?;
        if let Some(level) = self.levels.last_mut() {
            level.attempts = attempts;
        }
        Ok(())
    }
}

/// Removes everything but directories from `dir` and returns the names of those.
fn remove_files(dir: &Dir, bytes: &mut u64) -> Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in dir.entries()? {
        let Some(stat) = dir.stat_opt(entry.name.as_c_str())? else {
            continue;
        };
        if stat.kind == FileKind::Directory {
            directories.push(entry.name);
            continue;
        }
        if dir.remove_if_there(entry.name.as_c_str())? {
            *bytes += file_bytes(&stat);
        }
    }
    Ok(directories)
}

/// What was found in a directory and below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeMeasure {
    /// The sizes of all regular files.
    pub bytes: u64,
    /// What all of it takes on disk, each file for itself and with the directories: tiny files take much more than their sizes.
    pub disk: u64,
    /// When something in it was last changed, in nanoseconds since 1970.
    pub newest: i64,
}

fn measure_files(dir: &Dir, found: &mut TreeMeasure) -> Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in dir.entries()? {
        let Some(stat) = dir.stat_opt(entry.name.as_c_str())? else {
            continue;
        };
        found.newest = found.newest.max(stat.mtime);
        found.disk += stat.disk;
        match stat.kind {
            FileKind::Directory => directories.push(entry.name),
            _ => found.bytes += file_bytes(&stat),
        }
    }
    Ok(directories)
}

fn file_bytes(stat: &Stat) -> u64 {
    match stat.kind {
        FileKind::File => stat.size,
        _ => 0,
    }
}

fn is_not_empty(error: &Error) -> bool {
    matches!(error.errno(), Some(Errno::NOTEMPTY | Errno::EXIST))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn open(temp: &tempfile::TempDir) -> Dir {
        Dir::open(temp.path()).unwrap()
    }

    #[test]
    fn a_tree_goes_whole_and_what_its_links_point_to_stays() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/kept"), "kept").unwrap();
        fs::write(tree.join("one"), "12345").unwrap();
        fs::write(tree.join("a/b/two"), "123").unwrap();
        symlink("../outside", tree.join("link")).unwrap();
        symlink("../../../outside", tree.join("a/b/link")).unwrap();
        fs::set_permissions(tree.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(tree.join("a"), fs::Permissions::from_mode(0o500)).unwrap();
        assert_eq!(open(&temp).remove_tree(c"tree").unwrap(), 8);
        assert!(!tree.exists());
        assert_eq!(fs::read(temp.path().join("outside/kept")).unwrap(), b"kept");
    }

    #[test]
    fn sizes_are_those_of_ordinary_files() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("x/y")).unwrap();
        fs::write(tree.join("x/y/file"), vec![0; 1000]).unwrap();
        fs::write(tree.join("file"), vec![0; 24]).unwrap();
        symlink("file", tree.join("link")).unwrap();
        assert_eq!(open(&temp).tree_bytes(c"tree").unwrap(), 1024);
    }

    #[test]
    fn only_directories_are_trees() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("real")).unwrap();
        fs::write(temp.path().join("real/kept"), "").unwrap();
        symlink("real", temp.path().join("link")).unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        let dir = open(&temp);
        for name in [c"link", c"file", c"missing"] {
            assert!(dir.remove_tree(name).is_err(), "{name:?}");
            assert!(dir.tree_bytes(name).is_err(), "{name:?}");
        }
        assert!(temp.path().join("real/kept").exists());
    }

    #[test]
    fn a_tree_deeper_than_any_path_goes_too() {
        let temp = tempfile::tempdir().unwrap();
        let name = CString::new(vec![b'd'; 100]).unwrap();
        let mut here = open(&temp).ensure_dir("tree", 0o700).unwrap();
        for _ in 0..300 {
            here = here.ensure_dir(name.as_c_str(), 0o700).unwrap();
        }
        here.create_new("leaf").unwrap();
        drop(here);
        assert_eq!(open(&temp).tree_bytes(c"tree").unwrap(), 0);
        assert_eq!(open(&temp).remove_tree(c"tree").unwrap(), 0);
        assert!(!temp.path().join("tree").exists());
    }
}
