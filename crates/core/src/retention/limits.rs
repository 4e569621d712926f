//! What a person wants kept.

use std::collections::BTreeSet;

use crate::id::ProjectId;

/// The limits a store is kept within. `None` and zero both turn a limit off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Checkpoints per project (`max_snapshots`).
    pub max_snapshots: Option<usize>,
    /// Days after which a project that was not saved loses its older checkpoints (`retention_days`).
    pub retention_days: Option<u32>,
    /// Bytes of the whole store (`max_total_size_mb`).
    pub max_total_bytes: Option<u64>,
    /// Bytes that stay free on the store's disk (`min_free_disk_mb`).
    pub min_free_bytes: Option<u64>,
    /// What happens to projects that were deleted.
    pub orphans: Orphans,
}

/// What happens to the checkpoints of projects that were deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Orphans {
    /// They are treated like any other project's: the newest stays under every rule.
    #[default]
    Keep,
    /// They go if the project is one of these: what was shown to a person, who confirmed it.
    These(BTreeSet<ProjectId>),
    /// They go.
    All,
    /// They go if the project was not saved for so many days; for cleaning that nobody watches.
    Untouched {
        /// The days.
        days: u32,
    },
}
