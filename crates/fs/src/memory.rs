//! The bytes of a large file, in memory.
//!
//! A file is mapped if it can be: its pages are there already, and neither memory has to be cleared for a copy of them nor
//! the copy be made, which takes longer than all that a save does with it. No byte may change meanwhile, and none be cut off. A lock on the file tells
//! other Hermas that it is mapped: who wants to write over it asks for that lock ([`Bytes::may_be_written_over`]). A lease keeps everybody else
//! waiting who would open it to write to it or cut it short; where somebody has it open already, or there are no leases, it is read.

use std::fs::File;
use std::ops::Deref;
use std::ops::DerefMut;

use rustix::fs::FlockOperation;

use crate::file::is_same_file;
use crate::lock;

/// Bytes that were read, or made, or are those of a mapped file. What is changed here is not changed there.
pub struct Bytes(Held);

enum Held {
    Own(Vec<u8>),
    #[cfg(target_os = "linux")]
    Mapped(mapping::Mapping),
}

impl Bytes {
    /// Maps all of a file. `None` where that cannot be done, or somebody is writing over it: the caller reads it then, and
    /// is told what is wrong with it.
    ///
    /// Only for files of our own: others can have no lease.
    #[cfg(target_os = "linux")]
    pub fn map(file: File, most: u64) -> Option<Self> {
        let mapping = mapping::Mapping::new(file, most).ok()?;
        Some(Self(Held::Mapped(mapping)))
    }

    /// Maps all of a file: not here.
    #[cfg(not(target_os = "linux"))]
    pub fn map(_file: File, _most: u64) -> Option<Self> {
        None
    }

    /// May `file` be written over, now that these bytes are what it is to hold? Not while it is mapped, but by these bytes
    /// themselves. The answer holds until `file` and these are dropped; `file` is one opened to read, for the lease keeps those who
    /// would write away until then.
    pub fn may_be_written_over(&self, file: &File) -> bool {
        match &self.0 {
            #[cfg(target_os = "linux")]
            Held::Mapped(mapping) if is_same_file(mapping.file(), file) => mapping.keep_for_us(),
            _ => lock::ask(file, FlockOperation::NonBlockingLockExclusive).is_ok(),
        }
    }

    /// These bytes in memory of our own.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Held::Own(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Held::Mapped(mapping) => mapping.bytes().to_vec(),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Own(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Held::Mapped(mapping) => mapping.bytes(),
        }
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Held::Own(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Held::Mapped(mapping) => mapping.bytes_mut(),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Held::Own(bytes))
    }
}

#[cfg(target_os = "linux")]
mod mapping {
    use std::ffi::c_void;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::ptr::NonNull;

    use rustix::fs::FlockOperation;
    use rustix::io::Errno;
    use rustix::mm::Advice;
    use rustix::mm::MapFlags;
    use rustix::mm::ProtFlags;
    use rustix::mm::madvise;
    use rustix::mm::mmap;
    use rustix::mm::munmap;

    use crate::file::stat_file;
    use crate::lock;

    /// Which signal tells of a lease that somebody wants to end; the same number on every processor Rust builds for.
    const F_SETSIG: libc::c_int = 10;

    /// A private mapping of a file, and the lock that says so.
    pub(super) struct Mapping {
        at: NonNull<u8>,
        length: usize,
        file: File,
    }

    // SAFETY: the memory belongs to this value alone, like that of a `Vec<u8>`.
    unsafe impl Send for Mapping {}
    // SAFETY: behind a shared reference it is only read.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// Maps all bytes of the file, each of which can be read: a page that cannot be read from the disk is an error here, not a
        /// signal later.
        pub(super) fn new(file: File, most: u64) -> Result<Self, Errno> {
            lock::ask(&file, FlockOperation::NonBlockingLockShared)?;
            // Whoever wants to write makes the system tell us: by a signal that nobody dies of. It ends with the descriptor.
            control(&file, F_SETSIG, libc::SIGURG)?;
            lease(&file, libc::F_RDLCK)?;
            let size = stat_file(&file).map_err(|_| Errno::IO)?.size;
            let length = usize::try_from(size).map_err(|_| Errno::FBIG)?;
            if size > most {
                return Err(Errno::FBIG);
            }
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let anywhere = std::ptr::null_mut();
            // SAFETY: the kernel chooses a place where nothing else is.
            let at = unsafe { mmap(anywhere, length, protection, MapFlags::PRIVATE, &file, 0) }?;
            let at = NonNull::new(at.cast::<u8>()).ok_or(Errno::NOMEM)?;
            let mapping = Self { at, length, file };
            // SAFETY: the range is the mapping made above, and this changes nothing in it.
            unsafe { madvise(mapping.start(), length, Advice::LinuxPopulateRead) }?;
            Ok(mapping)
        }

