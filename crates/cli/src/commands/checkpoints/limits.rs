//! The limits, for people and for programs.

use herma_core::types::settings::Keeping;

use crate::render::json::{Serialize, object};
use crate::render::listing::counted;
use crate::terminal::size;

/// The limits as programs read them; 0 is no limit.
pub(super) fn to_json(keeping: &Keeping) -> impl Serialize + use<> {
    object! {
        max_snapshots: keeping.usual_snapshots(),
        max_total_size_bytes: keeping.max_total_size.unwrap_or(0),
        min_free_disk_bytes: keeping.min_free_disk,
        retention_days: keeping.retention_days,
        delete_orphans: keeping.delete_orphans,
    }
}

/// The limits in one line.
pub(super) fn in_words(keeping: &Keeping) -> String {
    let mut parts = Vec::new();
    if keeping.usual_snapshots() > 0 {
        let count = counted(keeping.usual_snapshots(), "checkpoint");
        parts.push(format!("{count} per project"));
    }
    if let Some(most) = keeping.max_total_size.filter(|most| *most > 0) {
        parts.push(format!("{} in all", size(most)));
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
            in_words(&Keeping { max_total_size: Some(500 << 20), ..Keeping::default() }),
            "200 checkpoints per project, 500.0 MB in all, 7 days without use"
        );
        let none = Keeping { max_snapshots: Some(0), retention_days: 0, ..Keeping::default() };
        assert_eq!(in_words(&none), "none");
    }
}
