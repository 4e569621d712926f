//! Which mount a directory is on, where `statx` does not say: before Linux 5.8, and in some sandboxes.

use std::os::fd::BorrowedFd;

/// The number of the mount an open directory was reached through; 0 if nobody tells.
#[cfg(target_os = "linux")]
pub(crate) fn of_descriptor(fd: BorrowedFd<'_>) -> u64 {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Set once it was asked in vain.
    static UNKNOWN: AtomicBool = AtomicBool::new(false);
    /// The few lines about a directory are far shorter.
    const MAX_INFO_BYTES: u64 = 4 << 10;

    if UNKNOWN.load(Ordering::Relaxed) {
        return 0;
    }
    let mut text = Vec::new();
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_INFO_BYTES).read_to_end(&mut text));
    let found = read.ok().and_then(|_| number_in(&text));
    if found.is_none() {
        UNKNOWN.store(true, Ordering::Relaxed);
    }
    found.unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn of_descriptor(_fd: BorrowedFd<'_>) -> u64 {
    0
}

/// What the line `mnt_id:` says.
#[cfg(target_os = "linux")]
fn number_in(text: &[u8]) -> Option<u64> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"mnt_id:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::Dir;

    #[test]
    fn a_descriptor_is_on_the_mount_that_statx_tells() {
        for path in ["/", "/proc", "/tmp"] {
            let dir = Dir::open(std::path::Path::new(path)).unwrap();
            let told = dir.stat_self().unwrap().mount;
            assert_eq!(of_descriptor(dir.as_fd()), told, "{path}");
        }
        assert_eq!(number_in(b"pos:\t0\nmnt_id:\t31\n"), Some(31));
        assert_eq!(number_in(b"pos:\t0\nflags:\t02\n"), None);
        assert_eq!(number_in(b"mnt_id:\tx\n"), None);
    }
}
