//! Power cuts: a mounted file system that forgets, from one moment to the next, what it had not written.
//!
//! The page cache and the journal that was not flushed yet are dropped, every later call fails, and the next
//! mount replays what the journal had on disk. What the block device was given stays in the order it was given:
//! sectors are neither torn nor reordered, as they may be in a real disk's own cache.

use std::io;
use std::path::Path;

/// Cuts the power of the ext4 or XFS file system that is mounted at `mount`.
///
/// Needs root. Everything on it is unusable until it is unmounted and mounted again, so this must be a file
/// system that was made for the purpose.
#[cfg(target_os = "linux")]
pub fn cut(mount: &Path) -> io::Result<()> {
    use rustix::ioctl::{Opcode, Setter, opcode};

    /// `FS_IOC_SHUTDOWN`: stops a file system.
    const SHUTDOWN: Opcode = opcode::read::<u32>(b'X', 125);
    /// Without flushing the log first.
    const NO_LOG_FLUSH: u32 = 2;

    let directory = std::fs::File::open(mount)?;
    #[expect(
        unsafe_code,
        reason = "rustix has no safe call for this request, and needs the shape of its argument vouched for"
    )]
    // SAFETY: the request takes a pointer to one u32, which it reads and does not keep.
    let done = unsafe {
        let request = Setter::<SHUTDOWN, u32>::new(NO_LOG_FLUSH);
        rustix::ioctl::ioctl(&directory, request)
    };
    Ok(done?)
}

/// Cuts the power of a file system, where this system can.
#[cfg(not(target_os = "linux"))]
pub fn cut(_mount: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_cannot_be_cut_says_so() {
        // Never a real disk: procfs knows no such request.
        let refused = cut(Path::new("/proc/self")).expect_err("procfs has no power to cut");
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()));
    }
}
