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
    /// What the repository of the project at `root` tracks. One that cannot be read tracks and excludes nothing.
    pub fn of(root: &Dir) -> Self {
        Self { git_dir: git_dir(root).ok().flatten(), files: OnceLock::new() }
    }

    /// The content of its `info/exclude`.
    pub(crate) fn info_exclude(&self) -> Option<Vec<u8>> {
        self.git_dir.as_ref()?.info_exclude()
    }

    /// The repository.
    pub(crate) fn git_dir(&self) -> Option<&GitDir> {
        self.git_dir.as_ref()
    }

    fn files(&self) -> &TrackedFiles {
        self.files
            .get_or_init(|| self.git_dir.as_ref().and_then(GitDir::tracked).unwrap_or_default())
    }

    /// A number that changes whenever the index does.
    pub(crate) fn index_state(&self) -> u64 {
        let stat = self.git_dir.as_ref().and_then(|git| git.dir().stat("index").ok());
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
