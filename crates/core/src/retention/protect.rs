//! What stays whatever the limits say.
//!
//! Pinned and named checkpoints, and what an undo or an interrupted restore needs. And the newest
//! checkpoint of every project: one that lay idle for months can still be brought back, and so can one
//! that is not there. If the newest cannot be read, the newest that can be stays beside it. Only the rule
//! for deleted projects takes these too, and only from a project it gives up.

use super::draft::CheckpointDraft;
use super::draft::Draft;
use super::notes::Protection;
use super::plan::Rule;

/// Marks what stays because somebody wants or needs it.
pub(super) fn keep_marked(draft: &mut Draft<'_>) {
    for project in &mut draft.projects {
        for checkpoint in &mut project.checkpoints {
            checkpoint.protection = protection(checkpoint);
        }
    }
}

/// Marks the newest of every project that the rule for deleted ones has not given up.
pub(super) fn keep_newest(draft: &mut Draft<'_>) {
    let projects = draft.projects.iter_mut();
    for project in projects.filter(|project| project.given_up != Some(Rule::Orphan)) {
        let mut newer = project.checkpoints.iter_mut().rev();
        let Some(newest) = newer.next() else {
            continue;
        };
        newest.protection = Some(Protection::Newest);
        if newest.facts.readable {
            continue;
        }
        if let Some(readable) = newer.find(|checkpoint| checkpoint.facts.readable) {
            readable.protection = Some(Protection::NewestReadable);
        }
    }
}

fn protection(checkpoint: &CheckpointDraft<'_>) -> Option<Protection> {
    let facts = checkpoint.facts;
    if facts.pinned {
        Some(Protection::Pinned)
    } else if facts.named {
        Some(Protection::Named)
    } else {
        facts.in_use.then_some(Protection::InUse)
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::Doubt;
    use super::super::facts::Presence;
    use super::super::limits::Orphans;
    use super::super::testing::Store;
    use super::super::testing::days_ago;

    #[test]
    fn pinned_named_and_needed_checkpoints_outlive_their_deleted_project() {
        let store = Store::new().gone("p", &[9, 8, 7, 6, 5].map(days_ago));
        let store = store.change("p", |p| {
            p.checkpoints[0].pinned = true;
            p.checkpoints[1].named = true;
            p.checkpoints[2].in_use = true;
        });
        assert_eq!(store.all_orphans().dropped("p"), [4, 5]);
    }

    #[test]
    fn the_newest_stays_unless_the_project_was_deleted_and_is_given_up() {
        let store = Store::new().live("p", &[90, 80].map(days_ago));
        for presence in [
            Presence::Live,
            Presence::Unknown,
            Presence::OutOfReach(Doubt::ParentGone),
        ] {
            let store = store.clone().change("p", |p| p.presence = presence.clone());
            let store = store.keep_count(1).keep_days(7).all_orphans();
            assert_eq!(store.dropped("p"), [1], "{presence:?}");
        }
        let store = store.change("p", |p| p.presence = Presence::Gone);
        assert_eq!(store.all_orphans().dropped("p"), [1, 2]);
    }

    #[test]
    fn a_deleted_project_that_is_kept_keeps_its_newest_under_every_rule() {
        let store = Store::new()
            .gone("p", &[90, 80, 70, 60].map(days_ago))
            .own_bytes(10);
        let confirmed = Orphans::These(std::collections::BTreeSet::new());
        for orphans in [Orphans::Keep, confirmed, Orphans::Untouched { days: 365 }] {
            let store = store.clone().orphans(orphans);
            for limited in [
                store.clone().keep_days(7),
                store.clone().keep_count(1),
                store.clone().limit_size(1),
                store.clone().free_space(0).floor(30),
            ] {
                assert_eq!(limited.dropped("p"), [1, 2, 3], "{:?}", limited.limits);
                assert!(limited.plan().forgotten.is_empty());
            }
        }
    }

    #[test]
    fn the_newest_that_can_be_read_stays_beside_one_that_cannot() {
        let damaged = Store::new()
            .live("p", &[90, 80, 70, 60].map(days_ago))
            .own_bytes(10)
            .change("p", |p| {
                p.checkpoints[3].readable = false;
                p.checkpoints[2].readable = false;
            });
        for limited in [
            damaged.clone().keep_days(7),
            damaged.clone().keep_count(1),
            damaged.clone().limit_size(1),
        ] {
            assert_eq!(limited.dropped("p"), [1, 3], "{:?}", limited.limits);
        }
        let project = &damaged.facts.projects[0];
        let last: Vec<_> = project.last_resort().map(|c| c.sequence).collect();
        assert_eq!(last, [4, 2]);
        let gone = damaged.change("p", |p| p.presence = Presence::Gone);
        assert_eq!(gone.all_orphans().dropped("p"), [1, 2, 3, 4]);
    }

    #[test]
    fn a_project_of_which_nothing_can_be_read_keeps_its_newest() {
        let store = Store::new().live("p", &[90, 80].map(days_ago)).keep_days(7);
        let store = store.change("p", |p| {
            p.checkpoints.iter_mut().for_each(|c| c.readable = false);
        });
        assert_eq!(store.dropped("p"), [1]);
    }

    #[test]
    fn the_newest_is_the_one_with_the_highest_number_not_the_latest_time() {
        let store = Store::new().live("p", &[days_ago(1), days_ago(400)]);
        assert_eq!(store.keep_count(1).dropped("p"), [1]);
    }
}
