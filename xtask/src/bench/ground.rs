//! The tree that all programs work on, and what is done to it between their turns.
//!
//! One program keeps its state inside the tree it keeps; it gets a twin of the tree, to which the same is
//! done. Changes are lines added at the end of files, so that cutting the files off makes the tree what it
//! was, and it can be used again.

use std::collections::HashSet;
use std::fs;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::measure::time;
use super::{disk, tree};
use crate::Result;

/// What the largest directory is called while it is renamed.
const RENAMED: &str = "herma-bench-renamed";

/// A tree, its twin, and the names of their files.
pub struct Ground {
    root: PathBuf,
    twin: Option<PathBuf>,
    stamp: Option<(PathBuf, String)>,
    /// Regular files below the root, with their sizes, in the order of their names.
    files: Vec<(PathBuf, u64)>,
    /// The directory directly below the root that holds most files.
    largest: PathBuf,
    is_renamed: bool,
    changed: usize,
}

impl Ground {
    /// A generated tree of so many files below `place`, made or used again.
    pub fn generated(place: &Path, files: usize, with_twin: bool) -> Result<Self> {
        let root = place.join(format!("tree-{files}"));
        tree::ensure(&root, files)?;
        let mut ground = Self::of(root.clone())?;
        let stamp = root.with_extension("stamp");
        ground.stamp = Some((stamp.clone(), fs::read_to_string(&stamp)?));
        if with_twin {
            let twin = place.join(format!("tree-{files}-twin"));
            disk::make_anew(&twin)?;
            tree::generate(&twin, files)?;
            ground.twin = Some(twin);
        }
        // From now on it is not what the stamp says, until it is again.
        fs::remove_file(stamp)?;
        Ok(ground)
    }

    /// A copy of somebody's own tree, in which nothing is ever changed.
    pub fn copied(place: &Path, tree: &Path, with_twin: bool) -> Result<Self> {
        let root = place.join("tree-given");
        copy_tree(tree, &root)?;
        let mut ground = Self::of(root)?;
        if with_twin {
            let twin = place.join("tree-given-twin");
            copy_tree(tree, &twin)?;
            ground.twin = Some(twin);
        }
        Ok(ground)
    }

    fn of(root: PathBuf) -> Result<Self> {
        let mut files = Vec::new();
        collect_files(&root, &root, &mut files)?;
        files.sort();
        if files.is_empty() {
            return Err(format!("{}: no files to measure with", root.display()).into());
        }
        let largest = largest_directory(&files);
        Ok(Self { root, twin: None, stamp: None, files, largest, is_renamed: false, changed: 0 })
    }

    /// Takes every other file away: not all programs leave out the same, and all shall do the same work. Says how many
    /// they were.
    pub fn keep_only(&mut self, kept: &HashSet<PathBuf>) -> Result<usize> {
        let (files, others) = std::mem::take(&mut self.files)
            .into_iter()
            .partition::<Vec<_>, _>(|(path, _)| kept.contains(path));
        for root in self.roots() {
            others.iter().try_for_each(|(path, _)| fs::remove_file(root.join(path)))?;
        }
        self.largest = largest_directory(&files);
        self.files = files;
        Ok(others.len())
    }

    /// The tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The tree of the program that needs one of its own.
    pub fn twin(&self) -> Option<&Path> {
        self.twin.as_deref()
    }

