//! Ends sessions whose process died without doing so.
//!
//! A crashed agent leaves its session active for ever, and active sessions are never pruned. Nothing in
//! the database tells which process holds a session, so the rule is time: one in which nothing has
//! happened for a week, or as long as is asked for, is taken for dead. A conversation the gateway still
//! lists in `sessions.json` is a chat that waits for its next message, and is left alone, and so is one
//! whose files were written in that time. A session that is ended this way keeps its last activity as its end, so that its age stays right; Hermes opens it
//! again when somebody resumes it.

use herma_fs::Dir;

use crate::db::Database;
use crate::error::Result;
use crate::filters::{Ended, Filter, Within, last_active};
use crate::removal::{Kept, NAMED, activity};
use crate::session::Session;
use crate::{index, list};

/// Days without activity after which a session that has not ended is taken for dead.
pub const DEFAULT_DAYS: u32 = 7;
/// What such a session says about its end.
pub const END_REASON: &str = "herma_reaped";
/// Rows changed at once.
const BATCH: u64 = 500;

/// Sessions taken for dead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaped {
    /// How many.
    pub count: u64,
    /// The first of them, the latest activity first.
    pub shown: Vec<Session>,
    /// Sessions that stay active because their files were written lately, the first thousand.
    pub kept: Vec<Kept>,
}

/// The sessions [`reap`] would end: nothing has happened in them since `idle_since`. At most `shown` are
/// described.
pub fn find(
    database: &Database,
    files: Option<&Dir>,
    filter: &Filter,
    idle_since: f64,
    shown: u64,
) -> Result<Reaped> {
    let (filter, kept) = prepare(database, files, filter, idle_since)?;
    Ok(Reaped {
        count: list::count(database, &filter)?,
        shown: list::list(database, &filter, Some(shown))?,
        kept,
    })
}

/// Ends the sessions in which nothing has happened since `idle_since`; returns how many.
pub fn reap(
    database: &mut Database,
    files: Option<&Dir>,
    filter: &Filter,
    idle_since: f64,
) -> Result<u64> {
    let (filter, _) = prepare(database, files, filter, idle_since)?;
    let mut ended = 0;
    loop {
        let changed = database.write(|transaction, schema| {
            let (condition, values) = filter.condition(schema);
            let reason = if schema.has_session_column("end_reason") {
                format!(", end_reason = COALESCE(end_reason, '{END_REASON}')")
            } else {
                String::new()
            };
            let sql = format!(
                "UPDATE main.sessions AS s SET ended_at = {}{reason} WHERE s.rowid IN
                 (SELECT s.rowid FROM main.sessions s WHERE {condition} LIMIT {BATCH})",
                last_active(schema)
            );
            let params = rusqlite::params_from_iter(values);
            Ok(transaction.execute(&sql, params)? as u64)
        })?;
        ended += changed;
        if changed < BATCH {
            return Ok(ended);
        }
    }
}

/// The filter, with what the gateway still lists, or has lately written to, in a table of this connection;
/// and those of the latter that would be ended otherwise.
fn prepare(
    database: &Database,
    files: Option<&Dir>,
    filter: &Filter,
    idle_since: f64,
) -> Result<(Filter, Vec<Kept>)> {
    let connection = database.connection();
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS gateway (id TEXT PRIMARY KEY) WITHOUT ROWID;
         DELETE FROM temp.gateway;",
    )?;
    if let Some(files) = files {
        let mut insert = connection.prepare("INSERT OR IGNORE INTO temp.gateway VALUES (?1)")?;
        for id in index::sessions(files)? {
            insert.execute([id])?;
        }
    }
    let idle_since = filter.idle_since.map_or(idle_since, |own| own.min(idle_since));
    let filter = Filter {
        idle_since: Some(idle_since),
        ended: Ended::No,
        within: Within::NotInGateway,
        ..filter.clone()
    };
    let candidate = "SELECT 1 FROM main.sessions WHERE id = ?1 AND ended_at IS NULL";
    activity::find_recent(database, files, Some(idle_since), candidate)?;
    let kept = in_use(database, &filter)?;
    connection.execute_batch("INSERT OR IGNORE INTO temp.gateway SELECT id FROM temp.recent")?;
    Ok((filter, kept))
}

/// The sessions `filter` means that are in the table `recent`.
fn in_use(database: &Database, filter: &Filter) -> Result<Vec<Kept>> {
    let (condition, values) = filter.condition(database.schema());
    let sql = format!(
        "SELECT s.id FROM temp.recent r JOIN main.sessions s ON s.id = r.id
         WHERE {condition} ORDER BY s.id LIMIT {NAMED}"
    );
    let mut statement = database.connection().prepare(&sql)?;
    let ids = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
    let kept = ids.map(|id| {
        let why = activity::WHY.to_owned();
        Ok(Kept { id: id?, why })
    });
    kept.collect()
}
