//! A save that is told what changed stores what a save that reads everything would store.
//!
//! Two threads change a project at random, in half of the rounds while it is saved. Then a save that asks a real
//! watcher is followed by one that believes nobody and reads every file: it must find nothing new.
//! `HERMA_FAULT_FULL=1` runs many more rounds, `HERMA_WATCH_FIRST` begins at another seed.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub
)]
#![cfg(target_os = "linux")]

#[path = "watching/edits.rs"]
mod edits;
#[path = "watching/holders.rs"]
mod holders;
#[path = "watching/mapping.rs"]
mod mapping;
#[path = "watching/scene.rs"]
mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use herma_core::engine::NoProgress;
use herma_core::engine::SaveOptions;
use herma_testkit::random::Random;
use scene::Scene;

fn rounds() -> (u64, usize) {
    let first = std::env::var("HERMA_WATCH_FIRST").ok();
    let first = first.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let is_full = std::env::var_os(herma_testkit::faults::FULL_VARIABLE).is_some();
    (first, if is_full { 400 } else { 15 })
}

#[test]
fn a_watched_save_stores_what_reading_everything_would() {
    let (first, count) = rounds();
    let mut told = 0;
    for round in 0..count {
        let seed = first + round as u64;
        let scene = Scene::new();
        let outside = scene.outside();
        scene.settle();
        let mut random = Random::new(seed);
        for part in 0..6 {
            let is_concurrent = random.one_in(2);
            let edits = 1 + random.below(if part == 5 { 300 } else { 25 });
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let seed = seed * 1000 + part * 10 + thread;
                    let (root, outside) = (&scene.root, &outside);
                    scope.spawn(move || edits::random(root, outside, seed, edits));
                }
                if is_concurrent {
                    scene.save();
                }
            });
            let saved = scene.save();
            let (tree, modes) = (saved.checkpoint.tree, saved.checkpoint.modes);
            let again = scene.rehash();
            let is_same = (again.checkpoint.tree, again.checkpoint.modes) == (tree, modes);
            assert!(
                !again.is_new && is_same,
                "seed {seed}, part {part}: the watched save missed something\n{}",
                scene.difference(&saved.checkpoint, &again.checkpoint)
            );
            scene.settle();
        }
        told += scene.told();
    }
    assert!(told > count, "the watcher answered only {told} times");
}

#[test]
fn an_unchanged_project_is_answered_without_being_looked_at() {
    let scene = Scene::new();
    fs::write(scene.root.join("file"), "one").unwrap();
    scene.settle();
    let saved = scene.save();
    for _ in 0..3 {
        let again = scene.save();
        assert!(!again.is_new);
        assert_eq!(again.checkpoint.id, saved.checkpoint.id);
        assert_eq!(again.receipt, saved.receipt);
    }
    // The proof that nobody looks: what is not told is not seen.
    scene.deafen();
    fs::write(scene.root.join("file"), "two").unwrap();
    assert!(!scene.save().is_new);
    let options = SaveOptions {
        rehash: true,
        ..SaveOptions::default()
    };
    assert!(scene.save_with(&options, &NoProgress).is_new);
}

#[test]
fn a_changed_ignore_file_is_judged_for_everything_below() {
    let scene = Scene::new();
    fs::create_dir_all(scene.root.join("a/b/c")).unwrap();
    fs::write(scene.root.join("a/b/c/x.aaa"), "a").unwrap();
    fs::write(scene.root.join("a/b/c/y"), "y").unwrap();
    scene.settle();
    let files = || scene.save().receipt.summary.files;
    assert_eq!(files(), 2);
    fs::write(scene.root.join(".gitignore"), "*.aaa\n").unwrap();
    assert_eq!(files(), 2, "y and .gitignore");
    scene.settle();
    fs::write(scene.root.join("a/.gitignore"), "b/\n").unwrap();
    assert_eq!(files(), 2, "both .gitignore");
    scene.settle();
    fs::remove_file(scene.root.join("a/.gitignore")).unwrap();
    fs::remove_file(scene.root.join(".gitignore")).unwrap();
    assert_eq!(files(), 2, "x.aaa and y");
    scene.settle();
    fs::write(scene.root.join("a/b/c/x.aaa"), "more").unwrap();
    assert!(scene.save().is_new);
    assert!(!scene.rehash().is_new);
}

