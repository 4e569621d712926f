//! One test for each defect of the original, named after what used to break.

use herma_sessions::auto::AutoSettings;
use herma_sessions::vacuum::Vacuumed;
use herma_sessions::{Error, Filter, auto, delete, orphans, prune, reap, vacuum};

use super::{Home, NOW, ago, older_than};

#[test]
fn defect_53_the_snapshot_the_agent_writes_is_deleted_too() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.add("new", ago(1.0), Some(ago(1.0)), &[ago(1.0)]);
    let names = home.add_files("old");
    let kept = home.add_files("new");
    let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((removed.sessions, removed.messages), (1, 1));
    assert_eq!(removed.files, names.len() as u64);
    assert_eq!(home.files(), super::defects::sorted(kept));
    assert_eq!(home.ids(), ["new"]);
    home.assert_sound();
}

pub(super) fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn defect_54_a_session_with_a_message_today_is_not_old() {
    let home = Home::new();
    home.add("long", ago(91.0), Some(ago(91.0)), &[ago(91.0), NOW]);
    home.add("ended-late", ago(200.0), Some(ago(2.0)), &[]);
    home.add("old", ago(91.0), Some(ago(91.0)), &[ago(90.5)]);
    prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!(home.ids(), ["ended-late", "long"]);
    home.assert_sound();
}

