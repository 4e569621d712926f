//! A directory held by descriptor, and everything that can be done beneath it.
//!
//! Names given to the methods are single components unless the method says *beneath*; then they are
//! slash-separated, relative, and resolved by the kernel with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`,
//! or, where `openat2` is missing, one component at a time with `O_NOFOLLOW`. Both refuse links, absolute
//! paths and every `..` that would lead out, so a result is always inside.

mod create;
pub(crate) mod inode;
mod mount;
mod read;
pub mod walk;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::file::stat_fd;
use crate::stat::stat_at;
use crate::sync::point;
use crate::{Error, FileKind, IfThere, Result, Stat};

pub(crate) const DIR_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// `PATH_MAX` without its NUL.
const MAX_PATH_BYTES: usize = 4095;

/// Set once `openat2` answered that it does not exist here (old kernel, seccomp).
pub(crate) static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

/// Makes this process resolve paths component by component even where `openat2` exists.
///
/// For tests of the fallback; there is no way back within the process.
#[doc(hidden)]
pub fn assume_no_openat2() {
    NO_OPENAT2.store(true, Ordering::Relaxed);
}

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    pub(crate) fd: OwnedFd,
    /// Where it was found; for messages only.
    pub(crate) path: PathBuf,
}

/// One name in a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without a slash.
    pub name: CString,
    /// What the listing says it is; [`FileKind::Unknown`] on file systems that do not say.
    pub kind: FileKind,
}

impl Dir {
    /// Opens a directory a person or a setting named. Symlinks on the way are followed.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|e| Error::on("open", path, e))?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Opens a directory that must not itself be a symlink.
    pub fn open_nofollow(path: &Path) -> Result<Self> {
        let fd = rustix::fs::openat(CWD, path, DIR_FLAGS, Mode::empty())
            .map_err(|e| Error::on("open", path, e))?;
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Where this directory was found. For messages; never open files by it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn error(&self, verb: &'static str, name: impl Arg, errno: Errno) -> Error {
        let name = name.into_c_str().map(|n| n.into_owned().into_bytes()).unwrap_or_default();
        Error::at(verb, &self.path, &name, errno)
    }

    pub(crate) fn child(&self, fd: OwnedFd, name: &[u8]) -> Self {
        use std::os::unix::ffi::OsStrExt;
        Self { fd, path: self.path.join(std::ffi::OsStr::from_bytes(name)) }
    }

    /// A second descriptor of the same directory.
    pub fn try_clone(&self) -> Result<Self> {
        let fd = self.fd.try_clone().map_err(|e| Error::on("open", &self.path, e))?;
        Ok(Self { fd, path: self.path.clone() })
    }

    /// Opens the subdirectory `name`, refusing a symlink.
    pub fn open_dir(&self, name: impl Arg + Copy) -> Result<Self> {
        let fd = rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty())
            .map_err(|e| self.error("open", name, e))?;
        let name = name.into_c_str().map_err(|e| Error::on("open", &self.path, e))?;
        Ok(self.child(fd, name.to_bytes()))
    }

