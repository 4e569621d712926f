//! Damaged metadata: one test per defect of the original.

use std::path::{Path, PathBuf};

use herma_core::VerifyOptions;
use herma_core::cleanup::{CleanRequest, Limits, Orphans};
use herma_core::engine::NoProgress;

use super::project::TestProject;
use super::upkeep::{DAY, HandClock, keeping_twenty, make, reasons_at, save_at, with_clock};

/// What may stand where a project's record should.
const RECORDS: [&[u8]; 16] = [
    b"",
    b"null",
    b"[]",
    b"\"text\"",
    b"42",
    b"{",
    b"{\"workdir\": \"/tm",
    b"{\"workdir\": 5, \"last_touch\": 1.0}",
    b"{\"workdir\": [\"/a\"], \"last_touch\": {}}",
    b"{\"workdir\": \"relative\", \"last_touch\": \"yesterday\"}",
    b"{\"workdir\": \"/x\\u0000y\", \"last_touch\": NaN}",
    b"{\"last_touch\": -Infinity, \"created_at\": true}",
    b"{\"last_touch\": 1e999, \"workdir_parent_dev\": -1, \"workdir_parent_ino\": \"x\"}",
    b"\xff\xfe\x00\x01",
    b"{\"workdir\": \"/a\"}{\"workdir\": \"/b\"}",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

fn scene() -> (TestProject, std::sync::Arc<HandClock>, PathBuf, PathBuf) {
    let (p, clock) = with_clock(keeping_twenty());
    let hurt = make(&p, "hurt");
    for number in 0..3 {
        clock.advance(60);
        std::fs::write(hurt.join("a"), number.to_string()).unwrap();
        save_at(&p, &hurt, &number.to_string());
        p.write("a", number.to_string());
        p.save(&number.to_string());
    }
    let id = p.engine.project(&hurt).unwrap().id().to_string();
    let record = p.store().join(format!("projects/{id}.json"));
    (p, clock, hurt, record)
}

/// Everything that looks at all projects still works, and costs no checkpoint.
#[track_caller]
fn upkeep_works(p: &TestProject, clock: &HandClock, hurt: &Path, scene: &str) {
    let kept = |what: &str| {
        assert_eq!(reasons_at(p, hurt), ["0", "1", "2"], "{scene}: {what}");
        assert_eq!(p.list().len(), 3, "{scene}: {what}");
    };
    clock.advance(2 * DAY);
    let maintained = p.engine.maintain(&NoProgress).unwrap();
    assert!(maintained.is_some(), "{scene}");
    kept("maintain");
    let request = CleanRequest {
        limits: Limits {
            orphans: Orphans::All,
            max_snapshots: Some(20),
            retention_days: Some(7),
            ..Limits::default()
        },
        attended: true,
        clock_is_right: false,
    };
    p.engine.clean(&request, &NoProgress).unwrap();
    kept("clean");
    let id = p.engine.project(hurt).unwrap().id().clone();
    let status = p.engine.status(true, &NoProgress).unwrap();
    let shown = status.projects.iter().find(|project| project.id == id);
    assert_eq!(shown.unwrap().checkpoints, 3, "{scene}: status");
    let known = p.engine.projects().unwrap();
    assert!(known.iter().any(|k| k.id == id && k.checkpoints == 3));
    p.engine.verify(&VerifyOptions::default(), &NoProgress).unwrap();
    let marker = p.home().join("checkpoints/.last_prune");
    assert!(marker.exists(), "{scene}: maintenance counts as done");
}

// HERMES defect 46: one odd record stopped maintenance for all projects, or lost a project for ever.
#[test]
fn a_damaged_record_stops_nothing_and_repair_puts_it_right() {
    for bytes in RECORDS {
        let (p, clock, hurt, record) = scene();
        std::fs::write(&record, bytes).unwrap();
        let scene = bytes.escape_ascii().to_string();
        upkeep_works(&p, &clock, &hurt, &scene);
        p.engine.repair(&NoProgress).unwrap();
        let verified = p.engine.verify(&VerifyOptions::default(), &NoProgress);
        assert_eq!(verified.unwrap().metadata, [], "{scene}");
        // The next save knows the project again, whatever was lost.
        std::fs::write(hurt.join("a"), "new").unwrap();
        save_at(&p, &hurt, "new");
        let known = p.engine.projects().unwrap();
        assert!(known.iter().any(|k| k.workdir.as_deref() == Some(&hurt)));
        assert_eq!(reasons_at(&p, &hurt).len(), 4, "{scene}");
        p.fsck_but_dangling();
    }
}

/// Replaces a path with something that is no file.
fn replace(path: &Path, with: &str) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else {
        // There may be none.
        let _ = std::fs::remove_file(path);
    }
    match with {
        "directory" => std::fs::create_dir(path).unwrap(),
        "full directory" => std::fs::create_dir_all(path.join("sub")).unwrap(),
        "link" => std::os::unix::fs::symlink("/etc/hostname", path).unwrap(),
        "loop" => std::os::unix::fs::symlink(path, path).unwrap(),
        "file" => std::fs::write(path, "x").unwrap(),
        "pipe" => {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }
        other => panic!("{other}"),
    }
}

