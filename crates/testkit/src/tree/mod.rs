//! A directory tree as a value: what a test expects to find on disk.
//!
//! Paths are bytes, slash-separated and relative. Every directory is listed, empty or not, so two
//! equal trees are equal to the last empty directory and permission bit. [`crate::tree::edits`] changes
//! such a value at random.

pub mod edits;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An ordinary file with its permission bits.
    File {
        /// Its content.
        bytes: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link and where it points.
    Link(Vec<u8>),
    /// A directory with its permission bits.
    Dir {
        /// Its permission bits.
        mode: u32,
    },
}

/// A tree: every path below the root and what is there. The root itself is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<Vec<u8>, Node>);

impl Tree {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// A tree of text files with mode 0644 and the directories they need.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tree = Self::new();
        for (path, text) in files {
            tree.insert(path, Node::File { bytes: text.into(), mode: 0o644 });
        }
        tree
    }

    /// Puts `node` at `path`, with the directories above it (mode 0755) as far as they are missing.
    pub fn insert(&mut self, path: impl AsRef<[u8]>, node: Node) {
        let path = path.as_ref();
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.0.entry(path[..at].to_vec()).or_insert(Node::Dir { mode: 0o755 });
        }
        self.0.insert(path.to_vec(), node);
    }

    /// Takes away `path` and everything below it.
    pub fn remove(&mut self, path: &[u8]) {
        self.0.retain(|other, _| !is_at_or_below(other, path));
    }

    /// Reads what is on disk below `root`. Links are not followed; pipes, sockets and devices are
    /// left out.
    pub fn read(root: impl AsRef<Path>) -> Self {
        let mut tree = Self::new();
        tree.read_below(root.as_ref(), &[]);
        tree
    }

    fn read_below(&mut self, directory: &Path, prefix: &[u8]) {
        let entries =
            fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        for entry in entries {
            let path = entry.expect("a directory can be listed to its end").path();
            let name = path.file_name().expect("an entry has a name").as_bytes();
            let relative =
                if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() };
            let metadata =
                fs::symlink_metadata(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let mode = metadata.permissions().mode() & 0o7777;
            if metadata.is_dir() {
                self.read_below(&path, &relative);
                self.0.insert(relative, Node::Dir { mode });
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).expect("a link has a target");
                self.0.insert(relative, Node::Link(target.into_os_string().into_vec()));
            } else if metadata.is_file() {
                let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                self.0.insert(relative, Node::File { bytes, mode });
            }
        }
    }

    /// Makes `root` contain exactly this tree. What was below it before is deleted.
    pub fn write(&self, root: impl AsRef<Path>) {
        let root = root.as_ref();
        clear(root);
        for (path, node) in &self.0 {
            let path = root.join(OsStr::from_bytes(path));
            match node {
                Node::Dir { .. } => fs::create_dir(&path),
                Node::Link(target) => symlink(OsStr::from_bytes(target), &path),
                Node::File { bytes, mode } => {
                    fs::write(&path, bytes).and_then(|()| set_mode(&path, *mode))
                }
            }
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        // Deepest first: a directory may become unwritable once its content stands.
        for (path, node) in self.0.iter().rev() {
            if let Node::Dir { mode } = node {
                let path = root.join(OsStr::from_bytes(path));
                set_mode(&path, *mode).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
        }
    }

    /// The part of this tree git can store: no directories, and modes 0644 or 0755.
    #[must_use]
    pub fn as_git(&self) -> Self {
        let kept = self.0.iter().filter_map(|(path, node)| {
            let node = match node {
                Node::Dir { .. } => return None,
                Node::Link(target) => Node::Link(target.clone()),
                Node::File { bytes, mode } => {
                    let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
                    Node::File { bytes: bytes.clone(), mode }
                }
            };
            Some((path.clone(), node))
        });
        Self(kept.collect())
    }

    /// The content of the file at `path`, if there is one.
    pub fn file(&self, path: impl AsRef<[u8]>) -> Option<&[u8]> {
        match self.0.get(path.as_ref())? {
            Node::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }
}

/// The difference of two trees, one line per path, for a person; empty when they are equal.
pub fn diff(expected: &Tree, found: &Tree) -> String {
    let mut text = String::new();
    for (path, node) in &expected.0 {
        let name = path.escape_ascii();
        let line = match found.0.get(path) {
            Some(other) if other == node => continue,
            Some(other) => writeln!(text, "~ {name}: {node}, found {other}"),
            None => writeln!(text, "- {name}: {node}"),
        };
        line.expect("a string takes everything");
    }
    for (path, node) in found.0.iter().filter(|(path, _)| !expected.0.contains_key(*path)) {
        writeln!(text, "+ {}: {node}", path.escape_ascii()).expect("a string takes everything");
    }
    text
}

/// Fails with a readable difference unless the trees are equal.
#[track_caller]
pub fn assert_same(expected: &Tree, found: &Tree, what: &str) {
    let difference = diff(expected, found);
    assert!(difference.is_empty(), "{what}\n(- expected, + found)\n{difference}");
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir { mode } => write!(f, "directory {mode:04o}"),
            Self::Link(target) => write!(f, "link to {}", target.escape_ascii()),
            Self::File { bytes, mode } => {
                let shown = &bytes[..bytes.len().min(40)];
                let more = if shown.len() < bytes.len() { "…" } else { "" };
                write!(
                    f,
                    "file {mode:04o}, {} bytes \"{}{more}\"",
                    bytes.len(),
                    shown.escape_ascii()
                )
            }
        }
    }
}

