//! Sessions are deleted or archived by a process that is killed at every call: what has a row has its files,
//! and after the next run what has none has no files either, and at most one archive.

use std::path::Path;

use herma_testkit::faults::{Fault, Faults, Status};
use herma_testkit::hermes::sessions::HermesSessions;
use herma_testkit::{Bounded, TestEnv, faults};

use super::copy::copy;
use super::test_env;

/// Sessions that are old enough to go, and those that are not.
pub(super) const OLD: [&str; 4] = ["job", "job_2", "20250101_120000_abcdef", "a*"];
pub(super) const KEPT: [&str; 3] = ["job_3", "active", "ab"];

pub(super) fn prepare(env: &TestEnv) -> HermesSessions {
    let home = HermesSessions::new(&env.home());
    for id in OLD {
        home.add(id, 1000.0, Some(2000.0), &[1500.0, 1600.0]);
        home.add_files(id);
    }
    for id in KEPT {
        let ended = (id != "active").then_some(4e9);
        home.add(id, 1000.0, ended, &[1500.0]);
        home.add_files(id);
    }
    home.sql("UPDATE sessions SET parent_session_id = 'job' WHERE id = 'active'");
    home.write("sessions.json", r#"{"a": {"session_id": "job"}, "b": {"session_id": "ab"}}"#);
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    home
}

/// Has every session all its files, or, if it is gone, none?
#[track_caller]
pub(super) fn assert_consistent(home: &HermesSessions, gone_have_none: bool) {
    home.assert_sound();
    let (ids, files) = (home.ids(), home.files());
    for id in KEPT {
        assert!(ids.iter().any(|known| known == id), "{id} stays");
    }
    for id in OLD.into_iter().chain(KEPT) {
        let dump = format!("request_dump_{id}_20260422_231500_123456.json");
        let names =
            [format!("{id}.json"), format!("{id}.jsonl"), format!("session_{id}.json"), dump];
        let there = names.iter().filter(|name| files.contains(name)).count();
        if ids.iter().any(|known| known == id) {
            assert_eq!(there, names.len(), "{id} has its row and its files");
        } else if gone_have_none {
            assert_eq!(there, 0, "{id} has neither row nor files");
        }
    }
    if gone_have_none && !ids.iter().any(|id| id == "job") {
        let index = std::fs::read_to_string(home.directory().join("sessions.json")).unwrap();
        assert_eq!(index, r#"{ "b": {"session_id": "ab"}}"#);
    }
}

/// What is in the archive: one file for each session that is gone, and nothing else.
#[track_caller]
pub(super) fn assert_archived_once(home: &HermesSessions) {
    let entries = std::fs::read_dir(home.directory().join("archive")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    let mut expected = OLD.map(|id| format!("{id}.jsonl.gz"));
    expected.sort();
    assert_eq!(names, expected);
    let archive = home.directory().join("archive/job.jsonl.gz");
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(archive).bounded_output();
    let text = String::from_utf8(unpacked.unwrap().stdout).unwrap();
    assert!(text.contains("message 1 of job") && text.contains("job.jsonl"));
}

fn die_everywhere(args: &[&str], deleted: usize, and_then: fn(&HermesSessions)) {
    if !faults::available() {
        return;
    }
    let env = test_env();
    let home = prepare(&env);
    let template = tempfile::tempdir().unwrap();
    copy(&env.home(), template.path());
    let project = env.work_dir("project");
    let reset = |template: &Path| copy(template, &env.home());
    reset(template.path());
    let plain = project.faults(args).run(Fault::Count, 0);
    assert_eq!(plain.status, Status::Exited(0), "{plain:?}");
    assert_eq!(home.ids().len(), OLD.len() + KEPT.len() - deleted);
    assert_consistent(&home, true);
    and_then(&home);
    let mut visited = 0;
    for fault in [Fault::Kill, Fault::KillAfter] {
        for n in Faults::positions(plain.count) {
            reset(template.path());
            let outcome = project.faults(args).run(fault, n);
            assert!(!outcome.timed_out, "at {n}: it hung");
            let call = outcome.hit.map_or("-", |call| call.name);
            eprintln!("{fault:?} at {n} ({call})");
            assert_consistent(&home, false);
            let again = project.run(args);
            let code = again.status.code();
            // A session that is gone cannot be deleted again (its id is the beginning of two others); its
            // files are gone by then.
            assert!(matches!(code, Some(0 | 2)), "at {n}: {again}");
            assert_consistent(&home, true);
            let left = home.directory().join(".herma/pending");
            assert!(!left.exists(), "at {n}: something is still pending");
            assert_eq!(home.ids().len(), OLD.len() + KEPT.len() - deleted);
            and_then(&home);
            visited += 1;
        }
    }
    eprintln!("{args:?}: {} calls, {visited} visited", plain.count);
}

#[test]
fn a_prune_of_sessions() {
    die_everywhere(&["sessions", "prune", "--yes"], OLD.len(), |_| ());
}

#[test]
fn a_deletion_of_a_session() {
    die_everywhere(&["sessions", "delete", "--yes", "job"], 1, |_| ());
}

#[test]
fn an_archive_of_sessions() {
    if !super::has_program("gzip") {
        return;
    }
    let args = ["sessions", "archive", "--yes", "--older-than", "90"];
    die_everywhere(&args, OLD.len(), assert_archived_once);
}
