//! What may not go, and what must be remembered.

use herma_sessions::{Filter, orphans, prune, reap};

use super::{Home, NOW, ago, older_than};

#[test]
fn a_file_without_a_session_stays_for_a_day() {
    let home = Home::new();
    for name in ["20260422_231500_1a2b3c.jsonl", "20260422_231500_4d5e6f.jsonl"] {
        home.write(name, "{}\n");
    }
    home.touch("20260422_231500_1a2b3c.jsonl", ago(0.9));
    home.touch("20260422_231500_4d5e6f.jsonl", ago(1.1));
    let (database, dir) = (home.open(), home.dir());
    let found = orphans::find(&database, &dir, NOW).unwrap();
    assert_eq!(found.names, [b"20260422_231500_4d5e6f.jsonl"]);
    let removed = orphans::remove(&database, &dir, NOW).unwrap();
    assert_eq!((removed.files, removed.files_left.len()), (1, 0));
    assert_eq!(home.files(), ["20260422_231500_1a2b3c.jsonl"]);
}

#[test]
fn a_file_of_a_chat_that_the_gateway_lists_has_a_session() {
    let home = Home::new();
    home.write("20260422_231500_1a2b3c.jsonl", "{}\n");
    home.write("sessions.json", r#"{"chat": {"session_id": "20260422_231500_1a2b3c"}}"#);
    let (database, dir) = (home.open(), home.dir());
    assert_eq!(orphans::find(&database, &dir, NOW).unwrap().files, 0);
}

#[test]
fn somebody_s_notes_are_no_files_of_a_session() {
    let home = Home::new();
    for name in ["notes.json", "session_notes.json", "request_dump_notes_001.json"] {
        home.write(name, "{}\n");
    }
    let (database, dir) = (home.open(), home.dir());
    let found = orphans::find(&database, &dir, NOW).unwrap();
    assert_eq!(found.names, Vec::<Vec<u8>>::new());
}

/// Whatever a filter asks for, nobody younger than a week is taken for dead.
#[test]
fn a_session_younger_than_the_limit_is_not_ended() {
    let home = Home::new();
    home.add("young", ago(6.0), None, &[ago(6.0)]);
    home.add("old", ago(8.0), None, &[ago(8.0)]);
    home.add("ancient", ago(100.0), None, &[ago(100.0)]);
    let mut database = home.open();
    for (filter, expected) in [(older_than(1.0), 2), (older_than(90.0), 1), (Filter::default(), 2)]
    {
        let found = reap::find(&database, None, &filter, ago(7.0), 9).unwrap();
        assert_eq!(found.count, expected, "{filter:?}");
    }
    assert_eq!(reap::reap(&mut database, None, &older_than(1.0), ago(7.0)).unwrap(), 2);
    assert!(database.session("young").unwrap().unwrap().is_active);
    let ended = home.number("SELECT CAST(ended_at AS INTEGER) FROM sessions WHERE id = 'old'");
    assert_eq!(ended, ago(8.0) as i64, "its age stays right");
}

/// A file that cannot be removed now is removed by the next deletion, although its session has no row any more.
#[test]
fn a_file_that_could_not_be_deleted_is_not_forgotten() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[]);
    home.write("old.jsonl", "{}\n");
    let file = home.directory().join("old.jsonl");
    let Some(obstacle) = Immutable::new(&file) else {
        return herma_testkit::skipped("chattr", "it needs root, and a file system that knows it");
    };
    let (mut database, dir) = (home.open(), home.dir());
    let removed = prune::prune(&mut database, Some(&dir), &older_than(90.0)).unwrap();
    assert_eq!((removed.sessions, removed.files_left.len()), (1, 1));
    drop(obstacle);
    let again = prune::prune(&mut database, Some(&dir), &older_than(90.0)).unwrap();
    assert_eq!((again.files, again.finished), (1, 1), "{again:?}");
    assert!(home.files().is_empty());
}

/// A file that nobody can remove, until it is dropped.
struct Immutable<'f>(&'f std::path::Path);

impl<'f> Immutable<'f> {
    fn new(file: &'f std::path::Path) -> Option<Self> {
        Self::change(file, "+i").then_some(Self(file))
    }

    fn change(file: &std::path::Path, flag: &str) -> bool {
        let mut command = std::process::Command::new("chattr");
        let output = herma_testkit::Bounded::bounded_output(command.arg(flag).arg(file));
        output.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Immutable<'_> {
    fn drop(&mut self) {
        Self::change(self.0, "-i");
    }
}
