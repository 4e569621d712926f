//! The directory behind a twin, and what each call does to it.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::manners::{Armed, Manners, Names};
use super::nodes::{Nodes, ROOT};

/// An entry of a listing: its number, its kind and its name.
pub(super) type Listed = (u64, FileType, Vec<u8>);

/// The directory behind a twin.
#[derive(Debug)]
pub(super) struct Backing {
    pub(super) manners: Manners,
    pub(super) armed: Arc<Armed>,
    nodes: Mutex<Nodes>,
    files: Mutex<HashMap<u64, Arc<File>>>,
    listings: Mutex<HashMap<u64, Arc<Vec<Listed>>>>,
    /// Names of a directory that are not listed yet, and how often they will not be.
    unlisted: Mutex<HashMap<(u64, Vec<u8>), usize>>,
    last: AtomicU64,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backing {
    pub(super) fn new(root: &Path, manners: Manners, armed: Arc<Armed>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
        Ok(Self {
            manners,
            armed,
            nodes: Mutex::new(Nodes::new(root)),
            files: Mutex::default(),
            listings: Mutex::default(),
            unlisted: Mutex::default(),
            last: AtomicU64::new(0),
        })
    }

    /// The descriptor of a file the kernel knows.
    pub(super) fn node(&self, number: INodeNo) -> Result<Arc<OwnedFd>, Errno> {
        lock(&self.nodes).get(number.0).ok_or(Errno::STALE)
    }

    pub(super) fn forget(&self, number: INodeNo, times: u64) {
        lock(&self.nodes).forget(number.0, times);
    }

    /// Which of the names that are there is meant by `name`; itself if none is.
    pub(super) fn resolve(&self, dir: &OwnedFd, name: &[u8]) -> Result<CString, Errno> {
        self.manners.names.check(name)?;
        let exact = c_string(self.manners.names.stored(name))?;
        if self.manners.names != Names::AnyCase {
            return Ok(exact);
        }
        if rustix::fs::statat(dir, &exact, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(exact);
        }
        let names = names_in(dir)?;
        let same = names.into_iter().find(|(_, other)| self.manners.names.are_one(other, name));
        same.map_or(Ok(exact), |(_, name)| c_string(name))
    }

    /// Tells the kernel of the file `name` in `parent`, which is there.
    pub(super) fn enter(&self, parent: INodeNo, name: &[u8]) -> Result<FileAttr, Errno> {
        let dir = self.node(parent)?;
        let name = self.resolve(&dir, name)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&*dir, &name, flags, Mode::empty())?;
        let attributes = attributes(&rustix::fs::fstat(&file)?);
        lock(&self.nodes).add(attributes.ino.0, file);
        Ok(attributes)
    }

    /// What a file is.
    pub(super) fn look(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        let file = self.node(number)?;
        let mut attributes = attributes(&rustix::fs::fstat(&*file)?);
        attributes.ino = number;
        Ok(attributes)
    }

    /// Opens a file the kernel knows.
    pub(super) fn open(&self, number: INodeNo, flags: OFlags) -> Result<u64, Errno> {
        let path = by_descriptor(&*self.node(number)?);
        let flags = (flags | OFlags::CLOEXEC) - OFlags::NOFOLLOW - OFlags::APPEND;
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(self.keep(File::from(file)))
    }

    /// Keeps an open file, under a number.
    pub(super) fn keep(&self, file: File) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.files).insert(handle, Arc::new(file));
        handle
    }

    pub(super) fn file(&self, handle: u64) -> Result<Arc<File>, Errno> {
        lock(&self.files).get(&handle).cloned().ok_or(Errno::BADF)
    }

    pub(super) fn close(&self, handle: u64) {
        lock(&self.files).remove(&handle);
        lock(&self.listings).remove(&handle);
    }

    /// A new name came into being.
    pub(super) fn note_new(&self, parent: INodeNo, name: &[u8]) {
        if self.manners.unlisted > 0 {
            let key = (parent.0, self.manners.names.stored(name));
            lock(&self.unlisted).insert(key, self.manners.unlisted);
        }
    }

    /// Lists a directory, without what is too new.
    pub(super) fn list(&self, number: INodeNo) -> Result<u64, Errno> {
        let dir = self.node(number)?;
        let mut unlisted = lock(&self.unlisted);
        let mut listed = vec![
            (number.0, FileType::Directory, b".".to_vec()),
            (ROOT, FileType::Directory, b"..".to_vec()),
        ];
        for (kind, name) in names_in(&dir)? {
            let hidden = unlisted.get_mut(&(number.0, name.clone()));
            match hidden.filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => listed.push((u64::MAX, kind, name)),
            }
        }
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.listings).insert(handle, Arc::new(listed));
        Ok(handle)
    }

    pub(super) fn listing(&self, handle: u64) -> Result<Arc<Vec<Listed>>, Errno> {
        let listings = lock(&self.listings);
        listings.get(&handle).cloned().ok_or(Errno::BADF)
    }
}

/// The names in a directory, and what they are.
fn names_in(dir: &OwnedFd) -> Result<Vec<(FileType, Vec<u8>)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(dir, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(open)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((kind_of(entry.file_type()), name.to_vec()));
        }
    }
    Ok(names)
}

/// A name by which an open file can be opened once more, whatever it is called.
pub(super) fn by_descriptor(file: &impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

pub(super) fn c_string(name: Vec<u8>) -> Result<CString, Errno> {
    CString::new(name).map_err(|_| Errno::INVAL)
}

fn kind_of(kind: rustix::fs::FileType) -> FileType {
    use rustix::fs::FileType as Kind;
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::RegularFile | Kind::Unknown => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds.max(0) as u64) + Duration::from_nanos(nanoseconds)
}

fn attributes(stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(stat.st_ino),
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind_of(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: 4096,
        flags: 0,
    }
}
