//! What can be done with an open file.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

#[cfg(target_os = "linux")]
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::Stat;

/// What an open file is.
pub fn stat_file(file: &File) -> std::io::Result<Stat> {
    Ok(stat_fd(file.as_fd())?)
}

#[cfg(target_os = "linux")]
pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> std::result::Result<Stat, Errno> {
    use rustix::fs::StatxFlags;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(fd, c"", flags, StatxFlags::BASIC_STATS).map(|s| Stat::from_statx(&s))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> std::result::Result<Stat, Errno> {
    rustix::fs::fstat(fd).map(|s| Stat::from_stat(&s))
}

/// Sets the permission bits of an open file.
pub fn set_file_mode(file: &File, mode: u32) -> std::io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode as _))?)
}

/// Reads into `buffer` at `offset`, as far as the file goes; returns how much was read.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Asks the kernel to write out a file's dirty pages, so that a later store through a shared mapping
/// faults again and moves the file's times. Best effort: an error only means the file may have to be
/// read once more.
pub fn write_back(file: &File) {
    // The result does not matter: see above.
    let _ = rustix::fs::fdatasync(file);
}
