//! Deletes the sessions that are too old.

use herma_fs::Dir;

use crate::db::Database;
use crate::error::Result;
use crate::filters::{Ended, Filter};
use crate::removal;
pub use crate::removal::{FileLeft, Kept, Removed};

/// What [`prune`] would do. Changes nothing, and needs no database that can be written.
pub fn plan(database: &Database, files: Option<&Dir>, filter: &Filter) -> Result<Removed> {
    removal::plan(database, files, &ended(filter))
}

/// Deletes the sessions `filter` means that have ended, with their messages and their files. Their
/// children stay, without a parent. Active and pinned sessions are never touched.
pub fn prune(database: &mut Database, files: Option<&Dir>, filter: &Filter) -> Result<Removed> {
    removal::remove(database, files, &ended(filter))
}

/// The ended ones among them that nobody pinned, whatever the filter says about that.
pub(crate) fn ended(filter: &Filter) -> Filter {
    Filter { ended: Ended::Yes, unpinned: true, ..filter.clone() }
}
