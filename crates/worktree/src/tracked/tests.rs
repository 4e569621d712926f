//! The index against real git, in every version and layout it writes.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::process::Command;

use herma_fs::Dir;
use proptest::prelude::*;

use super::git_dir::{GitDir, git_dir};
use super::*;

fn git(dir: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

const FILES: [&str; 8] =
    ["a", "a.b", "a-b/c", "dir/a", "dir/b/c", "dir/b/d", "dir.x", "long/name/that/is/shared/x"];

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "."]);
    for file in FILES {
        write(dir.path(), file);
    }
    git(dir.path(), &["add", "."]);
    dir
}

fn write(root: &Path, file: &str) {
    std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
    std::fs::write(root.join(file), file).unwrap();
}

fn open(root: &Path) -> GitDir {
    git_dir(&Dir::open(root).unwrap()).unwrap().unwrap()
}

/// Everything git lists is contained, every directory on the way has something below it, nothing else.
#[track_caller]
fn expect_like_git(root: &Path) -> TrackedFiles {
    let tracked = open(root).tracked().unwrap();
    let listed = git(root, &["ls-files", "-z", "--cached"]);
    let listed: Vec<&[u8]> = listed.split(|b| *b == 0).filter(|p| !p.is_empty()).collect();
    let found: Vec<&[u8]> = (0..tracked.paths.len()).map(|at| tracked.paths.get(at)).collect();
    assert_eq!(found, listed);
    for path in listed {
        assert!(tracked.contains(path));
        assert!(!tracked.contains(&path[..path.len() - 1]) || path == b"a.b");
        for at in (0..path.len()).filter(|at| path[*at] == b'/') {
            assert!(tracked.any_below(&path[..at]));
            assert!(!tracked.contains(&path[..at]));
        }
    }
    for dir in [&b"di"[..], b"dir/a", b"dir/b/", b"zzz", b"a-", b"dir.x"] {
        assert!(!tracked.any_below(dir));
    }
    tracked
}

fn version(root: &Path) -> u8 {
    std::fs::read(root.join(".git/index")).unwrap()[7]
}

#[test]
fn all_versions_of_the_index_are_read() {
    let repository = repository();
    let root = repository.path();
    assert_eq!(version(root), 2);
    expect_like_git(root);

    write(root, "later");
    git(root, &["add", "-N", "later"]);
    git(root, &["update-index", "--skip-worktree", "a"]);
    assert_eq!(version(root), 3);
    expect_like_git(root);

    git(root, &["update-index", "--index-version", "4"]);
    assert_eq!(version(root), 4);
    let tracked = expect_like_git(root);
    assert_eq!(tracked.len(), FILES.len() + 1);
    assert!(tracked.any_below(b""));
}

#[test]
fn a_repository_before_its_first_add_tracks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(git_dir(&Dir::open(dir.path()).unwrap()).unwrap().is_none());
    git(dir.path(), &["init", "-q", "."]);
    let found = open(dir.path());
    assert!(found.tracked().is_none());
    assert!(found.dir().stat("index").is_err());
    assert!(!TrackedFiles::default().any_below(b""));
}

#[test]
fn a_split_index_is_read_with_its_shared_part() {
    let repository = repository();
    let root = repository.path();
    git(root, &["update-index", "--split-index"]);
    write(root, "new");
    std::fs::write(root.join("a.b"), "changed").unwrap();
    git(root, &["-c", "splitIndex.maxPercentChange=100", "add", "new", "a.b"]);
    git(root, &["-c", "splitIndex.maxPercentChange=100", "rm", "-q", "--cached", "dir/b/c", "a"]);
    let bytes = std::fs::read(root.join(".git/index")).unwrap();
    assert!(TrackedFiles::parse(&bytes).unwrap().base().is_some(), "git wrote a split index");
    let tracked = expect_like_git(root);
    assert!(!tracked.contains(b"dir/b/c") && tracked.contains(b"new"));
}

#[test]
fn a_conflict_is_tracked_once_for_each_side() {
    let repository = repository();
    let root = repository.path();
    git(root, &["commit", "-qm", "one"]);
    git(root, &["checkout", "-qb", "other"]);
    std::fs::write(root.join("a"), "other").unwrap();
    git(root, &["commit", "-qam", "other"]);
    git(root, &["checkout", "-q", "-"]);
    std::fs::write(root.join("a"), "mine").unwrap();
    git(root, &["commit", "-qam", "mine"]);
    let merge = std::panic::catch_unwind(|| git(root, &["merge", "-q", "other"]));
    assert!(merge.is_err(), "the merge stops at the conflict");
    assert!(expect_like_git(root).contains(b"a"));
}

