//! What is mounted where. Mounting something over a directory hides what is in it, and no directory tells.

use std::fs::File;
use std::io::Read;
use std::io::Seek;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;

/// So much of the table is read; a system with more mounts is not judged.
const LARGEST: u64 = 4 << 20;

/// The table of mounts as this process sees it.
#[derive(Debug)]
pub struct Mounts {
    table: File,
}

impl Mounts {
    /// Opens the table.
    pub fn open() -> crate::Result<Self> {
        let path = Path::new("/proc/self/mountinfo");
        let table = File::open(path).map_err(|e| crate::Error::on("open", path, e))?;
        Ok(Self { table })
    }

    /// Has anything been mounted or unmounted since this was last asked?
    pub fn have_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.table, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match rustix::event::poll(&mut polled, Some(&at_once)) {
            Ok(0) => false,
            // Who cannot ask does not know.
            Ok(_) | Err(_) => true,
        }
    }

    /// The mounts at this directory or below it, by number and place. `None` if that cannot be found out.
    pub fn beneath(&mut self, directory: &Path) -> Option<Vec<Vec<u8>>> {
        self.table.rewind().ok()?;
        let mut text = Vec::new();
        Read::take(&self.table, LARGEST)
            .read_to_end(&mut text)
            .ok()?;
        if text.len() as u64 == LARGEST {
            return None;
        }
        Some(beneath(&text, directory.as_os_str().as_bytes()))
    }
}

/// The mounts of this table that are at a directory or below it.
fn beneath(table: &[u8], directory: &[u8]) -> Vec<Vec<u8>> {
    let lines = table.split(|b| *b == b'\n');
    lines
        .filter_map(|line| {
            let mut fields = line.split(|b| *b == b' ');
            let number = fields.next()?;
            let point = unescaped(fields.nth(3)?);
            let rest = point.strip_prefix(directory)?;
            let is_beneath = rest.is_empty() || rest[0] == b'/' || directory == b"/";
            is_beneath.then(|| [number, b" ", &point].concat())
        })
        .collect()
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(code)) = (first, code) {
            plain.push(code);
            rest = &after[3..];
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

/// The number of the set of mounts this process sees; 0 where there is only one.
pub fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/mnt").map_or(0, |found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mounted_at_a_directory_or_below_it_counts() {
        let table = b"22 1 0:21 / / rw - ext4 /dev/a rw\n\
            30 22 0:30 / /w/p\\040q rw - tmpfs none rw\n\
            31 22 0:31 / /w/p\\040q/below rw - tmpfs none rw\n\
            32 22 0:32 / /w/p\\040quite rw - tmpfs none rw\n";
        let found = beneath(table, b"/w/p q");
        assert_eq!(found, [b"30 /w/p q".to_vec(), b"31 /w/p q/below".to_vec()]);
        assert_eq!(beneath(table, b"/").len(), 4);
        assert!(beneath(b"nonsense\n\n1 2", b"/w").is_empty());
    }

    #[test]
    fn an_unchanged_table_has_not_changed() {
        let mut mounts = Mounts::open().unwrap();
        assert!(
            mounts
                .beneath(Path::new("/"))
                .is_some_and(|m| !m.is_empty())
        );
        mounts.have_changed();
        assert!(!mounts.have_changed());
        assert_ne!(namespace(), 0);
    }
}
