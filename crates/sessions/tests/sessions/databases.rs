//! Databases nobody should have made: opened, read, refused, and never a panic.

use herma_sessions::db::KNOWN_VERSION;
use herma_sessions::{Access, Database, Error, Filter, delete, list, prune, search, session};
use herma_testkit::random::Random;

use super::{Home, ago, older_than};

#[test]
fn a_newer_schema_is_read_and_not_written() {
    let home = Home::new();
    home.add("a", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.sql("UPDATE schema_version SET version = 27");
    let refused = Database::open(&home.database(), Access::Write);
    assert!(matches!(refused, Err(Error::Newer { version: 27, .. })), "{refused:?}");
    let mut database = home.open_to_read();
    assert!(matches!(database.only_read(), Some(Error::Newer { .. })));
    assert_eq!(list::list(&database, &Filter::default(), None).unwrap().len(), 1);
    assert_eq!(prune::plan(&database, None, &older_than(90.0)).unwrap().sessions, 1);
    let written = prune::prune(&mut database, None, &older_than(90.0));
    assert!(matches!(written, Err(Error::ReadOnly)), "{written:?}");
    home.sql("UPDATE schema_version SET version = 'eleven'");
    assert!(Database::open(&home.database(), Access::Write).is_err());
}

#[test]
fn an_older_schema_lacks_columns_and_works() {
    let home = Home::new();
    home.sql(
        "DROP INDEX idx_sessions_title_unique;
         ALTER TABLE sessions DROP COLUMN title; ALTER TABLE sessions DROP COLUMN model;
         ALTER TABLE messages DROP COLUMN reasoning; UPDATE schema_version SET version = 3;
         ALTER TABLE sessions ADD COLUMN shoe_size REAL; CREATE TABLE mine (x);",
    );
    home.sql("INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('a', 'cli', 1, 2)");
    let mut database = home.open();
    let listed = list::list(&database, &Filter::default(), None).unwrap();
    assert_eq!((listed.len(), &listed[0].title), (1, &None));
    let titled = Filter { title: Some("x".to_owned()), ..Filter::default() };
    assert_eq!(list::count(&database, &titled).unwrap(), 0);
    assert!(session::rename(&mut database, "a", "new").is_err());
    assert_eq!(prune::prune(&mut database, None, &older_than(90.0)).unwrap().sessions, 1);
    assert_eq!(home.number("SELECT COUNT(*) FROM mine"), 0);
}

#[test]
fn what_later_versions_added_goes_with_its_session() {
    let home = Home::new();
    home.sql(
        "ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
         ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
         CREATE TABLE session_model_usage (
           session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
           model TEXT NOT NULL, PRIMARY KEY (session_id, model));
         UPDATE schema_version SET version = 22;
         INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('old', 'cli', 1, 2);
         INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('new', 'cli', 4e9, 4e9);
         INSERT INTO messages (session_id, role, content, timestamp)
           VALUES ('old', 'user', 'some words', 1), ('new', 'user', 'other words', 4e9);
         INSERT INTO session_model_usage VALUES ('old', 'm'), ('new', 'm');",
    );
    let mut database = home.open();
    let pruned = prune::prune(&mut database, None, &older_than(90.0)).unwrap();
    assert_eq!(pruned.sessions, 1);
    assert_eq!(home.number("SELECT COUNT(*) FROM session_model_usage"), 1);
    assert_eq!(home.number("SELECT COUNT(*) FROM messages WHERE active = 1"), 1);
    home.assert_sound();
}

/// What August 2026's Hermes has more: an index over the messages themselves, prompts that sessions share, a time
/// of the last activity, pins.
const AUGUST_2026: &str = "
    DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_delete; DROP TRIGGER messages_fts_update;
    DROP TRIGGER messages_fts_trigram_insert; DROP TRIGGER messages_fts_trigram_delete;
    DROP TRIGGER messages_fts_trigram_update; DROP TABLE messages_fts; DROP TABLE messages_fts_trigram;
    CREATE VIEW indexed AS SELECT id, substr(content, 1, 8192) AS content, tool_name, tool_calls FROM messages;
    CREATE VIRTUAL TABLE messages_fts USING fts5(content, tool_name, tool_calls, content='indexed', content_rowid='id');
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
      INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
      VALUES (new.id, substr(new.content, 1, 8192), new.tool_name, new.tool_calls); END;
    CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
      INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
      VALUES ('delete', old.id, substr(old.content, 1, 8192), old.tool_name, old.tool_calls); END;
    CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
    ALTER TABLE sessions ADD COLUMN system_prompt_hash TEXT REFERENCES system_prompts(hash);
    ALTER TABLE sessions ADD COLUMN last_activity_at REAL;
    ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
    UPDATE schema_version SET version = 26;";

#[test]
fn a_database_of_august_2026_is_read_searched_and_pruned() {
    let home = Home::new();
    home.sql(AUGUST_2026);
    home.sql(
        "INSERT INTO system_prompts VALUES ('h1', 'only of the old one'), ('h2', 'of two');
         INSERT INTO sessions (id, source, started_at, ended_at, system_prompt_hash, last_activity_at, pinned) VALUES
           ('old', 'cli', 1, 2, 'h1', 2, 0), ('pinned', 'cli', 1, 2, 'h2', 2, 1),
           ('busy', 'cli', 1, 2, 'h2', 4e9, 0);
         INSERT INTO messages (session_id, role, content, tool_name, timestamp) VALUES
           ('old', 'user', 'some words', NULL, 1), ('pinned', 'tool', 'other words', 'bash', 1);",
    );
    let mut database = home.open();
    assert_eq!(database.version(), Some(KNOWN_VERSION));
    let found = search::search(&database, "some words", &Filter::default(), 9).unwrap();
    assert_eq!(found.len(), 1);
    let pruned = prune::prune(&mut database, None, &older_than(90.0)).unwrap();
    assert_eq!(pruned.sessions, 1);
    let left = "SELECT COUNT(*) FROM sessions WHERE id IN ('pinned', 'busy')";
    assert_eq!(home.number(left), 2);
    assert_eq!(home.number("SELECT COUNT(*) FROM system_prompts WHERE hash = 'h1'"), 0);
    assert_eq!(home.number("SELECT COUNT(*) FROM system_prompts WHERE hash = 'h2'"), 1);
    // The index compares itself with the messages it is made of, and fails if they differ.
    home.sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)");
    assert!(delete::delete(&mut database, None, "pinned").is_ok());
    assert_eq!(home.number("SELECT COUNT(*) FROM messages"), 0);
    home.sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)");
}