/// Is `path` the same as `top`, or something below it?
pub(crate) fn is_at_or_below(path: &[u8], top: &[u8]) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Makes a named pipe, which nobody should open.
pub fn make_pipe(path: &Path) -> std::io::Result<()> {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    Ok(rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?)
}

/// Sets the permission bits of a file or directory.
pub(crate) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Deletes whatever is at `path`; nothing there is fine.
pub(crate) fn remove_all(path: &Path) {
    let removed = match fs::symlink_metadata(path) {
        Err(_) => return,
        Ok(metadata) if metadata.is_dir() => {
            clear(path);
            fs::remove_dir(path)
        }
        Ok(_) => fs::remove_file(path),
    };
    removed.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Makes `root` an empty directory, whatever the modes below it are.
fn clear(root: &Path) {
    fs::create_dir_all(root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mode = fs::metadata(root).map_or(0o755, |m| m.permissions().mode());
    set_mode(root, mode | 0o700).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    for entry in fs::read_dir(root).unwrap_or_else(|e| panic!("{}: {e}", root.display())) {
        remove_all(&entry.expect("a directory can be listed to its end").path());
    }
}

/// The bytes of all files below a directory, as they are at some moment.
pub fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Every name below a directory, and the directory itself, sorted.
pub fn names_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        if path.symlink_metadata().unwrap().is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_comes_back_from_disk_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree = Tree::of_files([("a.txt", "one"), ("src/deep/b.rs", "fn main() {}\n")]);
        tree.insert("run", Node::File { bytes: b"#!".to_vec(), mode: 0o750 });
        tree.insert("empty", Node::Dir { mode: 0o700 });
        tree.insert("link", Node::Link(b"src/nowhere".to_vec()));
        tree.insert(b"\xff\n", Node::File { bytes: vec![0; 3], mode: 0o444 });
        tree.insert("locked", Node::Dir { mode: 0o555 });
        tree.write(directory.path());
        assert_same(&tree, &Tree::read(directory.path()), "written and read");
        tree.write(directory.path());
        assert_same(&tree, &Tree::read(directory.path()), "written over itself");
    }

    #[test]
    fn a_difference_names_every_path_once() {
        let old = Tree::of_files([("same", "x"), ("changed", "x"), ("gone", "x")]);
        let new = Tree::of_files([("same", "x"), ("changed", "y"), ("new\n", "x")]);
        assert_eq!(
            diff(&old, &new),
            "~ changed: file 0644, 1 bytes \"x\", found file 0644, 1 bytes \"y\"\n\
             - gone: file 0644, 1 bytes \"x\"\n\
             + new\\n: file 0644, 1 bytes \"x\"\n"
        );
        assert_eq!(diff(&old, &old.clone()), "");
    }

    #[test]
    fn removing_a_directory_spares_its_namesakes() {
        let mut tree = Tree::of_files([("a/x", ""), ("a.txt", ""), ("ab/x", "")]);
        tree.remove(b"a");
        assert_eq!(tree.0.len(), 3);
        assert!(tree.file("ab/x").is_some());
    }
}
