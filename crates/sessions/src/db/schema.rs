//! What a session database looks like: the tables Hermes makes at version 11, and what of them an opened
//! database really has.
//!
//! Older databases lack columns and newer ones have more. Nothing here insists on more than the tables
//! and the few columns without which there are no sessions; a missing column reads as `NULL`.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;

/// The newest schema version this crate may write to. What came after [`MADE_VERSION`] are columns, tables that
/// go with their session by themselves, notes that expire, a search index without a text of its own, and system
/// prompts that sessions share; sessions and messages are deleted as before.
pub const KNOWN_VERSION: i64 = 26;
/// The version of a database that is made here. A newer Hermes brings it up to its own.
pub const MADE_VERSION: i64 = 11;

/// The tables of a new database.
pub(super) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT,
  system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL,
  end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
  reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT, billing_base_url TEXT,
  billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT,
  cost_source TEXT, pricing_version TEXT, title TEXT, api_call_count INTEGER DEFAULT 0,
  FOREIGN KEY (parent_session_id) REFERENCES sessions(id));
CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
  role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,
  timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
  reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT,
  codex_message_items TEXT);
CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT);
CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source);
CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC);
CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp);
CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique
  ON sessions(title) WHERE title IS NOT NULL;
CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts USING fts5(content);
CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts_trigram
  USING fts5(content, tokenize='trigram');
";

/// The triggers that keep one search index in step with the messages.
pub(super) fn triggers(index: &str) -> String {
    let text = "COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' \
                || COALESCE(new.tool_calls, '')";
    let add = format!("INSERT INTO {index}(rowid, content) VALUES (new.id, {text});");
    let remove = format!("DELETE FROM {index} WHERE rowid = old.id;");
    format!(
        "CREATE TRIGGER IF NOT EXISTS {index}_insert AFTER INSERT ON messages BEGIN {add} END;
         CREATE TRIGGER IF NOT EXISTS {index}_delete AFTER DELETE ON messages BEGIN {remove} END;
         CREATE TRIGGER IF NOT EXISTS {index}_update AFTER UPDATE ON messages
           BEGIN {remove} {add} END;"
    )
}

/// What an opened database has of all that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// The version it names, if it names one.
    pub(crate) version: Option<i64>,
    session_columns: BTreeSet<String>,
    message_columns: BTreeSet<String>,
    tables: BTreeSet<String>,
}

impl Schema {
    /// Looks at the database.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let mut names =
            connection.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'")?;
        let tables: BTreeSet<String> =
            names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let columns = |table: &str| -> Result<BTreeSet<String>> {
            let mut info = connection.prepare(&format!("PRAGMA main.table_info({table})"))?;
            let found = info.query_map([], |row| row.get(1))?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        };
        let version = if tables.contains("schema_version") {
            let newest = "SELECT MAX(version) FROM main.schema_version";
            let value =
                connection.query_row(newest, [], |row| row.get::<_, rusqlite::types::Value>(0));
            match value.optional()? {
                Some(rusqlite::types::Value::Integer(version)) => Some(version),
                // A version that is no number is one nobody here knows.
                None | Some(rusqlite::types::Value::Null) => None,
                Some(_) => Some(i64::MAX),
            }
        } else {
            None
        };
        Ok(Self {
            version,
            session_columns: columns("sessions")?,
            message_columns: columns("messages")?,
            tables,
        })
    }

    /// What is missing without which there are no sessions to speak of.
    pub(crate) fn missing(&self) -> Option<String> {
        for table in ["sessions", "messages"] {
            if !self.tables.contains(table) {
                return Some(format!("there is no table `{table}`"));
            }
        }
        let needed = [
            (&self.session_columns, "sessions", ["id", "started_at", "ended_at"]),
            (&self.message_columns, "messages", ["id", "session_id", "timestamp"]),
        ];
        for (columns, table, names) in needed {
            if let Some(name) = names.iter().find(|name| !columns.contains(**name)) {
                return Some(format!("the table `{table}` has no column `{name}`"));
            }
        }
        None
    }

    /// The search index that only Hermes can write to, if there is one: its tokenizer is not part of SQLite.
    pub(crate) fn foreign_index(&self) -> Option<&'static str> {
        let index = "messages_fts_cjk";
        self.has_table(index).then_some(index)
    }

    /// Do sessions share their system prompts?
    pub(crate) fn shares_prompts(&self) -> bool {
        self.has_table("system_prompts") && self.has_session_column("system_prompt_hash")
    }

    /// Is there such a table?
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name)
    }

    /// Do sessions have such a column?
    pub(crate) fn has_session_column(&self, name: &str) -> bool {
        self.session_columns.contains(name)
    }

    /// The column of a session as SQL; `NULL` where there is none.
    pub(crate) fn session_column(&self, name: &str) -> String {
        if self.session_columns.contains(name) {
            format!("s.\"{name}\"")
        } else {
            "NULL".to_owned()
        }
    }

    /// The column of a message as SQL; `NULL` where there is none.
    pub(crate) fn message_column(&self, name: &str) -> String {
        if self.message_columns.contains(name) {
            format!("m.\"{name}\"")
        } else {
            "NULL".to_owned()
        }
    }
}
