//! Why one copy of an object could not be read.
//!
//! An object may be stored more than once: in several packs, and loose. A failure here is about one of
//! those copies; [`crate::objects`] tries the others before it tells its caller anything.

use std::io;

use crate::ObjectId;
use crate::object::inflate::InflateError;
use crate::pack::files::OpenFile;

/// The most bytes one object, with all the deltas it is made of, may take in memory.
pub const MEMORY_LIMIT: u64 = 512 << 20;

/// Why one copy of an object could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The file that holds the copy does not follow its format.
    #[error("{file} is damaged: {what}")]
    Damaged {
        /// The file's name, for people.
        file: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The copy is a delta, and the object it builds on is nowhere.
    #[error("{file} holds a change to object {base}, which is missing")]
    MissingBase {
        /// The file's name, for people.
        file: String,
        /// The missing object.
        base: ObjectId,
    },
    /// The object would take more than [`MEMORY_LIMIT`].
    #[error("an object of {size} bytes is too large to be read at once")]
    TooLarge {
        /// How large it says it is.
        size: u64,
    },
    /// The one who asked for the bytes did not take them.
    #[error("the bytes could not be passed on")]
    Sink(#[source] io::Error),
    /// The system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

impl CopyError {
    /// Damage found in `file`.
    pub(crate) fn damaged(file: &OpenFile, what: &'static str) -> Self {
        Self::Damaged { file: file.name(), what }
    }

    /// What went wrong while `file` was inflated.
    pub(crate) fn inflating(file: &OpenFile, error: InflateError) -> Self {
        match error {
            InflateError::Read(e) => Self::Fs(file.error(e)),
            InflateError::Sink(e) => Self::Sink(e),
            InflateError::Corrupt(what) => Self::damaged(file, what),
        }
    }

    /// Is it the process that cannot, and not the file? It may have too many files open, or no memory left.
    pub fn is_want_of_resources(&self) -> bool {
        matches!(self, Self::Fs(e) if e.is_want_of_resources())
    }

    /// Did the file go away between being listed and being opened?
    pub fn is_vanished(&self) -> bool {
        matches!(self, Self::Fs(e) if e.is_not_found())
    }
}
