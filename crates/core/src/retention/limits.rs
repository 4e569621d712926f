//! What a person wants kept.

use std::collections::BTreeSet;

use crate::id::ProjectId;

/// The limits a store is kept within. `None` and zero both turn a limit off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Checkpoints per project (`max_snapshots`). A project for which more was asked keeps more.
    pub max_snapshots: Option<usize>,
    /// Did nobody set that number? Then what was asked for a project applies to it, even if it is less.
    pub is_usual: bool,
    /// The one project whose checkpoints are counted, by that number and no other; `None` is all of them.
    pub project: Option<ProjectId>,
    /// Days after which a project that was not saved loses its older checkpoints (`retention_days`).
    pub retention_days: Option<u32>,
    /// Bytes of the whole store (`max_total_size_mb`).
    pub max_total_bytes: Option<u64>,
    /// Bytes that stay free on the store's disk (`min_free_disk_mb`).
    pub min_free_bytes: Option<u64>,
    /// What happens to projects that were deleted.
    pub orphans: Orphans,
}

impl Limits {
    /// How many checkpoints this project may have; 0 is no limit.
    pub fn snapshots_of(&self, project: &ProjectId, asked: Option<usize>) -> usize {
        let Some(most) = self.max_snapshots else {
            return 0;
        };
        match (&self.project, asked) {
            (Some(only), _) if only != project => 0,
            (Some(_), _) | (None, None) => most,
            (None, Some(asked)) if self.is_usual => asked,
            (None, Some(asked)) => larger(most, asked),
        }
    }
}

/// The larger of two limits, of which 0 is none.
pub fn larger<N: Ord + Default>(a: N, b: N) -> N {
    let none = N::default();
    if a == none || b == none {
        return none;
    }
    a.max(b)
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_project_goes_by_what_was_asked_for_it_or_by_what_everybody_goes_by_if_that_is_more() {
        let project = ProjectId::of(Path::new("/p"));
        let set = |max_snapshots, is_usual| Limits {
            max_snapshots,
            is_usual,
            ..Limits::default()
        };
        for (limits, asked, most) in [
            (set(None, false), Some(3), 0),
            (set(Some(20), false), None, 20),
            (set(Some(20), false), Some(100), 100),
            (set(Some(20), false), Some(10), 20),
            (set(Some(20), false), Some(0), 0),
            (set(Some(0), false), Some(10), 0),
            (set(Some(200), true), Some(10), 10),
            (set(Some(200), true), Some(1000), 1000),
            (set(Some(200), true), None, 200),
        ] {
            assert_eq!(limits.snapshots_of(&project, asked), most, "{limits:?}");
        }
    }

    #[test]
    fn a_limit_for_one_project_is_for_that_one_alone() {
        let [one, other] = ["/one", "/other"].map(|path| ProjectId::of(Path::new(path)));
        let limits = Limits {
            max_snapshots: Some(2),
            project: Some(one.clone()),
            ..Limits::default()
        };
        assert_eq!(limits.snapshots_of(&one, Some(100)), 2);
        assert_eq!(limits.snapshots_of(&other, None), 0);
    }
}
