//! Projects within projects: whose is a directory, seen from the project around it?

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_fs::Dir;
use herma_worktree::owner::{Before, Owners};
use herma_worktree::reason::Reason;
use herma_worktree::tracked::LazyTracked;

use crate::engine::Engine;
use crate::engine::open::OpenStore;
use crate::save::saved_before::SavedBefore;

impl Engine {
    /// The innermost place on the way from a project's root to a directory in it that is not the project's, and why.
    /// `None` if the directory is the project's own. Both paths are canonical.
    pub fn foreign_within(&self, root: &Path, directory: &Path) -> Option<(PathBuf, Reason)> {
        let store = self.open_for_reading().ok().flatten();
        let mut found: Option<(PathBuf, Reason)> = None;
        loop {
            let around = found.as_ref().map_or(root, |(place, _)| place);
            // Each is deeper than the one before, so this comes to an end.
            match self.first_foreign(store.as_ref(), around, directory) {
                Some(inner) => found = Some(inner),
                None => return found,
            }
        }
    }

    /// The outermost place that is not the project's.
    fn first_foreign(
        &self,
        store: Option<&OpenStore>,
        root: &Path,
        directory: &Path,
    ) -> Option<(PathBuf, Reason)> {
        let inside = directory.strip_prefix(root).ok()?;
        let mut here = Dir::open_nofollow(root).ok()?;
        let project = self.former_project(root);
        let (tracked, saved) = (LazyTracked::of(&here), SavedBefore::new(&project, store));
        let owners = Owners::below(&here, &here.stat_self().ok()?, &tracked, &saved);
        let mut path = PathBuf::new();
        for name in inside {
            path.push(name);
            here = here.open_dir(name).ok()?;
            let crossed = owners.boundary.crossed_by(&here.stat_self().ok()?);
            let bytes = || OsStr::as_bytes(path.as_os_str()).to_vec();
            let owner = || owners.owner(&here, bytes, Before::Unknown);
            if let Some(reason) = crossed.or_else(owner) {
                return Some((root.join(&path), reason));
            }
        }
        None
    }
}
