//! A session database as the original makes it at schema version 11, and the files beside it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

/// The tables, indexes and triggers, stated here in the test's own words.
const DDL: &str = "
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (11);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    user_id TEXT,
    model TEXT,
    model_config TEXT,
    system_prompt TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0,
    billing_provider TEXT,
    billing_base_url TEXT,
    billing_mode TEXT,
    estimated_cost_usd REAL,
    actual_cost_usd REAL,
    cost_status TEXT,
    cost_source TEXT,
    pricing_version TEXT,
    title TEXT,
    api_call_count INTEGER DEFAULT 0,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT,
    reasoning_content TEXT,
    reasoning_details TEXT,
    codex_reasoning_items TEXT,
    codex_message_items TEXT
);
CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE telegram_dm_topic_bindings (
    chat_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX idx_sessions_source ON sessions(source);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_sessions_started ON sessions(started_at DESC);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;
CREATE VIRTUAL TABLE messages_fts USING fts5(content);
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tokenize='trigram');
";

fn triggers(index: &str) -> String {
    let words = "COALESCE(new.content,'') || ' ' || COALESCE(new.tool_name,'') || ' ' || \
                 COALESCE(new.tool_calls,'')";
    format!(
        "CREATE TRIGGER {index}_insert AFTER INSERT ON messages BEGIN
           INSERT INTO {index}(rowid, content) VALUES (new.id, {words}); END;
         CREATE TRIGGER {index}_delete AFTER DELETE ON messages BEGIN
           DELETE FROM {index} WHERE rowid = old.id; END;
         CREATE TRIGGER {index}_update AFTER UPDATE ON messages BEGIN
           DELETE FROM {index} WHERE rowid = old.id;
           INSERT INTO {index}(rowid, content) VALUES (new.id, {words}); END;"
    )
}

/// A home with `state.db` and `sessions/`.
#[derive(Debug)]
pub struct HermesSessions {
    home: PathBuf,
}

impl HermesSessions {
    /// Makes an empty database and an empty directory in `home`, which is made if need be.
    pub fn new(home: &Path) -> Self {
        std::fs::create_dir_all(home.join("sessions")).expect("a directory");
        let made = Self::at(home);
        let connection = made.connect();
        connection.execute_batch(DDL).expect("the tables");
        for index in ["messages_fts", "messages_fts_trigram"] {
            connection.execute_batch(&triggers(index)).expect("triggers");
        }
        made
    }

    /// The database and directory that are in `home` already.
    pub fn at(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.home.join("state.db")
    }

    /// The directory with the transcripts.
    pub fn directory(&self) -> PathBuf {
        self.home.join("sessions")
    }

    /// A connection as the original has it.
    pub fn connect(&self) -> Connection {
        let connection = Connection::open(self.database()).expect("a database");
        connection.busy_timeout(std::time::Duration::from_secs(1)).expect("a timeout");
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;")
            .expect("the settings");
        connection
    }

    /// Runs statements.
    pub fn sql(&self, statements: &str) {
        self.connect().execute_batch(statements).expect("the statements run");
    }

