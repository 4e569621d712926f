//! What the kernel asks a twin, one method for each question.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyLock, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid,
};
use rustix::io::Errno;

use super::backing::{Backing, by_descriptor};
use super::manners::Oddity;

const GENERATION: Generation = Generation(0);

fn said(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.raw_os_error())
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn times(time: Option<TimeOrNow>) -> Timespec {
    let (seconds, nanoseconds) = match time {
        None => (0, UTIME_OMIT),
        Some(TimeOrNow::Now) => (0, UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            (since.as_secs() as i64, since.subsec_nanos().into())
        }
    };
    Timespec { tv_sec: seconds, tv_nsec: nanoseconds }
}

impl Backing {
    fn ttl(&self) -> Duration {
        self.manners.believed_for
    }

    fn answer_entry(&self, reply: ReplyEntry, made: Result<FileAttr, Errno>) {
        match made {
            Ok(attributes) => reply.entry(&self.ttl(), &attributes, GENERATION),
            Err(errno) => reply.error(said(errno)),
        }
    }

    fn answer_attributes(&self, reply: ReplyAttr, found: Result<FileAttr, Errno>) {
        match found {
            Ok(attributes) => reply.attr(&self.ttl(), &attributes),
            Err(errno) => reply.error(said(errno)),
        }
    }

    /// Makes something new with `make` and tells the kernel of it.
    fn make(
        &self,
        parent: INodeNo,
        name: &OsStr,
        make: impl FnOnce(&rustix::fd::OwnedFd, &std::ffi::CStr) -> Result<(), Errno>,
    ) -> Result<FileAttr, Errno> {
        let dir = self.node(parent)?;
        make(&dir, &self.resolve(&dir, name.as_bytes())?)?;
        self.note_new(parent, name.as_bytes());
        self.enter(parent, name.as_bytes())
    }

    fn remove(&self, parent: INodeNo, name: &OsStr, flags: AtFlags) -> Result<(), Errno> {
        let dir = self.node(parent)?;
        rustix::fs::unlinkat(&*dir, &*self.resolve(&dir, name.as_bytes())?, flags)
    }

    fn move_name(
        &self,
        (parent, name): (INodeNo, &OsStr),
        (new_parent, new_name): (INodeNo, &OsStr),
        flags: fuser::RenameFlags,
    ) -> Result<(), Errno> {
        let (from, to) = (self.node(parent)?, self.node(new_parent)?);
        let name = self.resolve(&from, name.as_bytes())?;
        let target = self.resolve(&to, new_name.as_bytes())?;
        let flags = RenameFlags::from_bits_retain(flags.bits());
        let is_new = rustix::fs::statat(&*to, &*target, AtFlags::SYMLINK_NOFOLLOW).is_err();
        rustix::fs::renameat_with(&*from, &*name, &*to, &*target, flags)?;
        if is_new {
            self.note_new(new_parent, new_name.as_bytes());
        }
        if self.armed.fires(Oddity::RenameDenied) {
            return Err(Errno::NOENT);
        }
        Ok(())
    }

    fn open_for(&self, number: INodeNo, flags: OpenFlags) -> Result<u64, Errno> {
        let flags = OFlags::from_bits_retain(flags.0 as u32);
        let reads = flags & OFlags::RWMODE == OFlags::RDONLY;
        if reads && self.armed.fires(Oddity::StaleOpen) {
            return Err(Errno::STALE);
        }
        self.open(number, flags)
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(said(errno)),
    }
}

fn answer_open(reply: ReplyOpen, opened: Result<u64, Errno>) {
    match opened {
        Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
        Err(errno) => reply.error(said(errno)),
    }
}

