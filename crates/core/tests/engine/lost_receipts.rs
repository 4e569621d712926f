//! Receipts are shared by checkpoints, so damage to one must cost no checkpoint its files.

use std::os::unix::fs::PermissionsExt;

use herma_core::ObjectId;
use herma_core::engine::NoProgress;
use herma_core::restore::{KeptWhy, RestoreOptions};

use super::project::TestProject;

/// Makes an object unreadable, in the pack it is in.
pub fn rot(p: &TestProject, id: &ObjectId) {
    let mut has_hit = false;
    for entry in std::fs::read_dir(p.store().join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "pack") {
            continue;
        }
        let name = path.to_str().unwrap();
        let listed = p.repository().git(["verify-pack", "-v", name]);
        for line in listed.text().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[0] != id.to_hex() {
                continue;
            }
            let numbers: Vec<usize> = words[3..5].iter().map(|w| w.parse().unwrap()).collect();
            let mut bytes = std::fs::read(&path).unwrap();
            for byte in &mut bytes[numbers[1] + 1..numbers[1] + numbers[0]] {
                *byte ^= 0xa5;
            }
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, bytes).unwrap();
            has_hit = true;
        }
    }
    assert!(has_hit, "no pack has {id}");
}

fn set_mode(p: &TestProject, path: &str, mode: u32) {
    std::fs::set_permissions(p.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(p: &TestProject, path: &str) -> u32 {
    p.path(path).metadata().unwrap().permissions().mode() & 0o777
}

/// Two checkpoints with one receipt between them, and files of several modes.
fn two() -> TestProject {
    let p = TestProject::new();
    p.write(".gitignore", "*.dat\n");
    p.write("build.dat", "left out by a rule");
    p.write("secret.txt", "only for me");
    p.write("run.sh", "#!/bin/sh\n");
    set_mode(&p, "secret.txt", 0o600);
    set_mode(&p, "run.sh", 0o755);
    p.write("a", "1");
    p.save("first");
    p.write("a", "2");
    p.save("second");
    let list = p.list();
    assert_eq!(list[0].extra, list[1].extra);
    p
}

#[test]
fn checkpoints_stay_in_the_list_and_a_save_makes_the_receipt_again() {
    let p = two();
    let before = p.list();
    rot(&p, &before[0].extra.unwrap());
    let after = p.list();
    assert_eq!(after.len(), 2);
    for (now, then) in after.iter().zip(&before) {
        assert_eq!((now.id, now.tree), (then.id, then.tree));
        assert!(now.receipt_damaged && !then.receipt_damaged);
        assert!(p.project().receipt(now).is_err());
    }
    assert_eq!(p.project().damaged().unwrap(), []);
    // Nothing has changed, but nobody could go back to exactly this.
    assert!(p.save("again").is_new);
    let list = p.list();
    assert_eq!(list.len(), 3);
    assert!(list.iter().all(|one| !one.receipt_damaged));
    assert!(!p.save("and again").is_new);
}

#[test]
fn files_come_back_without_the_modes_and_nothing_is_removed_on_suspicion() {
    let p = two();
    let target = p.list().remove(1);
    rot(&p, &target.extra.unwrap());
    // Of the old state, `*.dat` was left out; today nothing is.
    p.write(".gitignore", "");
    p.write("new.txt", "made since");
    p.write("made/here.txt", "made since");
    std::fs::create_dir(p.path("empty")).unwrap();
    p.remove("secret.txt");
    set_mode(&p, "run.sh", 0o700);
    p.write("a", "3");
    let target = p.find(&target.id.to_hex());
    let options = RestoreOptions::default();
    let plan = p.project().plan_restore(&target, &options, &NoProgress);
    let plan = plan.unwrap();
    assert!(plan.receipt_damaged);
    let restored = p.project().restore_with(&target, &options, &NoProgress).unwrap();
    assert_eq!(restored.plan.actions, plan.actions);
    assert_eq!(p.read("a"), "1");
    assert_eq!(p.read("secret.txt"), "only for me");
    assert_eq!(mode(&p, "run.sh"), 0o700, "what is there keeps its mode");
    let kept: Vec<_> = restored.kept.iter().map(|kept| (kept.path.to_string(), kept.why)).collect();
    for path in ["build.dat", "empty", "made/here.txt", "new.txt"] {
        assert!(p.exists(path), "{path}");
        let why = KeptWhy::ReceiptDamaged;
        assert!(kept.contains(&(path.to_owned(), why)), "{kept:?}");
    }
    p.undo().unwrap();
    assert_eq!(p.read("a"), "3");
    assert!(!p.exists("secret.txt") && p.exists("new.txt"));
}

#[test]
fn what_stands_where_the_checkpoint_has_something_else_was_not_left_out() {
    let p = TestProject::new();
    p.write("x", "a file");
    p.write("y/z", "in a directory");
    let target = p.save("first").checkpoint;
    p.remove("x");
    p.remove("y");
    p.write("x/deep/file", "now a directory");
    p.write("y", "now a file");
    p.save("second");
    rot(&p, &target.extra.unwrap());
    let restored = p.restore(&target.id.to_hex());
    assert_eq!(p.read("x"), "a file");
    assert_eq!(p.read("y/z"), "in a directory");
    assert_eq!(restored.kept, []);
    assert!(restored.plan.receipt_damaged);
}

/// The tree of the receipt can be read, but the list of modes it names cannot.
#[test]
fn a_lost_list_of_modes_costs_only_the_modes() {
    let p = two();
    let target = p.list().remove(1);
    rot(&p, &target.modes.unwrap());
    p.write("new.txt", "made since");
    // With other modes now, the save before the restore does not happen to write the list again.
    set_mode(&p, "run.sh", 0o700);
    let restored = p.restore(&target.id.to_hex());
    assert!(restored.plan.receipt_damaged);
    assert_eq!(p.read("a"), "1");
    assert!(!p.exists("new.txt"), "what was left out is known");
    assert_eq!(mode(&p, "run.sh"), 0o700);
}
