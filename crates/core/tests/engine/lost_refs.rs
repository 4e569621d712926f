//! Refs that were lost: no collection takes what they kept for rubbish, everybody says so, and a repair brings them
//! back.

use std::path::{Path, PathBuf};

use herma_core::cleanup::{CleanRequest, Limits};
use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::purge::{Copies, PurgeRequest};
use herma_core::{Checkpoint, ObjectId, RelPath, Repaired, Settings, VerifyOptions};
use herma_fs::publish::Durability;
use herma_store::gc::Thoroughness;
use herma_testkit::tree::names_below;

use super::project::TestProject;

/// Seven checkpoints of which the third and the sixth were dropped; the first is pinned, the second has a name.
fn scene() -> TestProject {
    let p = TestProject::new();
    for number in 1..=7 {
        p.write("a", format!("{number}"));
        p.write(&format!("file-{number}"), format!("only in {number}"));
        p.save(&format!("save {number}"));
    }
    let project = p.project();
    project.drop_checkpoint(&p.find("@-4")).unwrap();
    project.drop_checkpoint(&p.find("@-1")).unwrap();
    project.pin(&p.find("@-4")).unwrap();
    project.name(&p.find("@-3"), "mine").unwrap();
    p
}

/// What is known of each checkpoint.
fn known(p: &TestProject) -> Vec<(u64, ObjectId, bool, Vec<String>)> {
    let facts = |c: Checkpoint| (c.number, c.id, c.pinned, c.names);
    p.list().into_iter().map(facts).collect()
}

fn repair(p: &TestProject) -> Repaired {
    p.engine.repair(&NoProgress).unwrap()
}

fn refs_of(p: &TestProject, kind: &str) -> PathBuf {
    p.store().join(format!("refs/{kind}/{}", p.project().id()))
}

fn keep_few() -> CleanRequest {
    CleanRequest {
        limits: Limits { max_snapshots: Some(1), max_total_bytes: Some(1), ..Limits::default() },
        attended: true,
        clock_is_right: true,
    }
}

/// Every way to collect is refused as damage, and no object goes.
#[track_caller]
fn nothing_is_collected(p: &TestProject, scene: &str) {
    let before = names_below(&p.store().join("objects"));
    let purge = PurgeRequest { paths: vec![RelPath::new("file-7").unwrap()], copies: Copies::Stay };
    let answers = [
        ("gc", p.engine.collect(Thoroughness::Full, false, &NoProgress).err()),
        ("prune --dry-run", p.engine.plan_cleaning(&keep_few(), &NoProgress).err()),
        ("prune", p.engine.clean(&keep_few(), &NoProgress).err()),
        ("maintain", p.engine.maintain(&NoProgress).err()),
        ("purge", p.project().purge(&purge, &NoProgress).err()),
    ];
    for (what, answer) in answers {
        let answer = answer.unwrap_or_else(|| panic!("{scene}: {what} went on"));
        assert_eq!(answer.kind(), ErrorKind::Damaged, "{scene}: {what}: {answer}");
        assert!(answer.to_string().contains("refs"), "{scene}: {what}: {answer}");
    }
    assert_eq!(names_below(&p.store().join("objects")), before, "{scene}");
}

#[track_caller]
fn verify_notices(p: &TestProject, scene: &str) {
    match p.engine.verify(&VerifyOptions::default(), &NoProgress) {
        Ok(verified) => {
            assert!(!verified.is_whole(), "{scene}");
            assert!(!p.engine.verify_quickly().unwrap().is_whole(), "{scene}");
        }
        Err(e) => assert_eq!(e.kind(), ErrorKind::Damaged, "{scene}: {e}"),
    }
}