impl Filesystem for Backing {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        if self.manners.locks.is_some() {
            let asked = InitFlags::FUSE_FLOCK_LOCKS | InitFlags::FUSE_POSIX_LOCKS;
            let refused = config.add_capabilities(asked);
            refused.map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.answer_entry(reply, self.enter(parent, name.as_bytes()));
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        Backing::forget(self, number, times);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.answer_attributes(reply, self.look(number));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = || {
            let path = by_descriptor(&*self.node(number)?);
            if let Some(mode) = mode {
                rustix::fs::chmod(&path, Mode::from_raw_mode(mode & 0o7777))?;
            }
            if uid.is_some() || gid.is_some() {
                let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
                rustix::fs::chown(&path, uid, gid)?;
            }
            if let Some(size) = size {
                let file = rustix::fs::open(&path, OFlags::WRONLY, Mode::empty())?;
                rustix::fs::ftruncate(&file, size)?;
            }
            if atime.is_some() || mtime.is_some() {
                let times =
                    Timestamps { last_access: times(atime), last_modification: times(mtime) };
                rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty())?;
            }
            self.look(number)
        };
        self.answer_attributes(reply, set());
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let node = self.node(number);
        match node.and_then(|link| rustix::fs::readlinkat(&*link, c"", Vec::new())) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(said(errno)),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = rustix::fs::FileType::from_raw_mode(mode);
        let bits = Mode::from_raw_mode(mode & !umask & 0o7777);
        let entry = self.make(parent, name, |dir, name| {
            rustix::fs::mknodat(dir, name, kind, bits, rdev.into())
        });
        self.answer_entry(reply, entry);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let mode = Mode::from_raw_mode(mode & !umask & 0o7777);
        let make = |dir: &_, name: &std::ffi::CStr| rustix::fs::mkdirat(dir, name, mode);
        self.answer_entry(reply, self.make(parent, name, make));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(parent, name, AtFlags::empty()));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(parent, name, AtFlags::REMOVEDIR));
    }

    fn symlink(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let make = |dir: &_, name: &std::ffi::CStr| rustix::fs::symlinkat(target, dir, name);
        self.answer_entry(reply, self.make(parent, name, make));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: fuser::RenameFlags,
        reply: ReplyEmpty,
    ) {
        let moved = self.move_name((parent, name), (new_parent, new_name), flags);
        answer(reply, moved);
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.node(number).and_then(|file| {
            let path = by_descriptor(&*file);
            self.make(parent, name, |dir, name| {
                rustix::fs::linkat(CWD, &path, dir, name, AtFlags::SYMLINK_FOLLOW)
            })
        });
        self.answer_entry(reply, linked);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        answer_open(reply, self.open_for(number, flags));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = || {
            if self.armed.fires(Oddity::StaleRead) {
                return Err(Errno::STALE);
            }
            let mut buffer = vec![0; size as usize];
            let file = self.file(handle.0)?;
            let got = file.read_at(&mut buffer, offset);
            buffer.truncate(got.map_err(|e| errno_of(&e))?);
            Ok(buffer)
        };
        match read() {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(said(errno)),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let file = self.file(handle.0);
        let written = file.and_then(|file| {
            let written = file.write_at(data, offset);
            written.map_err(|e| errno_of(&e))
        });
        match written {
            Ok(length) => reply.written(length as u32),
            Err(errno) => reply.error(said(errno)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.close(handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let file = self.file(handle.0);
        answer(reply, file.and_then(|file| rustix::fs::fsync(&*file)));
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        answer_open(reply, self.list(number));
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listing = match self.listing(handle.0) {
            Ok(listing) => listing,
            Err(errno) => return reply.error(said(errno)),
        };
        for (at, (number, kind, name)) in listing.iter().enumerate().skip(offset as usize) {
            let next = at as u64 + 1;
            if reply.add(INodeNo(*number), next, *kind, OsStr::from_bytes(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.close(handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // Much room, so that no limit on free space comes in.
        reply.statfs(1 << 30, 1 << 29, 1 << 29, 1 << 30, 1 << 29, 4096, 255, 4096);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let mut opened = None;
        let entry = self.make(parent, name, |dir, name| {
            let flags = OFlags::from_bits_retain(flags as u32) | OFlags::CREATE | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(mode & !umask & 0o7777);
            let file = rustix::fs::openat(dir, name, flags - OFlags::APPEND, mode)?;
            opened = Some(File::from(file));
            Ok(())
        });
        match (entry, opened) {
            (Ok(attributes), Some(file)) => {
                let handle = FileHandle(self.keep(file));
                let no_flags = FopenFlags::empty();
                reply.created(&self.ttl(), &attributes, GENERATION, handle, no_flags);
            }
            (Err(errno), _) => reply.error(said(errno)),
            (Ok(_), None) => reply.error(said(Errno::IO)),
        }
    }

    fn getlk(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        _: u64,
        _: u64,
        _: i32,
        _: u32,
        reply: ReplyLock,
    ) {
        reply.error(self.no_locks());
    }

    fn setlk(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        _: u64,
        _: u64,
        _: i32,
        _: u32,
        _: bool,
        reply: ReplyEmpty,
    ) {
        reply.error(self.no_locks());
    }
}

impl Backing {
    fn no_locks(&self) -> fuser::Errno {
        let answer = self.manners.locks.unwrap_or(nix::errno::Errno::ENOSYS);
        fuser::Errno::from_i32(answer as i32)
    }
}
