//! Random changes to a tree, as an agent or a person would make them.
//!
//! [`next_edit`] proposes a change that is possible on the given tree; [`Edit::apply`] makes it on
//! the value and [`Edit::perform`] on disk, by the plainest calls there are. Model tests do both and
//! compare.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use crate::random::Random;
use crate::tree::{Node, Tree, is_at_or_below, remove_all, set_mode};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Write a whole file, new or not; an existing one keeps its inode and mode.
    Write(Vec<u8>, Vec<u8>),
    /// Add to the end of a file.
    Append(Vec<u8>, Vec<u8>),
    /// Delete a file or link, or a directory with all it contains.
    Delete(Vec<u8>),
    /// Set the permission bits of a file or directory.
    Chmod(Vec<u8>, u32),
    /// Create a symbolic link: where, and its target.
    Symlink(Vec<u8>, Vec<u8>),
    /// Move a file, link or directory to a free name.
    Rename(Vec<u8>, Vec<u8>),
    /// Replace a file or link by a directory holding one file, or a directory by a file.
    SwapKind(Vec<u8>),
    /// Create an empty directory.
    MakeDir(Vec<u8>),
    /// Remove an empty directory.
    RemoveDir(Vec<u8>),
}

/// The name of the one file [`Edit::SwapKind`] puts into a new directory.
const SWAPPED_NAME: &[u8] = b"inside.txt";
const SWAPPED_TEXT: &[u8] = b"was something else\n";

/// Proposes a change that can be made to `tree`.
pub fn next_edit(random: &mut Random, tree: &Tree) -> Edit {
    match random.below(20) {
        0..=5 => None,
        6..=7 => any(random, tree, is_file).map(|path| Edit::Append(path, text(random))),
        8..=9 => any(random, tree, |_| true).map(Edit::Delete),
        10..=11 => any(random, tree, is_file).map(|path| {
            Edit::Chmod(path, *random.pick(&[0o644, 0o755, 0o600, 0o700, 0o640, 0o444]))
        }),
        12 => any(random, tree, is_dir)
            .map(|path| Edit::Chmod(path, *random.pick(&[0o755, 0o700, 0o750]))),
        13 => Some(Edit::Symlink(free_path(random, tree), link_target(random))),
        14..=15 => rename(random, tree),
        16..=17 => any(random, tree, |_| true).map(Edit::SwapKind),
        18 => Some(Edit::MakeDir(free_path(random, tree))),
        _ => empty_dir(random, tree).map(Edit::RemoveDir),
    }
    .unwrap_or_else(|| write(random, tree))
}

fn write(random: &mut Random, tree: &Tree) -> Edit {
    let existing = if random.one_in(2) { any(random, tree, is_file) } else { None };
    let path = existing.unwrap_or_else(|| free_path(random, tree));
    Edit::Write(path, text(random))
}

fn rename(random: &mut Random, tree: &Tree) -> Option<Edit> {
    let from = any(random, tree, |_| true)?;
    let to = free_path(random, tree);
    // A directory cannot move into itself.
    (!is_at_or_below(&to, &from)).then_some(Edit::Rename(from, to))
}

fn is_file(node: &Node) -> bool {
    matches!(node, Node::File { .. })
}

fn is_dir(node: &Node) -> bool {
    matches!(node, Node::Dir { .. })
}

fn any(random: &mut Random, tree: &Tree, wanted: impl Fn(&Node) -> bool) -> Option<Vec<u8>> {
    let paths: Vec<_> =
        tree.0.iter().filter(|(_, node)| wanted(node)).map(|(path, _)| path).collect();
    if paths.is_empty() { None } else { Some((*random.pick(&paths)).clone()) }
}

fn empty_dir(random: &mut Random, tree: &Tree) -> Option<Vec<u8>> {
    let paths: Vec<_> =
        tree.0.iter().filter(|(_, node)| is_dir(node)).map(|(path, _)| path).collect();
    let empty: Vec<_> = paths
        .into_iter()
        .filter(|path| !tree.0.keys().any(|other| other != *path && is_at_or_below(other, path)))
        .collect();
    if empty.is_empty() { None } else { Some((*random.pick(&empty)).clone()) }
}

