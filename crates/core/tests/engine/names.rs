//! Ten thousand hostile names, and those that only look like names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use herma_testkit::names;
use herma_testkit::tree::assert_same;
use herma_worktree::reason::Reason;

use super::project::TestProject;

/// Directories with hostile names of their own; the hostile files are spread over them.
const DIRECTORIES: [&str; 5] = ["", "-rf", "a\nb", "\u{202e}txt", "deep/ /*"];

#[test]
fn ten_thousand_hostile_names_round_trip_by_bytes() {
    let p = TestProject::new();
    let mut written = BTreeSet::new();
    for (index, name) in names::hostile().into_iter().enumerate() {
        let directory = DIRECTORIES[index % DIRECTORIES.len()];
        // A file must not stand where one of the directories does.
        let directory = if directory.is_empty() && is_taken(&name) { "deep" } else { directory };
        let mut path = directory.as_bytes().to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&name);
        let at = p.root.join(OsStr::from_bytes(&path));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, &path).unwrap();
        written.insert(path);
    }
    assert_eq!(written.len(), names::COUNT);
    let before = p.tree();
    let saved = p.save("hostile");
    assert_eq!(saved.receipt.summary.files, names::COUNT as u64);
    assert!(saved.receipt.left_out.is_empty(), "{:?}", saved.receipt.left_out);

    p.fsck();
    let id = saved.checkpoint.id.to_hex();
    let listing = p.repository().git(["ls-tree", "-r", "-z", "--name-only", &id]).success();
    let listed: BTreeSet<Vec<u8>> = listing
        .stdout
        .split(|b| *b == 0)
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    assert_eq!(listed, written, "git sees every name, byte for byte");

    for entry in std::fs::read_dir(&p.root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    let restored = p.restore("@");
    assert_same(&before, &p.tree(), "every name is back with its bytes");
    assert!(restored.kept.is_empty(), "{:?}", restored.kept);

    p.undo().unwrap();
    assert!(p.tree().0.is_empty(), "and can be taken away again");
}

fn is_taken(name: &[u8]) -> bool {
    DIRECTORIES.iter().any(|directory| directory.split('/').next().unwrap().as_bytes() == name)
}

#[test]
fn names_some_system_takes_for_git_are_named_and_never_stored() {
    let p = TestProject::new();
    p.write("a.txt", "kept");
    let lookalikes: BTreeSet<Vec<u8>> = names::git_lookalikes().into_iter().collect();
    for (index, name) in lookalikes.iter().enumerate() {
        let at = p.root.join("sub").join(OsStr::from_bytes(name));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        if index % 2 == 0 {
            std::fs::write(at, "not for a checkpoint").unwrap();
        } else {
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("config"), "not for a checkpoint").unwrap();
        }
    }
    let before = p.tree();
    let saved = p.save("look-alikes");
    let project = p.engine.project(&p.root).unwrap();
    let receipt = project.receipt(&saved.checkpoint).unwrap();
    let named: BTreeSet<Vec<u8>> = receipt
        .left_out
        .iter()
        .inspect(|item| {
            // A repository's own `.git` is no loss: it is where a repository belongs.
            let expected = matches!(item.reason, Reason::ReservedName | Reason::Excluded);
            assert!(expected, "{item:?}");
        })
        .map(|item| item.path.strip_prefix(b"sub/").unwrap().to_vec())
        .collect();
    assert_eq!(named, lookalikes, "each one is in the receipt by name");
    for item in &receipt.left_out {
        let reserved = item.reason == Reason::ReservedName;
        assert!(reserved || item.path == "sub/.git", "{item:?}");
    }

    p.fsck();
    let id = saved.checkpoint.id.to_hex();
    let listing = p.repository().git(["ls-tree", "-r", "-t", "-z", "--name-only", &id]).success();
    assert_eq!(listing.stdout, b"a.txt\0", "none is in the tree");

    p.write("a.txt", "changed");
    p.restore("@");
    assert_same(&before, &p.tree(), "and a restore leaves them alone");
}
