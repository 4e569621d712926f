//! Directories on a walk: opened by the thousand, so each costs as little as it can.

use std::ffi::CStr;
use std::path::PathBuf;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::Dir;
use crate::dir::DIR_FLAGS;

/// For a directory that is not listed.
#[cfg(target_os = "linux")]
const LOOK_FLAGS: OFlags = DIR_FLAGS.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const LOOK_FLAGS: OFlags = DIR_FLAGS;

impl Dir {
    /// Opens the subdirectory `name` for a walk: like [`Dir::open_dir`], but the result keeps no path
    /// of its own, which saves an allocation per directory. Its error messages name only `name`.
    pub fn open_dir_for_walk(&self, name: &CStr) -> std::result::Result<Self, Errno> {
        let fd = rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty())?;
        Ok(Self {
            fd,
            path: PathBuf::new(),
        })
    }

    /// Opens the subdirectory `name` only to look at what is in it by name, which costs less and tells nobody who
    /// watches that it was opened. [`Dir::reopened`] can be listed.
    pub fn open_dir_to_look(&self, name: &CStr) -> std::result::Result<Self, Errno> {
        let fd = rustix::fs::openat(&self.fd, name, LOOK_FLAGS, Mode::empty())?;
        Ok(Self {
            fd,
            path: PathBuf::new(),
        })
    }

    /// The same directory, opened once more so that it can be listed.
    pub fn reopened(&self) -> std::result::Result<Self, Errno> {
        self.open_dir_for_walk(c".")
    }
}
