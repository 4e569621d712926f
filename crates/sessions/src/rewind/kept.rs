//! What was cut out of a conversation, in a file: exact, so that it can be put back.
//!
//! One JSON value per line: what was cut, then the rows, then the tail of the transcript in pieces of
//! base64, then the number of lines before it. Numbers with a fraction are written as their bits, text
//! that is no UTF-8 and blobs as base64.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

use herma_fs::publish::Temp;
use herma_fs::{Dir, IfThere};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};

use super::{Place, TranscriptMark};
use crate::db;
use crate::db::{Schema, value};
use crate::error::{Error, Result};
use crate::pending::Lines;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

const SCHEMA: &str = "herma.cut-conversation/1";
/// No line is longer than the longest value a database may hold, and some.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// Bytes of the transcript in one line.
const PIECE: usize = 192 << 10;

/// What was cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cut {
    schema: String,
    pub(crate) session: String,
    pub(super) mark: TranscriptMark,
    /// From where to where the transcript was cut.
    pub(crate) jsonl: Option<(u64, u64)>,
    columns: Vec<String>,
    rows: u64,
    /// The counters of the session before the cut, and after it.
    pub(super) before: Counters,
    pub(super) after: Counters,
}

/// What a session says about its own length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    message_count: Option<i64>,
    tool_call_count: Option<i64>,
}

/// A value of a row, exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Exact {
    Null,
    Integer(i64),
    RealBits(u64),
    Text(String),
    TextBytes(String),
    Blob(String),
}

/// One line after the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Row(Vec<Exact>),
    Tail(String),
    End(u64),
}

/// What was cut, with the file it is kept in.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) cut: Cut,
    /// By the number of the message.
    rows: BTreeMap<i64, Vec<Exact>>,
    path: PathBuf,
    file: File,
}

impl Cut {
    /// What cutting at the mark would cut.
    pub(super) fn describe(
        (transaction, schema): (&Transaction<'_>, &Schema),
        session: &str,
        mark: TranscriptMark,
        jsonl: Option<(u64, u64)>,
    ) -> Result<Self> {
        let statement = transaction.prepare(ROWS)?;
        let columns = statement.column_names();
        let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
        let sql = "SELECT COUNT(*) FROM main.messages WHERE session_id = ?1 AND id > ?2";
        let params = rusqlite::params![session, mark.message_id];
        let rows = db::count(transaction, sql, params)?;
        let before = counters(transaction, schema, session)?;
        let calls = cut_tool_calls(transaction, session, mark, &columns)?;
        let less =
            |count: Option<i64>, cut: i64| count.map(|count| count.saturating_sub(cut).max(0));
        let after = Counters {
            message_count: less(before.message_count, rows as i64),
            tool_call_count: less(before.tool_call_count, calls),
        };
        Ok(Self {
            schema: SCHEMA.to_owned(),
            session: session.to_owned(),
            mark,
            jsonl,
            columns,
            rows,
            before,
            after,
        })
    }
}

const ROWS: &str =
    "SELECT m.* FROM main.messages m WHERE m.session_id = ?1 AND m.id > ?2 ORDER BY m.id";

/// How many tools the cut messages call: Hermes counts them as they come.
fn cut_tool_calls(
    transaction: &Transaction<'_>,
    session: &str,
    mark: TranscriptMark,
    columns: &[String],
) -> Result<i64> {
    if !columns.iter().any(|column| column == "tool_calls") {
        return Ok(0);
    }
    let sql = "SELECT m.tool_calls FROM main.messages m WHERE m.session_id = ?1 AND m.id > ?2";
    let mut statement = transaction.prepare(sql)?;
    let mut rows = statement.query(rusqlite::params![session, mark.message_id])?;
    let mut calls = 0;
    while let Some(row) = rows.next()? {
        let Some(text) = value::text(row.get_ref(0)?).filter(|text| !text.is_empty()) else {
            continue;
        };
        let list = serde_json::from_str::<Vec<serde::de::IgnoredAny>>(&text);
        calls += list.map_or(1, |list| list.len() as i64);
    }
    Ok(calls)
}

fn counters(transaction: &Transaction<'_>, schema: &Schema, session: &str) -> Result<Counters> {
    let one = |column: &str| -> Result<Option<i64>> {
        let column = schema.session_column(column);
        let sql = format!("SELECT {column} FROM main.sessions s WHERE s.id = ?1");
        let found = transaction.query_row(&sql, [session], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Integer(count) => Some(count),
                _ => None,
            })
        });
        Ok(found.optional()?.flatten())
    };
    Ok(Counters { message_count: one("message_count")?, tool_call_count: one("tool_call_count")? })
}

