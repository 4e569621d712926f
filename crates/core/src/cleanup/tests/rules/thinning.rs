//! Tests of thinning.

use super::super::testing::{Store, days_ago};
use super::*;

/// A Wednesday, 12:30:00 UTC.
const NOON: i64 = 1_794_400_200;

fn ago(minutes: &[i64]) -> Vec<i64> {
    minutes.iter().map(|minutes| NOON - 60 * minutes).collect()
}

fn noon(minutes: &[i64]) -> Store {
    Store::new().live("p", &ago(minutes)).at(NOON as f64)
}

#[test]
fn the_test_moment_is_what_it_says() {
    assert_eq!(NOON % 86_400, 12 * 3600 + 1800);
    assert_eq!((NOON + 3 * 86_400) / 86_400 % 7, 2, "days after Monday");
}

#[test]
fn of_each_hour_the_last_one_stays() {
    // 9:10, 9:40, 10:20, 10:50, 11:20, 12:00, 12:20
    let store = noon(&[200, 170, 130, 100, 70, 30, 10]);
    assert_eq!(store.clone().keep_count(6).dropped("p"), [1]);
    assert_eq!(store.clone().keep_count(5).dropped("p"), [1, 3]);
    // Nothing is spare any more: then the oldest.
    assert_eq!(store.keep_count(4).dropped("p"), [1, 2, 3]);
}

#[test]
fn of_each_day_the_last_one_stays_and_of_each_week() {
    let day = 24 * 60;
    let at = [16 * day, 15 * day, 10 * day, 9 * day, 3 * day + 60, 3 * day, 2 * day, 0];
    // Monday, Tuesday and Sunday of one week, Monday of the next; Sunday twice, Monday, today.
    let store = noon(&at);
    assert_eq!(store.clone().keep_count(7).dropped("p"), [1]);
    assert_eq!(store.clone().keep_count(6).dropped("p"), [1, 2]);
    assert_eq!(store.clone().keep_count(5).dropped("p"), [1, 2, 4]);
    assert_eq!(store.keep_count(4).dropped("p"), [1, 2, 4, 5]);
}

#[test]
fn a_protected_checkpoint_holds_the_place_of_its_hour() {
    let store = noon(&[200, 195, 190, 10]);
    let store = store.change("p", |p| p.checkpoints[1].pinned = true);
    assert_eq!(store.clone().keep_count(3).dropped("p"), [1]);
    assert_eq!(store.keep_count(2).dropped("p"), [1, 3]);
}

#[test]
fn a_doubtful_clock_thins_nothing_out() {
    let store = noon(&[300, 200, 170, 130, 100, 70, 30, 10]).keep_count(6);
    assert_eq!(store.dropped("p"), [2, 4]);
    let jumped = store.last_run(Some(NOON as f64 - 60.0 * DAY));
    assert_eq!(jumped.dropped("p"), [1, 2]);
}

#[test]
fn times_out_of_order_are_corrected_before_they_are_compared() {
    // The second says it is a day newer than the third; it counts as no later than that.
    let times = [NOON - 5 * 3600, NOON + 86_400, NOON - 7200, NOON];
    let store = Store::new().live("p", &times).at(NOON as f64);
    assert_eq!(store.keep_count(3).dropped("p"), [2]);
}

#[test]
fn a_working_week_leaves_days_behind_within_twenty_places() {
    // A save every ten minutes, eight hours a day, five days; the limit is kept after every save.
    let mut kept: Vec<i64> = Vec::new();
    let monday = NOON - NOON % 86_400 - 2 * 86_400;
    for day in 0..5 {
        for save in 0..48 {
            let now = monday + day * 86_400 + 9 * 3600 + save * 600;
            kept.push(now);
            let store = Store::new().live("p", &kept).at(now as f64).keep_count(20);
            let dropped = store.last_run(Some(now as f64)).dropped("p");
            let mut number = 0;
            kept.retain(|_| {
                number += 1;
                !dropped.contains(&number)
            });
        }
    }
    assert_eq!(kept.len(), 20);
    let days: std::collections::BTreeSet<_> = kept.iter().map(|t| t / 86_400).collect();
    assert_eq!(days.len(), 5, "every day of the week is still there");
}

#[test]
fn absurd_times_do_no_harm() {
    let times = [i64::MIN, i64::MAX, 0, i64::MAX, -1, days_ago(1)];
    assert_eq!(Store::new().live("p", &times).keep_count(2).plan().drops.len(), 4);
}
