//! Conversations that go back and forward again.

use herma_fs::Dir;
use herma_sessions::rewind::Rewound;
use herma_sessions::{Error, prune, rewind};

use super::{Home, NOW, ago, older_than};

/// All rows of a session with all columns, and the transcript.
fn state(home: &Home, id: &str) -> (Vec<String>, Vec<String>, Vec<u8>) {
    let rows = |sql: &str| -> Vec<String> {
        let connection = home.connect();
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([id], |row| {
            let values = (0..columns).map(|n| row.get_ref(n));
            Ok(format!("{:?}", values.collect::<rusqlite::Result<Vec<_>>>()?))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    let file = home.directory().join(format!("{id}.jsonl"));
    (
        rows("SELECT * FROM messages WHERE session_id = ?1 ORDER BY id"),
        rows("SELECT * FROM sessions WHERE id = ?1"),
        std::fs::read(file).unwrap_or_default(),
    )
}

/// A conversation with two messages and a mark, then five more with all kinds of values.
fn conversation(home: &Home) -> rewind::TranscriptMark {
    home.add("talk", NOW, None, &[NOW, NOW + 1.0]);
    home.add("other", NOW, None, &[NOW + 2.0]);
    home.write("talk.jsonl", "one\ntwo\n");
    let mark = rewind::mark(&home.open(), Some(&home.dir()), "talk").unwrap().unwrap();
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp, tool_calls) VALUES
           ('talk', 'assistant', 'three', 0.1 + 0.2, '[{\"a\": 1}, {\"b\": 2}]'),
           ('other', 'user', 'between', 1, NULL),
           ('talk', 'tool', x'00ff80', 1e300, NULL),
           ('talk', 'tool', CAST(x'66ff6f' AS TEXT), -0.0, NULL),
           ('talk', 'user', 'line' || char(10) || 'break \"quoted\"', 9223372036854775807, '');
         UPDATE sessions SET message_count = 6, tool_call_count = 2 WHERE id = 'talk';",
    );
    home.write("talk.jsonl", "one\ntwo\nthree\n\u{1f600}\n");
    mark
}

#[test]
fn what_was_cut_comes_back_exactly() {
    let (home, keep) = (Home::new(), tempfile::tempdir().unwrap());
    let mark = conversation(&home);
    assert_eq!((mark.messages, mark.jsonl_bytes), (2, Some(8)));
    let (before, other) = (state(&home, "talk"), state(&home, "other"));
    let (mut database, dir) = (home.open(), home.dir());
    let keep = Dir::open(keep.path()).unwrap();
    let cut = |database: &mut _| rewind::rewind(database, Some(&dir), "talk", mark, &keep, "cut");
    let expected = Rewound { messages: 4, jsonl_bytes: 11 };
    assert_eq!(cut(&mut database).unwrap(), expected);
    assert_eq!(cut(&mut database).unwrap(), Rewound::default(), "once is enough");
    let after = state(&home, "talk");
    assert_eq!((after.0.len(), after.2.as_slice()), (2, b"one\ntwo\n".as_slice()));
    assert_eq!(
        home.number("SELECT message_count * 10 + tool_call_count FROM sessions WHERE id = 'talk'"),
        20
    );
    home.assert_sound();

    let back = rewind::bring_back(&mut database, Some(&dir), &keep, "cut").unwrap();
    assert_eq!(back, expected);
    assert_eq!(state(&home, "talk"), before);
    let again = rewind::bring_back(&mut database, Some(&dir), &keep, "cut").unwrap();
    assert_eq!(again, Rewound::default());
    assert_eq!(state(&home, "talk"), before);
    assert_eq!(state(&home, "other"), other);
    home.assert_sound();
}

#[test]
fn an_interrupted_rewind_is_finished_either_way() {
    let (home, keep) = (Home::new(), tempfile::tempdir().unwrap());
    let mark = conversation(&home);
    let before = state(&home, "talk");
    let (mut database, dir) = (home.open(), home.dir());
    let keep = Dir::open(keep.path()).unwrap();
    rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut").unwrap();
    // As after a crash between the rows and the transcript, and in the middle of writing it back.
    for left in ["one\ntwo\nthree\n\u{1f600}\n", "one\ntwo\nthr", "one\ntwo\n"] {
        home.write("talk.jsonl", left);
        rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut").unwrap();
        assert_eq!(state(&home, "talk").2, b"one\ntwo\n");
        home.write("talk.jsonl", left);
        rewind::bring_back(&mut database, Some(&dir), &keep, "cut").unwrap();
        assert_eq!(state(&home, "talk"), before);
        rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut").unwrap();
    }
}

#[test]
fn a_conversation_that_went_on_is_not_overwritten() {
    let (home, keep) = (Home::new(), tempfile::tempdir().unwrap());
    let mark = conversation(&home);
    let (mut database, dir) = (home.open(), home.dir());
    let keep = Dir::open(keep.path()).unwrap();
    rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut").unwrap();
    let refused = |home: &Home, database: &mut _| {
        let now = state(home, "talk");
        let back = rewind::bring_back(database, Some(&dir), &keep, "cut");
        assert!(matches!(back, Err(Error::WentOn { .. })), "{back:?}");
        assert_eq!(state(home, "talk"), now, "nothing was changed");
    };
    home.write("talk.jsonl", "one\ntwo\nsomething else\n");
    refused(&home, &mut database);
    home.write("talk.jsonl", "one\ntwo\n");
    home.sql("INSERT INTO messages (session_id, role, timestamp) VALUES ('talk', 'user', 5)");
    refused(&home, &mut database);
    home.sql("DELETE FROM messages WHERE session_id = 'talk' AND timestamp = 5");
    home.sql("DELETE FROM messages WHERE session_id = 'talk' AND id = 1");
    refused(&home, &mut database);
    let gone = rewind::rewind(&mut database, Some(&dir), "nobody", mark, &keep, "x");
    assert!(matches!(gone, Err(Error::NotFound(_))), "{gone:?}");
}

#[test]
fn a_kept_file_that_was_damaged_is_refused() {
    let (home, temp) = (Home::new(), tempfile::tempdir().unwrap());
    let mark = conversation(&home);
    let (mut database, dir) = (home.open(), home.dir());
    let keep = Dir::open(temp.path()).unwrap();
    rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut").unwrap();
    let path = temp.path().join("cut");
    let whole = std::fs::read(&path).unwrap();
    let now = state(&home, "talk");
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let back = rewind::bring_back(&mut database, Some(&dir), &keep, "cut");
        assert!(matches!(back, Err(Error::BadFile { .. })), "{length}: {back:?}");
    }
    assert_eq!(state(&home, "talk"), now);
}

