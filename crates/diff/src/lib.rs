//! What changed between two states of a project, and how to say it.
//!
//! A state is a [`Side`]: a checkpoint's trees in the store, or the files as they are now. Comparing
//! goes in steps, each usable without the next:
//!
//! 1. [`trees`] walks both sides together and lists the files that differ, reading no file;
//! 2. [`renames`] recognises a deleted and an added file as one file that moved;
//! 3. [`stat`] counts lines, within a budget;
//! 4. [`patch`] writes what `git apply` accepts, from the hunks that [`lines`] finds.
//!
//! For keeping some changes and not others there are `lines::hunks` to choose from, [`merge`] for two sets
//! of changes to the same text, and [`lines::origins`], which says where a line comes from.
//!
//! Sides may be hostile or damaged. Nothing here recurses into trees, every content is read under a
//! limit, and whatever is cut short for that reason is said so in the answer.

#[cfg(test)]
mod git;
pub mod lines;
pub mod merge;
#[cfg(test)]
mod oracle;
pub mod patch;
pub mod renames;
mod replaced;
pub mod stat;
mod store_side;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trees;

use std::error::Error;
use std::io;

use herma_store::object::{EntryMode, Malformed, TreeEntry};
use herma_store::{ObjectId, RelPath};
pub use lines::{PatchLine, PatchLineKind};
pub use patch::PatchOptions;
pub use patch::quote::quote;
pub use renames::{Detected, RenameOptions};
pub use replaced::{Became, Replacement, became};
pub use stat::{Budget, FileStat, Stats};
pub use store_side::{Pending, StoreSide};
pub use trees::{compare, entry_at};

/// One state of a project that can be compared: a checkpoint's trees in the store, or the present
/// files.
pub trait Side: Sync {
    /// The entries of directory `path` (its tree id is `id`), in git's order.
    fn entries(&self, path: &RelPath, id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError>;

    /// The content of the file or link at `path` whose id is `id`; `None` when it is larger than
    /// `limit`. Never asked for a nested repository.
    fn content(
        &self,
        path: &RelPath,
        id: &ObjectId,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError>;
}

/// The side on which nothing exists yet: what a first checkpoint is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Side for Nothing {
    fn entries(&self, path: &RelPath, _id: &ObjectId) -> Result<Vec<TreeEntry>, DiffError> {
        Err(DiffError::Vanished { path: path.clone() })
    }

    fn content(
        &self,
        path: &RelPath,
        _id: &ObjectId,
        _limit: u64,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        Err(DiffError::Vanished { path: path.clone() })
    }
}

/// Why two states could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The object behind a path does not follow its format.
    #[error("the saved form of {path} is damaged")]
    Damaged {
        /// The file or directory.
        path: RelPath,
        /// What is wrong with it.
        source: Malformed,
    },
    /// The store could not deliver what is saved for a path.
    #[error("what is saved for {path} could not be read")]
    Store {
        /// The file or directory.
        path: RelPath,
        /// What the store said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file was there when the comparison began and is gone or different now.
    #[error("{path} changed while it was compared")]
    Vanished {
        /// The file.
        path: RelPath,
    },
    /// The file system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
    /// A complete patch was asked for, and this file does not fit into memory.
    #[error("{path} is larger than {limit} bytes, too large for a patch")]
    TooLarge {
        /// The file.
        path: RelPath,
        /// The limit it exceeds.
        limit: u64,
    },
    /// The trees name more files, or deeper ones, than any project has: a crafted store.
    #[error("the trees name more than {limit} entries, or paths beyond all measure")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The patch could not be written out.
    #[error("the patch could not be written")]
    Write(#[source] io::Error),
}

/// What is at a path on one side. Never a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    /// File, executable, symlink or nested repository.
    pub mode: EntryMode,
    /// Its content's id; for a nested repository its commit's.
    pub id: ObjectId,
}

/// Where a file was before it moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Its old path.
    pub path: RelPath,
    /// How much of the content stayed, in per cent.
    pub similarity: u8,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path; for a rename the new one.
    pub path: RelPath,
    /// What was there; for a rename what was at the old path. `None`: nothing.
    pub old: Option<FileState>,
    /// What is there now. `None`: nothing.
    pub new: Option<FileState>,
    /// Set when the file moved here.
    pub from: Option<Renamed>,
}

impl Change {
    /// The path on the old side.
    pub fn old_path(&self) -> &RelPath {
        self.from.as_ref().map_or(&self.path, |from| &from.path)
    }

    /// Did a file become a link, or either a nested repository? Patches show that as a deletion and
    /// a creation.
    pub fn is_type_change(&self) -> bool {
        matches!((self.old, self.new), (Some(old), Some(new)) if !same_type(old.mode, new.mode))
    }
}

/// Are both files (executable or not), both links or both nested repositories?
fn same_type(a: EntryMode, b: EntryMode) -> bool {
    let is_file = |mode| matches!(mode, EntryMode::File | EntryMode::Executable);
    a == b || (is_file(a) && is_file(b))
}

/// The bytes patches and line counts are made of: a file's content, a link's target, or the line git
/// shows for a nested repository.
fn text_of(
    side: &dyn Side,
    path: &RelPath,
    state: Option<FileState>,
    limit: u64,
) -> Result<Option<Vec<u8>>, DiffError> {
    match state {
        None => Ok(Some(Vec::new())),
        Some(FileState { mode: EntryMode::Nested, id }) => {
            Ok(Some(format!("Subproject commit {id}\n").into_bytes()))
        }
        Some(FileState { id, .. }) => side.content(path, &id, limit),
    }
}