#[test]
fn a_directory_that_is_captured_again_is_watched_again() {
    let scene = Scene::new();
    fs::create_dir_all(scene.root.join("made/deep")).unwrap();
    fs::write(scene.root.join("made/deep/file"), "one").unwrap();
    fs::write(scene.root.join(".gitignore"), "made/\n").unwrap();
    scene.settle();
    fs::write(scene.root.join(".gitignore"), "#\n").unwrap();
    assert!(scene.save().is_new);
    // Before the watcher had a moment to learn of the new directories.
    fs::write(scene.root.join("made/deep/file"), "two").unwrap();
    assert!(scene.save().is_new);
    scene.settle();
    fs::write(scene.root.join("made/deep/file"), "three").unwrap();
    assert!(scene.save().is_new);
    assert!(!scene.rehash().is_new);
}

#[test]
fn hard_links_are_seen_by_every_name() {
    let scene = Scene::new();
    for name in ["a", "b"] {
        fs::create_dir(scene.root.join(name)).unwrap();
    }
    fs::write(scene.root.join("a/one"), "one").unwrap();
    scene.settle();
    fs::hard_link(scene.root.join("a/one"), scene.root.join("b/two")).unwrap();
    assert!(scene.save().is_new);
    scene.settle();
    fs::write(scene.root.join("b/two"), "changed").unwrap();
    scene.save();
    assert!(!scene.rehash().is_new, "a/one changed, too");
    // By a name that is not in the project at all.
    fs::hard_link(scene.root.join("a/one"), scene.outside().join("three")).unwrap();
    scene.settle();
    fs::write(scene.outside().join("three"), "from outside").unwrap();
    scene.save();
    assert!(!scene.rehash().is_new, "every name of it changed");
}

#[test]
fn modes_and_links_are_told_like_content() {
    let scene = Scene::new();
    fs::create_dir(scene.root.join("d")).unwrap();
    fs::write(scene.root.join("d/file"), "one").unwrap();
    scene.settle();
    let mode = |path: &str, mode| {
        let path = scene.root.join(path);
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        assert!(scene.save().is_new);
        assert!(!scene.rehash().is_new);
        scene.settle();
    };
    mode("d/file", 0o755);
    mode("d", 0o700);
    fs::remove_file(scene.root.join("d/file")).unwrap();
    std::os::unix::fs::symlink("elsewhere", scene.root.join("d/file")).unwrap();
    assert!(scene.save().is_new);
    assert!(!scene.rehash().is_new);
}

#[test]
fn a_restore_looks_for_itself() {
    let scene = Scene::new();
    fs::write(scene.root.join("file"), "one").unwrap();
    scene.settle();
    let before = scene.save();
    scene.deafen();
    fs::write(scene.root.join("file"), "precious").unwrap();
    scene.restore(&before.checkpoint);
    assert_eq!(fs::read(scene.root.join("file")).unwrap(), b"one");
    scene.undo();
    assert_eq!(fs::read(scene.root.join("file")).unwrap(), b"precious");
}

#[test]
fn stores_through_a_mapping_are_seen_whoever_made_it_first() {
    let scene = Scene::new();
    for name in ["early", "late"] {
        fs::create_dir(scene.root.join(name)).unwrap();
        fs::write(scene.root.join(name).join("file"), [b'.'; 8192]).unwrap();
    }
    let mut early = mapping::Mapping::of(&scene.root.join("early/file"));
    scene.settle();
    let mut late = mapping::Mapping::of(&scene.root.join("late/file"));
    scene.save();
    for (round, mapped) in [&mut early, &mut late].into_iter().enumerate() {
        mapped.store(b'a' + round as u8);
        scene.save();
        assert!(!scene.rehash().is_new, "mapping {round}");
    }
    late.close();
    scene.save();
    assert!(!scene.rehash().is_new);
}