// HERMES defect 46
#[test]
fn what_is_no_file_in_the_place_of_a_record_stops_nothing() {
    for with in ["directory", "full directory", "link", "loop", "pipe"] {
        let (p, clock, hurt, record) = scene();
        replace(&record, with);
        upkeep_works(&p, &clock, &hurt, with);
        p.engine.repair(&NoProgress).unwrap();
        upkeep_works(&p, &clock, &hurt, with);
    }
}

// HERMES defect 46: the records Herma keeps beside them are no better protected.
#[test]
fn damaged_records_of_undo_and_cleaning_stop_nothing() {
    for file in ["undo", "stat-cache", "../../cleaning"] {
        for bytes in RECORDS {
            let (p, clock, hurt, _) = scene();
            let id = p.engine.project(&hurt).unwrap().id().to_string();
            let path = p.store().join(format!("herma/projects/{id}/{file}"));
            std::fs::write(&path, bytes).unwrap();
            let scene = format!("{file}: {}", bytes.escape_ascii());
            upkeep_works(&p, &clock, &hurt, &scene);
        }
        for with in ["directory", "link", "pipe"] {
            let (p, clock, hurt, _) = scene();
            let id = p.engine.project(&hurt).unwrap().id().to_string();
            replace(&p.store().join(format!("herma/projects/{id}/{file}")), with);
            upkeep_works(&p, &clock, &hurt, &format!("{file}: {with}"));
        }
    }
}

// HERMES defect 46
#[test]
fn a_damaged_journal_stops_no_cleaning() {
    let (p, clock, hurt, _) = scene();
    let id = p.engine.project(&hurt).unwrap().id().to_string();
    let path = p.store().join(format!("herma/projects/{id}/journal"));
    std::fs::write(&path, "torn").unwrap();
    for number in 3..30 {
        p.write("a", number.to_string());
        p.save(&number.to_string());
    }
    clock.advance(2 * DAY);
    let cleaned = p.engine.maintain(&NoProgress).unwrap().unwrap();
    assert_eq!(p.list().len(), 20, "{cleaned:?}");
    assert_eq!(reasons_at(&p, &hurt), ["0", "1", "2"]);
}

// HERMES defect 35: the excludes of a store made long ago were never refreshed.
#[test]
fn an_old_list_of_excludes_is_refreshed_by_the_next_save() {
    let (p, clock, _, _) = scene();
    let exclude = p.store().join("info/exclude");
    for is_repaired in [false, true] {
        std::fs::write(&exclude, "mine/\n").unwrap();
        clock.advance(60);
        if is_repaired {
            p.engine.repair(&NoProgress).unwrap();
        } else {
            // No Herma of this version has worked in it yet.
            std::fs::remove_file(p.store().join("herma/format")).unwrap();
            p.write("a", "changed");
            p.save("again");
        }
        let text = std::fs::read_to_string(&exclude).unwrap();
        for pattern in [".env", "node_modules/", "mine/"] {
            assert!(text.lines().any(|line| line == pattern), "{pattern}");
        }
        assert!(text.ends_with("mine/\n"), "a person's lines have the last word");
    }
}
