//! The limits, for people and for programs.

use herma_core::types::settings::Keeping;
use serde::Serialize;

use crate::render::listing::counted;
use crate::terminal::size;

/// The limits as programs read them; 0 is no limit.
#[derive(Clone, Copy, Serialize)]
pub(super) struct LimitsJson {
    max_snapshots: usize,
    max_total_size_bytes: u64,
    min_free_disk_bytes: u64,
    retention_days: u32,
    delete_orphans: bool,
}

impl LimitsJson {
    /// `max_total_size` is what the store is kept to.
    pub(super) fn new(keeping: &Keeping, max_total_size: u64) -> Self {
        Self {
            max_snapshots: keeping.usual_snapshots(),
            max_total_size_bytes: max_total_size,
            min_free_disk_bytes: keeping.min_free_disk,
            retention_days: keeping.retention_days,
            delete_orphans: keeping.delete_orphans,
        }
    }
}

/// The limits in one line.
pub(super) fn in_words(keeping: &Keeping, max_total_size: u64) -> String {
    let mut parts = Vec::new();
    if keeping.usual_snapshots() > 0 {
        let count = counted(keeping.usual_snapshots(), "checkpoint");
        parts.push(format!("{count} per project"));
    }
    if max_total_size > 0 {
        parts.push(format!("{} in all", size(max_total_size)));
    }
    if keeping.retention_days > 0 {
        let days = counted(keeping.retention_days, "day");
        parts.push(format!("{days} without use"));
    }
    if keeping.min_free_disk > 0 {
        parts.push(format!("{} left free", size(keeping.min_free_disk)));
    }
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_read_as_a_sentence() {
        assert_eq!(
            in_words(&Keeping::default(), 500 << 20),
            "200 checkpoints per project, 500.0 MB in all, 7 days without use"
        );
        let none = Keeping { max_snapshots: Some(0), retention_days: 0, ..Keeping::default() };
        assert_eq!(in_words(&none, 0), "none");
    }
}