/// A path that is not taken, in a directory that exists.
fn free_path(random: &mut Random, tree: &Tree) -> Vec<u8> {
    let directory = if random.one_in(3) { None } else { any(random, tree, is_dir) };
    let mut prefix = directory.unwrap_or_default();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    loop {
        let stem = random.pick(&["main", "lib", "read me", "données", "a", "Test", "test", "-x"]);
        let ending = random.pick(&["", ".rs", ".txt", ".md", ".d"]);
        let path = [&prefix[..], format!("{stem}{}{ending}", random.below(40)).as_bytes()].concat();
        if !tree.0.contains_key(&path) {
            return path;
        }
    }
}

fn text(random: &mut Random) -> Vec<u8> {
    if random.one_in(8) {
        let length = random.below(5000);
        return random.bytes(length);
    }
    let lines: Vec<_> =
        (0..random.below(12)).map(|_| format!("line {}\n", random.below(50))).collect();
    lines.concat().into_bytes()
}

fn link_target(random: &mut Random) -> Vec<u8> {
    let targets = ["a", "../main1.rs", "/etc/hostname", ".", "nowhere/at all", "lib2.txt"];
    random.pick(&targets).as_bytes().to_vec()
}

impl Edit {
    /// Makes the change on the value. It must have been proposed for this tree.
    pub fn apply(&self, tree: &mut Tree) {
        match self {
            Self::Write(path, text) => {
                let mode = match tree.0.get(path) {
                    Some(Node::File { mode, .. }) => *mode,
                    _ => 0o644,
                };
                tree.insert(path, Node::File { bytes: text.clone(), mode });
            }
            Self::Append(path, text) => {
                if let Some(Node::File { bytes, .. }) = tree.0.get_mut(path) {
                    bytes.extend_from_slice(text);
                }
            }
            Self::Delete(path) | Self::RemoveDir(path) => tree.remove(path),
            Self::Chmod(path, new) => {
                if let Some(Node::File { mode, .. } | Node::Dir { mode }) = tree.0.get_mut(path) {
                    *mode = *new;
                }
            }
            Self::Symlink(path, target) => tree.insert(path, Node::Link(target.clone())),
            Self::Rename(from, to) => {
                let moved: Vec<_> =
                    tree.0.keys().filter(|path| is_at_or_below(path, from)).cloned().collect();
                for path in moved {
                    if let Some(node) = tree.0.remove(&path) {
                        tree.0.insert([to, &path[from.len()..]].concat(), node);
                    }
                }
            }
            Self::SwapKind(path) => {
                let was_directory = tree.0.get(path).is_some_and(is_dir);
                tree.remove(path);
                let file = Node::File { bytes: SWAPPED_TEXT.to_vec(), mode: 0o644 };
                if was_directory {
                    tree.insert(path, file);
                } else {
                    tree.insert(path, Node::Dir { mode: 0o755 });
                    tree.insert([path, &b"/"[..], SWAPPED_NAME].concat(), file);
                }
            }
            Self::MakeDir(path) => tree.insert(path, Node::Dir { mode: 0o755 }),
        }
    }

