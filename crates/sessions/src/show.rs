//! The messages of one session.

use rusqlite::Row;

use crate::db::{Database, value};
use crate::error::Result;

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
