//! Tests of age.

use super::super::testing::{NOW, Store, days_ago, id};
use super::*;

#[test]
fn a_project_idle_for_eight_days_keeps_its_newest_checkpoint() {
    let store = Store::new()
        .live("idle", &[10, 9, 8].map(days_ago))
        .live("busy", &[90, 80, 6].map(days_ago))
        .keep_days(7);
    assert_eq!(store.dropped("idle"), [1, 2]);
    assert_eq!(store.dropped("busy"), [0; 0]);
    assert!(store.plan().forgotten.is_empty());
}

#[test]
fn a_deleted_project_that_is_kept_ages_like_any_other() {
    let store = Store::new().gone("p", &[10, 9, 8].map(days_ago)).keep_days(7);
    let plan = store.plan();
    assert_eq!(store.dropped("p"), [1, 2]);
    assert!(plan.drops.iter().all(|drop| drop.rule == Rule::Stale));
    assert!(plan.forgotten.is_empty());
}

#[test]
fn zero_days_turn_the_rule_off() {
    let store = Store::new().gone("p", &[900, 800].map(days_ago));
    assert!(store.clone().keep_days(0).plan().drops.is_empty());
    assert!(store.plan().drops.is_empty());
}

#[test]
fn the_record_decides_and_the_newest_checkpoint_where_there_is_none() {
    let store = Store::new().live("p", &[30, 20].map(days_ago)).keep_days(7);
    let touched = |touch| store.clone().change("p", |p| p.last_touch = touch);
    assert_eq!(touched(Some(NOW - DAY)).dropped("p"), [0; 0]);
    assert_eq!(touched(Some(1.0)).dropped("p"), [1]);
    assert_eq!(touched(None).dropped("p"), [1]);
    assert_eq!(touched(Some(0.0)).dropped("p"), [1]);
    assert_eq!(touched(Some(f64::NAN)).dropped("p"), [1]);
}

#[test]
fn a_record_that_is_older_than_the_newest_checkpoint_is_not_believed() {
    let recent = Store::new().live("p", &[2, 1].map(days_ago)).keep_days(7);
    for touch in [1.0, NOW - 60.0 * DAY] {
        let recent = recent.clone().change("p", |p| p.last_touch = Some(touch));
        assert_eq!(recent.dropped("p"), [0; 0]);
    }
}

#[test]
fn a_project_saved_only_while_the_clock_was_behind_is_not_judged_by_what_is_older() {
    let wrong = days_ago(365);
    let store = Store::new()
        .live("p", &[days_ago(40), wrong, wrong + 60])
        .change("p", |p| p.last_touch = Some((wrong + 60) as f64))
        .keep_days(7);
    let plan = store.plan();
    assert_eq!(plan.drops, []);
    let later = store.after(&plan).at(NOW + 8.0 * DAY);
    assert_eq!(later.last_run(Some(NOW + 7.0 * DAY)).dropped("p"), [1, 2]);
}

#[test]
fn a_jump_of_the_clock_drops_nothing_because_of_age() {
    let store =
        Store::new().live("p", &[3, 2, 1].map(days_ago)).keep_days(7).last_run(Some(NOW - DAY));
    assert!(store.plan().drops.is_empty());
    for jump in [365.0 * DAY, -365.0 * DAY, 31.0 * DAY, -NOW] {
        let plan = store.clone().at(NOW + jump).plan();
        assert!(plan.drops.is_empty(), "{jump}");
        assert!(matches!(&plan.notes[..], [Note::ClockDistrusted(_)]));
    }
}

#[test]
fn saves_made_while_the_clock_was_a_year_behind_do_not_age_the_project() {
    let wrong = days_ago(365);
    let store = Store::new()
        .live("p", &[days_ago(3), days_ago(2), wrong, wrong + 60])
        .change("p", |p| p.last_touch = Some((wrong + 60) as f64));
    let plan = store.keep_days(7).plan();
    assert_eq!(plan.drops, []);
    let last_use = days_ago(2) as f64;
    let project = id("p");
    assert_eq!(plan.notes, [Note::EarlyTouch { project, last_use }]);
}

#[test]
fn a_record_in_the_future_is_named_for_repair() {
    let store = Store::new()
        .live("p", &[2, 1].map(days_ago))
        .change("p", |p| p.last_touch = Some(NOW + 400.0 * DAY))
        .keep_days(7);
    // The record alone makes the clock doubtful once; after that it is the record that is doubted.
    let first = store.clone().last_run(None).plan();
    assert_eq!(first.notes, [Note::ClockDistrusted(Trust::Behind)]);
    let next = store.last_run(Some(NOW - DAY)).plan();
    assert_eq!(next.notes, [Note::FutureTouch { project: id("p") }]);
}

#[test]
fn a_record_that_its_checkpoint_bears_out_is_left_alone() {
    // Perhaps it is the present clock that is wrong: setting the record back to it would make the
    // project look stale as soon as the clock is right again.
    let store = Store::new()
        .live("p", &[days_ago(3), days_ago(-400)])
        .keep_days(7)
        .last_run(Some(NOW - DAY));
    let plan = store.plan();
    assert_eq!(plan.notes, [Note::FutureCheckpoint { project: id("p") }]);
    assert!(plan.drops.is_empty());
}
