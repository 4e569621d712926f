//! Fast saves, whose names the disk learns of when the file system likes.
//!
//! Whoever relies on such a checkpoint and promises more than it did (a save that finds nothing new, a restore
//! that takes it for the way back) first makes it last. That there is one stands in a file, which need not
//! survive a power cut itself: what the cut took is gone, and what it left is on disk.

use crate::engine::operation::Operation;
use herma_fs::publish::{Durability, write_file};
use herma_store::refs::roll;

use crate::error::Result;

/// There is a checkpoint the disk may not know of.
pub(crate) const FILE: &str = "unsettled";

impl Operation<'_> {
    /// Notes that what is about to be published is not synced, if it is not.
    pub(crate) fn note_unsettled(&self) -> Result<()> {
        if self.settings().durability == Durability::Synced {
            return Ok(());
        }
        let tmp = self.store.tmp()?;
        let state = self.state_dir()?;
        Ok(write_file(tmp, &state, FILE, b"", Durability::Cache)?)
    }

    /// Makes last what a fast save published, unless this is to be fast, too.
    pub(crate) fn settle(&self) -> Result<()> {
        if self.settings().durability != Durability::Synced {
            return Ok(());
        }
        let state = self.state_dir()?;
        if state.stat_opt(FILE)?.is_none() {
            return Ok(());
        }
        let refs = self.store.dirs.refs();
        let id = &self.id;
        let [own, names] = [format!("refs/herma/{id}"), format!("refs/herma-names/{id}")];
        for directory in [&own, &names, "projects"] {
            refs.sync_names(directory)?;
        }
        roll::catch_up(&self.store.dirs, id)?;
        // ORDER: only what is on disk is forgotten here.
        state.remove_if_there(FILE)?;
        Ok(())
    }
}
