//! Tests of protect.

use super::super::Orphans;
use super::super::presence::{Doubt, Presence};
use super::super::testing::{Store, days_ago};

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
    for presence in [Presence::Live, Presence::Unknown, Presence::OutOfReach(Doubt::ParentGone)] {
        let store = store.clone().change("p", |p| p.presence = presence.clone());
        let store = store.keep_count(1).keep_days(7).all_orphans();
        assert_eq!(store.dropped("p"), [1], "{presence:?}");
    }
    let store = store.change("p", |p| p.presence = Presence::Gone);
    assert_eq!(store.all_orphans().dropped("p"), [1, 2]);
}

#[test]
fn a_deleted_project_that_is_kept_keeps_its_newest_under_every_rule() {
    let store = Store::new().gone("p", &[90, 80, 70, 60].map(days_ago)).own_bytes(10);
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
    let damaged =
        Store::new().live("p", &[90, 80, 70, 60].map(days_ago)).own_bytes(10).change("p", |p| {
            p.checkpoints[3].readable = false;
            p.checkpoints[2].readable = false;
        });
    for limited in
        [damaged.clone().keep_days(7), damaged.clone().keep_count(1), damaged.clone().limit_size(1)]
    {
        assert_eq!(limited.dropped("p"), [1, 3], "{:?}", limited.limits);
    }
    let project = &damaged.facts.projects[0];
    let last: Vec<_> = project.last_resort().into_iter().flatten().map(|c| c.number).collect();
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
