//! Why the store could not be opened, read or written.

use std::io;
use std::time::Duration;

use herma_fs::trust::Distrust;

use crate::ObjectId;

/// Why the store could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
    /// The store is not ours alone.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// A newer Herma made this store, or something else wrote its format file.
    #[error("the store has format {found:?}, this program knows up to {known}")]
    NewerFormat {
        /// What the store says.
        found: String,
        /// The newest format known here.
        known: u32,
    },
    /// The store's git configuration asks for something Herma does not do.
    #[error("the store uses the git feature {key}, which is not supported")]
    UnknownGitFeature {
        /// The configuration key.
        key: String,
    },
    /// The store was opened for reading, or has never been written by Herma.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// Another process kept a lock for the whole wait.
    #[error("{what} is in use by {}, waited {waited:?}", holder_text(*holder))]
    Busy {
        /// What is locked.
        what: String,
        /// The process that holds it, if known.
        holder: Option<u32>,
        /// How long was waited.
        waited: Duration,
    },
    /// This file system has no locks, and this step is not safe without one.
    #[error("the file system of the store has no locks, so it cannot be cleaned up here")]
    NoLocks,
    /// An object is not in the store.
    #[error("object {id} is missing")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// An object's bytes are not what its id says.
    #[error("object {id} is damaged: {what}")]
    Damaged {
        /// The object.
        id: ObjectId,
        /// What is wrong with it.
        what: String,
    },
    /// A file of the store other than an object does not follow its format.
    #[error("the store's file {file} is damaged: {what}")]
    DamagedFile {
        /// The file, relative to the store.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// Not a name git allows for a ref.
    #[error("{0:?} is not a valid ref name")]
    BadRefName(String),
    /// A ref is not where the caller saw it last; it was left alone.
    #[error("{name} has changed: expected {}, found {}", id_text(*expected), id_text(*found))]
    RefMoved {
        /// The ref.
        name: String,
        /// What the caller expected.
        expected: Option<ObjectId>,
        /// What is there.
        found: Option<ObjectId>,
    },
    /// An object that is not published yet is more than is read at once.
    #[error("object {id} has {size} bytes, which is too much to be read at once")]
    TooLarge {
        /// The object.
        id: ObjectId,
        /// How many bytes it has.
        size: u64,
    },
    /// The content is a forged SHA-1 collision and cannot be stored under its name.
    #[error("the content is a forged SHA-1 collision")]
    Collision,
    /// A file gave more or fewer bytes than announced: it is being written to.
    #[error("the file changed while it was read: expected {expected} bytes, got {read}")]
    Changed {
        /// The announced size.
        expected: u64,
        /// How many bytes came; one more than announced means "at least one more".
        read: u64,
    },
    /// Reading the file being saved failed.
    #[error("the file being saved could not be read")]
    Source(#[source] io::Error),
    /// An earlier step of this pack failed, so nothing of it will be published.
    #[error("an earlier write to this pack failed; nothing of it was published")]
    Abandoned,
}

impl StoreError {
    /// A file of the store, relative to it, that does not follow its format.
    pub(crate) fn damaged_file(file: &str, what: impl Into<String>) -> Self {
        Self::DamagedFile { file: file.to_owned(), what: what.into() }
    }
}

/// An error with what the system said.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

fn holder_text(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

fn id_text(id: Option<ObjectId>) -> String {
    id.map_or_else(|| "nothing".to_owned(), ObjectId::to_hex)
}

/// Is this a pack that may not be opened?
pub fn is_forbidden_pack(error: &herma_fs::Error) -> bool {
    let is_pack = error.path.extension().is_some_and(|end| end == "pack");
    is_pack && matches!(error.errno(), Some(herma_fs::Errno::ACCESS | herma_fs::Errno::PERM))
}
