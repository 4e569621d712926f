//! A project's content: written so that a failure is an answer, and named by its hash.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::{fs, io};

use herma_testkit::{Node, Tree};
use sha1::{Digest, Sha1};

/// Makes a directory that contains `old` contain `new`. Nothing is synced.
pub fn change(root: &Path, old: &Tree, new: &Tree) -> io::Result<()> {
    let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
    // Deepest first, and nothing that only changes its content or mode.
    for (path, node) in old.0.iter().rev() {
        let stays = new.0.get(path).is_some_and(|other| is_same_kind(node, other));
        match node {
            _ if stays => {}
            Node::Dir { .. } => fs::remove_dir(at(path))?,
            _ => fs::remove_file(at(path))?,
        }
    }
    for (path, node) in &new.0 {
        if old.0.get(path) != Some(node) {
            put(&at(path), node)?;
        }
    }
    Ok(())
}

fn is_same_kind(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::File { .. }, Node::File { .. }) | (Node::Dir { .. }, Node::Dir { .. }) => true,
        // A link cannot be written over.
        (one, other) => one == other,
    }
}

fn put(path: &Path, node: &Node) -> io::Result<()> {
    let mode = match node {
        Node::Link(target) => return symlink(OsStr::from_bytes(target), path),
        Node::File { bytes, mode } => {
            if path.is_file() {
                // It may be read-only.
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            }
            fs::write(path, bytes)?;
            mode
        }
        Node::Dir { mode } => {
            if !path.is_dir() {
                fs::create_dir(path)?;
            }
            mode
        }
    };
    fs::set_permissions(path, fs::Permissions::from_mode(*mode))
}

/// Writes a project to the disk, every file and directory of it.
pub fn sync(root: &Path, tree: &Tree) -> io::Result<()> {
    for (path, node) in &tree.0 {
        if !matches!(node, Node::Link(_)) {
            File::open(root.join(OsStr::from_bytes(path)))?.sync_all()?;
        }
    }
    File::open(root)?.sync_all()
}

/// The id git gives to a tree with this content.
pub fn id(tree: &Tree) -> String {
    let mut text = String::new();
    for byte in directory_id(&tree.as_git().0, &[]) {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text
}

fn directory_id(entries: &BTreeMap<Vec<u8>, Node>, prefix: &[u8]) -> [u8; 20] {
    let mut found: BTreeMap<Vec<u8>, (&str, [u8; 20])> = BTreeMap::new();
    for (path, node) in entries {
        let Some(rest) = path.strip_prefix(prefix) else {
            continue;
        };
        if let Some(slash) = rest.iter().position(|byte| *byte == b'/') {
            // Git sorts a directory as if its name ended in a slash.
            let name = &rest[..=slash];
            if !found.contains_key(name) {
                let below = [prefix, name].concat();
                found.insert(name.to_vec(), ("40000", directory_id(entries, &below)));
            }
            continue;
        }
        let (mode, bytes) = match node {
            Node::Link(target) => ("120000", target),
            Node::File { bytes, mode: 0o755 } => ("100755", bytes),
            Node::File { bytes, .. } => ("100644", bytes),
            Node::Dir { .. } => continue,
        };
        found.insert(rest.to_vec(), (mode, object_id("blob", bytes)));
    }
    let mut listing = Vec::new();
    for (name, (mode, id)) in found {
        let name = name.strip_suffix(b"/").unwrap_or(&name);
        listing.extend([mode.as_bytes(), b" ", name, b"\0", &id].concat());
    }
    object_id("tree", &listing)
}

fn object_id(kind: &str, bytes: &[u8]) -> [u8; 20] {
    let mut hash = Sha1::new();
    hash.update(format!("{kind} {}\0", bytes.len()));
    hash.update(bytes);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use herma_testkit::git;
    use herma_testkit::random::Random;
    use herma_testkit::tree::assert_same;
    use herma_testkit::tree::edits::next_edit;

    use super::*;

    /// Trees that come one from another by so many edits.
    fn trees(seed: u64, edits: usize) -> Vec<Tree> {
        let mut random = Random::new(seed);
        let mut tree = Tree::new();
        let mut trees = Vec::new();
        for _ in 0..20 {
            for _ in 0..edits {
                next_edit(&mut random, &tree).apply(&mut tree);
            }
            trees.push(tree.clone());
        }
        trees
    }

    #[test]
    fn a_directory_goes_from_any_content_to_any_other() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut present = Tree::new();
        for (number, tree) in trees(3, 8).into_iter().enumerate() {
            change(directory.path(), &present, &tree).expect("a directory that can be written");
            let found = Tree::read(directory.path());
            assert_same(&tree, &found, &format!("change {number}"));
            present = tree;
        }
    }

    #[test]
    fn a_tree_has_the_id_that_git_gives_it() {
        if !git::available() {
            return;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let work = directory.path().join("work");
        let repository = git::Repository::at(directory.path().join("git"));
        let run = |args: &[&str]| {
            let mut command = repository.command();
            let output = command.arg("--work-tree").arg(&work).args(args).output();
            let output = output.expect("git is installed");
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        run(&["init", "-q"]);
        // A name that sorts differently as a file and as a directory.
        let mut all = trees(5, 12);
        all.push(Tree::of_files([("a/x", "1"), ("a.b", "2"), ("a0", "3")]));
        for tree in all {
            tree.write(&work);
            run(&["add", "-A"]);
            assert_eq!(id(&tree), run(&["write-tree"]));
        }
    }
}