#[test]
fn an_end_that_was_kept_and_never_cut_is_kept_again_with_what_came_since() {
    let (home, keep) = (Home::new(), tempfile::tempdir().unwrap());
    let mark = conversation(&home);
    let (mut database, dir) = (home.open(), home.dir());
    let keep = Dir::open(keep.path()).unwrap();
    let mut cut = || rewind::rewind(&mut database, Some(&dir), "talk", mark, &keep, "cut");
    cut().unwrap();
    // As after a crash before the cut: the end is kept, the conversation is whole, and goes on.
    rewind::bring_back(&mut home.open(), Some(&dir), &keep, "cut").unwrap();
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp)
         VALUES ('talk', 'user', 'after the crash', 7)",
    );
    let before = state(&home, "talk");
    assert_eq!(cut().unwrap().messages, 5);
    rewind::bring_back(&mut home.open(), Some(&dir), &keep, "cut").unwrap();
    assert_eq!(state(&home, "talk").0, before.0);
}

#[test]
fn what_a_pruning_would_remove_counts_the_files_and_the_ends_of_conversations() {
    let home = Home::new();
    home.add("old", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.write("old.jsonl", "a transcript\n");
    let ends = home.directory().join(rewind::DIRECTORY);
    std::fs::create_dir(&ends).unwrap();
    let end = "{\"session\":\"old\"}\n";
    std::fs::write(ends.join(format!("{}-{}.17", "a".repeat(16), "b".repeat(40))), end).unwrap();
    let plan = prune::plan(&home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    let bytes = "a transcript\n".len() + end.len();
    assert_eq!((plan.sessions, plan.files, plan.bytes), (1, 2, bytes as u64));
    let pruned = prune::prune(&mut home.open(), Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((pruned.sessions, pruned.files, pruned.bytes), (1, 2, bytes as u64));
    assert_eq!(std::fs::read_dir(&ends).unwrap().count(), 0);
}
