//! Files that are open for writing, or mapped so, in any process that can be looked into.
//!
//! Storing through a mapping tells nobody, and writing through a descriptor tells only the directory of the name it was
//! opened by, which may be gone or elsewhere. So files are told apart by their inode here, not by a name.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::StatxFlags;

/// A table of mappings larger than this is not a process we know how to judge.
const LARGEST_TABLE: usize = 16 << 20;

/// Can processes be looked into at all?
pub fn can_be_known() -> bool {
    // Without this very process in it, it is not the list we need.
    fs::read_dir("/proc/self/fd").is_ok()
}

/// The inodes of all files that may be written to without anybody hearing of it, on whatever device they are.
/// Processes of other users, and those that are not in our `/proc`, cannot be looked into. `None` if none can.
pub fn for_writing() -> Option<HashSet<u64>> {
    let mut found = HashSet::new();
    if !can_be_known() {
        return None;
    }
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let name = process.file_name();
        if name.as_bytes().iter().all(u8::is_ascii_digit) {
            open_files(&process.path(), &mut found);
            mapped_files(&process.path(), &mut found);
        }
    }
    Some(found)
}

fn open_files(process: &Path, found: &mut HashSet<u64>) {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        return;
    };
    for descriptor in descriptors.flatten() {
        let is_named = |target: &Path| target.as_os_str().as_bytes().starts_with(b"/");
        if !fs::read_link(descriptor.path()).is_ok_and(|target| is_named(&target)) {
            continue;
        }
        let about = process.join("fdinfo").join(descriptor.file_name());
        if fs::read(about).map_or(true, |about| is_writable(&about)) {
            found.extend(inode_of(&descriptor.path()));
        }
    }
}

/// The inode a descriptor is of. Its file system is not asked anew: it may not answer.
fn inode_of(descriptor: &Path) -> Option<u64> {
    let flags = AtFlags::from_bits_retain(rustix::fs::AtFlags::STATX_DONT_SYNC.bits());
    let stat = rustix::fs::statx(CWD, descriptor, flags, StatxFlags::INO).ok()?;
    Some(stat.stx_ino)
}

/// Does this description of a descriptor allow writing? The last octal digit of its flags says so.
fn is_writable(about: &[u8]) -> bool {
    let mut lines = about.split(|b| *b == b'\n');
    let flags = lines.find_map(|line| line.strip_prefix(b"flags:"));
    let last = flags.and_then(|flags| flags.trim_ascii().last());
    last.is_none_or(|digit| digit & 0b11 != 0)
}

fn mapped_files(process: &Path, found: &mut HashSet<u64>) {
    let Ok(table) = fs::read(process.join("maps")) else {
        return;
    };
    if table.len() > LARGEST_TABLE {
        return;
    }
    let lines = table.split(|b| *b == b'\n');
    found.extend(lines.filter_map(mapped_for_writing));
}

/// The inode of the file a line of the table maps so that stores reach it.
fn mapped_for_writing(line: &[u8]) -> Option<u64> {
    let mut fields = line.split(|b| *b == b' ').filter(|field| !field.is_empty());
    let rights = fields.nth(1)?;
    let inode = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
    let is_stored_to = rights.len() == 4 && rights[1] == b'w' && rights[3] == b's';
    (is_stored_to && inode != 0).then_some(inode)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_that_is_open_for_writing_is_found_by_any_name_and_by_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("written");
        let written = fs::File::create(&path).unwrap();
        let read = fs::File::open(&path).unwrap();
        let inode = written.metadata().unwrap().ino();
        assert!(for_writing().unwrap().contains(&inode));
        fs::hard_link(&path, place.path().join("other")).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(for_writing().unwrap().contains(&inode));
        drop(written);
        assert!(!for_writing().unwrap().contains(&inode), "it is only read");
        drop(read);
    }

    #[test]
    fn only_shared_mappings_that_can_be_stored_to_count() {
        let line = |rights: &str| format!("7f00-7f01 {rights} 00000000 08:01 77   /p/a b");
        let found = |rights| mapped_for_writing(line(rights).as_bytes());
        assert_eq!(found("rw-s"), Some(77));
        assert_eq!(found("rw-p"), None);
        assert_eq!(found("r--s"), None);
        assert_eq!(mapped_for_writing(b"7f00-7f01 rw-s"), None);
        assert_eq!(mapped_for_writing(b""), None);
    }
}
