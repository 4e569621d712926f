//! Files that were written lately: a session whose transcript or snapshot was is in use, whatever its row
//! says. The agent and the gateway write these files without always touching the database.
//!
//! One listing of the directory, and the time of a file only where its session is about to be changed.

use std::ffi::CStr;

use herma_fs::{Dir, FileKind};

use crate::db::{Database, value};
use crate::error::Result;
use crate::files;

/// Why such a session stays.
pub(crate) const WHY: &str = "one of its files was written lately";

/// Fills the table `recent` with the sessions that have a transcript or a snapshot written at `since` or
/// later. `candidate` is a query with a row for each session `?1` that is asked about.
pub(crate) fn find_recent(
    database: &Database,
    files: Option<&Dir>,
    since: Option<f64>,
    candidate: &str,
) -> Result<()> {
    let connection = database.connection();
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS recent (id TEXT PRIMARY KEY) WITHOUT ROWID;
         DELETE FROM temp.recent;",
    )?;
    let (Some(dir), Some(since)) = (files, since) else { return Ok(()) };
    let transaction = connection.unchecked_transaction()?;
    let candidate = format!("SELECT EXISTS ({candidate})");
    files::for_each(dir, |name| look_at(database, dir, name, since, &candidate))?;
    transaction.commit()?;
    Ok(())
}

fn look_at(database: &Database, dir: &Dir, name: &CStr, since: f64, candidate: &str) -> Result<()> {
    for claim in files::claims(name.to_bytes()) {
        if claim.form.is_dump() {
            continue;
        }
        let id = value::from_name(claim.id);
        let mut asked = database.connection().prepare_cached(candidate)?;
        if !asked.query_row([&id], |row| row.get::<_, bool>(0))? {
            continue;
        }
        // A file that went away meanwhile is none.
        let stat = dir.stat_opt(name)?;
        if stat.is_some_and(|stat| stat.kind == FileKind::File && stat.mtime as f64 / 1e9 >= since)
        {
            let sql = "INSERT OR IGNORE INTO temp.recent VALUES (?1)";
            database.connection().prepare_cached(sql)?.execute([&id])?;
        }
    }
    Ok(())
}