/// Sets what the session says about its own length.
pub(super) fn set_counters(
    transaction: &Transaction<'_>,
    cut: &Cut,
    counters: &Counters,
) -> Result<()> {
    let all =
        [("message_count", counters.message_count), ("tool_call_count", counters.tool_call_count)];
    for (column, count) in all {
        if let Some(count) = count {
            let sql = format!("UPDATE main.sessions SET \"{column}\" = ?1 WHERE id = ?2");
            transaction.execute(&sql, rusqlite::params![count, cut.session])?;
        }
    }
    Ok(())
}

impl Kept {
    /// Writes down what will be cut, and makes it durable.
    pub(super) fn write(
        transaction: &Transaction<'_>,
        cut: &Cut,
        sessions_dir: Option<&Dir>,
        keep_in: &Dir,
        name: &str,
    ) -> Result<()> {
        let mut temp = Temp::create(keep_in)?;
        let mut lines = 1;
        write_line(&mut temp, cut)?;
        let mut statement = transaction.prepare(ROWS)?;
        let mut rows = statement.query(rusqlite::params![cut.session, cut.mark.message_id])?;
        while let Some(row) = rows.next()? {
            let values = (0..cut.columns.len()).map(|index| row.get_ref(index).map(exact));
            let values: Vec<Exact> = values.collect::<rusqlite::Result<_>>()?;
            write_line(&mut temp, &Line::Row(values))?;
            lines += 1;
        }
        if let (Some(dir), Some((start, end))) = (sessions_dir, cut.jsonl) {
            let name = super::jsonl_name(&cut.session).unwrap_or_default();
            let file = dir.open_file(name.as_str())?;
            lines += write_tail(&mut temp, &file, start, end)
                .map_err(|what| super::went_on(&cut.session, what))??;
        }
        write_line(&mut temp, &Line::End(lines))?;
        temp.sync()?;
        temp.publish(keep_in, name)?;
        keep_in.sync()?;
        Ok(())
    }

    /// Reads what was kept; `None` if there is no such file.
    pub(crate) fn read(keep_in: &Dir, name: &str) -> Result<Option<Self>> {
        let Some(file) = keep_in.open_file(name).if_there()? else { return Ok(None) };
        let path = keep_in.path().join(name);
        let bad = |what| Error::BadFile { path: path.clone(), what };
        let mut lines = Lines::new(&file, MAX_LINE_BYTES, &path);
        let first = lines.next()?.ok_or_else(|| bad("it is empty"))?;
        let cut: Cut = serde_json::from_slice(&first).map_err(|_| bad("it is something else"))?;
        if cut.schema != SCHEMA || cut.jsonl.is_some_and(|(start, end)| start > end) {
            return Err(bad("it is something else"));
        }
        let number = cut.columns.iter().position(|column| column == "id");
        let (mut rows, mut count, mut tail) = (BTreeMap::new(), 1, 0u64);
        loop {
            let line = lines.next()?.ok_or_else(|| bad("its end is missing"))?;
            match serde_json::from_slice(&line).map_err(|_| bad("a line cannot be read"))? {
                Line::Row(values) if values.len() == cut.columns.len() => {
                    let Some(Exact::Integer(id)) = number.map(|index| &values[index]) else {
                        return Err(bad("a message has no number"));
                    };
                    rows.insert(*id, values);
                }
                Line::Row(_) => return Err(bad("a row has too few or too many columns")),
                Line::Tail(piece) => {
                    let piece = BASE64.decode(&piece).map_err(|_| bad("a line cannot be read"))?;
                    tail += piece.len() as u64;
                }
                Line::End(lines) if lines == count => break,
                Line::End(_) => return Err(bad("lines are missing")),
            }
            count += 1;
        }
        let expected = cut.jsonl.map_or(0, |(start, end)| end - start);
        if tail != expected || rows.len() as u64 != cut.rows {
            return Err(bad("lines are missing"));
        }
        Ok(Some(Self { cut, rows, path, file }))
    }

    /// Is nothing in it?
    pub(super) fn is_empty(&self) -> bool {
        self.cut.rows == 0 && self.cut.jsonl.is_none_or(|(start, end)| start == end)
    }

    /// Where it was cut.
    pub(crate) fn place(&self) -> Place {
        Place { session: self.cut.session.clone(), mark: self.cut.mark }
    }

