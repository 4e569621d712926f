//! What is kept, for people and for programs.

use herma_core::types::settings::{Keeping, Thinning};

use crate::json::{Serialize, object};
use crate::listing::counted;
use crate::units::size;

/// The limits as programs read them; 0 is no limit.
pub fn to_json(keeping: &Keeping) -> impl Serialize + use<> {
    object! {
        max_snapshots: keeping.max_snapshots.unwrap_or(0),
        max_total_size_bytes: keeping.max_total_size.unwrap_or(0),
        min_free_disk_bytes: keeping.min_free_disk,
        retention_days: keeping.retention_days,
        thinning: keeping.thinning().map(|Thinning { whole_days, daily, weekly }| object! {
            whole_days,
            daily,
            weekly,
        }),
        delete_orphans: keeping.delete_orphans,
    }
}

/// What is kept, in one sentence.
pub fn in_words(keeping: &Keeping) -> String {
    let mut words = match keeping.thinning() {
        None => "everything".to_owned(),
        Some(Thinning { whole_days, daily, weekly }) => format!(
            "everything of the last {whole_days} days of work, then one checkpoint a day for {daily} days and one a \
             week for {weekly} weeks"
        ),
    };
    let mut limits = Vec::new();
    if let Some(most) = keeping.max_snapshots.filter(|most| *most > 0) {
        limits.push(format!("{} per project", counted(most, "checkpoint")));
    }
    if let Some(most) = keeping.max_total_size.filter(|most| *most > 0) {
        limits.push(format!("{} in all", size(most)));
    }
    if !limits.is_empty() {
        words = format!("{words}, at most {}", limits.join(" and "));
    }
    if keeping.min_free_disk > 0 {
        words = format!("{words}, with {} of the disk left free", size(keeping.min_free_disk));
    }
    if keeping.retention_days > 0 {
        let days = counted(keeping.retention_days, "day");
        words = format!(
            "{words}; a project not saved for {days} keeps only its newest, pinned and named ones"
        );
        if !keeping.auto_prune {
            words.push_str(" (`auto_prune` is off: age counts only in `herma checkpoints prune`)");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_as_a_sentence() {
        let usual = Keeping { max_total_size: Some(500 << 20), ..Keeping::default() };
        assert_eq!(
            in_words(&usual),
            "everything of the last 30 days of work, then one checkpoint a day for 30 days and one a week for 26 weeks, at most \
             500.0 MB in all; a project not saved for 30 days keeps only its newest, pinned and named ones"
        );
        let never = Keeping { retention_days: 0, ..usual };
        assert_eq!(in_words(&never), "everything, at most 500.0 MB in all");
        assert_eq!(in_words(&Keeping { max_total_size: Some(0), ..never }), "everything");
        let narrow = Keeping { max_snapshots: Some(50), min_free_disk: 1 << 30, ..never };
        assert_eq!(
            in_words(&narrow),
            "everything, at most 50 checkpoints per project and 500.0 MB in all, with 1.0 GB of the disk left free"
        );
        let by_hand = in_words(&Keeping { auto_prune: false, retention_days: 90, ..usual });
        assert!(by_hand.starts_with("everything of the last 90 days"), "{by_hand}");
        assert!(by_hand.contains("not saved for 90 days") && by_hand.ends_with("prune`)"));
    }
}
