//! Tests of refs beside a real git.

#![allow(clippy::disallowed_methods)]

use std::time::{Duration, SystemTime};

use super::*;
use crate::testing::Fresh;

const MASTER: &str = "refs/hermes/0123456789abcdef";

/// A store with three commits to point at.
fn with_commits() -> (Fresh, [ObjectId; 3]) {
    let fresh = Fresh::new();
    let tree = fresh.git(&["mktree"]);
    let ids = ["one", "two", "three"].map(|message| {
        let id = fresh.git(&["commit-tree", "-m", message, tree.trim()]);
        ObjectId::from_hex(id.trim().as_bytes()).unwrap()
    });
    (fresh, ids)
}

fn assert_moved(result: Result<(), StoreError>, value: Option<ObjectId>) {
    match result {
        Err(StoreError::RefMoved { found, .. }) => assert_eq!(found, value),
        other => panic!("{other:?}"),
    }
}

fn git_refs(fresh: &Fresh) -> Vec<(String, ObjectId)> {
    let shown = fresh.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let parse = |line: &str| {
        let (name, id) = line.split_once(' ').unwrap();
        (name.to_owned(), ObjectId::from_hex(id.as_bytes()).unwrap())
    };
    shown.lines().map(parse).collect()
}

#[test]
fn created_refs_are_what_git_sees_and_are_never_overwritten() {
    let (fresh, [one, two, three]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.create(&[("refs/herma/p/1", one), ("refs/herma/p/2", two)]).unwrap();
    assert_moved(
        refs.create(&[("refs/herma/p/0", one), ("refs/herma/p/2", three), ("refs/herma/p/3", one)]),
        Some(two),
    );
    // The value it has already is not a reason to think that this call created it.
    assert_moved(refs.create(&[("refs/herma/p/2", two)]), Some(two));
    let listing = refs.list("refs/herma/p").unwrap();
    let names: Vec<&str> = listing.refs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["refs/herma/p/0", "refs/herma/p/1", "refs/herma/p/2"]);
    assert_eq!(listing.refs, git_refs(&fresh));
    assert_eq!(refs.read("refs/herma/p/2").unwrap(), Some(two));
    assert_eq!(refs.read("refs/herma/p/3").unwrap(), None);
    assert_eq!(refs.read("refs/herma/p").unwrap(), None, "a directory is no ref");
    assert_eq!(refs.read("refs/herma/p/1/x").unwrap(), None, "nothing is below a ref");
    assert!(fresh.temporary_files().is_empty());
    fresh.assert_sound();
}

#[test]
fn an_update_happens_only_from_the_expected_value() {
    let (fresh, [one, two, three]) = with_commits();
    let refs = fresh.dirs.refs();
    assert_moved(refs.update(MASTER, Some(one), two), None);
    refs.update(MASTER, None, one).unwrap();
    assert_moved(refs.update(MASTER, None, two), Some(one));
    refs.update(MASTER, Some(one), two).unwrap();
    assert_moved(refs.update(MASTER, Some(one), three), Some(two));
    assert_eq!(fresh.git(&["rev-parse", MASTER]).trim(), two.to_hex());
    assert_moved(refs.delete(MASTER, one), Some(two));
    refs.delete(MASTER, two).unwrap();
    assert_eq!(refs.read(MASTER).unwrap(), None);
    assert!(fresh.temporary_files().is_empty());
    assert!(git_refs(&fresh).is_empty());
}

