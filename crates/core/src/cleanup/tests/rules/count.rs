//! Tests of count.

use super::super::testing::{NOW_SECONDS, Store, days_ago};
use super::*;

#[test]
fn twenty_saves_within_an_hour_are_the_last_twenty() {
    let times: Vec<_> = (0..25).map(|n| NOW_SECONDS - 60 * (25 - n)).collect();
    let store = Store::new().live("p", &times).keep_count(20);
    assert_eq!(store.dropped("p"), [1, 2, 3, 4, 5]);
    assert!(store.plan().drops.iter().all(|d| d.rule == Rule::Count));
}

#[test]
fn protected_checkpoints_count_and_may_exceed_the_limit() {
    let store = Store::new().live("p", &[5, 4, 3, 2, 1].map(days_ago));
    let pinned = |count: usize| {
        store.clone().keep_count(2).change("p", |p| {
            p.checkpoints.iter_mut().take(count).for_each(|c| c.pinned = true);
        })
    };
    assert_eq!(pinned(1).dropped("p"), [2, 3, 4]);
    assert!(pinned(1).plan().notes.is_empty());
    assert_eq!(pinned(3).dropped("p"), [4]);
    assert!(matches!(
        &pinned(3).plan().notes[..],
        [Note::OverCount { checkpoints: 4, limit: 2, .. }]
    ));
}

#[test]
fn what_was_asked_for_one_project_is_not_taken_from_another() {
    let times = [5, 4, 3, 2, 1].map(days_ago);
    let store = Store::new().live("few", &times).live("many", &times);
    let store = store
        .change("few", |p| p.asked_snapshots = Some(2))
        .change("many", |p| p.asked_snapshots = Some(4));
    let set = store.clone().keep_count(3);
    assert_eq!(set.dropped("few"), [1, 2], "the settings say 3");
    assert_eq!(set.dropped("many"), [1]);
    assert_eq!(store.dropped("few"), [1, 2, 3], "the settings say nothing");
    assert_eq!(store.dropped("many"), [1]);
}

#[test]
fn no_limit_and_zero_keep_everything() {
    let store = Store::new().live("p", &[5, 4, 3, 2, 1].map(days_ago));
    assert!(store.clone().keep_count(0).plan().drops.is_empty());
    assert!(store.plan().drops.is_empty());
}
