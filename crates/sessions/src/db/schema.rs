//! What a session database looks like: the tables and columns it really has.
//!
//! Older databases lack columns and newer ones have more. Nothing here insists on more than the tables
//! and the few columns without which there are no sessions; a missing column reads as `NULL`.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;

/// The newest schema version this crate may write to. What came after version 11 are columns, tables that
/// go with their session by themselves, notes that expire, a search index without a text of its own, and system
/// prompts that sessions share; sessions and messages are deleted as before.
pub const KNOWN_VERSION: i64 = 26;
/// What an opened database has.
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
        if self.has_session_column(name) { format!("s.\"{name}\"") } else { "NULL".to_owned() }
    }

    /// The column of a message as SQL; `NULL` where there is none.
    pub(crate) fn message_column(&self, name: &str) -> String {
        let is_there = self.message_columns.contains(name);
        if is_there { format!("m.\"{name}\"") } else { "NULL".to_owned() }
    }
}