#[test]
fn defect_55_sessions_of_crashed_processes_can_be_ended() {
    let home = Home::new();
    home.add("crashed", ago(1000.0), None, &[ago(999.0)]);
    home.add("waiting-chat", ago(1000.0), None, &[ago(999.0)]);
    home.add("running", ago(1000.0), None, &[ago(0.1)]);
    home.write("sessions.json", r#"{"tg:1": {"session_id": "waiting-chat"}}"#);
    let (mut database, dir) = (home.open(), home.dir());
    let all = Filter::default();
    prune::prune(&mut database, Some(&dir), &older_than(90.0)).unwrap();
    assert_eq!(home.ids().len(), 3, "active sessions are never pruned");

    let found = reap::find(&database, Some(&dir), &all, ago(7.0), 10).unwrap();
    let found: Vec<_> = found.shown.iter().map(|session| &session.id).collect();
    assert_eq!(found, ["crashed"]);
    assert_eq!(reap::reap(&mut database, Some(&dir), &all, ago(7.0)).unwrap(), 1);
    let ended = database.session("crashed").unwrap().unwrap();
    assert_eq!(ended.ended_at, Some(ago(999.0)), "its age stays right");
    assert_eq!(ended.end_reason.as_deref(), Some(reap::END_REASON));
    prune::prune(&mut database, Some(&dir), &older_than(90.0)).unwrap();
    assert_eq!(home.ids(), ["running", "waiting-chat"]);
    home.assert_sound();
}

#[test]
fn defect_56_files_of_other_sessions_stay() {
    let home = Home::new();
    let outside = home.directory().join("../victim.json");
    std::fs::copy(home.database(), &outside).unwrap();
    for id in ["job", "a*", "[0-9]", "../victim", "/etc/passwd", "x\u{1b}[2J", "sessions"] {
        home.add(id, ago(100.0), Some(ago(100.0)), &[]);
    }
    for id in ["job_2", "ab", "7"] {
        home.add(id, NOW, None, &[]);
    }
    let mut kept: Vec<_> = ["job_2", "ab", "7"].map(|id| home.add_files(id)).concat();
    home.add_files("job");
    home.write("sessions.json", "{}");
    kept.push("sessions.json".to_owned());
    home.write("a*.json", "literally");
    std::os::unix::fs::symlink(&outside, home.directory().join("job.jsonl.link")).unwrap();
    kept.push("job.jsonl.link".to_owned());
    prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!(home.files(), sorted(kept));
    assert!(outside.exists());
    assert_eq!(home.ids(), ["7", "ab", "job_2"]);
    home.assert_sound();
}

#[test]
fn defect_57_any_number_of_sessions_is_pruned() {
    let home = Home::new();
    home.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
         INSERT INTO sessions (id, source, started_at, ended_at)
         SELECT printf('s%06d', i), 'cli', {0}, {0} FROM n;
         INSERT INTO messages (session_id, role, content, timestamp)
         SELECT id, 'user', 'hello ' || id, {0} FROM sessions WHERE rowid <= 5000;",
        ago(100.0)
    ));
    for n in 1..=5000 {
        home.write(&format!("session_s{n:06}.json"), "{}");
    }
    home.add("kept", NOW, Some(NOW), &[NOW]);
    home.write("kept.json", "{}");
    let plan = prune::plan(&home.open_to_read(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((plan.sessions, plan.messages, plan.files), (40_000, 5000, 5000));
    let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!(removed.sessions, plan.sessions);
    assert_eq!((removed.messages, removed.files), (plan.messages, plan.files));
    assert_eq!(home.ids(), ["kept"]);
    assert_eq!(home.files(), ["kept.json"]);
    home.assert_sound();
}

#[test]
fn defect_58_a_crash_between_rows_and_files_is_finished_by_the_next_run() {
    let home = Home::new();
    for id in ["gone", "back", "other"] {
        home.add(id, ago(1.0), Some(ago(1.0)), &[]);
        home.add_files(id);
    }
    home.write("sessions.json", r#"{"a": {"session_id": "gone"}, "b": {"session_id": "other"}}"#);
    // As a deletion of two leaves it that was killed after the rows of one.
    home.sql("DELETE FROM sessions WHERE id = 'gone'");
    let place = home.directory().join(".herma");
    std::fs::create_dir(&place).unwrap();
    let list = "herma pending deletions 1\nid gone\nid back\nend 2\n";
    std::fs::write(place.join("pending"), list).unwrap();
    let finished = delete::finish(&mut home.open(), Some(&home.dir())).unwrap();
    assert_eq!((finished.finished, finished.files), (1, 5));
    assert!(!place.join("pending").exists());
    assert!(home.files().iter().all(|name| !name.contains("gone")));
    assert_eq!(home.files().len(), 11);
    let index = std::fs::read_to_string(home.directory().join("sessions.json")).unwrap();
    assert_eq!(index, r#"{ "b": {"session_id": "other"}}"#);
    assert_eq!(home.ids(), ["back", "other"]);
}

#[test]
fn defect_58_files_whose_row_is_gone_are_found_and_removed() {
    let home = Home::new();
    let known = "20260101_120000_abcdef";
    home.add(known, NOW, None, &[]);
    home.add_files(known);
    home.add_files("20260101_120000_999999");
    home.write("notes.json", "mine");
    home.write("sessions.json", r#"{"a": {"session_id": "20260202_120000_aaaaaa"}}"#);
    home.write("20260202_120000_aaaaaa.jsonl", "a chat without a row");
    let before = home.files().len();
    let later = 90_000.0;
    let database = home.open();
    let young = orphans::find(&database, &home.dir(), later - 90_000.0).unwrap();
    assert_eq!(young.files, 0, "what was just written may get its row yet");
    let found = orphans::find(&database, &home.dir(), later).unwrap();
    assert_eq!(found.files, 5, "{:?}", found.names);
    let removed = orphans::remove(&database, &home.dir(), later).unwrap();
    assert_eq!((removed.files, removed.bytes), (5, found.bytes));
    assert_eq!(home.files().len(), before - 5);
}

#[test]
fn defect_59_the_database_is_not_rewritten_for_every_prune() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[]);
    home.add("recent", ago(1.0), Some(ago(1.0)), &[]);
    home.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO messages (session_id, role, content, timestamp)
         SELECT 'old', 'user', hex(randomblob(1500)), {} FROM n;",
        ago(100.0)
    ));
    let (mut database, dir) = (home.open(), home.dir());
    let settings = AutoSettings::default();
    // A reader keeps the log from being emptied, and a rewrite would double the file.
    let reader = home.connect();
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM sessions;").unwrap();
    let auto = auto::prune_and_vacuum(&mut database, Some(&dir), &settings, NOW).unwrap();
    assert_eq!((auto.skipped, auto.removed.sessions, auto.vacuumed), (false, 1, false));
    assert_eq!(auto.notes.len(), 1, "{:?}", auto.notes);
    drop(reader);
    let Vacuumed::Yes { before, after } = vacuum::vacuum(&mut database, 30.0, NOW).unwrap() else {
        panic!("it pays");
    };
    assert!(after < before / 2, "{before} {after}");
    assert_eq!(vacuum::vacuum(&mut database, 30.0, NOW).unwrap(), Vacuumed::NotNeeded);
    let again = auto::prune_and_vacuum(&mut database, Some(&dir), &settings, NOW + 60.0).unwrap();
    assert!(again.skipped);
    home.assert_sound();
}