/// Everything is in order, and stays so when it is collected.
#[track_caller]
fn all_is_well(p: &TestProject, scene: &str) {
    let verified = p.engine.verify(&VerifyOptions::default(), &NoProgress);
    let verified = verified.unwrap_or_else(|e| panic!("{scene}: {e}"));
    assert!(verified.is_whole(), "{scene}: {verified:?}");
    let again = repair(p);
    assert!(!again.has_changed(), "{scene}: {again:?}");
    let collected = p.engine.collect(Thoroughness::Full, false, &NoProgress);
    let cleaned = collected.unwrap_or_else(|e| panic!("{scene}: {e}"));
    assert_eq!(cleaned.collected.damaged, [""; 0], "{scene}");
    p.fsck();
}

fn replace(path: &Path, with: &str) {
    let aside = path.with_file_name("moved-away");
    std::fs::rename(path, &aside).unwrap();
    match with {
        "nothing" => {}
        "a file" => std::fs::write(path, "x").unwrap(),
        "a link" => std::os::unix::fs::symlink(&aside, path).unwrap(),
        "an empty directory" => std::fs::create_dir(path).unwrap(),
        other => panic!("{other}"),
    }
    // What a link leads to stays; nothing else is to be found by listing.
    if with != "a link" {
        std::fs::remove_dir_all(aside).unwrap();
    }
}

/// `refs` missing, a file or a link: `gc` and `prune` removed every pack and ended with 0.
#[test]
fn a_collection_with_lost_refs_deletes_nothing_and_a_repair_brings_them_back() {
    for with in ["nothing", "a file", "a link", "an empty directory"] {
        for place in ["refs", "refs/herma", "refs/herma/PROJECT"] {
            let scene_name = format!("{place}: {with}");
            let p = scene();
            let before = known(&p);
            let path = p.store().join(place.replace("PROJECT", p.project().id().as_str()));
            replace(&path, with);
            if with == "a link" {
                // Nothing that is found by the link counts.
                let aside = path.with_file_name("moved-away");
                let hidden = p.base().join("hidden");
                std::fs::rename(&aside, &hidden).unwrap();
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink(&hidden, &path).unwrap();
            }
            nothing_is_collected(&p, &scene_name);
            verify_notices(&p, &scene_name);
            let repaired = repair(&p);
            assert!(repaired.after.is_whole(), "{scene_name}: {:?}", repaired.after);
            assert_eq!(known(&p), before, "{scene_name}");
            all_is_well(&p, &scene_name);
            p.restore("@-4");
            assert_eq!(p.read("file-1"), "only in 1", "{scene_name}");
        }
    }
}

/// A missing ref of a pinned or named checkpoint: all was said to be in order.
#[test]
fn every_single_lost_ref_is_noticed_and_comes_back_as_it_was() {
    let count = names_below(&scene().store().join("refs")).len();
    let mut looked_at = 0;
    for index in 0..count {
        let p = scene();
        let before = known(&p);
        let all = names_below(&p.store().join("refs"));
        let path = p.store().join("refs").join(&all[index]);
        let name = path.display().to_string();
        if path.is_dir() || name.contains("refs/hermes/") {
            continue;
        }
        looked_at += 1;
        std::fs::remove_file(&path).unwrap();
        if path.extension().is_none() {
            nothing_is_collected(&p, &name);
        }
        verify_notices(&p, &name);
        let repaired = repair(&p);
        assert_eq!(repaired.refs.len(), 1, "{name}: {repaired:?}");
        assert_eq!(known(&p), before, "{name}");
        assert!(path.is_file(), "{name}");
        all_is_well(&p, &name);
    }
    assert_eq!(looked_at, 5 + 5 + 2, "checkpoints, receipts, a name and a pin");
}

#[test]
fn a_lost_ref_moves_no_numbers_and_the_next_save_makes_it_again() {
    for lost in ["00000002", "00000003", ""] {
        let p = TestProject::new();
        for content in ["one\n", "two\n", "three\n"] {
            p.write("a", content);
            p.save(content.trim());
        }
        let before = p.list();
        let refs = refs_of(&p, "herma");
        match lost {
            "" => std::fs::remove_dir_all(refs).unwrap(),
            lost => std::fs::remove_file(refs.join(lost)).unwrap(),
        }
        assert_eq!(p.list(), before, "{lost}");
        p.undo().unwrap();
        assert_eq!(p.read("a"), "two\n", "{lost}");
        p.restore("@-3");
        assert_eq!(p.read("a"), "one\n", "{lost}");
        p.write("a", "four\n");
        p.save("four");
        let verified = p.engine.verify(&VerifyOptions::default(), &NoProgress);
        assert!(verified.unwrap().is_whole(), "{lost}");
    }
}