        /// Makes the lock one that nobody shares, if nobody does, and gives the lease back, which would keep us away, too.
        pub(super) fn keep_for_us(&self) -> bool {
            let is_ours = lock::ask(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if is_ours {
                let _ = lease(&self.file, libc::F_UNLCK);
            } else {
                // Asking in vain gave up the one we had.
                let _ = lock::ask(&self.file, FlockOperation::NonBlockingLockShared);
            }
            is_ours
        }

        pub(super) fn file(&self) -> &File {
            &self.file
        }

        fn start(&self) -> *mut c_void {
            self.at.as_ptr().cast()
        }

        pub(super) fn bytes(&self) -> &[u8] {
            // SAFETY: the mapping has this length and can be read until it is dropped. Lock and lease keep everybody from writing to the
            // file meanwhile.
            unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
        }

        pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
            // SAFETY: as above; it can be written, too, and is borrowed by nobody else.
            unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.length) }
        }
    }

    fn lease(file: &File, kind: libc::c_int) -> Result<(), Errno> {
        control(file, libc::F_SETLEASE, kind)
    }

    fn control(file: &File, command: libc::c_int, value: libc::c_int) -> Result<(), Errno> {
        // SAFETY: both commands take a number, and change only what the kernel notes about this descriptor.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, value) };
        if done == -1 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        }
        Ok(())
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping was made by this value, and nobody can borrow it any more.
            let _ = unsafe { munmap(self.start(), self.length) };
            // A child that another thread just forked has a copy of the descriptor: closing is not enough.
            let _ = lease(&self.file, libc::F_UNLCK);
            let _ = lock::ask(&self.file, FlockOperation::Unlock);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::Dir;

    /// A file with this content, and the directory it is in.
    fn file(content: &[u8]) -> (tempfile::TempDir, Dir) {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        std::fs::write(place.path().join("file"), content).unwrap();
        (place, dir)
    }

    fn mapped(dir: &Dir) -> Bytes {
        Bytes::map(dir.open_file("file").unwrap(), 1 << 30).unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_changed_in_a_mapped_file_is_not_changed_on_disk() {
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
        let (place, dir) = file(&content);
        let mut bytes = mapped(&dir);
        assert!(bytes[..] == content[..]);
        bytes[50_000] ^= 1;
        assert_eq!(bytes[50_000], content[50_000] ^ 1);
        assert_eq!(std::fs::read(place.path().join("file")).unwrap(), content);
        assert_eq!(bytes.into_vec()[..50_000], content[..50_000]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_mapped_file_is_written_over_by_its_own_bytes_only() {
        let (_place, dir) = file(&[1; 10_000]);
        let open = || dir.open_file("file").unwrap();
        let (mut mine, others) = (mapped(&dir), mapped(&dir));
        let new = Bytes::from(vec![2; 10_000]);
        assert!(!new.may_be_written_over(&open()));
        assert!(!mine.may_be_written_over(&open()));
        drop(others);
        assert!(!new.may_be_written_over(&open()));
        mine[9000] = 3;
        assert!(dir.open_existing("file").is_err());
        let locked = open();
        assert!(mine.may_be_written_over(&locked));
        let file = dir.open_existing("file").unwrap();
        file.write_all_at(&mine[8192..], 8192).unwrap();
        drop(file);
        // Nobody maps it while it is being written.
        assert!(Bytes::map(dir.open_file("file").unwrap(), 1 << 30).is_none());
        drop(mine);
        assert!(new.may_be_written_over(&open()));
        assert_eq!(mapped(&dir)[8999..9002], [1, 3, 1]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nobody_opens_a_mapped_file_to_write_to_it() {
        let (_place, dir) = file(&[1; 10_000]);
        let writer = dir.open_existing("file").unwrap();
        assert!(Bytes::map(dir.open_file("file").unwrap(), 1 << 30).is_none());
        drop(writer);
        let (one, other) = (mapped(&dir), mapped(&dir));
        let refused = dir.open_existing("file").unwrap_err();
        assert_eq!(refused.errno(), Some(rustix::io::Errno::WOULDBLOCK));
        drop(one);
        assert!(dir.open_existing("file").is_err());
        drop(other);
        dir.open_existing("file").unwrap();
    }

    #[test]
    fn what_cannot_be_mapped_is_left_to_be_read() {
        let (_place, dir) = file(b"");
        assert!(Bytes::map(dir.open_file("file").unwrap(), 10).is_none());
        let (_place, dir) = file(b"more than that");
        assert!(Bytes::map(dir.open_file("file").unwrap(), 10).is_none());
    }
}