    /// How many regular files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.root).chain(&self.twin)
    }

    /// The `count` files that change together: spread over the whole tree.
    fn chosen(&self, count: usize) -> impl Iterator<Item = &(PathBuf, u64)> {
        let count = count.min(self.files.len());
        let step = self.files.len() / count.max(1);
        (0..count).map(move |number| &self.files[number * step + step / 2])
    }

    /// The paths of the files that `change` changes.
    pub fn paths(&self, count: usize) -> Vec<&Path> {
        self.chosen(count).map(|(path, _)| path.as_path()).collect()
    }

    /// Ends `count` files with a line that no file ever had.
    pub fn change(&mut self, count: usize) -> Result<()> {
        let roots: Vec<PathBuf> = self.roots().cloned().collect();
        self.changed += 1;
        roots.iter().try_for_each(|root| self.end(root, count))
    }

    /// The same in one of the trees only.
    pub fn change_in(&mut self, root: &Path, count: usize) -> Result<()> {
        self.changed += 1;
        self.end(root, count)
    }

    fn end(&self, root: &Path, count: usize) -> Result<()> {
        let line = format!("\n// change {}\n", self.changed);
        self.chosen(count)
            .try_for_each(|(path, size)| end_with(&root.join(path), *size, line.as_bytes()))
    }

    /// Reads every file, so that the next one to do so finds it in memory.
    pub fn read(&self) -> Result<()> {
        for root in self.roots() {
            for (path, _) in &self.files {
                fs::read(root.join(path))?;
            }
        }
        Ok(())
    }

    /// What the files that change say now, in this tree.
    pub fn content(&self, root: &Path, count: usize) -> Result<Vec<Vec<u8>>> {
        self.chosen(count).map(|(path, _)| Ok(fs::read(root.join(path))?)).collect()
    }

    /// Gives the largest directory another name, or its own one again.
    pub fn rename(&mut self) -> Result<()> {
        let (mut from, mut to) = (self.largest.as_path(), Path::new(RENAMED));
        if self.is_renamed {
            std::mem::swap(&mut from, &mut to);
        }
        for root in self.roots() {
            fs::rename(root.join(from), root.join(to))?;
        }
        self.is_renamed = !self.is_renamed;
        Ok(())
    }

    /// Takes everything away from this tree.
    pub fn empty(root: &Path) -> Result<()> {
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                // Where a program keeps its state inside the tree, that stays.
                if entry.file_name() != ".jj" {
                    fs::remove_dir_all(entry.path())?;
                }
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Makes the tree what it was in the beginning.
    pub fn put_back(&mut self) -> Result<()> {
        if self.is_renamed {
            self.rename()?;
        }
        for (path, size) in &self.files {
            let path = self.root.join(path);
            if fs::metadata(&path)?.len() != *size {
                OpenOptions::new().write(true).open(&path)?.set_len(*size)?;
            }
        }
        if let Some(twin) = &self.twin {
            fs::remove_dir_all(twin)?;
        }
        if let Some((file, words)) = &self.stamp {
            fs::write(file, words)?;
        }
        Ok(())
    }
}

/// Cuts a file off where it ended at first, and adds these bytes.
fn end_with(path: &Path, size: u64, bytes: &[u8]) -> Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.set_len(size)?;
    file.seek(SeekFrom::Start(size))?;
    Ok(file.write_all(bytes)?)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    time(Command::new("cp").arg("-a").arg(from).arg(to)).map(drop)
}

/// The regular files below a directory, by their paths below `root`.
fn collect_files(root: &Path, directory: &Path, files: &mut Vec<(PathBuf, u64)>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            // Nobody saves what others keep there.
            if entry.file_name() != ".git" {
                collect_files(root, &path, files)?;
            }
        } else if kind.is_file() {
            files.push((path.strip_prefix(root)?.to_owned(), entry.metadata()?.len()));
        }
    }
    Ok(())
}

/// The first part of the path that most files share.
fn largest_directory(files: &[(PathBuf, u64)]) -> PathBuf {
    let first = |path: &Path| path.components().next().map(|part| part.as_os_str().into());
    let in_directories = files.iter().filter(|(path, _)| path.components().count() > 1);
    let mut counts: Vec<(PathBuf, usize)> = Vec::new();
    for name in in_directories.filter_map(|(path, _)| first(path)) {
        match counts.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => counts.push((name, 1)),
        }
    }
    let largest = counts.into_iter().max_by_key(|(_, count)| *count);
    largest.map(|(name, _)| name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_testkit::tree::Tree;

    #[test]
    fn a_tree_is_put_back_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let mut ground = Ground::generated(place.path(), 120, true).unwrap();
        let stamp = ground.root().with_extension("stamp");
        assert!(!stamp.exists(), "a tree that is worked on is not complete");
        let before = Tree::read(ground.root());
        let twin = ground.twin().unwrap().to_owned();
        assert_eq!(before, Tree::read(&twin));
        ground.change(10).unwrap();
        ground.change(1).unwrap();
        let content = ground.content(&twin, 10).unwrap();
        assert_eq!(content, ground.content(ground.root(), 10).unwrap());
        assert!(content[0].ends_with(b"// change 1\n"));
        ground.rename().unwrap();
        assert_ne!(before, Tree::read(ground.root()));
        assert_eq!(Tree::read(ground.root()), Tree::read(&twin));
        ground.put_back().unwrap();
        assert_eq!(before, Tree::read(ground.root()));
        assert!(stamp.exists() && !twin.exists());
    }

    #[test]
    fn changes_are_spread_over_the_tree_and_never_twice_in_a_file() {
        let place = tempfile::tempdir().unwrap();
        let ground = Ground::generated(place.path(), 100, false).unwrap();
        for count in [1, 10, 100, 1_000] {
            let mut paths = ground.paths(count);
            paths.dedup();
            assert_eq!(paths.len(), count.min(ground.len()));
        }
    }
}
