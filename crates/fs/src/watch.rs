//! Hearing of changes instead of looking for them.
//!
//! A [`ChangeSource`] tells which watched directories something happened in. It is a trait so that what is made
//! of the events can be tested with events nobody could bring about on purpose, and because every system has
//! its own way: [`inotify`] is that of Linux.
//!
//! Nothing here says *what* is in a directory now. Who hears of a change looks for themselves.

pub mod held;
#[cfg(target_os = "linux")]
pub mod inotify;
pub mod mounts;

use rustix::io::Errno;

use crate::Dir;

/// A watched directory. A number is never given twice as long as the source lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchId(pub i32);

/// What happened in a watched directory, or to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The content or the attributes of an entry changed, or those of the directory itself.
    Changed,
    /// A name came into being, or was moved here.
    Came,
    /// A name is gone, or was moved away.
    Went,
    /// A file was opened.
    Opened,
    /// An open file was let go of by the last one who had it so. It may have been written to.
    Closed {
        /// Could it be written to?
        writable: bool,
    },
    /// The directory itself is gone, elsewhere, or not watched any more.
    Lost,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'n> {
    /// Where.
    pub watch: WatchId,
    /// What.
    pub what: What,
    /// The name it happened to; empty for the directory itself.
    pub name: &'n [u8],
    /// Is that a directory?
    pub is_dir: bool,
    /// The same number for both ends of a move; 0 for everything else.
    pub pair: u32,
}

/// Why a directory is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotWatch {
    /// This user may watch no more.
    #[error("the limit of watched directories is reached")]
    Full,
    /// It is gone, or cannot be read.
    #[error("a directory cannot be watched: {0}")]
    Failed(Errno),
}

/// Why it is not known what happened. Everything has to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missed {
    /// More happened than the system keeps.
    #[error("more happened than the system keeps")]
    Overflow,
    /// The sign that everything was told did not come.
    #[error("the sign that everything was told did not come")]
    NoSign,
    /// The system failed.
    #[error("the system does not tell: {0}")]
    Failed(Errno),
}

/// Tells what happens in directories.
pub trait ChangeSource {
    /// Watches an open directory: from now on, everything that happens in it is told.
    fn watch(&mut self, dir: &Dir) -> Result<WatchId, CannotWatch>;

    /// Watches a directory no longer. What happened before may still be told.
    fn forget(&mut self, watch: WatchId);

    /// Tells what happened and was not told yet.
    fn drain(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed>;

    /// Like [`Self::drain`], but proves that everything that happened before the call was told.
    fn catch_up(&mut self, each: &mut dyn FnMut(Event<'_>)) -> Result<(), Missed>;
}