    /// Makes the change on disk below `root`.
    pub fn perform(&self, root: &Path) {
        let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
        let done = match self {
            Self::Write(path, text) => write_file(&at(path), text),
            Self::Append(path, text) => append_file(&at(path), text),
            Self::Delete(path) => {
                remove_all(&at(path));
                Ok(())
            }
            Self::Chmod(path, mode) => set_mode(&at(path), *mode),
            Self::Symlink(path, target) => symlink(OsStr::from_bytes(target), at(path)),
            Self::Rename(from, to) => fs::rename(at(from), at(to)),
            Self::SwapKind(path) => swap_kind(&at(path)),
            Self::MakeDir(path) => make_dir(&at(path)),
            Self::RemoveDir(path) => fs::remove_dir(at(path)),
        };
        done.unwrap_or_else(|e| panic!("{self:?}: {e}"));
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        match self {
            Self::Write(path, text) => write!(f, "write {} \"{}\"", shown(path), shown(text)),
            Self::Append(path, text) => write!(f, "append {} \"{}\"", shown(path), shown(text)),
            Self::Delete(path) => write!(f, "delete {}", shown(path)),
            Self::Chmod(path, mode) => write!(f, "chmod {mode:o} {}", shown(path)),
            Self::Symlink(path, target) => {
                write!(f, "symlink {} to {}", shown(path), shown(target))
            }
            Self::Rename(from, to) => write!(f, "rename {} to {}", shown(from), shown(to)),
            Self::SwapKind(path) => write!(f, "swap file and directory at {}", shown(path)),
            Self::MakeDir(path) => write!(f, "mkdir {}", shown(path)),
            Self::RemoveDir(path) => write!(f, "rmdir {}", shown(path)),
        }
    }
}

/// Opens for writing even where the owner took the right away, as an editor that insists would.
fn open_insisting(
    path: &Path,
    options: &fs::OpenOptions,
) -> std::io::Result<(fs::File, Option<u32>)> {
    use std::os::unix::fs::PermissionsExt;
    match options.open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
            set_mode(path, mode | 0o200)?;
            Ok((options.open(path)?, Some(mode)))
        }
        opened => opened.map(|file| (file, None)),
    }
}

fn write_with(path: &Path, text: &[u8], options: &fs::OpenOptions) -> std::io::Result<()> {
    let is_new = fs::symlink_metadata(path).is_err();
    let (mut file, mode) = open_insisting(path, options)?;
    file.write_all(text)?;
    match mode {
        Some(mode) => set_mode(path, mode),
        // The umask must not decide what the model expects.
        None if is_new => set_mode(path, 0o644),
        None => Ok(()),
    }
}

fn write_file(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    write_with(path, text, options.write(true).create(true).truncate(true).mode(0o644))
}

fn append_file(path: &Path, text: &[u8]) -> std::io::Result<()> {
    write_with(path, text, fs::OpenOptions::new().append(true))
}

fn make_dir(path: &PathBuf) -> std::io::Result<()> {
    fs::create_dir(path)?;
    set_mode(path, 0o755)
}

fn swap_kind(path: &PathBuf) -> std::io::Result<()> {
    let was_directory = fs::symlink_metadata(path)?.is_dir();
    remove_all(path);
    if was_directory {
        return write_file(path, SWAPPED_TEXT);
    }
    make_dir(path)?;
    write_file(&path.join(OsStr::from_bytes(SWAPPED_NAME)), SWAPPED_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::assert_same;

    #[test]
    fn edits_do_the_same_to_the_value_and_to_the_disk() {
        for seed in 0..8 {
            let mut random = Random::new(seed);
            let directory = tempfile::tempdir().unwrap();
            let mut tree = Tree::new();
            for step in 0..150 {
                let edit = next_edit(&mut random, &tree);
                edit.apply(&mut tree);
                edit.perform(directory.path());
                if step % 10 == 0 {
                    let found = Tree::read(directory.path());
                    assert_same(&tree, &found, &format!("seed {seed} step {step}: {edit:?}"));
                }
            }
            assert_same(&tree, &Tree::read(directory.path()), &format!("seed {seed}"));
        }
    }

    #[test]
    fn every_kind_of_edit_comes_up() {
        let mut random = Random::new(3);
        let mut tree = Tree::new();
        let mut kinds = std::collections::BTreeSet::new();
        for _ in 0..500 {
            let edit = next_edit(&mut random, &tree);
            edit.apply(&mut tree);
            kinds.insert(format!("{edit:?}").split('(').next().unwrap().to_owned());
        }
        assert_eq!(kinds.len(), 9, "{kinds:?}");
    }
}
