//! What a power cut left, as a value, and on a real disk again.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use sha2::{Digest, Sha256};

use crate::faults::NodeId;
use crate::tree::{remove_all, set_mode};

/// When what the command wrote was written, as far as others can see: before the machine was started again.
const LONG_AGO: SystemTime = SystemTime::UNIX_EPOCH;

/// Something that is still there.
#[derive(Clone, Debug)]
pub enum Rest {
    /// A directory.
    Dir {
        /// Its permission bits.
        mode: u32,
    },
    /// A file.
    File {
        /// Which one: names of the same file are links to it.
        node: NodeId,
        /// What is in it.
        bytes: Arc<Vec<u8>>,
        /// Its permission bits.
        mode: u32,
        /// When it was last modified, if that was before the command.
        modified: Option<SystemTime>,
    },
    /// A symbolic link.
    Link(Vec<u8>),
}

/// Everything below the root after a power cut, by path.
#[derive(Clone, Debug, Default)]
pub struct State(pub BTreeMap<Vec<u8>, Rest>);

impl State {
    /// A number that differs from that of every other state.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut files: HashMap<NodeId, usize> = HashMap::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        for (at, (path, rest)) in self.0.iter().enumerate() {
            part(path);
            match rest {
                Rest::Dir { mode } => part(&[&b"d"[..], &mode.to_le_bytes()].concat()),
                Rest::Link(target) => {
                    part(b"l");
                    part(target);
                }
                Rest::File { node, bytes, mode, .. } => {
                    part(&[&b"f"[..], &mode.to_le_bytes()].concat());
                    match files.get(node) {
                        Some(first) => part(&first.to_le_bytes()),
                        None => part(bytes),
                    }
                    files.entry(*node).or_insert(at);
                }
            }
        }
        digest.finalize().into()
    }

    /// Makes everything below `root` be like this. What is so already is not touched: it keeps its inode and
    /// its times.
    #[track_caller]
    pub fn write_to(&self, root: &Path) {
        self.try_write_to(root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    }

    fn try_write_to(&self, root: &Path) -> io::Result<()> {
        let mut below: HashMap<&[u8], Vec<(&[u8], &Rest)>> = HashMap::new();
        let mut names: HashMap<NodeId, u64> = HashMap::new();
        for (path, rest) in &self.0 {
            let (dir, name) = split(path);
            below.entry(dir).or_default().push((name, rest));
            if let Rest::File { node, .. } = rest {
                *names.entry(*node).or_default() += 1;
            }
        }
        let mut writing = Writing { below, names, written: HashMap::new() };
        writing.directory(root, b"", None)
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

struct Writing<'s> {
    below: HashMap<&'s [u8], Vec<(&'s [u8], &'s Rest)>>,
    /// How many names each file has.
    names: HashMap<NodeId, u64>,
    written: HashMap<NodeId, PathBuf>,
}

impl Writing<'_> {
    fn directory(&mut self, place: &Path, path: &[u8], mode: Option<u32>) -> io::Result<()> {
        let there = fs::symlink_metadata(place)?;
        if there.mode() & 0o700 != 0o700 {
            set_mode(place, 0o700)?;
        }
        let wanted = self.below.remove(path).unwrap_or_default();
        for entry in fs::read_dir(place)? {
            let name = entry?.file_name();
            let is_wanted = |(wanted, _): &(&[u8], &Rest)| *wanted == name.as_bytes();
            if !wanted.iter().any(is_wanted) {
                remove_all(&place.join(name));
            }
        }
        for (name, rest) in wanted {
            let child = place.join(OsStr::from_bytes(name));
            match rest {
                Rest::Dir { mode } => {
                    if !fs::symlink_metadata(&child).is_ok_and(|m| m.is_dir()) {
                        remove_all(&child);
                        fs::create_dir(&child)?;
                    }
                    let path =
                        if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() };
                    self.directory(&child, &path, Some(*mode))?;
                }
                Rest::Link(target) => link(&child, target)?,
                Rest::File { node, bytes, mode, modified } => {
                    self.file(&child, *node, bytes, *mode, *modified)?;
                }
            }
        }
        match mode {
            Some(mode) if fs::symlink_metadata(place)?.mode() & 0o7777 != mode => {
                set_mode(place, mode)
            }
            _ => Ok(()),
        }
    }

    fn file(
        &mut self,
        place: &Path,
        node: NodeId,
        bytes: &[u8],
        mode: u32,
        modified: Option<SystemTime>,
    ) -> io::Result<()> {
        if let Some(first) = self.written.get(&node) {
            remove_all(place);
            return fs::hard_link(first, place);
        }
        let names = self.names.get(&node).copied().unwrap_or(1);
        self.written.insert(node, place.to_owned());
        let there = fs::symlink_metadata(place).ok();
        let is_same = there.is_some_and(|there| {
            there.is_file()
                && there.nlink() == 1
                && names == 1
                && there.len() == bytes.len() as u64
                && there.mode() & 0o7777 == mode
                && there.modified().is_ok_and(|t| t == modified.unwrap_or(LONG_AGO))
                && fs::read(place).is_ok_and(|content| content == bytes)
        });
        if is_same {
            return Ok(());
        }
        remove_all(place);
        fs::write(place, bytes)?;
        let file = fs::File::options().write(true).open(place)?;
        file.set_modified(modified.unwrap_or(LONG_AGO))?;
        set_mode(place, mode)
    }
}

fn link(place: &Path, target: &[u8]) -> io::Result<()> {
    let target = Path::new(OsStr::from_bytes(target));
    if fs::read_link(place).is_ok_and(|there| there == target) {
        return Ok(());
    }
    remove_all(place);
    symlink(target, place)
}