/// The newest checkpoint stayed lost, although the ref Hermes reads named it.
#[test]
fn a_ref_that_names_what_is_not_there_is_put_right_though_no_roll_tells() {
    for with_roll in [true, false] {
        let p = scene();
        let before = known(&p);
        let path = refs_of(&p, "herma").join("00000007");
        let text = std::fs::read_to_string(&path).unwrap();
        let digit = if text.starts_with('0') { "1" } else { "0" };
        std::fs::write(&path, format!("{digit}{}", &text[1..])).unwrap();
        if !with_roll {
            let state = p.store().join("herma/projects");
            let state = state.join(p.project().id().as_str());
            std::fs::remove_file(state.join("roll")).unwrap();
        }
        verify_notices(&p, "another id");
        let repaired = repair(&p);
        assert!(repaired.after.is_whole(), "{:?}", repaired.after);
        assert_eq!(known(&p), before);
        all_is_well(&p, "another id");
    }
}

#[test]
fn a_torn_ref_stops_a_collection_and_is_made_again() {
    for sequence in [1, 2, 4, 7] {
        let p = scene();
        let before = known(&p);
        std::fs::write(refs_of(&p, "herma").join(format!("{sequence:08}")), "torn").unwrap();
        nothing_is_collected(&p, "torn");
        repair(&p);
        assert_eq!(known(&p), before, "{sequence}");
        all_is_well(&p, "torn");
    }
}

#[test]
fn lost_packed_refs_stop_a_collection_and_come_back() {
    for damage in ["removed", "emptied", "cut", "garbled", "a directory"] {
        let p = scene();
        let before = known(&p);
        p.repository().git(["pack-refs", "--all", "--prune"]).success();
        assert_eq!(known(&p), before);
        let packed = p.store().join("packed-refs");
        let bytes = std::fs::read(&packed).unwrap();
        std::fs::remove_file(&packed).unwrap();
        match damage {
            "removed" => {}
            "emptied" => std::fs::write(&packed, "").unwrap(),
            "cut" => std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap(),
            "garbled" => {
                let mut bytes = bytes;
                let middle = bytes.len() / 2;
                bytes[middle..middle + 100].fill(0xff);
                std::fs::write(&packed, bytes).unwrap();
            }
            _ => std::fs::create_dir(&packed).unwrap(),
        }
        nothing_is_collected(&p, damage);
        verify_notices(&p, damage);
        repair(&p);
        assert_eq!(known(&p), before, "{damage}");
        all_is_well(&p, damage);
    }
}

/// What left the roll and is still there was about to be dropped; the other way round nothing was lost either.
#[test]
fn a_dropping_that_was_cut_off_anywhere_stops_no_collection() {
    let p = scene();
    let target = p.find("@-4");
    let refs = p.store().join("refs");
    let all: Vec<(PathBuf, Vec<u8>)> = names_below(&refs)
        .into_iter()
        .map(|name| refs.join(name))
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    p.project().drop_checkpoint(&target).unwrap();
    let gone: Vec<&(PathBuf, Vec<u8>)> = all.iter().filter(|(path, _)| !path.exists()).collect();
    assert_eq!(gone.len(), 3, "a checkpoint, its receipt and its pin");
    for which in 1..8 {
        for (at, (path, bytes)) in gone.iter().enumerate() {
            if which & (1 << at) != 0 {
                std::fs::write(path, bytes).unwrap();
            }
        }
        let collected = p.engine.collect(Thoroughness::Quick, false, &NoProgress);
        assert!(collected.is_ok(), "{which}: {collected:?}");
        // Whatever is there now is on the roll again, so it goes by being dropped.
        if let Some(left) = p.list().into_iter().find(|c| c.id == target.id) {
            p.project().drop_checkpoint(&left).unwrap();
        }
        for (path, _) in &gone {
            let _ = std::fs::remove_file(path);
        }
        std::fs::remove_file(roll(&p)).unwrap();
        p.engine.collect(Thoroughness::Quick, false, &NoProgress).unwrap();
    }
}

