//! What else comes back with a file: the bits of its directory, its holes, its owner; and the directory of the project itself.

use std::os::unix::fs::{FileExt, MetadataExt};

use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, Lack};
use herma_core::{Error, Settings};
use herma_testkit::tree::assert_same;
use herma_worktree::reason::Reason;

use super::project::TestProject;

#[test]
fn setgid_and_sticky_bits_of_directories_come_back() {
    let p = TestProject::new();
    let modes = [("shared", 0o2775), ("drop", 0o1777), ("both", 0o3770)];
    for (directory, mode) in modes {
        p.write(&format!("{directory}/file"), "x\n");
        p.chmod(directory, mode);
    }
    p.save("first");
    for (directory, _) in modes {
        p.remove(directory);
    }
    p.undo().unwrap();
    for (directory, mode) in modes {
        assert_eq!(p.mode(directory), mode, "{directory} was made again");
        p.chmod(directory, 0o755);
    }
    p.undo().unwrap();
    for (directory, mode) in modes {
        assert_eq!(p.mode(directory), mode, "{directory} was changed back");
    }
}

#[test]
fn a_sparse_file_comes_back_with_its_holes() {
    const SIZE: u64 = 48 << 20;
    let p = TestProject::with(Settings { max_file_size: None, ..Settings::default() });
    let file = std::fs::File::create(p.path("disk.img")).unwrap();
    file.write_all_at(b"data", SIZE / 2).unwrap();
    file.set_len(SIZE).unwrap();
    drop(file);
    p.save("first");
    p.remove("disk.img");
    p.undo().unwrap();
    let file = std::fs::File::open(p.path("disk.img")).unwrap();
    let (length, room) = {
        let found = file.metadata().unwrap();
        (found.len(), found.blocks() * 512)
    };
    assert_eq!(length, SIZE);
    assert!(room < 1 << 20, "{room} bytes are on disk");
    let mut middle = [0; 6];
    file.read_exact_at(&mut middle, SIZE / 2 - 1).unwrap();
    assert_eq!(&middle, b"\0data\0");
}

#[test]
fn setuid_and_setgid_bits_of_files_are_named_where_they_do_not_come_back() {
    let p = TestProject::new();
    for (file, mode) in
        [("tool", 0o4755), ("shared", 0o2755), ("plain", 0o755), ("dropped", 0o4755)]
    {
        p.write(file, "old\n");
        p.chmod(file, mode);
    }
    let receipt = p.project().receipt(&p.save("first").checkpoint).unwrap();
    let named: Vec<_> = receipt.left_out.iter().map(|l| l.path.to_string()).collect();
    assert_eq!(named, ["dropped", "shared", "tool"]);
    assert_eq!(receipt.summary.left_out.get(&Reason::Identity), Some(&3));
    assert!(!receipt.summary.is_partial());
    p.remove("tool");
    p.remove("plain");
    p.write("shared", "new\n");
    p.chmod("shared", 0o2755);
    p.write("dropped", "new\n");
    p.chmod("dropped", 0o755);
    let restored = p.restore("@");
    let kept: Vec<_> = restored.kept.iter().map(|k| (k.path.to_string(), k.why)).collect();
    let lost = KeptWhy::NotHeld(Lack::Identity);
    assert_eq!(kept, [("dropped".to_owned(), lost), ("tool".to_owned(), lost)]);
    assert_eq!(["tool", "shared", "plain"].map(|file| p.mode(file)), [0o755, 0o2755, 0o755]);
    p.undo().unwrap();
    assert!(!p.exists("tool"));
    p.fsck();
}

/// Only root can give a file to somebody.
#[test]
fn as_root_a_file_that_is_replaced_stays_its_owners() {
    let p = TestProject::new();
    let owner = |path: &str| {
        let found = std::fs::symlink_metadata(p.path(path)).unwrap();
        (found.uid(), found.gid())
    };
    p.write("theirs", "old\n");
    std::os::unix::fs::symlink("old", p.path("link")).unwrap();
    p.save("first");
    p.write("theirs", "new\n");
    p.remove("link");
    std::os::unix::fs::symlink("new", p.path("link")).unwrap();
    p.chmod("theirs", 0o4755);
    for path in ["theirs", "link"] {
        let given = std::os::unix::fs::lchown(p.path(path), Some(1000), Some(1001));
        if let Err(e) = given {
            return herma_testkit::skipped("root", e);
        }
    }
    p.chmod("theirs", 0o4644);
    let restored = p.restore("@");
    assert!(restored.kept.is_empty(), "{:?}", restored.kept);
    assert_eq!(p.read("theirs"), "old\n");
    assert_eq!((owner("theirs"), owner("link")), ((1000, 1001), (1000, 1001)));
    assert_eq!(p.mode("theirs"), 0o4644, "what may make others that owner");
}

#[test]
fn a_project_whose_directory_was_deleted_is_made_again() {
    let p = TestProject::new();
    p.write("a", "one\n");
    p.write("deep/b", "two\n");
    p.chmod(".", 0o750);
    let first = p.save("first").checkpoint.id.to_hex();
    let before = p.tree();
    p.write("a", "changed\n");
    p.save("second");
    let after = p.tree();
    let gone = || std::fs::remove_dir_all(&p.root).unwrap();
    gone();
    let found = p.engine.find_lost_root(&p.path("deep"));
    assert_eq!(found.as_ref(), Some(&p.root));
    match p.try_save("nothing to save") {
        Err(Error::RootGone { root }) => assert_eq!(root, p.root),
        other => panic!("{other:?}"),
    }
    assert!(!p.root.exists(), "only what brings files back makes it");
    p.undo().unwrap();
    assert_same(&after, &p.tree(), "undone");
    assert_eq!(p.mode("."), 0o750);
    gone();
    p.restore(&first);
    assert_same(&before, &p.tree(), "restored");
    assert_eq!(p.engine.find_lost_root(&p.root), None);
    p.fsck();
}

#[test]
fn nothing_is_made_where_nothing_was_saved() {
    let p = TestProject::new();
    let project = p.project();
    std::fs::remove_dir_all(&p.root).unwrap();
    project.undo_with(&NoProgress, false).unwrap_err();
    assert!(!p.root.exists());
}