    /// Adds a session that began and, if it did, ended at these times, with messages at these times.
    pub fn add(&self, id: &str, started: f64, ended: Option<f64>, messages: &[f64]) {
        let mut connection = self.connect();
        let transaction = connection.transaction().expect("a transaction");
        let sql = "INSERT INTO sessions (id, source, model, started_at, ended_at, end_reason,
                   message_count) VALUES (?1, 'cli', 'model-1', ?2, ?3, ?4, ?5)";
        let reason = ended.map(|_| "cli_close");
        let count = messages.len() as i64;
        transaction.execute(sql, params![id, started, ended, reason, count]).expect("a session");
        for (n, time) in messages.iter().enumerate() {
            let sql = "INSERT INTO messages (session_id, role, content, timestamp)
                       VALUES (?1, 'user', ?2, ?3)";
            transaction
                .execute(sql, params![id, format!("message {n} of {id}"), time])
                .expect("a message");
        }
        transaction.commit().expect("a commit");
    }

    /// Adds a message as SQLite 3.40 leaves it, which makes trigrams only of what comes before the
    /// first NUL.
    pub fn add_message_cut_at_nul(&self, session: &str, text: &str, time: f64) {
        let mut connection = self.connect();
        let transaction = connection.transaction().expect("a transaction");
        transaction.execute_batch("DROP TRIGGER messages_fts_trigram_insert").expect("no trigger");
        let sql = "INSERT INTO messages (session_id, role, content, timestamp)
                   VALUES (?1, 'user', ?2, ?3)";
        transaction.execute(sql, params![session, text, time]).expect("a message");
        let id = transaction.last_insert_rowid();
        let beginning = text.split('\0').next().unwrap_or_default();
        transaction
            .execute(
                "INSERT INTO messages_fts_trigram (rowid, content) VALUES (?1, ?2)",
                params![id, beginning],
            )
            .expect("an entry of the index");
        transaction
            .execute(
                "UPDATE messages_fts_trigram_content SET c0 = ?2 || '  ' WHERE id = ?1",
                params![id, text],
            )
            .expect("its text");
        let insert = triggers("messages_fts_trigram");
        let insert = insert.split_inclusive("END;").next().unwrap_or_default();
        transaction.execute_batch(insert).expect("the trigger");
        transaction.commit().expect("a commit");
    }

    /// Writes the files the original and its gateway write for a session.
    pub fn add_files(&self, id: &str) -> Vec<String> {
        let names = vec![
            format!("{id}.json"),
            format!("{id}.jsonl"),
            format!("session_{id}.json"),
            format!("request_dump_{id}_20260422_231500_123456.json"),
            format!("request_dump_{id}_001.json"),
        ];
        for name in &names {
            self.write(name, &format!("{{\"file\": \"{name}\"}}\n"));
        }
        names
    }

    /// Writes one file beside the transcripts, as if nobody had touched it since 1970.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory().join(name), text).expect("a file");
        self.touch(name, 0.0);
    }

    /// Makes one file beside the transcripts look written at this time.
    pub fn touch(&self, name: &str, time: f64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs_f64(time);
        std::fs::File::options()
            .write(true)
            .open(self.directory().join(name))
            .and_then(|file| file.set_modified(time))
            .expect("a time");
    }

    /// The names of the files beside the transcripts, sorted; not those Herma keeps its own notes in.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory()).expect("a directory");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name != ".herma")
            .collect();
        names.sort();
        names
    }

    /// The ids of all sessions, sorted.
    pub fn ids(&self) -> Vec<String> {
        let connection = self.connect();
        let mut statement =
            connection.prepare("SELECT id FROM sessions ORDER BY id").expect("a statement");
        let ids = statement.query_map([], |row| row.get(0)).expect("rows");
        ids.map(|id| id.expect("an id")).collect()
    }

    /// One number from the database.
    pub fn number(&self, sql: &str) -> i64 {
        let connection = self.connect();
        connection.query_row(sql, [], |row| row.get(0)).expect("a number")
    }

    /// Checks everything that must always hold: the file, the references and both search indexes.
    #[track_caller]
    pub fn assert_sound(&self) {
        let connection = self.connect();
        let whole: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("an answer");
        assert_eq!(whole, "ok");
        let mut statement = connection.prepare("PRAGMA foreign_key_check").expect("a check");
        assert!(!statement.exists([]).expect("an answer"), "a dangling reference");
        let messages = self.number("SELECT COUNT(*) FROM messages");
        for index in ["messages_fts", "messages_fts_trigram"] {
            let check = format!("INSERT INTO {index}({index}) VALUES('integrity-check')");
            connection.execute_batch(&check).expect("a sound index");
            let indexed = self.number(&format!("SELECT COUNT(*) FROM {index}"));
            assert_eq!(indexed, messages, "{index} has what the messages have");
        }
    }
}