    /// The file it is kept in.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `each` with the tail of the transcript, piece by piece.
    pub(crate) fn for_each_piece(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let start = (&self.file).rewind();
        start.map_err(|e| herma_fs::Error::on("read", &self.path, e))?;
        let mut lines = Lines::new(&self.file, MAX_LINE_BYTES, &self.path);
        lines.next()?;
        while let Some(line) = lines.next()? {
            if let Ok(Line::Tail(piece)) = serde_json::from_slice(&line) {
                each(&BASE64.decode(&piece).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Are all messages after the mark among the kept ones, with the same values?
    pub(super) fn all_present_are_kept(&self, transaction: &Transaction<'_>) -> Result<bool> {
        let (present, same) = self.count_same(transaction)?;
        Ok(present == same)
    }

    /// Are all kept messages in the database, with the same values?
    pub(super) fn all_kept_are_present(&self, transaction: &Transaction<'_>) -> Result<bool> {
        let (_, same) = self.count_same(transaction)?;
        Ok(same == self.rows.len())
    }

    /// How many messages there are after the mark, and how many of them are kept as they are.
    fn count_same(&self, transaction: &Transaction<'_>) -> Result<(usize, usize)> {
        let mut statement = transaction.prepare(ROWS)?;
        let same_columns = statement.column_names() == self.cut.columns;
        let (mut present, mut same) = (0, 0);
        let mut rows =
            statement.query(rusqlite::params![self.cut.session, self.cut.mark.message_id])?;
        while let Some(row) = rows.next()? {
            present += 1;
            if !same_columns {
                continue;
            }
            let values = (0..self.cut.columns.len()).map(|index| row.get_ref(index).map(exact));
            let values: Vec<Exact> = values.collect::<rusqlite::Result<_>>()?;
            let id = value::integer(row.get_ref("id")?);
            same += usize::from(self.rows.get(&id) == Some(&values));
        }
        Ok((present, same))
    }

    /// Puts back the messages that are not there; returns how many.
    pub(super) fn insert_missing(&self, transaction: &Transaction<'_>) -> Result<u64> {
        let bad = |what| super::went_on(&self.cut.session, what);
        let names: Vec<String> = self.cut.columns.iter().map(|name| quoted(name)).collect();
        let mut added = 0;
        for (number, row) in &self.rows {
            let taken = "SELECT session_id FROM main.messages WHERE id = ?1";
            let owner = transaction.query_row(taken, [number], |found| {
                Ok(value::text(found.get_ref(0)?).unwrap_or_default())
            });
            match owner.optional()? {
                Some(owner) if owner == self.cut.session => continue,
                Some(_) => return Err(bad("another session has the numbers of its messages")),
                None => {}
            }
            let places: Vec<&str> = row.iter().map(place).collect();
            let sql = format!(
                "INSERT INTO main.messages ({}) VALUES ({})",
                names.join(", "),
                places.join(", ")
            );
            let values = row.iter().map(to_value);
            let mut insert = transaction.prepare_cached(&sql)?;
            insert.execute(rusqlite::params_from_iter(values))?;
            added += 1;
        }
        Ok(added)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text that is no UTF-8 can only be handed over as bytes.
fn place(value: &Exact) -> &'static str {
    match value {
        Exact::TextBytes(_) => "CAST(? AS TEXT)",
        _ => "?",
    }
}

fn exact(value: ValueRef<'_>) -> Exact {
    match value {
        ValueRef::Null => Exact::Null,
        ValueRef::Integer(number) => Exact::Integer(number),
        ValueRef::Real(number) => Exact::RealBits(number.to_bits()),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Exact::Text(text.to_owned()),
            Err(_) => Exact::TextBytes(BASE64.encode(bytes)),
        },
        ValueRef::Blob(bytes) => Exact::Blob(BASE64.encode(bytes)),
    }
}

fn to_value(value: &Exact) -> Value {
    match value {
        Exact::Null => Value::Null,
        Exact::Integer(number) => Value::Integer(*number),
        Exact::RealBits(bits) => Value::Real(f64::from_bits(*bits)),
        Exact::Text(text) => Value::Text(text.clone()),
        Exact::TextBytes(text) | Exact::Blob(text) => {
            Value::Blob(BASE64.decode(text).unwrap_or_default())
        }
    }
}

fn write_line(temp: &mut Temp<'_>, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
    line.push(b'\n');
    temp.write(&line)?;
    Ok(())
}

/// Writes a part of the transcript in pieces; the outer error says why it cannot be read.
fn write_tail(
    temp: &mut Temp<'_>,
    file: &File,
    start: u64,
    end: u64,
) -> std::result::Result<Result<u64>, &'static str> {
    let (mut at, mut lines) = (start, 0);
    let mut buffer = vec![0; PIECE];
    while at < end {
        let length = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        let read = herma_fs::file::read_at(file, &mut buffer[..length], at);
        if read.map_err(|_| "its transcript cannot be read")? != length {
            return Err("its transcript became shorter");
        }
        let line = Line::Tail(BASE64.encode(&buffer[..length]));
        if let Err(error) = write_line(temp, &line) {
            return Ok(Err(error));
        }
        at += length as u64;
        lines += 1;
    }
    Ok(Ok(lines))
}
