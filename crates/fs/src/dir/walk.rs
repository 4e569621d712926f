//! Directories on a walk: opened or stepped into by the thousand, so each costs as little as it can.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::dir::DIR_FLAGS;
#[cfg(target_os = "linux")]
use crate::stat::stat_at;
use crate::{Dir, Stat};

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
        Ok(Self { fd, path: PathBuf::new() })
    }

    /// Opens the subdirectory `name` only to look at what is in it by name, which costs less and tells nobody who
    /// watches that it was opened. [`Dir::reopened`] can be listed.
    pub fn open_dir_to_look(&self, name: &CStr) -> std::result::Result<Self, Errno> {
        let fd = rustix::fs::openat(&self.fd, name, LOOK_FLAGS, Mode::empty())?;
        Ok(Self { fd, path: PathBuf::new() })
    }

    /// The same directory, opened once more so that it can be listed.
    pub fn reopened(&self) -> std::result::Result<Self, Errno> {
        self.open_dir_for_walk(c".")
    }
}

/// A working directory that belongs to the present thread alone, to ask about what is in it.
pub struct Standpoint {
    /// It is that of the thread it was taken by.
    _of_this_thread: PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
impl Standpoint {
    /// Parts the working directory of this thread from that of all others, for as long as the thread lives. `None` where that is not
    /// allowed.
    pub fn take() -> Option<Self> {
        use rustix::thread::{UnshareFlags, unshare_unsafe};
        // SAFETY: descriptors stay shared. What this thread no longer shares are the working directory, the root directory and the mask for new
        // files.
        unsafe { unshare_unsafe(UnshareFlags::FS) }.ok()?;
        Some(Self { _of_this_thread: PhantomData })
    }

    /// Steps into a directory. Follows links: [`Standpoint::stat_self`] says where that led.
    pub fn step_into(&mut self, path: &CStr) -> std::result::Result<(), Errno> {
        rustix::process::chdir(path)
    }

    /// What the directory itself is.
    pub fn stat_self(&self) -> std::result::Result<Stat, Errno> {
        stat_at(CWD, c"", AtFlags::EMPTY_PATH)
    }

    /// What `name` in it is, following no link.
    pub fn stat(&self, name: &CStr) -> std::result::Result<Stat, Errno> {
        stat_at(CWD, name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

#[cfg(not(target_os = "linux"))]
impl Standpoint {
    /// Not here.
    pub fn take() -> Option<Self> {
        None
    }

    /// Steps into a directory.
    pub fn step_into(&mut self, _path: &CStr) -> std::result::Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// What the directory itself is.
    pub fn stat_self(&self) -> std::result::Result<Stat, Errno> {
        Err(Errno::NOSYS)
    }

    /// What `name` in it is.
    pub fn stat(&self, _name: &CStr) -> std::result::Result<Stat, Errno> {
        Err(Errno::NOSYS)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn where_one_thread_stands_is_nothing_to_the_others() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", temp.path().join("link")).unwrap();
        let path = CString::new(temp.path().as_os_str().as_bytes()).unwrap();
        let before = std::env::current_dir().unwrap();
        let look = move || {
            let mut standpoint = Standpoint::take().unwrap();
            standpoint.step_into(&path).unwrap();
            let size = standpoint.stat(c"file").unwrap().size;
            let link = standpoint.stat(c"link").unwrap().kind;
            let gone = standpoint.stat(c"gone").unwrap_err();
            (standpoint.stat_self().unwrap().ino, size, link, gone)
        };
        let seen = std::thread::spawn(look).join().unwrap();
        let ino = Dir::open(temp.path()).unwrap().stat_self().unwrap().ino;
        assert_eq!(seen, (ino, 5, crate::FileKind::Symlink, Errno::NOENT));
        assert_eq!(std::env::current_dir().unwrap(), before);
    }
}
