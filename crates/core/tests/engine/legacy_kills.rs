//! Importing, clearing and repairing, killed at every n-th call that changes storage: run once more, each
//! does what it would have done, and nothing is lost on the way.

use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::{Engine, ImportOptions, Settings, VerifyOptions};
use herma_testkit::faults::{Fault, Faults};
use herma_testkit::git::Repository;
use herma_testkit::hermes::v1::HermesV1;
use herma_testkit::{Bounded, faults};

use super::project::{TestProject, engine};

const HOME: &str = "HERMA_TEST_HOME";
const WORK: &str = "HERMA_TEST_WORK";
const RESUME: &str = "session.yaml";

fn work(engine: &Engine, name: &str) {
    match name {
        "import" => drop(engine.import_legacy(&ImportOptions { pin: true }, &NoProgress).unwrap()),
        "clear" => drop(engine.clear(None).unwrap()),
        "repair" => drop(engine.repair(&NoProgress).unwrap()),
        other => panic!("{other}"),
    }
}

/// What the killed process does.
#[test]
#[ignore = "run by the others"]
fn worker() {
    let home = PathBuf::from(std::env::var_os(HOME).unwrap());
    let name = std::env::var(WORK).unwrap();
    work(&engine(&home, None, Settings::default()), &name);
}

/// A project with checkpoints of its own, others of version 1 in an archive, and a resume record.
fn scene() -> Option<TestProject> {
    let p = TestProject::new();
    let base = p.home().join("checkpoints");
    let old = HermesV1::new(base.join("legacy-20260101-000000"))?;
    for number in 0..3 {
        p.write("a", format!("{number}"));
        old.take(&p.root, &format!("old {number}"));
    }
    for number in 0..2 {
        p.write("a", format!("new {number}"));
        p.save(&format!("new {number}"));
    }
    std::fs::write(base.join("legacy-20260101-000000").join(RESUME), "goal").unwrap();
    Some(p)
}

/// Kills the work at every n-th call, each time in a fresh copy of the home, does it again and checks.
fn kill_everywhere(p: &TestProject, name: &str, check: impl Fn(&Path, &Engine)) {
    if !faults::available() {
        return;
    }
    let homes = tempfile::tempdir().unwrap();
    let run = |fault: Fault, n: u64| {
        let home = homes.path().join(format!("{fault:?}-{n}"));
        let copied =
            std::process::Command::new("cp").arg("-a").arg(p.home()).arg(&home).bounded_status();
        assert!(copied.unwrap().success());
        let outcome = Faults::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine::legacy_kills::worker", "--ignored"])
            .env(HOME, &home)
            .env(WORK, name)
            .run(fault, n);
        let engine = engine(&home, None, Settings::default());
        if fault != Fault::Count {
            assert!(outcome.hit.is_some(), "{name} {n}");
            work(&engine, name);
        }
        check(&home.join("checkpoints"), &engine);
        std::fs::remove_dir_all(&home).unwrap();
        outcome.count
    };
    let count = run(Fault::Count, 0);
    assert!(count > 10, "{name} does something");
    for n in Faults::positions(count) {
        run(Fault::Kill, n);
    }
}

fn reasons(engine: &Engine, root: &Path) -> Vec<String> {
    let list = engine.project(root).unwrap().timeline().unwrap();
    list.iter().map(|c| c.reason.to_string()).collect()
}

#[test]
fn a_killed_import_is_completed_by_the_next() {
    let Some(p) = scene() else { return };
    kill_everywhere(&p, "import", |base, engine| {
        let expected = ["new 1", "new 0", "old 2", "old 1", "old 0"];
        assert_eq!(reasons(engine, &p.root), expected);
        let list = engine.project(&p.root).unwrap().timeline().unwrap();
        let pinned: Vec<bool> = list.iter().map(|c| c.pinned).collect();
        assert_eq!(pinned, [false, false, true, true, true]);
        Repository::at(base.join("store")).fsck();
    });
}

#[test]
fn a_killed_clearing_is_completed_by_the_next_and_keeps_resume_records() {
    let Some(p) = scene() else { return };
    kill_everywhere(&p, "clear", |base, engine| {
        let left: Vec<_> =
            std::fs::read_dir(base).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, [RESUME]);
        assert_eq!(reasons(engine, &p.root), Vec::<String>::new());
    });
}

#[test]
fn a_killed_repair_is_completed_by_the_next_and_loses_nothing() {
    let Some(p) = scene() else { return };
    let store = p.store();
    let trash = store.join("herma/trash/x");
    std::fs::create_dir(&trash).unwrap();
    let mut packs: Vec<PathBuf> = std::fs::read_dir(store.join("objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .collect();
    packs.sort();
    for path in [packs[0].clone(), packs[0].with_extension("idx")] {
        std::fs::rename(&path, trash.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::remove_file(packs[1].with_extension("idx")).unwrap();
    let id = p.project().id().to_string();
    std::fs::write(store.join(format!("refs/herma/{id}/00000001")), "torn").unwrap();
    std::fs::write(store.join(format!("projects/{id}.json")), "[torn").unwrap();
    kill_everywhere(&p, "repair", |base, engine| {
        assert_eq!(reasons(engine, &p.root), ["new 1", "new 0"]);
        let all = VerifyOptions { read_data: true, project: None };
        let verified = engine.verify(&all, &NoProgress).unwrap();
        assert!(verified.is_whole(), "{verified:?}");
        Repository::at(base.join("store")).fsck();
    });
}
