//! A save relies on objects it does not read. What the store has lost of them is noticed, and saved again from the disk.

use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::{Lost, Saved};
use herma_store::gc::Thoroughness;

use super::project::TestProject;
use super::upkeep;

fn packs(p: &TestProject, extension: &str) -> Vec<PathBuf> {
    let packs = upkeep::packs(p).into_iter();
    packs.map(|pack| pack.with_extension(extension)).collect()
}

fn sign(p: &TestProject) -> Vec<u8> {
    let state = p.store().join("herma/projects").join(p.project().id().as_str());
    std::fs::read(state.join("packs")).unwrap()
}

/// Files in several directories, of which none changes any more.
fn saved() -> TestProject {
    let p = TestProject::new();
    for number in 0..3 {
        p.write(&format!("{number}/a.txt"), format!("content {number}\n"));
    }
    p.save("first");
    p
}

type Harm = fn(&Path);

/// What can happen to a file.
const HARMS: [(&str, Harm); 6] = [
    ("removed", |path| std::fs::remove_file(path).unwrap()),
    ("emptied", |path| put(path, b"")),
    ("cut", |path| {
        let bytes = std::fs::read(path).unwrap();
        put(path, &bytes[..bytes.len() - 1]);
    }),
    ("longer", |path| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes.push(0);
        put(path, &bytes);
    }),
    ("a directory", |path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    }),
    ("a link", |path| {
        std::fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("nowhere", path).unwrap();
    }),
];

fn put(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Everything that is on disk can be had from the newest checkpoint.
fn assert_restorable(p: &TestProject, what: &str) {
    let tree = p.tree();
    for number in 0..3 {
        p.remove(&format!("{number}"));
    }
    p.restore("@");
    assert_eq!(p.tree(), tree, "{what}");
}

fn assert_noticed(saved: &Saved, what: &str) {
    assert_eq!(saved.lost.packs.len(), 1, "{what}: {saved:?}");
}

#[test]
fn a_save_that_finds_nothing_changed_notices_a_lost_pack_and_saves_its_files_again() {
    for (what, harm) in HARMS {
        for extension in ["pack", "idx"] {
            let what = format!("{extension} {what}");
            let p = saved();
            harm(&packs(&p, extension)[0]);
            let saved = p.save("nothing changed");
            assert_noticed(&saved, &what);
            if !["longer", "cut"].iter().any(|mild| what.ends_with(mild)) {
                assert_eq!(saved.lost.files, 3, "{what}");
            }
            assert_eq!(p.save("again").lost, Lost::default(), "{what}");
            assert_restorable(&p, &what);
        }
    }
}

#[test]
fn a_save_notices_what_directories_that_did_not_change_have_lost() {
    let p = saved();
    for pack in packs(&p, "idx") {
        std::fs::remove_file(pack).unwrap();
    }
    p.write("1/a.txt", "changed\n");
    let saved = p.save("one changed");
    assert!(saved.is_new);
    assert_eq!(saved.lost.files, 2);
    assert_noticed(&saved, "one changed");
    assert_restorable(&p, "one changed");
}

#[test]
fn a_save_notices_a_lost_pack_that_holds_only_older_checkpoints() {
    let p = saved();
    let old = packs(&p, "pack");
    for number in 0..3 {
        p.write(&format!("{number}/a.txt"), "another\n");
    }
    p.save("second");
    std::fs::remove_file(&old[0]).unwrap();
    let saved = p.save("nothing changed");
    assert_eq!(saved.lost.files, 0);
    assert_noticed(&saved, "an old one");
}

#[test]
fn a_lost_commit_or_receipt_is_made_again_though_nothing_changed() {
    let p = saved();
    p.write("0/a.txt", "changed\n");
    p.save("second");
    p.write("0/a.txt", "content 0\n");
    // All it brings is a commit.
    let before = packs(&p, "pack");
    p.save("third");
    let mut last = packs(&p, "pack");
    last.retain(|pack| !before.contains(pack));
    std::fs::remove_file(&last[0]).unwrap();
    let saved = p.save("nothing changed");
    assert!(saved.is_new, "nobody could go back to the last one");
    assert_restorable(&p, "the commit");
}

#[test]
fn a_store_without_a_stat_cache_does_not_call_lost_files_saved() {
    let p = saved();
    p.write("0/a.txt", "changed\n");
    p.save("second");
    p.forget_cache();
    // The first has what did not change.
    let oldest = p.find("@-1").id.to_hex();
    let pack = upkeep::pack_with(&p, &oldest);
    std::fs::remove_file(pack.with_extension("idx")).unwrap();
    let saved = p.save("nothing changed");
    assert_eq!(saved.lost.files, 2);
    assert_restorable(&p, "without a cache");
}

#[test]
fn another_project_that_saves_costs_no_second_look() {
    let p = saved();
    let sign_before = sign(&p);
    let other = upkeep::make(&p, "other");
    upkeep::save_at(&p, &other, "other");
    let saved = p.save("nothing changed");
    assert!(!saved.is_new);
    assert_eq!(saved.lost, Lost::default());
    assert_eq!(sign(&p), sign_before);
}

#[test]
fn what_a_collection_took_away_is_not_called_lost_and_is_looked_for_once() {
    let p = saved();
    for round in 0..3 {
        p.write("0/a.txt", format!("round {round}\n"));
        p.save("round");
    }
    let before = sign(&p);
    let collected = p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    let collected = collected.collected;
    assert!(collected.packs_after < collected.packs_before);
    let saved = p.save("nothing changed");
    assert_eq!((saved.is_new, saved.lost), (false, Lost::default()));
    let after = sign(&p);
    assert_ne!(after, before);
    p.save("nothing changed");
    assert_eq!(sign(&p), after);
    // From here on, the merged one is missed.
    std::fs::remove_file(&packs(&p, "pack")[0]).unwrap();
    assert_noticed(&p.save("nothing changed"), "merged");
    assert_restorable(&p, "merged");
}

#[test]
fn a_pack_that_is_lost_right_after_a_collection_is_missed() {
    let p = saved();
    p.write("0/a.txt", "changed\n");
    p.save("second");
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    std::fs::remove_file(&packs(&p, "pack")[0]).unwrap();
    let saved = p.save("nothing changed");
    assert_eq!(saved.lost.files, 3);
    assert_restorable(&p, "after a collection");
}
