//! Finds the user's git directory and reads from it what decides what belongs to a project.
//!
//! Nothing here runs git, follows a linked `.git`, or writes. A project without a repository is the
//! ordinary case; a repository that cannot be read is an error the caller reports and carries on after,
//! because a save must not depend on it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use herma_fs::{Dir, FileKind};
use herma_store::refs::head;
use herma_store::refs::head::Head;
use herma_store::{ObjectId, StoreError};

use super::TrackedFiles;

/// Larger indexes are not read: about five million files.
const MAX_INDEX_BYTES: u64 = 1 << 30;
/// git itself reads no larger ignore file.
const MAX_EXCLUDE_BYTES: u64 = 100 << 20;
const MAX_POINTER_BYTES: u64 = 64 * 1024;
/// Nobody has more; who made them up is not followed further.
const MAX_WORKTREES: usize = 4096;

/// Why a repository could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GitDirError {
    /// The file `.git` or `commondir` does not name a directory.
    #[error("{0} does not say where the git directory is")]
    BadPointer(&'static str),
    /// `HEAD` or what it names cannot be read.
    #[error(transparent)]
    Head(#[from] StoreError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] herma_fs::Error),
}

/// Where the user is in their history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The branch; `None` when a commit is checked out by itself.
    pub branch: Option<String>,
    /// The commit; `None` before the first one.
    pub commit: Option<ObjectId>,
}

/// The user's own git directory, for reading.
#[derive(Debug)]
pub struct GitDir {
    own: Dir,
    /// Where worktrees of one repository keep what they share.
    common: Option<Dir>,
}

/// The git directory of the project at `root`: the directory `.git`, or the one the file `.git` names.
/// `None` when there is no `.git`, or it is a link.
pub fn git_dir(root: &Dir) -> Result<Option<GitDir>, GitDirError> {
    let own = match root.stat_opt(".git")?.map(|stat| stat.kind) {
        Some(FileKind::Directory) => root.open_dir(".git")?,
        Some(FileKind::File) => root.open_named(&pointer(root)?)?,
        _ => return Ok(None),
    };
    let common = match own.read_opt("commondir", MAX_POINTER_BYTES)? {
        Some(content) => {
            let path = pointed_at(&content);
            if path.is_empty() || path.contains(&0) {
                return Err(GitDirError::BadPointer("commondir"));
            }
            Some(own.open_named(path)?)
        }
        None => None,
    };
    Ok(Some(GitDir { own, common }))
}

/// Where the file `.git` of a directory says its git directory is, as it says it.
pub(crate) fn pointer(directory: &Dir) -> Result<Vec<u8>, GitDirError> {
    let content = directory.read(".git", MAX_POINTER_BYTES)?;
    let path = content.strip_prefix(b"gitdir:").map(pointed_at);
    let path = path.filter(|path| !path.is_empty() && !path.contains(&0));
    Ok(path.ok_or(GitDirError::BadPointer(".git"))?.to_vec())
}

/// The path in a pointer file: without the space before it and the line end behind it.
fn pointed_at(content: &[u8]) -> &[u8] {
    let content = content.strip_prefix(b" ").unwrap_or(content);
    content.trim_end_with(|c| c == '\n' || c == '\r')
}

impl GitDir {
    /// The directory itself.
    pub fn dir(&self) -> &Dir {
        &self.own
    }

    /// Where worktrees of one repository keep what they share: refs, and what is in `info`.
    pub fn shared(&self) -> &Dir {
        self.common.as_ref().unwrap_or(&self.own)
    }

    /// Is this a linked worktree, of a repository that is somewhere else?
    pub fn is_linked(&self) -> bool {
        self.common.is_some()
    }

    /// What the repository tracks, split index included. `None` if that cannot be read, or nothing was ever added.
    pub(crate) fn tracked(&self) -> Option<TrackedFiles> {
        let read = |name: &str| TrackedFiles::parse(&self.own.read(name, MAX_INDEX_BYTES).ok()?);
        let tracked = read("index")?;
        let Some(base) = tracked.base() else { return Some(tracked) };
        Some(tracked.with_base(&read(&format!("sharedindex.{base}"))?))
    }

    /// The branch and the commit that are checked out.
    pub fn position(&self) -> Result<Position, GitDirError> {
        Ok(match head::head(&self.own)? {
            Head::Commit(commit) => Position { branch: None, commit: Some(commit) },
            Head::Ref(name) => {
                let branch = name.strip_prefix("refs/heads/");
                Position {
                    branch: branch.map(str::to_owned),
                    commit: head::commit_of(self.shared(), &name)?,
                }
            }
        })
    }

    /// The directories this repository has on record as worktrees of it. A record that cannot be read names none.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let Ok(records) = self.shared().open_dir("worktrees") else { return Vec::new() };
        let entries = records.entries().unwrap_or_default();
        let named = entries.iter().take(MAX_WORKTREES).filter_map(|entry| {
            let record = records.open_dir(entry.name.as_c_str()).ok()?;
            let content = record.read_opt("gitdir", MAX_POINTER_BYTES).ok()??;
            let directory = pointed_at(&content).strip_suffix(b"/.git")?;
            let directory = Path::new(OsStr::from_bytes(directory));
            // Relative to the record, if it is.
            (!directory.as_os_str().is_empty()).then(|| record.path().join(directory))
        });
        named.collect()
    }

    /// The content of `info/exclude`, which worktrees share. One that cannot be read excludes nothing.
    pub(crate) fn info_exclude(&self) -> Option<Vec<u8>> {
        self.shared().open_named(b"info").ok()?.read("exclude", MAX_EXCLUDE_BYTES).ok()
    }
}
