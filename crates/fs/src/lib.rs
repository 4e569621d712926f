//! The only door to the file system.
//!
//! Everything Herma reads or writes goes through a [`Dir`]: an open directory descriptor below which
//! names are single components and nothing follows a symlink. Holding the descriptor, not a path, is
//! what keeps a restore inside the project while someone swaps directories for links.
//!
//! * [`dir`]: open, list, stat, read, create, rename and remove relative to a descriptor
//! * [`mod@file`]: read, measure and mark open files
//! * [`holes`]: files with long runs of zeros
//! * [`publish`]: write beside, sync, rename, sync the directory: the one way a file becomes visible
//! * [`lock`]: `flock` on permanent files, with bounded waits that name the holder
//! * [`place`]: which directory it was
//! * [`process`]: who owns a left-over temporary file; programs that are started, in the background or in our place
//! * [`socket`]: a socket only its user can reach
//! * [`sync`]: what threads wait for each other with
//! * [`tree`]: whole directory trees, measured and removed
//! * [`trust`]: whose directory is this, and who else may write to it
//!
//! Every call that changes storage is a method of [`Dir`] or of [`publish::Temp`], so a fault-injecting
//! twin has few places to stand in for.

pub mod dir;
mod error;
pub mod file;
pub mod holes;
pub mod lock;
pub mod place;
pub mod process;
pub mod publish;
pub mod socket;
mod stat;
pub mod sync;
pub mod tree;
pub mod trust;

pub use dir::inode::Inode;
pub use dir::{Dir, Entry};
pub use error::{Error, IfThere, Result, is_want_of_resources};
pub use rustix::io::Errno;
pub use stat::{FileKind, Stat, stat_path};
