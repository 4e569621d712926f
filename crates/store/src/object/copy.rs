//! One copy of an object: the file it is in, and why it could not be read.
//!
//! An object may be stored more than once: in several packs, and loose. A failure here is about one of
//! those copies; [`crate::objects`] tries the others before it tells its caller anything.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use herma_fs::{Dir, Errno, FileKind, Stat};

use crate::ObjectId;
use crate::object::inflate::InflateError;

/// The most bytes one object, with all the deltas it is made of, may take in memory.
pub const MEMORY_LIMIT: u64 = 512 << 20;

/// How much of a file is read at a time.
const PIECE: u64 = 1 << 20;

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

/// A file of the store, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// What it was when it was opened.
    pub stat: Stat,
    /// Where it was found; for messages only.
    path: PathBuf,
}

impl OpenFile {
    /// Opens `name` in `dir`. What is no ordinary file is damage: somebody put it in the place of one.
    pub fn open(dir: &Dir, name: &CStr) -> Result<Self, CopyError> {
        let no_file = || CopyError::Damaged {
            file: name.to_string_lossy().into_owned(),
            what: "it is no ordinary file",
        };
        let file = match dir.open_file(name) {
            Err(e) if matches!(e.errno(), Some(Errno::LOOP | Errno::NXIO)) => return Err(no_file()),
            opened => opened?,
        };
        let path = dir.path().join(std::ffi::OsStr::new(&*name.to_string_lossy()));
        let stat = herma_fs::file::stat_file(&file)
            .map_err(|e| herma_fs::Error::on("look at", &path, e))?;
        if stat.kind != FileKind::File {
            return Err(no_file());
        }
        Ok(Self { file, stat, path })
    }

    /// The file's name, for people.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// What the system said while this file was read.
    pub(crate) fn error(&self, source: io::Error) -> herma_fs::Error {
        herma_fs::Error::on("read", &self.path, source)
    }

    /// Hands over the bytes from `from` to `to`, piece by piece; a file that ends before is damaged.
    pub(crate) fn read_pieces(
        &self,
        from: u64,
        to: u64,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), CopyError> {
        let mut piece = vec![0; to.saturating_sub(from).min(PIECE) as usize];
        let mut at = from;
        while at < to {
            let wanted = (to - at).min(PIECE) as usize;
            self.read_exact_at(&mut piece[..wanted], at)?;
            each(&piece[..wanted]);
            at += wanted as u64;
        }
        Ok(())
    }

    /// Fills `buffer` from `offset`; a file that ends before is damaged.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), CopyError> {
        let got = herma_fs::file::read_at(&self.file, buffer, offset).map_err(|e| self.error(e))?;
        if got < buffer.len() {
            return Err(CopyError::damaged(self, "it ends early"));
        }
        Ok(())
    }
}
