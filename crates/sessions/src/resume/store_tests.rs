use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tempfile::TempDir;

use super::*;
use crate::resume::update::Update;

fn now() -> Now {
    Now { time: Timestamp::from_second(1_776_892_500).unwrap(), zone: TimeZone::UTC }
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn store() -> (TempDir, PathBuf, ResumeStore) {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().join("deep/home");
    let store = ResumeStore::create(&home).unwrap();
    (temp, home.join("checkpoints"), store)
}

fn record(task: &str) -> Record {
    let update = Update { task: Some(task.to_owned()), ..Update::default() };
    update.into_record(&id("s"), &now())
}

#[test]
fn defect_61_only_whole_and_plain_ids_are_accepted() {
    for good in ["a", "20260101_120000_abcdef", "A-Z_09", &"x".repeat(200)] {
        assert!(SessionId::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "abc\n", "../x", "a/b", "a.b", "a b", "é", "a\0", &"x".repeat(201)] {
        assert!(SessionId::parse(bad).is_err(), "{bad:?}");
    }
    assert_eq!(
        SessionId::parse("abc\n").unwrap_err().to_string(),
        "Invalid session_id: \"abc\\n\" (must match ^[A-Za-z0-9_-]+$)"
    );
}

#[test]
fn a_record_is_written_read_and_removed() {
    let (_temp, base, store) = store();
    assert_eq!(store.read(&id("s")).unwrap(), None);
    assert_eq!(store.save(&id("s"), &record("one"), &now()).unwrap(), None);
    assert_eq!(store.read(&id("s")).unwrap(), Some(record("one")));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&base), mode(&base.join("s.yaml"))), (0o700, 0o600));
    assert!(store.delete(&id("s")).unwrap());
    assert!(!store.delete(&id("s")).unwrap());
    assert_eq!(store.list().unwrap().len(), 0);
}

#[test]
fn an_update_of_nothing_says_what_hermes_says() {
    let (_temp, _base, store) = store();
    let error = store.update(&id("s"), |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "No checkpoint exists for session s. Use 'write' first.");
}

#[test]
fn updates_at_the_same_time_all_count() {
    let (_temp, base, store) = store();
    store.save(&id("s"), &record("t"), &now()).unwrap();
    let home = base.parent().unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || {
                let store = ResumeStore::open(home).unwrap().unwrap();
                for round in 0..5 {
                    let update = Update {
                        decisions: vec![format!("{worker} {round}").into()],
                        ..Update::default()
                    };
                    store.update(&id("s"), |record| update.apply(record, &now())).unwrap();
                }
            });
        }
    });
    let record = store.read(&id("s")).unwrap().unwrap();
    let decisions = record.get("decisions").and_then(Value::as_list).unwrap();
    assert_eq!(decisions.len(), 40);
}

#[test]
fn defect_61_a_torn_file_is_named_and_never_silently_replaced() {
    let (_temp, base, store) = store();
    let torn: [(&str, &[u8]); 5] = [
        ("s", b"task: 'half of"),
        ("s", b"\xff\xfe"),
        ("s", b""),
        ("s", b"- a\n- b\n"),
        ("s", b"just words\n"),
    ];
    for (session, bytes) in torn {
        std::fs::write(base.join("s.yaml"), bytes).unwrap();
        assert!(store.read(&id(session)).is_err());
        assert!(store.update(&id(session), |_| ()).is_err());
        assert_eq!(std::fs::read(base.join("s.yaml")).unwrap(), bytes);
        let aside = store.save(&id(session), &record("new"), &now()).unwrap();
        let kept = base.join(aside.expect("it is said where the old file is"));
        assert_eq!(std::fs::read(kept).unwrap(), bytes);
        assert_eq!(store.read(&id(session)).unwrap(), Some(record("new")));
    }
    assert_eq!(std::fs::read_dir(base.join("set-aside")).unwrap().count(), 5);
}

#[test]
fn links_directories_and_strange_names_are_somebody_elses() {
    let (temp, base, store) = store();
    let outside = temp.path().join("outside");
    std::fs::write(&outside, "task: secret\n").unwrap();
    symlink(&outside, base.join("link.yaml")).unwrap();
    std::fs::create_dir(base.join("dir.yaml")).unwrap();
    std::fs::write(base.join("two words.yaml"), "task: x\n").unwrap();
    std::fs::write(base.join("tagged.yaml"), "a: !!python/tuple [1]\n").unwrap();
    std::fs::write(base.join("notes.txt"), "x").unwrap();
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 4);
    for listed in &listed {
        let problem = listed.record.as_ref().unwrap_err();
        assert!(!problem.is_useless(), "{}: {problem}", listed.file);
    }
    store.save(&id("link"), &record("mine"), &now()).unwrap();
    assert_eq!(std::fs::read(&outside).unwrap(), b"task: secret\n");
    assert!(store.save(&id("dir"), &record("mine"), &now()).is_err());
}

#[test]
fn what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not() {
    let (_temp, base, store) = store();
    let dead = "tmp-0000000a-1-1-1-1";
    let living = herma_fs::process::TempName::next().to_string();
    std::fs::write(base.join(dead), "half").unwrap();
    std::fs::write(base.join(&living), "half").unwrap();
    store.save(&id("s"), &record("t"), &now()).unwrap();
    assert!(!base.join(dead).exists());
    assert!(base.join(living).exists());
}

#[test]
fn a_record_that_could_not_be_read_again_is_refused() {
    let (_temp, _base, store) = store();
    store.save(&id("s"), &record("t"), &now()).unwrap();
    let mut deep = Value::Null;
    for _ in 0..100 {
        deep = Value::List(vec![deep]);
    }
    for bad in [deep, Value::Number("no: number".to_owned()), "x".repeat(5 << 20).into()] {
        let refused = store.update(&id("s"), |record| record.set("bad", bad));
        assert!(matches!(refused, Err(ResumeError::Unwritable(_))));
        assert_eq!(store.read(&id("s")).unwrap(), Some(record("t")));
    }
}

#[test]
fn a_base_that_is_a_link_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), temp.path().join("checkpoints")).unwrap();
    assert!(ResumeStore::open(temp.path()).is_err());
    assert!(ResumeStore::create(temp.path()).is_err());
    assert!(ResumeStore::open(&temp.path().join("none")).unwrap().is_none());
}
