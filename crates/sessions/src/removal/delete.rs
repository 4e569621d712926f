//! Deletes one session.

use herma_fs::Dir;

use crate::db::Database;
use crate::error::{Error, Result};
use crate::filters::{Ended, Filter};
use crate::removal;
pub use crate::removal::Removed;

/// Deletes the session with exactly this id, with its messages and its files. Its children stay, without
/// a parent. An active session is refused.
pub fn delete(database: &mut Database, files: Option<&Dir>, id: &str) -> Result<Removed> {
    let Some(session) = database.session(id)? else { return Err(Error::NotFound(id.to_owned())) };
    if session.is_active {
        return Err(Error::Active(id.to_owned()));
    }
    let filter = Filter { ended: Ended::Yes, ..Filter::one(id) };
    let removed = removal::remove(database, files, &filter)?;
    // Between the look and the deletion somebody may have opened it again.
    let stayed = removed.sessions == 0 && removed.kept.is_empty();
    if stayed && database.session(id)?.is_some() {
        return Err(Error::Active(id.to_owned()));
    }
    Ok(removed)
}

/// Finishes a deletion that was interrupted, if there is one.
pub fn finish(database: &mut Database, files: Option<&Dir>) -> Result<Removed> {
    let is_pending = match files {
        Some(files) => crate::pending::is_pending(files)?,
        None => false,
    };
    if !is_pending {
        return Ok(Removed::default());
    }
    let nothing = Filter { min_messages: Some(u64::MAX), ended: Ended::Yes, ..Filter::one("") };
    removal::remove(database, files, &nothing)
}

/// Was this one of the sessions whose deletion [`finish`] has just finished?
pub fn is_finished(database: &Database, finished: &Removed, id: &str) -> Result<bool> {
    Ok(finished.finished > 0 && removal::is_gone(database, id)?)
}
