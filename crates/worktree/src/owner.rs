//! Whose a directory is: the project's, or somebody else's.
//!
//! What is mounted in a project, linked worktrees and submodules of git, and nested git repositories that have
//! checkpoints of their own belong to themselves: other people, other sessions and other commands rely on them. A scan
//! leaves them out and names them, a restore never touches them, and that a checkpoint does not hold them is no
//! statement about them.
//!
//! Nothing of this can be seen from outside the directory: a mount moves no time of the directory it is in, and a
//! repository has its first checkpoint without a file changing. So a directory with a `.git` in it, and one that was
//! somebody else's, is judged anew in every scan. Mounts are compared with the directory around them at that moment;
//! their numbers mean nothing later.
//!
//! # Limits
//!
//! * Where the system does not say on which mount a file is (before Linux 5.8), a single file that is mounted over
//!   another one is not told from it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_fs::{Dir, FileKind, Stat};

use super::reason::Reason;
use super::saved::AlreadySaved;
use super::tracked::LazyTracked;
use super::tracked::git_dir::{GitDir, pointer};
use crate::rules::Tracked;

/// The device and the mount a project is on.
#[derive(Clone, Copy, Debug)]
pub struct Boundary {
    dev: u64,
    /// 0 if that is not known.
    mount: u64,
}

impl Boundary {
    /// Around a directory in this state.
    pub fn around(root: &Stat) -> Self {
        Self { dev: root.dev, mount: root.mount }
    }

    /// Why a directory in this state is outside, if it is.
    pub fn crossed_by(&self, directory: &Stat) -> Option<Reason> {
        if directory.dev != self.dev {
            return Some(Reason::OtherFileSystem);
        }
        self.is_mounted(directory).then_some(Reason::Mount)
    }

    /// Was this file, or directory, reached through another mount? Devices tell nothing about files: on some file
    /// systems each has its own.
    pub fn is_mounted(&self, found: &Stat) -> bool {
        self.mount != 0 && found.mount != 0 && found.mount != self.mount
    }

    /// Is it certain that a directory in this state is inside?
    pub(crate) fn surely_holds(&self, directory: &Stat) -> bool {
        directory.dev == self.dev && directory.mount == self.mount
    }
}

/// What was known of a directory before it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Unknown,
    /// It was the project's.
    Ours,
    /// It was somebody else's.
    Foreign(Reason),
}

/// Knows whose the directories below a project's root are.
pub struct Owners<'a> {
    /// Where the project ends.
    pub boundary: Boundary,
    /// What git's own records of the project's repository name as worktrees of it, relative to the root.
    pub(crate) worktrees: BTreeSet<Vec<u8>>,
    tracked: &'a dyn Tracked,
    saved: &'a dyn AlreadySaved,
    /// May what git tracks be another thing than before?
    pub(crate) index_changed: bool,
}

impl<'a> Owners<'a> {
    /// Those below `root`, which is in this state.
    pub fn below(
        root: &Dir,
        stat: &Stat,
        tracked: &'a LazyTracked,
        saved: &'a dyn AlreadySaved,
    ) -> Self {
        let named = tracked.git_dir().map(GitDir::worktrees).unwrap_or_default();
        let inside = |path: &Path| {
            let path = herma_fs::dir::canonicalize(path).ok()?;
            let inside = path.strip_prefix(root.path()).ok()?;
            Some(inside.as_os_str().as_bytes().to_vec()).filter(|path| !path.is_empty())
        };
        Self {
            boundary: Boundary::around(stat),
            worktrees: named.iter().filter_map(|path| inside(path)).collect(),
            tracked,
            saved,
            index_changed: true,
        }
    }

    /// Why an open directory below the root is not the project's, if it is not.
    pub fn owner(
        &self,
        directory: &Dir,
        path: impl FnOnce() -> Vec<u8>,
        before: Before,
    ) -> Option<Reason> {
        let marker = directory.stat_raw(c".git").map(|found| found.kind);
        let is_repository = match marker {
            Ok(FileKind::File) => {
                // One that cannot be read, or says nothing, is a file like any other.
                let pointed = pointer(directory).ok();
                if let Some(reason) = pointed.as_deref().and_then(leads_into) {
                    return Some(reason);
                }
                true
            }
            Ok(FileKind::Directory | FileKind::Symlink) => true,
            _ => false,
        };
        if !is_repository && self.worktrees.is_empty() {
            return None;
        }
        let path = path();
        if self.worktrees.contains(&path) {
            return Some(Reason::Worktree);
        }
        if !is_repository {
            return None;
        }
        let is_submodule = match before {
            Before::Ours if !self.index_changed => false,
            Before::Foreign(reason) if !self.index_changed => reason == Reason::Submodule,
            _ => self.tracked.contains(&path),
        };
        if is_submodule {
            return Some(Reason::Submodule);
        }
        self.saved.has_project(&path).then_some(Reason::Repository)
    }
}

/// What a `.git` file that names this directory makes of the directory it is in.
fn leads_into(git_dir: &[u8]) -> Option<Reason> {
    let names = git_dir.split(|byte| *byte == b'/');
    let mut above = names.filter(|name| !name.is_empty()).rev().skip(1);
    above.find_map(|name| match name {
        b"worktrees" => Some(Reason::Worktree),
        b"modules" => Some(Reason::Submodule),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_git_directory_tells_worktrees_from_submodules() {
        let cases: [(&[u8], Option<Reason>); 9] = [
            (b"/p/.git/worktrees/w1", Some(Reason::Worktree)),
            (b"../../.git/worktrees/w1/", Some(Reason::Worktree)),
            (b"../.git/modules/libs/one", Some(Reason::Submodule)),
            (b"/p/.git/worktrees/w1/modules/sub", Some(Reason::Submodule)),
            (b"/p/.git/modules/sub/worktrees/w", Some(Reason::Worktree)),
            (b"/p/worktrees", None),
            (b"/somewhere/else.git", None),
            (b"", None),
            (b"///", None),
        ];
        for (path, expected) in cases {
            assert_eq!(leads_into(path), expected, "{}", path.escape_ascii());
        }
    }
}