#[test]
fn an_index_that_only_hermes_can_write_keeps_the_database_from_being_changed() {
    let home = Home::new();
    home.add("a", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.sql("CREATE TABLE messages_fts_cjk (content)");
    let refused = Database::open(&home.database(), Access::Write);
    assert!(matches!(refused, Err(Error::ForeignIndex(_))), "{refused:?}");
    let database = home.open_to_read();
    assert_eq!(list::count(&database, &Filter::default()).unwrap(), 1);
}

#[test]
fn where_there_is_no_database_none_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    for access in [Access::Read, Access::Write] {
        let none = Database::open(&path, access);
        assert!(matches!(none, Err(Error::NoDatabase(_))), "{none:?}");
    }
    assert!(!path.exists());
}

#[test]
fn what_is_no_session_database_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    for content in [b"not a database, but long enough to look at twice".to_vec(), vec![7; 8192]] {
        std::fs::write(&path, content).unwrap();
        for access in [Access::Read, Access::Write] {
            let refused = Database::open(&path, access);
            assert!(matches!(refused, Err(Error::NotADatabase(_))), "{refused:?}");
        }
    }
    std::fs::write(&path, "").unwrap();
    let refused = Database::open(&path, Access::Write);
    assert!(matches!(refused, Err(Error::NotSessions { .. })), "{refused:?}");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE VIEW sessions AS WITH RECURSIVE n(id, started_at, ended_at) AS
               (SELECT 1, 1, 1 UNION ALL SELECT id + 1, 1, 1 FROM n) SELECT * FROM n;
             CREATE TABLE messages (id INTEGER, session_id, timestamp);",
        )
        .unwrap();
    let refused = Database::open(&path, Access::Read);
    assert!(matches!(refused, Err(Error::NotSessions { .. })), "a view may never end");
    assert!(Database::open(temp.path(), Access::Read).is_err(), "a directory");
}

#[test]
fn values_of_any_type_are_read_and_never_taken_for_old() {
    let home = Home::new();
    home.sql(
        "INSERT INTO sessions (id, source, started_at, ended_at, title, message_count, model) VALUES
           ('text', 'cli', 'yesterday', 'today', x'ff00', 'many', 7),
           (x'0102', 'cli', 1, 1, 2.5, NULL, x'ff'),
           (CAST(x'61ff62' AS TEXT), 'cli', 1, 1, NULL, 0, NULL),
           ('big', zeroblob(3000000), 1e308, 1e308, zeroblob(5000000), 1, NULL);
         INSERT INTO messages (session_id, role, content, timestamp) VALUES
           ('text', x'00', 17, 'noon'), ('big', 'user', zeroblob(30000000), 1);",
    );
    let mut database = home.open();
    assert_eq!(list::list(&database, &Filter::default(), None).unwrap().len(), 4);
    let pruned = prune::prune(&mut database, Some(&home.dir()), &older_than(90.0)).unwrap();
    assert_eq!((pruned.sessions, pruned.kept.len()), (0, 2), "{pruned:?}");
    let mut out = Vec::new();
    let exported = herma_sessions::export::export(&database, &Filter::one("text"), &mut out);
    assert_eq!(exported.unwrap(), 1);
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    search::search(&database, "noon", &Filter::default(), 10).unwrap();
    home.assert_sound();
}

#[test]
fn triggers_that_call_what_nobody_knows_are_an_error() {
    let home = Home::new();
    home.add("a", ago(100.0), Some(ago(100.0)), &[ago(100.0)]);
    home.add_files("a");
    home.sql("CREATE TRIGGER evil AFTER DELETE ON sessions BEGIN SELECT launch_missiles(); END;");
    let failed = delete::delete(&mut home.open(), Some(&home.dir()), "a");
    assert!(matches!(failed, Err(Error::Sql(_))), "{failed:?}");
    assert_eq!((home.ids().len(), home.files().len()), (1, 5), "rows and files stay");
    home.sql("DROP TRIGGER evil");
    delete::delete(&mut home.open(), Some(&home.dir()), "a").unwrap();
    assert_eq!((home.ids().len(), home.files().len()), (0, 0));
    home.assert_sound();
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_panic() {
    let home = Home::new();
    for n in 0..40 {
        home.add(&format!("s{n}"), ago(100.0), Some(ago(100.0)), &[ago(100.0); 5]);
    }
    home.sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    let whole = std::fs::read(home.database()).unwrap();
    let mut random = Random::new(5);
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..20 {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        std::fs::write(home.database(), &bytes).unwrap();
        if let Ok(mut database) = Database::open(&home.database(), Access::Write) {
            let _ = list::list(&database, &Filter::default(), None);
            let _ = search::search(&database, "message", &Filter::default(), 10);
            let _ = prune::prune(&mut database, Some(&home.dir()), &older_than(90.0));
        }
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(home.directory().join(format!("../state.db{suffix}")));
        }
    }
}
