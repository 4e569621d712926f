//! Lists sessions, the latest activity first.

use rusqlite::types::Value;

use crate::db;
use crate::db::Database;
use crate::error::Result;
use crate::filters::{Filter, last_active};
use crate::session::{Session, columns};

/// The sessions `filter` means, the latest activity first, `limit` at most.
pub fn list(database: &Database, filter: &Filter, limit: Option<u64>) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for_each(database, filter, limit, |session| {
        sessions.push(session);
        Ok(())
    })?;
    Ok(sessions)
}

/// Calls `each` for every session `filter` means, the latest activity first, `limit` at most.
pub fn for_each(
    database: &Database,
    filter: &Filter,
    limit: Option<u64>,
    mut each: impl FnMut(Session) -> Result<()>,
) -> Result<()> {
    let schema = database.schema();
    let (condition, mut values) = filter.condition(schema);
    // A negative limit is none.
    let limit = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
    values.push(Value::Integer(limit));
    let sql = format!(
        "SELECT {} FROM main.sessions s WHERE {condition} ORDER BY {} DESC, s.id LIMIT ?",
        columns(schema),
        last_active(schema)
    );
    let mut statement = database.connection().prepare(&sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        each(Session::read(row)?)?;
    }
    Ok(())
}

/// How many sessions `filter` means.
pub fn count(database: &Database, filter: &Filter) -> Result<u64> {
    let (condition, values) = filter.condition(database.schema());
    let sql = format!("SELECT COUNT(*) FROM main.sessions s WHERE {condition}");
    db::count(database.connection(), &sql, rusqlite::params_from_iter(values))
}
