//! One session as it stands in the database, its messages, and its title.

use rusqlite::{OptionalExtension, Row};

use crate::db::{Database, Schema, value};
use crate::error::{Error, Result};
use crate::filters::{MESSAGES, last_active};

/// How many ids are named when several could be meant.
const NAMED: usize = 5;

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Where it was held: `cli`, `telegram`, `cron`, …
    pub source: String,
    /// The model it was held with.
    pub model: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// The session it came out of.
    pub parent: Option<String>,
    /// When it began, in seconds since 1970.
    pub started_at: Option<f64>,
    /// When it ended; an active one has not.
    pub ended_at: Option<f64>,
    /// Has it not ended?
    pub is_active: bool,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// When something last happened in it: it began, ended, or a message came.
    pub last_active: Option<f64>,
    /// How many messages there are.
    pub messages: u64,
    /// How many tools were called.
    pub tool_calls: i64,
    /// Tokens read by the model.
    pub input_tokens: i64,
    /// Tokens written by the model.
    pub output_tokens: i64,
}

/// The columns [`Session::read`] expects, of the table `sessions s`.
pub(crate) fn columns(schema: &Schema) -> String {
    let column = |name| schema.session_column(name);
    [
        column("id"),
        column("source"),
        column("model"),
        column("title"),
        column("parent_session_id"),
        column("started_at"),
        column("ended_at"),
        "s.ended_at IS NULL".to_owned(),
        column("end_reason"),
        last_active(schema),
        MESSAGES.to_owned(),
        column("tool_call_count"),
        column("input_tokens"),
        column("output_tokens"),
    ]
    .join(", ")
}

impl Session {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get_ref(index).map(value::text);
        let real = |index| row.get_ref(index).map(value::real);
        let integer = |index| row.get_ref(index).map(value::integer);
        Ok(Self {
            id: text(0)?.unwrap_or_default(),
            source: text(1)?.unwrap_or_default(),
            model: text(2)?,
            title: text(3)?,
            parent: text(4)?,
            started_at: real(5)?,
            ended_at: real(6)?,
            is_active: integer(7)? != 0,
            end_reason: text(8)?,
            last_active: real(9)?,
            messages: u64::try_from(integer(10)?).unwrap_or(0),
            tool_calls: integer(11)?,
            input_tokens: integer(12)?,
            output_tokens: integer(13)?,
        })
    }
}

impl Database {
    /// The session with exactly this id.
    pub fn session(&self, id: &str) -> Result<Option<Session>> {
        let columns = columns(self.schema());
        let sql = format!("SELECT {columns} FROM main.sessions s WHERE s.id = ?1");
        let found = self.connection().query_row(&sql, [id], Session::read);
        Ok(found.optional()?)
    }

    /// The session a person means: by its id, or by a beginning that no other id has.
    pub fn find(&self, text: &str) -> Result<Session> {
        if let Some(session) = self.session(text)? {
            return Ok(session);
        }
        let mut ids = self.ids_beginning_with(text)?;
        match ids.len() {
            1 => {
                let id = ids.remove(0);
                self.session(&id)?.ok_or(Error::NotFound(id))
            }
            0 => Err(Error::NotFound(text.to_owned())),
            _ => Err(Error::Ambiguous { prefix: text.to_owned(), ids }),
        }
    }

    fn ids_beginning_with(&self, prefix: &str) -> Result<Vec<String>> {
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        // Not LIKE: that is blind to case, and `_` and `%` are ordinary characters in an id.
        let sql = "SELECT id FROM main.sessions WHERE substr(id, 1, length(?1)) = ?1
                   ORDER BY id LIMIT ?2";
        let mut statement = self.connection().prepare(sql)?;
        let ids = statement.query_map(rusqlite::params![prefix, NAMED as i64], |row| {
            Ok(value::text(row.get_ref(0)?).unwrap_or_default())
        })?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    /// The session this one came out of, if it did.
    pub fn parent_of(&self, id: &str) -> Result<Option<String>> {
        Ok(self.session(id)?.and_then(|session| session.parent))
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its number in the database.
    pub id: i64,
    /// Who speaks: `user`, `assistant`, `tool`, `system`.
    pub role: String,
    /// What was said.
    pub content: Option<String>,
    /// The tool whose answer it is.
    pub tool_name: Option<String>,
    /// The tools the model calls, as JSON.
    pub tool_calls: Option<String>,
    /// When, in seconds since 1970.
    pub timestamp: Option<f64>,
}

impl Message {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get_ref(index).map(value::text);
        Ok(Self {
            id: value::integer(row.get_ref(0)?),
            role: text(1)?.unwrap_or_default(),
            content: text(2)?,
            tool_name: text(3)?,
            tool_calls: text(4)?,
            timestamp: value::real(row.get_ref(5)?),
        })
    }
}

/// Calls `each` for the messages of a session in their order.
pub fn for_each_message(
    database: &Database,
    session: &str,
    mut each: impl FnMut(Message) -> Result<()>,
) -> Result<()> {
    let column = |name| database.schema().message_column(name);
    let sql = format!(
        "SELECT m.id, {}, {}, {}, {}, m.timestamp FROM main.messages m
         WHERE m.session_id = ?1 ORDER BY m.timestamp, m.id",
        column("role"),
        column("content"),
        column("tool_name"),
        column("tool_calls"),
    );
    let mut statement = database.connection().prepare(&sql)?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        each(Message::read(row)?)?;
    }
    Ok(())
}

/// How many characters a title may have, as in Hermes.
pub const MAX_TITLE_CHARS: usize = 100;

/// Gives the session a title, which no other session may have. Returns it as it was stored: white space
/// is made single, and control characters go.
pub fn rename(database: &mut Database, id: &str, title: &str) -> Result<String> {
    let words: Vec<String> = title
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect())
        .collect();
    let title = words.join(" ").trim().to_owned();
    if title.is_empty() || title.chars().count() > MAX_TITLE_CHARS {
        return Err(Error::BadTitle { max: MAX_TITLE_CHARS });
    }
    if !database.schema().has_session_column("title") {
        return Err(Error::NotSessions {
            path: database.path().to_owned(),
            what: "the table `sessions` has no column `title`".to_owned(),
        });
    }
    database.write(|transaction, _| {
        let taken = "SELECT id FROM main.sessions WHERE title = ?1 AND id IS NOT ?2";
        let by = transaction.query_row(taken, [title.as_str(), id], |row| {
            Ok(value::text(row.get_ref(0)?).unwrap_or_default())
        });
        if let Some(by) = by.optional()? {
            let title = title.clone();
            return Err(Error::TitleTaken { title, by });
        }
        let sql = "UPDATE main.sessions SET title = ?1 WHERE id = ?2";
        match transaction.execute(sql, [title.as_str(), id])? {
            0 => Err(Error::NotFound(id.to_owned())),
            _ => Ok(()),
        }
    })?;
    Ok(title)
}
