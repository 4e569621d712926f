//! What the kernel says about one file, reduced to what Herma compares.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::{Error, Result};

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device: never opened, never saved.
    Special,
    /// The directory listing did not say; a stat will.
    Unknown,
}

impl FileKind {
    pub(crate) fn from_rustix(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Unknown => Self::Unknown,
            _ => Self::Special,
        }
    }
}

/// The identity and state of a file: equal before and after means "not touched in between".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// The bytes it takes on disk.
    pub disk: u64,
    /// Last change of content, nanoseconds since 1970.
    pub mtime: i64,
    /// Last change of content or attributes, nanoseconds since 1970. No program can set it back.
    pub ctime: i64,
    /// Device of the file system it lives on.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Number of names the file has.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// The mount it was reached through, as long as that lasts; 0 where the system does not say.
    pub mount: u64,
    /// Group.
    pub gid: u32,
}

/// Room on disk is told in units of so many bytes, whatever the file system's own are.
const BLOCK: u64 = 512;

/// What is asked of the kernel about each file. Which mount it is on costs nothing more.
#[cfg(target_os = "linux")]
pub(crate) const WANTED: rustix::fs::StatxFlags =
    rustix::fs::StatxFlags::BASIC_STATS.union(rustix::fs::StatxFlags::MNT_ID);

impl Stat {
    /// Is the owner allowed to execute it?
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn from_statx(s: &rustix::fs::Statx) -> Self {
        use rustix::fs::StatxFlags;
        let tells_mount = StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::MNT_ID);
        Self {
            mount: if tells_mount { s.stx_mnt_id } else { 0 },
            kind: FileKind::from_rustix(FileType::from_raw_mode(u32::from(s.stx_mode))),
            mode: u32::from(s.stx_mode) & 0o7777,
            size: s.stx_size,
            disk: s.stx_blocks.saturating_mul(BLOCK),
            mtime: nanos(&s.stx_mtime),
            ctime: nanos(&s.stx_ctime),
            dev: (u64::from(s.stx_dev_major) << 32) | u64::from(s.stx_dev_minor),
            ino: s.stx_ino,
            links: s.stx_nlink,
            uid: s.stx_uid,
            gid: s.stx_gid,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn from_stat(s: &rustix::fs::Stat) -> Self {
        let nanos = |secs: i64, nanos: i64| secs.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        Self {
            kind: FileKind::from_rustix(FileType::from_raw_mode(s.st_mode as _)),
            mode: (s.st_mode as u32) & 0o7777,
            size: s.st_size as u64,
            disk: (s.st_blocks as u64).saturating_mul(BLOCK),
            mtime: nanos(s.st_mtime as i64, s.st_mtime_nsec as i64),
            ctime: nanos(s.st_ctime as i64, s.st_ctime_nsec as i64),
            dev: s.st_dev as u64,
            ino: s.st_ino as u64,
            links: s.st_nlink as u32,
            uid: s.st_uid,
            mount: 0,
            gid: s.st_gid,
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn nanos(t: &rustix::fs::StatxTimestamp) -> i64 {
    t.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(i64::from(t.tv_nsec))
}

/// What there is under a name, or with an empty one in the place itself.
#[cfg(target_os = "linux")]
pub(crate) fn stat_at(
    place: impl AsFd,
    name: impl Arg,
    flags: AtFlags,
) -> std::result::Result<Stat, Errno> {
    // Never with `STATX_DONT_SYNC`: through FUSE it answers with what was true before the last write.
    rustix::fs::statx(place, name, flags, WANTED).map(|s| Stat::from_statx(&s))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stat_at(
    place: impl AsFd,
    name: impl Arg,
    flags: AtFlags,
) -> std::result::Result<Stat, Errno> {
    rustix::fs::statat(place, name, flags).map(|s| Stat::from_stat(&s))
}

/// What is at `path`, not following a link in its last component. `None` when nothing is there.
pub fn stat_path(path: &Path) -> Result<Option<Stat>> {
    match stat_at(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(e) => Err(Error::on("look at", path, e)),
    }
}