#[test]
fn refs_that_git_has_packed_are_read_updated_and_deleted() {
    let (fresh, [one, two, three]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.create(&[("refs/herma/p/1", one), ("refs/herma/p/2", two), (MASTER, two)]).unwrap();
    fresh.git(&["-c", "tag.gpgSign=false", "tag", "-a", "-m", "x", "marked", &one.to_hex()]);
    fresh.git(&["pack-refs", "--all"]);
    assert!(!fresh.store().join(MASTER).exists(), "git has packed it");
    assert_eq!(refs.list("refs").unwrap().refs, git_refs(&fresh));
    assert_eq!(refs.list("refs/herma/").unwrap().refs.len(), 2);
    assert_eq!(refs.list(MASTER).unwrap().refs, [(MASTER.to_owned(), two)]);
    assert_moved(refs.create(&[("refs/herma/p/2", three)]), Some(two));
    assert!(matches!(refs.create(&[("refs/herma/p", one)]), Err(StoreError::BadRefName(_))));
    refs.create(&[("refs/herma/p/3", three)]).unwrap();
    refs.update(MASTER, Some(two), three).unwrap();
    assert_eq!(refs.list("refs").unwrap().refs, git_refs(&fresh), "loose wins");
    refs.delete("refs/herma/p/1", one).unwrap();
    refs.delete(MASTER, three).unwrap();
    assert_eq!(refs.read(MASTER).unwrap(), None, "the packed value does not come back");
    let expected = git_refs(&fresh);
    assert_eq!(expected.len(), 3);
    assert_eq!(refs.list("refs").unwrap(), Listing { refs: expected, broken: Vec::new() });
    fresh.git(&["pack-refs", "--all"]);
    refs.delete("refs/herma/p/2", two).unwrap();
    assert_eq!(refs.list("refs").unwrap().refs, git_refs(&fresh));
    fresh.assert_sound();
}

#[test]
fn git_updates_refs_we_made_and_we_see_it() {
    let (fresh, [one, two, _]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.update(MASTER, None, one).unwrap();
    fresh.git(&["update-ref", MASTER, &two.to_hex(), &one.to_hex()]);
    assert_eq!(refs.read(MASTER).unwrap(), Some(two));
    fresh.git(&["update-ref", "-d", MASTER, &two.to_hex()]);
    assert_eq!(refs.read(MASTER).unwrap(), None);
    refs.update(MASTER, None, one).unwrap();
}

#[test]
fn one_broken_ref_does_not_hide_the_others() {
    let (fresh, [one, ..]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.create(&[("refs/herma/p/1", one)]).unwrap();
    let directory = fresh.store().join("refs/herma/p");
    std::fs::write(directory.join("2"), "").unwrap();
    std::fs::write(directory.join("3"), "garbage").unwrap();
    std::fs::write(directory.join("4"), vec![b'a'; 100_000]).unwrap();
    std::fs::write(directory.join("5"), "0".repeat(40)).unwrap();
    std::os::unix::fs::symlink("1", directory.join("6")).unwrap();
    std::fs::write(directory.join("7.lock"), "").unwrap();
    std::fs::write(directory.join("8 9"), one.to_hex()).unwrap();
    let listing = refs.list("refs/herma").unwrap();
    assert_eq!(listing.refs, [("refs/herma/p/1".to_owned(), one)]);
    let broken = ["2", "3", "4", "5", "6", "8 9"].map(|name| format!("refs/herma/p/{name}"));
    assert_eq!(listing.broken, broken);
    assert_eq!(refs.list("refs/herma/p/3").unwrap().broken, ["refs/herma/p/3"]);
    assert!(matches!(refs.read("refs/herma/p/2"), Err(StoreError::DamagedFile { .. })));
}

#[test]
fn damaged_packed_refs_are_an_error() {
    let (fresh, _) = with_commits();
    std::fs::write(fresh.store().join("packed-refs"), "\u{0}garbage\n").unwrap();
    assert!(matches!(fresh.dirs.refs().list("refs"), Err(StoreError::DamagedFile { .. })));
}

#[test]
fn bad_names_are_refused_before_anything_is_touched() {
    let (fresh, [one, ..]) = with_commits();
    let refs = fresh.dirs.refs();
    for name in ["refs/../config", "HEAD", "refs/a.lock", "refs/", "/etc/passwd", ""] {
        assert!(matches!(refs.read(name), Err(StoreError::BadRefName(_))), "{name:?}");
        assert!(matches!(refs.update(name, None, one), Err(StoreError::BadRefName(_))));
        assert!(matches!(refs.create(&[(name, one)]), Err(StoreError::BadRefName(_))));
        assert!(matches!(refs.delete(name, one), Err(StoreError::BadRefName(_))));
    }
}

#[test]
fn a_lock_of_another_program_is_waited_for_and_left_alone() {
    let (fresh, [one, ..]) = with_commits();
    let lock = fresh.store().join(format!("{MASTER}.lock"));
    std::fs::write(&lock, "").unwrap();
    let refused = fresh.dirs.refs().update(MASTER, None, one);
    assert!(matches!(refused, Err(StoreError::Busy { holder: None, .. })), "{refused:?}");
    assert!(lock.exists() && fresh.temporary_files().is_empty());

    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    std::fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    fresh.dirs.refs().update(MASTER, None, one).unwrap();
    assert!(!lock.exists(), "ten minutes old is left behind");
}

#[test]
fn a_lock_of_a_killed_herma_is_removed_at_once() {
    let (fresh, [one, ..]) = with_commits();
    let lock = fresh.store().join(format!("{MASTER}.lock"));
    let temp = fresh.store().join("herma/tmp/tmp-00000001-1-1-1-1");
    std::fs::write(&temp, "").unwrap();
    std::fs::hard_link(&temp, &lock).unwrap();
    // Nothing but its owner's death allows it: the lock is young.
    fresh.dirs.refs().update(MASTER, None, one).unwrap();
    assert!(!lock.exists() && fresh.temporary_files().is_empty());
}

#[test]
fn of_many_updates_at_once_each_is_seen_by_the_next() {
    let (fresh, [one, two, three]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.update(MASTER, None, one).unwrap();
    let won: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|i| {
                let new = if i % 2 == 0 { two } else { three };
                scope.spawn(move || usize::from(refs.update(MASTER, Some(one), new).is_ok()))
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(won, 1, "exactly one compare-and-swap succeeds");
}

#[test]
fn refs_go_together_only_at_the_values_given_and_wherever_they_are() {
    let (fresh, [one, two, _]) = with_commits();
    let refs = fresh.dirs.refs();
    let entry = |name: &str, id| (format!("refs/herma/p/{name}"), id);
    refs.create(&[("refs/herma/p/1", one), ("refs/herma/p/2", two)]).unwrap();
    assert_moved(refs.delete_all(&[entry("1", one), entry("2", one)]), Some(two));
    assert_eq!(git_refs(&fresh).len(), 2, "one that moved keeps the others, too");
    refs.delete_all(&[entry("1", one), entry("gone", one)]).unwrap();
    assert!(!fresh.store().join("packed-refs").exists(), "nothing was packed");
    fresh.git(&["pack-refs", "--all"]);
    refs.create(&[("refs/herma/p/3", one)]).unwrap();
    refs.delete_all(&[entry("2", two), entry("3", one)]).unwrap();
    assert_eq!(git_refs(&fresh), []);
    fresh.assert_sound();
}

#[test]
fn a_ref_that_moves_while_its_deletion_waits_for_the_lock_is_kept() {
    let (fresh, [one, two, _]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.update(MASTER, None, one).unwrap();
    fresh.git(&["pack-refs", "--all"]);
    let (loose, packed) = (fresh.store().join(MASTER), fresh.store().join("packed-refs"));
    let lock = fresh.store().join(format!("{MASTER}.lock"));
    std::fs::create_dir_all(loose.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        let deleted = scope.spawn(|| refs.delete_all(&[(MASTER.to_owned(), one)]));
        // It looked at the value before it took the packed one out.
        while !deleted.is_finished() && std::fs::read_to_string(&packed).unwrap().contains(MASTER) {
            std::thread::yield_now();
        }
        std::fs::write(&loose, format!("{two}\n")).unwrap();
        std::fs::remove_file(&lock).unwrap();
        assert_moved(deleted.join().unwrap(), Some(two));
    });
    assert_eq!(refs.read(MASTER).unwrap(), Some(two));
}

#[test]
fn the_next_components_below_a_name_are_known_without_reading_a_ref() {
    let (fresh, [one, ..]) = with_commits();
    let refs = fresh.dirs.refs();
    let below = || refs.next_components("refs/herma").unwrap();
    let in_store = |path: &str| fresh.store().join(path);
    assert_eq!(below(), [].into());
    refs.create(&[("refs/herma/p/1", one), ("refs/herma/p/2", one)]).unwrap();
    assert_eq!(below(), ["p".into()].into());
    fresh.git(&["pack-refs", "--all", "--prune"]);
    assert_eq!(below(), ["p".into()].into(), "what is packed counts");
    std::fs::create_dir_all(in_store("refs/herma/broken")).unwrap();
    std::fs::write(in_store("refs/herma/broken/1"), "no id").unwrap();
    std::fs::create_dir_all(in_store("refs/herma/locked")).unwrap();
    for left_over in ["file.lock", "locked/1.lock"] {
        std::fs::write(in_store("refs/herma").join(left_over), "").unwrap();
    }
    assert_eq!(below(), ["broken".into(), "p".into()].into(), "what is broken, too");
    for name in ["refs/herma/p/1", "refs/herma/p/2"] {
        refs.delete(name, one).unwrap();
    }
    std::fs::create_dir_all(in_store("refs/herma/p")).unwrap();
    assert_eq!(below(), ["broken".into()].into(), "an empty directory is nothing");
    std::fs::write(in_store("packed-refs"), "no refs\n").unwrap();
    assert!(refs.next_components("refs/herma").is_err());
    assert!(refs.any("refs/herma").unwrap(), "what is loose is there");
}

#[test]
fn only_a_broken_ref_is_removed_as_one() {
    let (fresh, [one, ..]) = with_commits();
    let refs = fresh.dirs.refs();
    refs.create(&[("refs/herma/p/1", one)]).unwrap();
    std::fs::write(fresh.store().join("refs/herma/p/2"), "garbage").unwrap();
    for name in ["refs/herma/p/1", "refs/herma/p/2"] {
        refs.remove_broken(name).unwrap();
    }
    let listing = refs.list("refs/herma/p").unwrap();
    assert_eq!((listing.refs.len(), listing.broken.len()), (1, 0));
}

#[test]
fn a_file_in_the_place_of_a_directory_is_damage_and_not_an_absence() {
    let (fresh, [one, ..]) = with_commits();
    let refs = fresh.dirs.refs();
    let is_damage =
        |prefix| matches!(refs.next_components(prefix), Err(StoreError::DamagedFile { .. }));
    std::fs::write(fresh.store().join("refs/herma/p"), "garbage").unwrap();
    assert!(is_damage("refs/herma/p/x"), "no ref, and no directory");
    std::fs::remove_file(fresh.store().join("refs/herma/p")).unwrap();
    std::fs::remove_dir(fresh.store().join("refs/herma")).unwrap();
    std::fs::write(fresh.store().join("refs/herma"), format!("{}\n", one.to_hex())).unwrap();
    assert!(is_damage("refs/herma/p"), "what every store has is a directory");
    assert!(is_damage("refs/herma"));
    refs.sync_names("refs/herma/p").unwrap();
    std::fs::remove_file(fresh.store().join("refs/herma")).unwrap();
    std::os::unix::fs::symlink("heads", fresh.store().join("refs/herma")).unwrap();
    assert!(refs.sync_names("refs/herma/p").is_err(), "only what is not there needs no sync");
}