    /// Opens a directory that a file in this one names: absolute or relative to here, links and `..`
    /// followed. The result may be outside; only for reading.
    pub fn open_named(&self, path: &[u8]) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, path, flags, Mode::empty())
            .map_err(|e| self.error("open", path, e))?;
        Ok(self.child(fd, path))
    }

    /// Opens the directory at `path` beneath this one; an empty path is this directory. The path may be
    /// longer than the kernel takes at once.
    pub fn open_beneath(&self, path: &[u8]) -> Result<Self> {
        self.open_through(path, Mounts::Entered)
    }

    /// Like [`Dir::open_beneath`], but refuses with `EXDEV` to enter anything that is mounted on the way, be it of
    /// the same file system.
    pub fn open_within(&self, path: &[u8]) -> Result<Self> {
        self.open_through(path, Mounts::Refused)
    }

    fn open_through(&self, path: &[u8], mounts: Mounts) -> Result<Self> {
        let (mut part, mut rest) = split_long(path);
        if part.is_empty() {
            return self.try_clone();
        }
        let mut here = self.open_part(part, mounts)?;
        while !rest.is_empty() {
            (part, rest) = split_long(rest);
            here = here.open_part(part, mounts)?;
        }
        Ok(here)
    }

    fn open_part(&self, path: &[u8], mounts: Mounts) -> Result<Self> {
        match self.openat2(path, mounts) {
            Ok(fd) => Ok(self.child(fd, path)),
            Err(Errno::NOSYS | Errno::PERM) => self.open_by_components(path, mounts),
            Err(e) => Err(self.error("open", path, e)),
        }
    }

    #[cfg(target_os = "linux")]
    fn openat2(&self, path: &[u8], mounts: Mounts) -> std::result::Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;
        if NO_OPENAT2.load(Ordering::Relaxed) {
            return Err(Errno::NOSYS);
        }
        let mut resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if mounts == Mounts::Refused {
            resolve |= ResolveFlags::NO_XDEV;
        }
        // EAGAIN means a rename elsewhere raced with the lookup; the kernel asks to try again.
        for _ in 0..64 {
            match rustix::fs::openat2(&self.fd, path, DIR_FLAGS, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS) => {
                    NO_OPENAT2.store(true, Ordering::Relaxed);
                    return Err(Errno::NOSYS);
                }
                other => return other,
            }
        }
        Err(Errno::AGAIN)
    }

    #[cfg(not(target_os = "linux"))]
    fn openat2(&self, _path: &[u8], _mounts: Mounts) -> std::result::Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    fn open_by_components(&self, path: &[u8], mounts: Mounts) -> Result<Self> {
        let mut here = self.try_clone()?;
        let mut around = match mounts {
            Mounts::Refused => Some(self.stat_self()?),
            Mounts::Entered => None,
        };
        for name in path.split(|b| *b == b'/') {
            if name.is_empty() || name == b"." || name == b".." {
                return Err(self.error("open", path, Errno::XDEV));
            }
            let fd = rustix::fs::openat(&here.fd, name, DIR_FLAGS, Mode::empty())
                .map_err(|e| self.error("open", path, e))?;
            here = here.child(fd, name);
            if let Some(around) = &mut around {
                let found = here.stat_self()?;
                if (found.dev, found.mount) != (around.dev, around.mount) {
                    return Err(self.error("open", path, Errno::XDEV));
                }
                *around = found;
            }
        }
        Ok(here)
    }

    /// Creates the directory `name` with exactly `mode`, where there are modes; it is fine if a directory is there already.
    /// Returns whether it was created.
    pub fn create_dir(&self, name: impl Arg + Copy, mode: u32) -> Result<bool> {
        point();
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o700)) {
            Ok(()) => {
                // The mode is set explicitly: mkdir's own mode goes through the umask.
                if mode != 0o700 {
                    self.ask_for_mode(name, mode)?;
                }
                Ok(true)
            }
            Err(Errno::EXIST) if self.stat(name)?.kind == FileKind::Directory => Ok(false),
            Err(e) => Err(self.error("create directory", name, e)),
        }
    }

    /// Creates and opens the directory `name`.
    pub fn ensure_dir(&self, name: impl Arg + Copy, mode: u32) -> Result<Self> {
        self.create_dir(name, mode)?;
        self.open_dir(name)
    }

    /// Calls `each` for every entry but `.` and `..`, reusing `buffer` for the listing.
    #[cfg(target_os = "linux")]
    pub fn for_each_entry(
        &self,
        buffer: &mut ListBuffer,
        mut each: impl FnMut(&CStr, FileKind),
    ) -> std::result::Result<(), Errno> {
        rustix::fs::seek(&self.fd, rustix::fs::SeekFrom::Start(0))?;
        let mut listing = rustix::fs::RawDir::new(&self.fd, &mut buffer.0);
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                each(name, FileKind::from_rustix(entry.file_type()));
            }
        }
        Ok(())
    }

    /// Calls `each` for every entry but `.` and `..`, reusing `buffer` for the listing.
    #[cfg(not(target_os = "linux"))]
    pub fn for_each_entry(
        &self,
        _buffer: &mut ListBuffer,
        mut each: impl FnMut(&CStr, FileKind),
    ) -> std::result::Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                each(entry.file_name(), FileKind::from_rustix(entry.file_type()));
            }
        }
        Ok(())
    }

    /// Calls `each` for every name in this directory, in no order: of thousands, sorting takes longer than listing.
    pub fn each_name(&self, mut each: impl FnMut(&CStr)) -> Result<()> {
        point();
        self.for_each_entry(&mut ListBuffer::new(), |name, _| each(name))
            .map_err(|e| Error::on("list", &self.path, e))
    }

    /// The names in this directory, sorted by bytes.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        point();
        let mut entries = Vec::new();
        self.for_each_entry(&mut ListBuffer::new(), |name, kind| {
            entries.push(Entry { name: name.to_owned(), kind });
        })
        .map_err(|e| Error::on("list", &self.path, e))?;
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    /// What `name` is, not following a symlink.
    pub fn stat(&self, name: impl Arg + Copy) -> Result<Stat> {
        self.stat_raw(name).map_err(|e| self.error("look at", name, e))
    }

    /// Like [`Dir::stat`], but `None` when nothing is there.
    pub fn stat_opt(&self, name: impl Arg + Copy) -> Result<Option<Stat>> {
        match self.stat_raw(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.error("look at", name, e)),
        }
    }

    /// [`Dir::stat`] without building an error message: the walk calls this for every file.
    pub fn stat_raw(&self, name: impl Arg) -> std::result::Result<Stat, Errno> {
        point();
        stat_at(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Did what is, or was, at a path beneath change at this time or later, in nanoseconds since 1970? `None` if nobody can tell:
    /// it is gone, and something else changed in its directory since.
    pub fn has_changed_since(&self, path: &[u8], time: i64) -> Option<bool> {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = slash.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        let directory = self.open_beneath(parent).ok()?;
        match directory.stat(name) {
            Ok(stat) => Some(stat.ctime >= time),
            Err(error) if error.is_not_found() => {
                directory.stat_self().ok().filter(|stat| stat.ctime < time).map(|_| false)
            }
            Err(_) => None,
        }
    }

    /// What this directory itself is.
    pub fn stat_self(&self) -> Result<Stat> {
        let found = stat_fd(self.fd.as_fd()).map_err(|e| Error::on("look at", &self.path, e))?;
        if found.mount != 0 {
            return Ok(found);
        }
        let mount = mount::of_descriptor(self.fd.as_fd());
        Ok(Stat { mount, ..found })
    }

    /// Opens a file for reading. Refuses symlinks and never blocks on a pipe or device.
    pub fn open_file(&self, name: impl Arg + Copy) -> Result<File> {
        self.open_file_raw(name).map_err(|e| self.error("open", name, e))
    }

    /// [`Dir::open_file`] without building an error message.
    pub fn open_file_raw(&self, name: impl Arg) -> std::result::Result<File, Errno> {
        point();
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    /// Opens (creating if need be) a permanent file such as a lock, for reading and writing.
    pub fn open_permanent(&self, name: impl Arg + Copy) -> Result<File> {
        self.open_with("open", name, OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK)
    }

    /// Opens a file that exists, for reading and writing.
    pub fn open_existing(&self, name: impl Arg + Copy) -> Result<File> {
        self.open_with("open", name, OFlags::RDWR | OFlags::NONBLOCK)
    }

    /// Where the symlink `name` points, as bytes.
    pub fn read_link(&self, name: impl Arg + Copy) -> Result<Vec<u8>> {
        rustix::fs::readlinkat(&self.fd, name, Vec::new())
            .map(CString::into_bytes)
            .map_err(|e| self.error("read link", name, e))
    }

    /// Creates a symlink; fails if the name is taken.
    pub fn symlink(&self, target: impl Arg, name: impl Arg + Copy) -> Result<()> {
        rustix::fs::symlinkat(target, &self.fd, name)
            .map_err(|e| self.error("create link", name, e))
    }

    /// Creates a file that must not exist, readable and writable by the owner only.
    pub fn create_new(&self, name: impl Arg + Copy) -> Result<File> {
        point();
        self.open_with("create", name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a file, or makes it for its owner only; never through a link.
    pub(super) fn open_with(
        &self,
        verb: &'static str,
        name: impl Arg + Copy,
        flags: OFlags,
    ) -> Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600));
        opened.map(File::from).map_err(|e| self.error(verb, name, e))
    }

    /// Renames `name` to `to/new`, replacing what is there.
    pub fn rename(&self, name: impl Arg + Copy, to: &Self, new: impl Arg + Copy) -> Result<()> {
        point();
        rustix::fs::renameat(&self.fd, name, &to.fd, new).map_err(|e| to.error("rename to", new, e))
    }

    /// Renames `name` to `to/new`; fails if that name is taken.
    pub fn rename_new(&self, name: impl Arg + Copy, to: &Self, new: impl Arg + Copy) -> Result<()> {
        point();
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE) {
            // File systems without the flag: a link is refused when the name is taken, too.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match self.link(name, to, new) {
                Ok(()) => self.remove_file(name),
                Err(e) if e.is_without_links() => self.rename_if_free(name, to, new),
                Err(e) => Err(e),
            },
            other => other.map_err(|e| to.error("rename to", new, e)),
        }
    }

    /// Renames `name` to `to/new` unless that name was taken a moment ago, where no call can do both at once.
    fn rename_if_free(&self, name: impl Arg + Copy, to: &Self, new: impl Arg + Copy) -> Result<()> {
        match to.stat_opt(new)? {
            Some(_) => Err(to.error("rename to", new, Errno::EXIST)),
            None => self.rename(name, to, new),
        }
    }

    /// Swaps two names of one directory in one step.
    pub fn exchange(
        &self,
        a: impl Arg + Copy,
        b: impl Arg + Copy,
    ) -> std::result::Result<(), Errno> {
        rustix::fs::renameat_with(&self.fd, a, &self.fd, b, RenameFlags::EXCHANGE)
    }

    /// Gives the file `name` a second name; fails if that is taken.
    pub fn link(&self, name: impl Arg + Copy, to: &Self, new: impl Arg + Copy) -> Result<()> {
        point();
        rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty())
            .map_err(|e| to.error("create", new, e))
    }

    /// Removes a file or link. Fails if nothing is there.
    pub fn remove_file(&self, name: impl Arg + Copy) -> Result<()> {
        point();
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|e| self.error("remove", name, e))
    }

    /// Removes a file; tells whether it was there. Somebody else may have been faster.
    pub fn remove_if_there(&self, name: impl Arg + Copy) -> Result<bool> {
        Ok(self.remove_file(name).if_there()?.is_some())
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, name: impl Arg + Copy) -> Result<()> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
            .map_err(|e| self.error("remove directory", name, e))
    }

    /// Sets the permission bits of a file or directory, never of what a symlink points to.
    pub fn set_mode(&self, name: impl Arg + Copy, mode: u32) -> Result<()> {
        let fail = |e| self.error("set the mode of", name, e);
        #[cfg(target_os = "linux")]
        {
            // O_PATH opens even what we may not read; the link in /proc then names exactly that inode.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(fail)?;
            if stat_fd(fd.as_fd()).map_err(fail)?.kind == FileKind::Symlink {
                return Err(fail(Errno::LOOP));
            }
            let proc_path = format!("/proc/self/fd/{}", fd.as_raw_fd());
            match rustix::fs::chmodat(CWD, &proc_path, Mode::from_raw_mode(mode), AtFlags::empty())
            {
                Err(Errno::NOENT) => {} // no /proc here: fall through
                other => return other.map_err(fail),
            }
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(fail)?;
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode as _)).map_err(fail)
    }

    /// Sets the permission bits of this directory itself.
    pub fn set_mode_self(&self, mode: u32) -> Result<()> {
        rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(mode as _))
            .map_err(|e| Error::on("set the mode of", &self.path, e))
    }

    /// Asks for these permission bits; tells whether the file or directory has them now. Some file systems refuse
    /// what they cannot hold, some take it and forget it.
    pub fn ask_for_mode(&self, name: impl Arg + Copy, mode: u32) -> Result<bool> {
        match self.set_mode(name, mode) {
            Err(e) if !e.is_without_modes() => Err(e),
            _ => Ok(self.stat(name)?.mode == mode),
        }
    }

    /// [`Dir::ask_for_mode`] for this directory itself.
    pub fn ask_for_mode_self(&self, mode: u32) -> Result<bool> {
        match self.set_mode_self(mode) {
            Err(e) if !e.is_without_modes() => Err(e),
            _ => Ok(self.stat_self()?.mode == mode),
        }
    }

    /// Gives a file or link, never what a link points to, an owner and a group. Tells whether it has both now: who is not root
    /// may only give it a group of their own.
    pub fn ask_for_owner(&self, name: impl Arg + Copy, uid: u32, gid: u32) -> Result<bool> {
        let now = self.stat(name)?;
        if (now.uid, now.gid) == (uid, gid) {
            return Ok(true);
        }
        let owner = (now.uid != uid).then(|| Uid::from_raw(uid));
        let group = (now.gid != gid).then(|| Gid::from_raw(gid));
        let give = |owner, group| {
            rustix::fs::chownat(&self.fd, name, owner, group, AtFlags::SYMLINK_NOFOLLOW)
        };
        match give(owner, group) {
            Ok(()) => Ok(true),
            // No such right, no such user in this container, no owners on this file system.
            Err(Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                // Its group alone may be had.
                let _ = owner.and_then(|_| give(None, group).ok());
                Ok(false)
            }
            Err(e) => Err(self.error("set the owner of", name, e)),
        }
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // Some file systems cannot sync a directory; there is nothing more to be had there.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(e) => Err(Error::on("sync", &self.path, e)),
        }
    }

    /// Makes the content and the mode of the file `name` durable.
    pub fn sync_file(&self, name: impl Arg + Copy) -> Result<()> {
        match self.open_file_raw(name) {
            Ok(file) => match rustix::fs::fsync(&file) {
                Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
                Err(e) => Err(self.error("sync", name, e)),
            },
            // What its owner may not read can be synced only together with everything else.
            Err(Errno::ACCESS) => self.sync_file_system(),
            Err(e) => Err(self.error("open", name, e)),
        }
    }

    /// Makes everything written to this file system durable.
    pub fn sync_file_system(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.fd).map_err(|e| Error::on("sync", &self.path, e))?;
        #[cfg(not(target_os = "linux"))]
        rustix::fs::sync();
        Ok(())
    }

    /// Is this file system, or this view of it, one that nobody can write to?
    pub fn is_read_only(&self) -> Result<bool> {
        let found =
            rustix::fs::fstatvfs(&self.fd).map_err(|e| Error::on("measure", &self.path, e))?;
        Ok(found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// Can names be made and removed in this directory, by its rights as they are or as its owner can make them?
    pub fn may_write(&self) -> Result<bool> {
        let fail = |e| Error::on("ask about", &self.path, e);
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        match rustix::fs::accessat(&self.fd, c".", wanted, AtFlags::EACCESS) {
            Ok(()) => Ok(true),
            Err(Errno::ACCESS) => Ok(self.stat_self()?.uid == crate::process::effective_uid()),
            Err(Errno::ROFS | Errno::PERM) => Ok(false),
            Err(e) => Err(fail(e)),
        }
    }

    /// Does a directory here change its mtime whenever a name in it changes?
    ///
    /// True for the local file systems known to keep that promise; network and pass-through file
    /// systems may not, so their directories are listed every time.
    pub fn keeps_directory_times(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            // ext2/3/4, xfs, btrfs, tmpfs, f2fs, zfs, bcachefs, overlayfs
            const LOCAL: [u64; 8] = [
                0xEF53,
                0x5846_5342,
                0x9123_683E,
                0x0102_1994,
                0xF2F5_2010,
                0x2FC1_2FC1,
                0xCA45_1A4E,
                0x794C_7630,
            ];
            rustix::fs::fstatfs(&self.fd)
                .is_ok_and(|s| LOCAL.contains(&(s.f_type as u64 & 0xFFFF_FFFF)))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Bytes an unprivileged process may still write on this file system.
    pub fn free_bytes(&self) -> Result<u64> {
        let s = rustix::fs::fstatvfs(&self.fd).map_err(|e| Error::on("measure", &self.path, e))?;
        Ok(s.f_bavail.saturating_mul(s.f_frsize))
    }

    /// Files an unprivileged process may still make on this file system; `None` where there is no limit.
    pub fn free_inodes(&self) -> Result<Option<u64>> {
        let s = rustix::fs::fstatvfs(&self.fd).map_err(|e| Error::on("measure", &self.path, e))?;
        Ok((s.f_files > 0).then_some(s.f_favail))
    }
}

/// May a path lead into what is mounted on the way?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mounts {
    Entered,
    Refused,
}

/// Splits a path before the component with which it gets too long for the kernel.
fn split_long(path: &[u8]) -> (&[u8], &[u8]) {
    let longest = path.get(..=MAX_PATH_BYTES).unwrap_or_default();
    match longest.iter().rposition(|b| *b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (path, b""),
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Room for one directory listing, reused from directory to directory.
pub struct ListBuffer(Box<[std::mem::MaybeUninit<u8>]>);

impl ListBuffer {
    /// A buffer large enough for some thousand names at a time.
    pub fn new() -> Self {
        Self(Box::new_uninit_slice(64 * 1024))
    }
}

impl Default for ListBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// The canonical form of a path: absolute, links resolved, `..` collapsed. A tail that does not exist
/// is kept as it is.
pub fn canonicalize(path: &Path) -> Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => {
                    Ok(canonicalize(parent)?.join(name))
                }
                _ => Err(Error::on("find", path, e)),
            }
        }
        Err(e) => Err(Error::on("find", path, e)),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_is_entered_only_where_that_is_allowed() {
        let root = Dir::open(Path::new("/")).unwrap();
        assert!(root.open_beneath(b"proc/sys").is_ok());
        for path in [&b"proc"[..], b"proc/sys"] {
            let refused = root.open_within(path).unwrap_err();
            assert_eq!(refused.errno(), Some(Errno::XDEV));
            let one_by_one = root.open_by_components(path, Mounts::Refused);
            assert_eq!(one_by_one.unwrap_err().errno(), Some(Errno::XDEV));
        }
        let inside = root.open_beneath(b"proc").unwrap();
        assert!(inside.open_within(b"sys/kernel").is_ok());
        assert!(inside.open_by_components(b"sys/kernel", Mounts::Refused).is_ok());
    }
}
