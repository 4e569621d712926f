//! Which file it is, whatever its name.
//!
//! Device and inode number are not enough to know a file again after a while: numbers are given anew when
//! a file is deleted, the roots of all volumes of a kind have the same one, and the next volume gets the
//! device of the last. When a file was made tells most of these apart, and so does the number of its file
//! system.

use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use rustix::path::Arg;

use crate::{Dir, Error, Result, Stat};

/// What tells a file from every other, also from a later one with its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// Device of the file system it lives on.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// When it was made, nanoseconds since 1970. `None` where the file system does not say, and where it
    /// says zero, as the roots of all FAT volumes do.
    pub born: Option<i64>,
}

impl Inode {
    #[cfg(target_os = "linux")]
    fn from_statx(s: &rustix::fs::Statx) -> Self {
        use rustix::fs::StatxFlags;
        let Stat { dev, ino, .. } = Stat::from_statx(s);
        let is_told = StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::BTIME);
        let born = Some(crate::stat::nanos(&s.stx_btime)).filter(|born| is_told && *born != 0);
        Self { dev, ino, born }
    }

    #[cfg(not(target_os = "linux"))]
    fn from_stat(s: &rustix::fs::Stat) -> Self {
        let Stat { dev, ino, .. } = Stat::from_stat(s);
        let born = None;
        Self { dev, ino, born }
    }
}

impl Dir {
    /// Which directory this is.
    pub fn inode(&self) -> Result<Inode> {
        #[cfg(target_os = "linux")]
        let found = self.inode_raw(c"", AtFlags::EMPTY_PATH);
        #[cfg(not(target_os = "linux"))]
        let found = rustix::fs::fstat(self.as_fd()).map(|s| Inode::from_stat(&s));
        found.map_err(|e| Error::on("look at", self.path(), e))
    }

    /// Which file `name` is, not following a symlink; `None` when nothing is there.
    pub fn inode_of(&self, name: &[u8]) -> Result<Option<Inode>> {
        match self.inode_raw(name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(inode) => Ok(Some(inode)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::at("look at", self.path(), name, e)),
        }
    }

    #[cfg(target_os = "linux")]
    fn inode_raw(&self, name: impl Arg, flags: AtFlags) -> std::result::Result<Inode, Errno> {
        use rustix::fs::StatxFlags;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        rustix::fs::statx(self.as_fd(), name, flags, wanted).map(|s| Inode::from_statx(&s))
    }

    #[cfg(not(target_os = "linux"))]
    fn inode_raw(&self, name: impl Arg, flags: AtFlags) -> std::result::Result<Inode, Errno> {
        rustix::fs::statat(self.as_fd(), name, flags).map(|s| Inode::from_stat(&s))
    }

    /// The number of the file system this directory is on; `None` where it has none.
    ///
    /// Some file systems make it up from the device: it tells volumes apart and never proves that two are
    /// the same.
    pub fn file_system_id(&self) -> Option<u64> {
        let found = rustix::fs::fstatvfs(self.as_fd()).ok()?;
        Some(found.f_fsid).filter(|id| *id != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_same_from_inside_and_by_every_name() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("a")).unwrap();
        let above = Dir::open(temp.path()).unwrap();
        let inside = above.open_dir("a").unwrap().inode().unwrap();
        assert_eq!(above.inode_of(b"a").unwrap(), Some(inside));
        std::fs::rename(temp.path().join("a"), temp.path().join("b")).unwrap();
        assert_eq!(above.inode_of(b"a").unwrap(), None);
        assert_eq!(above.inode_of(b"b").unwrap(), Some(inside));
    }

    #[test]
    fn a_link_is_not_what_it_leads_to() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("a")).unwrap();
        std::os::unix::fs::symlink("a", temp.path().join("link")).unwrap();
        let above = Dir::open(temp.path()).unwrap();
        assert_ne!(above.inode_of(b"link").unwrap(), above.inode_of(b"a").unwrap());
    }

    #[test]
    fn a_name_no_file_can_have_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let above = Dir::open(temp.path()).unwrap();
        assert!(above.inode_of(b"a\0b").is_err());
        assert!(above.inode_of(&[b'x'; 300]).is_err());
    }
}
