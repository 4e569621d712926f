//! Tests of orphans.

use std::collections::BTreeSet;

use super::super::testing::{NOW, Store, days_ago, id};
use super::*;

#[test]
fn unattended_cleaning_waits_from_the_day_it_found_the_project_missing() {
    let store =
        Store::new().gone("p", &[90, 80].map(days_ago)).orphans(Orphans::Untouched { days: 7 });
    assert_eq!(store.dropped("p"), [1, 2]);
    for since in [None, Some(NOW), Some(NOW - 6.0 * DAY), Some(NOW + DAY)] {
        let store = store.clone().change("p", |p| p.missing_since = since);
        assert_eq!(store.dropped("p"), [0; 0], "{since:?}");
    }
}

#[test]
fn a_deleted_project_goes_with_its_newest_checkpoint() {
    let store = Store::new()
        .gone("gone", &[2, 1].map(days_ago))
        .live("live", &[2, 1].map(days_ago))
        .all_orphans();
    let plan = store.plan();
    assert_eq!(store.dropped("gone"), [1, 2]);
    assert_eq!(store.dropped("live"), [0; 0]);
    assert!(plan.drops.iter().all(|drop| drop.rule == Rule::Orphan));
    assert_eq!(plan.forgotten.len(), 1);
    assert_eq!(plan.forgotten[0].id, id("gone"));
}

#[test]
fn an_unmounted_volume_is_not_a_deletion() {
    let store = Store::new().gone("usb", &[2, 1].map(days_ago)).all_orphans();
    let store = store.change("usb", |p| {
        p.presence = Presence::OutOfReach(Doubt::EmptyParent);
    });
    let plan = store.plan();
    assert!(plan.drops.is_empty() && plan.forgotten.is_empty());
    assert!(matches!(&plan.notes[..], [Note::OutOfReach { .. }]));
}

#[test]
fn gone_with_all_parents_is_deleted_when_it_was_not_saved_for_long() {
    let with_parents = |days: [i64; 2]| {
        let store = Store::new().gone("p", &days.map(days_ago));
        store.change("p", |p| p.presence = Presence::GoneWithParents)
    };
    let every =
        [Orphans::All, Orphans::These(BTreeSet::from([id("p")])), Orphans::Untouched { days: 7 }];
    for orphans in every {
        let wanted = |store: Store| store.keep_days(7).orphans(orphans.clone());
        assert_eq!(wanted(with_parents([90, 8])).dropped("p"), [1, 2]);
        let young = wanted(with_parents([90, 6])).plan();
        assert!(young.drops.is_empty(), "{orphans:?}");
        assert!(matches!(&young.notes[..], [Note::OutOfReach { .. }]));
    }
}

#[test]
fn only_what_was_confirmed_goes_and_only_while_it_is_gone() {
    let confirmed = BTreeSet::from([id("shown"), id("back")]);
    let store = Store::new()
        .gone("shown", &[days_ago(1)])
        .gone("new", &[days_ago(1)])
        .live("back", &[2, 1].map(days_ago))
        .orphans(Orphans::These(confirmed));
    assert_eq!(store.dropped("shown"), [1]);
    assert_eq!(store.dropped("new"), [0; 0]);
    assert_eq!(store.dropped("back"), [0; 0]);
}

#[test]
fn orphan_wins_over_stale() {
    let store = Store::new().gone("p", &[90, 80].map(days_ago));
    let store = store.keep_days(7).all_orphans();
    assert!(store.plan().drops.iter().all(|d| d.rule == Rule::Orphan));
}

#[test]
fn unattended_cleaning_waits_and_never_on_a_doubtful_clock() {
    let store = Store::new()
        .gone("old", &[days_ago(40)])
        .gone("recent", &[days_ago(20)])
        .orphans(Orphans::Untouched { days: 30 });
    assert_eq!(store.dropped("old"), [1]);
    assert_eq!(store.dropped("recent"), [0; 0]);
    let jumped = store.last_run(Some(NOW - 60.0 * DAY));
    assert!(jumped.plan().drops.is_empty());
}

#[test]
fn a_pinned_checkpoint_keeps_a_deleted_project_known() {
    let store = Store::new().gone("p", &[2, 1].map(days_ago)).all_orphans();
    let plan = store.change("p", |p| p.checkpoints[0].pinned = true).plan();
    assert_eq!((plan.drops.len(), plan.forgotten.len()), (1, 0));
    assert!(matches!(&plan.notes[..], [Note::OrphanStays { checkpoints: 1, .. }]));
}

#[test]
fn a_deleted_project_without_checkpoints_is_forgotten() {
    let store = Store::new().gone("p", &[]).live("q", &[]).all_orphans();
    let plan = store.plan();
    assert_eq!(plan.forgotten.len(), 1);
    assert_eq!(plan.forgotten[0].id, id("p"));
}