fn roll(p: &TestProject) -> PathBuf {
    p.store().join(format!("herma/projects/{}/roll", p.project().id()))
}

#[test]
fn a_save_goes_on_without_the_refs_and_a_repair_puts_all_in_order() {
    let p = scene();
    let before = known(&p);
    std::fs::remove_dir_all(p.store().join("refs")).unwrap();
    p.write("a", "after the loss");
    let saved = p.save("after the loss");
    assert!(saved.notes.iter().any(|note| note.contains("repair")), "{:?}", saved.notes);
    nothing_is_collected(&p, "saved meanwhile");
    repair(&p);
    let after = known(&p);
    assert_eq!(after[1..], before[..]);
    assert_eq!(after[0].1, saved.checkpoint.id);
    all_is_well(&p, "saved meanwhile");
}

/// Stores of before have no roll: what a project's own state remembers counts, and pins and names do.
#[test]
fn where_no_roll_was_ever_written_a_project_without_refs_stops_a_collection() {
    let p = scene();
    let newest = p.find("@");
    std::fs::remove_file(roll(&p)).unwrap();
    std::fs::remove_dir_all(p.store().join("refs")).unwrap();
    for place in ["refs/heads", "refs/herma", "refs/hermes"] {
        std::fs::create_dir_all(p.store().join(place)).unwrap();
    }
    nothing_is_collected(&p, "no roll");
    repair(&p);
    assert_eq!(p.find("@").id, newest.id);
    all_is_well(&p, "no roll");
}

#[test]
fn without_a_roll_a_pin_or_a_name_tells_of_a_checkpoint_that_lost_its_ref() {
    for (sequence, number) in [(1, "@-4"), (2, "@-3")] {
        let p = scene();
        let before = known(&p);
        let lost = p.find(number);
        assert_eq!(lost.number, sequence);
        std::fs::remove_file(roll(&p)).unwrap();
        std::fs::remove_file(refs_of(&p, "herma").join(format!("{sequence:08}"))).unwrap();
        nothing_is_collected(&p, number);
        verify_notices(&p, number);
        repair(&p);
        assert_eq!(known(&p), before);
        all_is_well(&p, number);
    }
}

#[test]
fn a_purged_checkpoint_does_not_come_back_with_what_was_purged() {
    let p = scene();
    let request =
        PurgeRequest { paths: vec![RelPath::new("file-1").unwrap()], copies: Copies::Stay };
    let purged = p.project().purge(&request, &NoProgress).unwrap();
    assert!(purged.remaining.is_empty());
    let before = known(&p);
    std::fs::remove_dir_all(p.store().join("refs")).unwrap();
    repair(&p);
    assert_eq!(known(&p), before);
    all_is_well(&p, "purged");
}

#[test]
fn what_was_dropped_right_after_a_fast_save_is_not_taken_for_lost() {
    let settings = Settings { durability: Durability::Cache, ..Settings::default() };
    let p = TestProject::with(settings);
    p.write("a", "1");
    let saved = p.save("only one").checkpoint;
    p.project().drop_checkpoint(&saved).unwrap();
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    assert!(p.list().is_empty());
}

#[test]
fn the_number_of_a_dropped_checkpoint_is_not_given_again() {
    let p = TestProject::new();
    p.write("a", "1");
    let first = p.save("first").checkpoint;
    p.project().drop_checkpoint(&first).unwrap();
    assert_eq!(p.save("second").checkpoint.number, first.number + 1);
}
