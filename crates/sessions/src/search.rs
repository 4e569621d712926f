//! Finds what was said.
//!
//! The words go to SQLite's full-text index, each quoted, so that nothing in them is an operator. Where
//! there is no index, where it cannot be read, or where it finds nothing (it knows words, not parts of
//! them), the text itself is looked through.

use rusqlite::Row;
use rusqlite::types::Value;

use crate::db::{Database, Schema, value};
use crate::error::{Error, Result};
use crate::filters::Filter;

/// A longer query is nobody's search.
const MAX_QUERY_BYTES: usize = 2048;

/// More words do not make it clearer what is meant.
const MAX_QUERY_WORDS: usize = 32;

/// One message with what was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The session.
    pub session: String,
    /// The message.
    pub message: i64,
    /// Who speaks.
    pub role: String,
    /// When, in seconds since 1970.
    pub timestamp: Option<f64>,
    /// The words around it.
    pub excerpt: String,
}

/// The messages in which all words of `query` occur, `limit` at most.
pub fn search(database: &Database, query: &str, filter: &Filter, limit: u64) -> Result<Vec<Found>> {
    let end = query.char_indices().nth(MAX_QUERY_BYTES);
    let query = end.map_or(query, |(end, _)| &query[..end]);
    let words: Vec<&str> = query.split_whitespace().take(MAX_QUERY_WORDS).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    if database.schema().has_table("messages_fts") {
        match run(database, filter, by_index(&words), limit) {
            Ok(found) if !found.is_empty() => return Ok(found),
            // An index that cannot be used is no reason to find nothing.
            Ok(_) | Err(Error::Sql(_) | Error::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    run(database, filter, by_text(database.schema(), &words), limit)
}

fn by_index(words: &[&str]) -> Query {
    let quoted =
        words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\"").replace('\0', " ")));
    Query {
        excerpt: "snippet(messages_fts, -1, '', '', '…', 24)".to_owned(),
        from: "messages_fts f JOIN main.messages m ON m.id = f.rowid",
        condition: "messages_fts MATCH ?".to_owned(),
        order: "f.rank",
        values: vec![Value::Text(quoted.collect::<Vec<_>>().join(" "))],
    }
}

fn by_text(schema: &Schema, words: &[&str]) -> Query {
    let content = schema.message_column("content");
    let calls = schema.message_column("tool_calls");
    let text = format!("(COALESCE({content}, '') || ' ' || COALESCE({calls}, ''))");
    let place = format!("instr(lower({text}), lower(?))");
    // The first word is looked for once more, for the excerpt.
    let values = words[..1].iter().chain(words);
    Query {
        excerpt: format!("substr({text}, MAX(1, {place} - 60), 200)"),
        from: "main.messages m",
        condition: vec![format!("{place} > 0"); words.len()].join(" AND "),
        order: "m.id DESC",
        values: values.map(|word| Value::Text((*word).to_owned())).collect(),
    }
}

struct Query {
    excerpt: String,
    from: &'static str,
    condition: String,
    order: &'static str,
    values: Vec<Value>,
}

fn run(database: &Database, filter: &Filter, query: Query, limit: u64) -> Result<Vec<Found>> {
    let (condition, values) = filter.condition(database.schema());
    let sql = format!(
        "SELECT m.session_id, m.id, {}, m.timestamp, {} FROM {}
         JOIN main.sessions s ON s.id = m.session_id WHERE {} AND {condition}
         ORDER BY {} LIMIT ?",
        database.schema().message_column("role"),
        query.excerpt,
        query.from,
        query.condition,
        query.order,
    );
    let mut all = query.values;
    all.extend(values);
    all.push(Value::Integer(i64::try_from(limit).unwrap_or(-1)));
    let mut statement = database.connection().prepare(&sql)?;
    let found = statement.query_map(rusqlite::params_from_iter(all), read)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found {
        session: value::text(row.get_ref(0)?).unwrap_or_default(),
        message: value::integer(row.get_ref(1)?),
        role: value::text(row.get_ref(2)?).unwrap_or_default(),
        timestamp: value::real(row.get_ref(3)?),
        excerpt: value::text(row.get_ref(4)?).unwrap_or_default(),
    })
}
