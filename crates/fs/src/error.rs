//! One error for the whole crate: what was tried, on which path, and what the system said.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The result of a file system call.
pub type Result<T> = std::result::Result<T, Error>;

/// A file system call that did not work, with the verb and the path it was about.
#[derive(Debug, thiserror::Error)]
#[error("could not {verb} {}", path.display())]
pub struct Error {
    /// What was tried, as a verb that fits "could not …".
    pub verb: &'static str,
    /// What it was tried on; for display, never used to reach the file again.
    pub path: PathBuf,
    /// What the system answered.
    pub source: io::Error,
}

/// Why we refuse what the system would have allowed, with the number it would have given.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
struct Refusal {
    errno: Errno,
    why: String,
}

/// Does the process have too many files open, or no memory left? Then the answer says nothing about what was asked for.
pub fn is_want_of_resources(errno: Errno) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM].contains(&errno)
}

/// Is this what a file system answers whose modes cannot be changed? To who owns the file it means nothing else.
pub(crate) fn is_without_modes(errno: Errno) -> bool {
    [Errno::PERM, Errno::NOSYS, Errno::NOTSUP].contains(&errno)
}

/// What may not be there.
pub trait IfThere<T> {
    /// Nothing, if it is not there.
    fn if_there(self) -> Result<Option<T>>;
}

impl<T> IfThere<T> for Result<T> {
    fn if_there(self) -> Result<Option<T>> {
        match self {
            Err(error) if error.is_not_found() => Ok(None),
            there => there.map(Some),
        }
    }
}

impl Error {
    /// An error for `name` below `dir`.
    pub fn at(verb: &'static str, dir: &Path, name: &[u8], errno: Errno) -> Self {
        let path = if name.is_empty() { dir.to_owned() } else { dir.join(OsStr::from_bytes(name)) };
        Self { verb, path, source: errno.into() }
    }

    /// An error about `path` itself.
    pub fn on(verb: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self { verb, path: path.to_owned(), source: source.into() }
    }

    /// The same error in words of our own; its number stays.
    #[must_use]
    pub(crate) fn because(mut self, why: String) -> Self {
        if let Some(errno) = self.errno() {
            self.source = io::Error::new(self.source.kind(), Refusal { errno, why });
        }
        self
    }

    /// The system's error number, if it has one.
    pub fn errno(&self) -> Option<Errno> {
        let refusal = self.source.get_ref();
        let refusal = refusal.and_then(|inner| inner.downcast_ref::<Refusal>());
        refusal.map(|refusal| refusal.errno).or_else(|| Errno::from_io_error(&self.source))
    }

    /// May the same call succeed a moment later, or in a process with more room? Then it says nothing about what was
    /// asked for.
    pub fn is_passing(&self) -> bool {
        self.is_want_of_resources() || matches!(self.errno(), Some(Errno::STALE | Errno::AGAIN))
    }

    /// Is it the process that cannot, whatever it asks for? See [`is_want_of_resources`].
    pub fn is_want_of_resources(&self) -> bool {
        self.errno().is_some_and(is_want_of_resources)
    }

    /// Is the answer that nothing is there?
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Is the answer that the name is taken?
    pub fn is_exists(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }

    /// Has this file system no second names for a file? A directory has none anywhere.
    pub fn is_without_links(&self) -> bool {
        matches!(self.errno(), Some(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK))
    }

    /// May the answer be that nothing can have such a name here? File systems say so in many ways.
    pub fn may_be_unfit_name(&self) -> bool {
        let errno = self.errno();
        let ways = [Errno::INVAL, Errno::PERM, Errno::ILSEQ, Errno::NAMETOOLONG];
        self.is_not_found() || errno.is_some_and(|errno| ways.contains(&errno))
    }

    /// Is the file larger than one may be, on this file system or for this process?
    pub fn is_too_large(&self) -> bool {
        self.errno() == Some(Errno::FBIG)
    }

    /// Does this file system not let its modes be changed?
    pub fn is_without_modes(&self) -> bool {
        self.errno().is_some_and(is_without_modes)
    }

    /// Is the disk, the quota or the file table full?
    pub fn is_full(&self) -> bool {
        matches!(self.errno(), Some(Errno::NOSPC | Errno::DQUOT))
    }
}
