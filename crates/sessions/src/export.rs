//! Sessions as JSON, one object with its messages per line, written as they are read.
//!
//! Every column is there under its own name, also those this crate knows nothing about. Numbers JSON does not
//! have are texts: `"Infinity"` and `"-Infinity"` (SQLite keeps no other).

use std::io::Write;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::value::RawValue;

use crate::db::{Database, value};
use crate::error::Result;
use crate::filters::Filter;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

/// Writes the sessions `filter` means, the oldest first; returns how many.
pub fn export(database: &Database, filter: &Filter, out: &mut dyn Write) -> Result<u64> {
    let connection = database.connection();
    // One view of the database for all of it.
    let _view = connection.unchecked_transaction()?;
    let (condition, values) = filter.condition(database.schema());
    let sql =
        format!("SELECT s.* FROM main.sessions s WHERE {condition} ORDER BY s.started_at, s.id");
    let mut statement = connection.prepare(&sql)?;
    let names = names(&statement);
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        write_session(database, row, &names, out)?;
        count += 1;
    }
    Ok(count)
}

fn names(statement: &rusqlite::Statement<'_>) -> Vec<String> {
    let names = statement.column_names();
    names.into_iter().map(str::to_owned).collect()
}

fn write_session(
    database: &Database,
    row: &Row<'_>,
    names: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    write!(out, "{{")?;
    write_columns(row, names, out)?;
    write!(out, ", \"messages\": [")?;
    let id = names.iter().position(|name| name == "id");
    let id = id.map(|index| row.get_ref(index)).transpose()?;
    write_messages(database, id.unwrap_or(ValueRef::Null), out)?;
    writeln!(out, "]}}")?;
    Ok(())
}

fn write_messages(database: &Database, session: ValueRef<'_>, out: &mut dyn Write) -> Result<()> {
    let sql = "SELECT m.* FROM main.messages m WHERE m.session_id = ?1 ORDER BY m.timestamp, m.id";
    let mut statement = database.connection().prepare_cached(sql)?;
    let names = names(&statement);
    let mut rows =
        statement.query([rusqlite::types::Value::try_from(session).map_err(|_| {
            // Only an id that is no UTF-8 cannot be made a value.
            rusqlite::Error::InvalidQuery
        })?])?;
    let mut is_first = true;
    while let Some(row) = rows.next()? {
        let separator = if is_first { "{" } else { ", {" };
        write!(out, "{separator}")?;
        write_columns(row, &names, out)?;
        write!(out, "}}")?;
        is_first = false;
    }
    Ok(())
}

fn write_columns(row: &Row<'_>, names: &[String], out: &mut dyn Write) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            write!(out, ", ")?;
        }
        write_string(name, out)?;
        write!(out, ": ")?;
        let value = row.get_ref(index)?;
        // Hermes exports what it stores as JSON as JSON.
        let json = match (name.as_str(), value) {
            ("tool_calls", ValueRef::Text(text)) => serde_json::from_slice::<&RawValue>(text).ok(),
            _ => None,
        };
        match json {
            // A line stays a line.
            Some(json) if !json.get().contains('\n') => write!(out, "{json}")?,
            _ => write_value(value, out)?,
        }
    }
    Ok(())
}

fn write_value(value: ValueRef<'_>, out: &mut dyn Write) -> Result<()> {
    match value {
        ValueRef::Integer(number) => write!(out, "{number}")?,
        ValueRef::Real(number) if number.is_finite() => {
            serde_json::to_writer(out, &number).map_err(std::io::Error::from)?;
        }
        ValueRef::Real(number) if number.is_nan() => write!(out, "\"NaN\"")?,
        ValueRef::Real(number) if number > 0.0 => write!(out, "\"Infinity\"")?,
        ValueRef::Real(_) => write!(out, "\"-Infinity\"")?,
        ValueRef::Null => write!(out, "null")?,
        ValueRef::Text(_) => write_string(&value::text(value).unwrap_or_default(), out)?,
        ValueRef::Blob(bytes) => {
            write!(out, "{{\"base64\": \"{}\"}}", BASE64.encode(bytes))?;
        }
    }
    Ok(())
}

fn write_string(text: &str, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(out, text).map_err(std::io::Error::from)?;
    Ok(())
}
