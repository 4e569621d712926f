//! What can be done with an open file.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

#[cfg(target_os = "linux")]
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::Stat;
use crate::error::is_without_modes;

/// What an open file is.
pub fn stat_file(file: &File) -> std::io::Result<Stat> {
    Ok(stat_fd(file.as_fd())?)
}

#[cfg(target_os = "linux")]
pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> std::result::Result<Stat, Errno> {
    crate::stat::stat_at(fd, c"", AtFlags::EMPTY_PATH)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> std::result::Result<Stat, Errno> {
    rustix::fs::fstat(fd).map(|s| Stat::from_stat(&s))
}

/// Asks for these permission bits; tells whether the open file has them now. Some file systems refuse what they
/// cannot hold, some take it and forget it.
pub fn ask_for_file_mode(file: &File, mode: u32) -> std::io::Result<bool> {
    match rustix::fs::fchmod(file, Mode::from_raw_mode(mode as _)) {
        Err(errno) if !is_without_modes(errno) => Err(errno.into()),
        _ => Ok(stat_file(file)?.mode == mode),
    }
}

/// Reads into `buffer` at `offset`, as far as the file goes; returns how much was read.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let enough = buffer.len();
    read_at_least(file, buffer, offset, enough)
}

/// Like [`read_at`], but does not ask whether there is more after so many bytes, unless they come with it.
pub fn read_at_least(
    file: &File,
    buffer: &mut [u8],
    offset: u64,
    enough: usize,
) -> std::io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        if done >= enough {
            break;
        }
    }
    Ok(done)
}

/// Makes an empty file share all of another one's blocks, where the file system can do that. Whoever writes to one of them later
/// changes nothing in the other.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn share_blocks(empty: &File, other: &File) -> std::io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(empty, other)?)
}

/// Makes an empty file share all of another one's blocks, where the file system can do that.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn share_blocks(_empty: &File, _other: &File) -> std::io::Result<()> {
    Err(Errno::NOTSUP.into())
}

/// Asks the kernel to write out a file's dirty pages, so that a later store through a shared mapping
/// faults again and moves the file's times. Best effort: an error only means the file may have to be
/// read once more.
pub fn write_back(file: &File) {
    // The result does not matter: see above.
    let _ = rustix::fs::fdatasync(file);
}

/// Copies the attributes that users put on files (`user.*`). A file system without any has none to copy.
#[cfg(target_os = "linux")]
pub(crate) fn copy_user_attributes(from: &File, to: &File) -> Result<(), Errno> {
    use rustix::fs::XattrFlags;
    /// As much as Linux allows for all the names of a file, and for one value.
    const MAX_XATTR_BYTES: usize = 64 << 10;
    let mut names = vec![0; MAX_XATTR_BYTES];
    let length = match rustix::fs::flistxattr(from, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let names = names[..length].split(|byte| *byte == 0);
    for name in names.filter(|name| name.starts_with(b"user.")) {
        let mut value = vec![0; MAX_XATTR_BYTES];
        let length = match rustix::fs::fgetxattr(from, name, &mut value[..]) {
            Ok(length) => length,
            // Removed since the names were read.
            Err(Errno::NODATA) => continue,
            Err(errno) => return Err(errno),
        };
        rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}

/// Elsewhere attributes are not the user's own: the system keeps its notes in them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_user_attributes(_from: &File, _to: &File) -> Result<(), Errno> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    use super::*;

    #[test]
    fn attributes_of_users_are_copied_whole() {
        let place = tempfile::tempdir().unwrap();
        let create = |name: &str| File::create_new(place.path().join(name)).unwrap();
        let (from, to) = (create("from"), create("to"));
        copy_user_attributes(&from, &to).unwrap();
        let attributes: [(&str, &[u8]); 3] =
            [("user.note", b"mine\0\xff"), ("user.empty", b""), ("user.long", &[b'x'; 900])];
        for (name, value) in attributes {
            match fsetxattr(&from, name, value, XattrFlags::empty()) {
                // Nothing to be kept where nothing can be.
                Err(Errno::NOTSUP) => return,
                set => set.unwrap(),
            }
        }
        copy_user_attributes(&from, &to).unwrap();
        for (name, value) in attributes {
            let mut buffer = vec![0; 1000];
            let length = fgetxattr(&to, name, &mut buffer[..]).unwrap();
            assert_eq!(&buffer[..length], value, "{name}");
        }
    }
}
