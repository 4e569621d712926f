//! The rows of the victims go, in transactions short enough that other writers do not notice.

use std::time::{Duration, Instant};

use rusqlite::types::Value;

use super::{Kept, NAMED, Removed};
use crate::db;
use crate::db::{Database, search_index};
use crate::error::{Error, Result};
use crate::filters::Filter;

/// How long a transaction should keep others from writing.
const HELD: Duration = Duration::from_millis(40);
/// How long others have before the next: about as long as a waiting writer sleeps between two tries.
const GAP: Duration = Duration::from_millis(8);
const FIRST_BATCH: u64 = 32;
const MAX_BATCH_ROWS: u64 = 4096;

#[derive(Clone, Copy)]
struct Range {
    after: u64,
    to: u64,
}

/// Deletes the sessions in the table of victims that come after number `after`.
pub(super) fn delete(
    database: &mut Database,
    filter: &Filter,
    after: u64,
    removed: &mut Removed,
) -> Result<()> {
    let sql = "SELECT COALESCE(MAX(n), 0) FROM temp.victims";
    let end = db::count(database.connection(), sql, [])?;
    let (mut after, mut size) = (after, FIRST_BATCH);
    while after < end {
        let range = Range { after, to: end.min(after + size) };
        let started = Instant::now();
        delete_range(database, filter, range, removed)?;
        let held = started.elapsed();
        if held > HELD {
            size = (size / 2).max(1);
        } else if held < HELD / 2 {
            size = (size * 2).min(MAX_BATCH_ROWS);
        }
        after = range.to;
        if after < end {
            std::thread::sleep(GAP);
        }
    }
    Ok(())
}

/// One transaction; if one of its sessions cannot go, because a table we know nothing about still points to
/// it or a search index refuses, one for each.
fn delete_range(
    database: &mut Database,
    filter: &Filter,
    range: Range,
    removed: &mut Removed,
) -> Result<()> {
    match delete_at_once(database, filter, range) {
        Ok((sessions, messages)) => {
            removed.sessions += sessions;
            removed.messages += messages;
            Ok(())
        }
        Err(error) if why_it_stays(&error).is_some() && range.to - range.after > 1 => {
            for to in range.after + 1..=range.to {
                let one = Range { after: to - 1, to };
                delete_range(database, filter, one, removed)?;
            }
            Ok(())
        }
        Err(error) => {
            let Some(why) = why_it_stays(&error) else { return Err(error) };
            if removed.kept.len() < NAMED {
                let sql = "SELECT id FROM temp.victims WHERE n = ?1";
                let number = range.to as i64;
                let id = database.connection().query_row(sql, [number], |row| row.get(0))?;
                let why = why.to_owned();
                removed.kept.push(Kept { id, why });
            }
            Ok(())
        }
    }
}

/// Why a session stays, if the error is about that session alone.
fn why_it_stays(error: &Error) -> Option<&'static str> {
    if error.is_foreign_key() {
        return Some("another table still points to it");
    }
    error.is_damaged_index().then_some("the search index of its messages is damaged")
}

fn delete_at_once(database: &mut Database, filter: &Filter, range: Range) -> Result<(u64, u64)> {
    database.write(|transaction, schema| {
        transaction.execute("DELETE FROM temp.batch", [])?;
        let (condition, values) = filter.condition(schema);
        // What was reopened, or spoken in, since it was chosen stays.
        let sql = format!(
            "INSERT INTO temp.batch SELECT v.id FROM temp.victims v
             JOIN main.sessions s ON s.id = v.id WHERE v.n > ? AND v.n <= ? AND {condition}"
        );
        let mut all = vec![Value::Integer(range.after as i64), Value::Integer(range.to as i64)];
        all.extend(values);
        let mut choose = transaction.prepare_cached(&sql)?;
        if choose.execute(rusqlite::params_from_iter(all))? == 0 {
            return Ok((0, 0));
        }
        if schema.has_session_column("parent_session_id") {
            let orphan = "UPDATE main.sessions SET parent_session_id = NULL
                          WHERE parent_session_id IN (SELECT id FROM temp.batch)";
            transaction.prepare_cached(orphan)?.execute([])?;
        }
        let which = "SELECT id FROM main.messages
                     WHERE session_id IN (SELECT id FROM temp.batch)";
        search_index::prepare_deletion(transaction, schema, which, &[])?;
        let messages = "DELETE FROM main.messages
                        WHERE session_id IN (SELECT id FROM temp.batch)";
        let messages = transaction.prepare_cached(messages)?.execute([])?;
        let sessions = "DELETE FROM main.sessions WHERE id IN (SELECT id FROM temp.batch)";
        let sessions = transaction.prepare_cached(sessions)?.execute([])?;
        if schema.shares_prompts() {
            let unused = "DELETE FROM main.system_prompts WHERE hash NOT IN
                          (SELECT system_prompt_hash FROM main.sessions
                           WHERE system_prompt_hash IS NOT NULL)";
            transaction.prepare_cached(unused)?.execute([])?;
        }
        Ok((sessions as u64, messages as u64))
    })
}

/// Was this session deleted, now or by the interrupted deletion that is being finished?
pub(crate) fn is_gone(database: &Database, id: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM temp.victims WHERE id = ?1)
               AND NOT EXISTS (SELECT 1 FROM main.sessions WHERE id = ?1)";
    let mut statement = database.connection().prepare_cached(sql)?;
    Ok(statement.query_row([id], |row| row.get(0))?)
}