#[test]
fn a_sparse_directory_counts_as_tracked_below() {
    let repository = repository();
    let root = repository.path();
    git(root, &["commit", "-qm", "one"]);
    git(root, &["sparse-checkout", "set", "--cone", "--sparse-index", "a-b"]);
    let tracked = open(root).tracked().unwrap();
    assert!(!tracked.sparse.is_empty(), "git wrote a sparse index");
    assert!(tracked.any_below(b"dir") && tracked.any_below(b"dir/b") && tracked.any_below(b"long"));
    assert!(tracked.contains(b"dir/b/c") && tracked.contains(b"a-b/c"));
    assert!(!tracked.any_below(b"di") && !tracked.contains(b"dir.y"));
}

#[test]
fn an_index_with_sha256_is_read() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "--object-format=sha256", "."]);
    for file in FILES {
        write(dir.path(), file);
    }
    git(dir.path(), &["add", "."]);
    expect_like_git(dir.path());
}

#[test]
fn worktrees_and_submodules_are_found_through_the_git_file() {
    let repository = repository();
    let root = repository.path();
    git(root, &["commit", "-qm", "one"]);
    std::fs::write(root.join(".git/info/exclude"), "shared-rule\n").unwrap();
    let outer = tempfile::tempdir().unwrap();
    let worktree = outer.path().join("worktree");
    git(root, &["worktree", "add", "-q", worktree.to_str().unwrap()]);
    write(&worktree, "only-here");
    git(&worktree, &["add", "only-here"]);
    assert!(expect_like_git(&worktree).contains(b"only-here"));
    assert_eq!(open(&worktree).info_exclude().unwrap(), b"shared-rule\n");
    assert_eq!(open(root).info_exclude().unwrap(), b"shared-rule\n");

    let super_project = tempfile::tempdir().unwrap();
    git(super_project.path(), &["init", "-q", "."]);
    git(super_project.path(), &["submodule", "--quiet", "add", root.to_str().unwrap(), "sub"]);
    assert!(super_project.path().join("sub/.git").is_file());
    expect_like_git(&super_project.path().join("sub"));
    let tracked = open(super_project.path()).tracked().unwrap();
    assert!(tracked.contains(b"sub") && !tracked.any_below(b"sub"));
}

#[test]
fn branch_and_commit_are_those_git_names_loose_packed_detached_and_in_worktrees() {
    let temp = repository();
    let root = temp.path();
    git(root, &["checkout", "-q", "-b", "topic/x"]);
    assert_eq!(open(root).position().unwrap().commit, None);
    git(root, &["commit", "-qm", "first"]);
    let commit = String::from_utf8(git(root, &["rev-parse", "HEAD"])).unwrap();
    let commit = ObjectId::from_hex(commit.trim().as_bytes());
    let position = |root: &Path, branch: Option<&str>| {
        let position = open(root).position().unwrap();
        assert_eq!(position.commit, commit);
        assert_eq!(position.branch.as_deref(), branch);
    };
    position(root, Some("topic/x"));
    git(root, &["pack-refs", "--all"]);
    position(root, Some("topic/x"));
    git(root, &["worktree", "add", "-q", "-b", "other", "tree"]);
    position(&root.join("tree"), Some("other"));
    git(root, &["checkout", "-q", "--detach"]);
    position(root, None);
    std::fs::write(root.join(".git/HEAD"), "ref: ../outside").unwrap();
    assert!(open(root).position().is_err());
}

#[test]
fn a_linked_or_broken_git_is_not_followed() {
    let repository = repository();
    let dir = tempfile::tempdir().unwrap();
    let root = Dir::open(dir.path()).unwrap();
    let pointer = dir.path().join(".git");
    std::os::unix::fs::symlink(repository.path().join(".git"), &pointer).unwrap();
    assert!(git_dir(&root).unwrap().is_none());
    std::fs::remove_file(&pointer).unwrap();
    for content in
        [&b""[..], b"gitdir:", b"gitdir: \n", b"nonsense", b"gitdir: /no/such", b"gitdir: a\0b"]
    {
        std::fs::write(&pointer, content).unwrap();
        assert!(git_dir(&root).is_err());
    }
}

#[test]
fn damaged_indexes_are_none() {
    let repository = repository();
    let bytes = std::fs::read(repository.path().join(".git/index")).unwrap();
    for end in 0..bytes.len() {
        assert!(TrackedFiles::parse(&bytes[..end]).is_none(), "cut at {end}");
    }
    let mut future = bytes.clone();
    future[7] = 9;
    assert!(TrackedFiles::parse(&future).is_none());
    let mut huge = bytes;
    huge[8] = 0xff;
    assert!(TrackedFiles::parse(&huge).is_none());
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(
        version in 2_u8..5,
        count: u8,
        rest in prop::collection::vec(any::<u8>(), 0..600),
        entry in prop::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 1, b'a', b'/', 0x80]), 0..600),
    ) {
        for body in [rest, entry] {
            let header = [b"DIRC\0\0\0".as_slice(), &[version, 0, 0, 0, count]].concat();
            if let Some(tracked) = TrackedFiles::parse(&[header, body].concat()) {
                tracked.any_below(b"a");
                tracked.contains(b"a/a");
            }
        }
    }
}