#[test]
fn defect_47_a_mark_in_the_future_does_not_stop_cleaning() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[]);
    home.add("recent", ago(1.0), Some(ago(1.0)), &[]);
    for mark in ["99999999999", "garbage", "NaN"] {
        home.sql(&format!(
            "INSERT OR REPLACE INTO state_meta VALUES ('last_auto_prune', '{mark}')"
        ));
        let settings = AutoSettings::default();
        let auto = auto::prune_and_vacuum(&mut home.open(), None, &settings, NOW).unwrap();
        assert!(!auto.skipped, "{mark}");
    }
    assert_eq!(home.ids(), ["recent"]);
    assert_eq!(
        home.number("SELECT CAST(value AS INTEGER) FROM state_meta WHERE key = 'last_auto_prune'"),
        NOW as i64
    );
}

#[test]
fn a_clock_that_runs_ahead_prunes_nothing_by_itself() {
    let home = Home::new();
    home.add("yesterday", ago(1.0), Some(ago(1.0)), &[]);
    let year_ahead = NOW + 366.0 * 86_400.0;
    let settings = AutoSettings::default();
    let auto = auto::prune_and_vacuum(&mut home.open(), None, &settings, year_ahead).unwrap();
    assert_eq!((auto.removed.sessions, auto.notes.len()), (0, 1));
}

#[test]
fn children_become_orphans_and_are_not_deleted() {
    let home = Home::new();
    home.add("parent", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.add("child", ago(100.0), None, &[]);
    home.sql("UPDATE sessions SET parent_session_id = 'parent' WHERE id = 'child'");
    home.sql("INSERT INTO telegram_dm_topic_bindings VALUES ('c', 'parent')");
    let removed = delete::delete(&mut home.open(), Some(&home.dir()), "parent").unwrap();
    assert_eq!((removed.sessions, removed.messages), (1, 1));
    let child = home.open().session("child").unwrap().unwrap();
    assert_eq!(child.parent, None);
    assert_eq!(home.number("SELECT COUNT(*) FROM telegram_dm_topic_bindings"), 0);
    home.assert_sound();
}

#[test]
fn an_active_session_is_not_deleted() {
    let home = Home::new();
    home.add("active", ago(100.0), None, &[]);
    home.add_files("active");
    let refused = delete::delete(&mut home.open(), Some(&home.dir()), "active");
    assert!(matches!(refused, Err(Error::Active(_))), "{refused:?}");
    let unknown = delete::delete(&mut home.open(), Some(&home.dir()), "activ");
    assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
    assert_eq!(home.files().len(), 5);
}

#[test]
fn what_an_unknown_table_still_needs_stays_and_is_named() {
    let home = Home::new();
    home.sql("CREATE TABLE bills (session_id TEXT REFERENCES sessions(id))");
    for id in ["a", "billed", "c"] {
        home.add(id, ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
        home.add_files(id);
    }
    home.sql("INSERT INTO bills VALUES ('billed')");
    let removed = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!(removed.sessions, 2);
    let kept: Vec<_> = removed.kept.iter().map(|kept| kept.id.as_str()).collect();
    assert_eq!(kept, ["billed"]);
    assert_eq!((home.ids(), home.files().len()), (vec!["billed".to_owned()], 5));
    home.assert_sound();
}
