//! Gives the room of deleted rows back to the disk, rarely and only when it pays.
//!
//! `VACUUM` writes the whole database anew. Beside a reader that would double it instead of shrinking it,
//! because the write-ahead log cannot be emptied; so it is left for another time when somebody reads. It
//! is never needed: a failure is a note.

use herma_fs::{Dir, stat_path};

use crate::db::Database;
use crate::error::{Error, Result};

/// The key of `state_meta` with the time of the last one.
const LAST: &str = "last_vacuum";
/// At least this part of the pages must be empty: one in five.
const WORTH: u64 = 5;
/// And at least this many bytes.
const MIN_FREE_BYTES: u64 = 4 << 20;
/// Pages of a search index merged in one transaction.
const MERGED_PAGES: i64 = 500;
const DAY: f64 = 86_400.0;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vacuumed {
    /// Done.
    Yes {
        /// The size before.
        before: u64,
        /// The size now.
        after: u64,
    },
    /// It would not pay, or the last one was not long ago.
    NotNeeded,
    /// It would pay, but cannot be done now.
    NotNow(String),
}

/// Shrinks the database if at least a fifth of it, and 4 MiB, are empty, and the last time was at least
/// `min_interval_days` ago.
pub fn vacuum(database: &mut Database, min_interval_days: f64, now: f64) -> Result<Vacuumed> {
    let page = database.pragma_number("page_size")?;
    let empty = database.pragma_number("freelist_count")?;
    let before = database.size()?;
    let is_worth_it = empty.saturating_mul(page) >= MIN_FREE_BYTES
        && empty.saturating_mul(WORTH) >= database.pragma_number("page_count")?;
    if !is_worth_it || ran_lately(database, min_interval_days, now)? {
        return Ok(Vacuumed::NotNeeded);
    }
    if let Some(obstacle) = obstacle(database, before)? {
        return Ok(Vacuumed::NotNow(obstacle));
    }
    let shrunk =
        tidy_indexes(database).and_then(|()| Ok(database.connection().execute_batch("VACUUM")?));
    if let Err(error) = shrunk {
        return Ok(Vacuumed::NotNow(error_words(&error)));
    }
    // The log now holds the whole database; somebody who began to read meanwhile only keeps it a while.
    empty_log(database)?;
    database.set_meta(LAST, &now.to_string())?;
    let after = database.size()?;
    Ok(Vacuumed::Yes { before, after })
}

/// The search indexes keep words of deleted messages until their parts are merged. That is done piece by
/// piece, so that nobody has to wait for all of it.
fn tidy_indexes(database: &mut Database) -> Result<()> {
    for index in ["messages_fts", "messages_fts_trigram"] {
        if !database.schema().has_table(index) {
            continue;
        }
        let sql = format!("INSERT INTO main.{index} ({index}, rank) VALUES ('merge', ?1)");
        // A negative number begins to merge everything; two changes or fewer mean that it is done.
        let mut pages = -MERGED_PAGES;
        loop {
            let changes = database.write(|transaction, _| {
                let before = transaction.total_changes();
                transaction.execute(&sql, [pages])?;
                Ok(transaction.total_changes() - before)
            })?;
            if changes < 2 {
                break;
            }
            pages = MERGED_PAGES;
        }
    }
    Ok(())
}

fn error_words(error: &Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// A time in the future was written by a clock that was wrong, and counts for nothing.
fn ran_lately(database: &Database, min_interval_days: f64, now: f64) -> Result<bool> {
    let last = database.meta(LAST)?.and_then(|text| text.parse().ok());
    Ok(last.is_some_and(|last: f64| last <= now && now - last < min_interval_days * DAY))
}

fn obstacle(database: &Database, size: u64) -> Result<Option<String>> {
    if let Some(home) = database.path().parent() {
        if stat_path(&home.join(".state.db-litestream"))?.is_some() {
            return Ok(Some("it is replicated, which a rewrite would break".to_owned()));
        }
        // The new database, and the log it goes through.
        let free = Dir::open(home)?.free_bytes()?;
        if free < size.saturating_mul(2) + MIN_FREE_BYTES {
            return Ok(Some("there is not enough room on the disk".to_owned()));
        }
    }
    if empty_log(database)? {
        return Ok(None);
    }
    Ok(Some("another process reads or writes it".to_owned()))
}

/// Moves the log into the database; tells whether that could be done completely.
fn empty_log(database: &Database) -> Result<bool> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy = database.connection().query_row(sql, [], |row| row.get::<_, i64>(0));
    match busy.map_err(Error::from) {
        Ok(busy) => Ok(busy == 0),
        Err(Error::Busy { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
