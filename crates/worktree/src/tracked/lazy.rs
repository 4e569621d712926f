//! The user's index, read once a rule would leave something out.

use std::sync::OnceLock;

use herma_fs::Dir;
use xxhash_rust::xxh3::Xxh3;

use super::TrackedFiles;
use super::git_dir::{GitDir, git_dir};
use crate::rules::Tracked;

/// The user's tracked files, read only when a rule would leave something out.
pub struct LazyTracked {
    git_dir: Option<GitDir>,
    files: OnceLock<TrackedFiles>,
}

impl LazyTracked {
    /// What the repository in `git_dir` tracks; nothing without one.
    pub(crate) fn new(git_dir: Option<GitDir>) -> Self {
        Self { git_dir, files: OnceLock::new() }
    }

    /// What the repository of the project at `root` tracks. One that cannot be read tracks nothing.
    pub fn of(root: &Dir) -> Self {
        Self::new(git_dir(root).ok().flatten())
    }

    /// The repository.
    pub(crate) fn git_dir(&self) -> Option<&GitDir> {
        self.git_dir.as_ref()
    }

    fn files(&self) -> &TrackedFiles {
        self.files.get_or_init(|| {
            let files = self.git_dir.as_ref().and_then(|dir| dir.tracked().ok());
            files.unwrap_or_default()
        })
    }

    /// A number that changes whenever the index does.
    pub(crate) fn index_state(&self) -> u64 {
        let stat = self.git_dir.as_ref().and_then(|dir| dir.index_stat().ok().flatten());
        stat.map_or(0, |stat| {
            let mut hash = Xxh3::new();
            for number in [stat.mtime as u64, stat.ctime as u64, stat.ino, stat.size] {
                hash.update(&number.to_le_bytes());
            }
            hash.digest()
        })
    }
}

impl Tracked for LazyTracked {
    fn contains(&self, path: &[u8]) -> bool {
        self.files().contains(path)
    }

    fn any_below(&self, dir: &[u8]) -> bool {
        self.files().any_below(dir)
    }
}
