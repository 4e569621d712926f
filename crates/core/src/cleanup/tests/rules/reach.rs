//! Tests of how densely the history of a project in use is kept, and how far it reaches back.

use super::super::testing::{NOW, NOW_SECONDS, Store, days_ago};
use super::*;

/// Midnight before the test moment, which is a Sunday.
const TODAY: i64 = NOW_SECONDS - NOW_SECONDS % 86_400;

/// A save at this hour, so many days ago.
fn at(days_ago: i64, hour: i64) -> i64 {
    TODAY - days_ago * 86_400 + hour * 3600
}

/// Those at a prompt, by their numbers.
fn at_prompts(store: Store, numbers: &[u64]) -> Store {
    store.change("p", |p| {
        p.checkpoints.iter_mut().for_each(|c| c.at_prompt = numbers.contains(&c.number));
    })
}

#[test]
fn the_test_day_is_what_it_says() {
    assert_eq!((TODAY / 86_400 + MONDAY_OF_1970) % 7, 6, "days after Monday");
}

#[test]
fn days_stay_whole_then_one_checkpoint_each_then_one_a_week_and_then_nothing() {
    // Twice a day, on each of the last 21 days.
    let times: Vec<i64> = (0..21).rev().flat_map(|day| [at(day, 8), at(day, 10)]).collect();
    let store = Store::new().live("p", &times);
    let odd = |from: u64, to: u64| (from..=to).step_by(2).collect::<Vec<_>>();
    for (whole, daily, weekly, expected) in [
        (21, 0, 0, vec![]),
        (20, 1, 0, vec![1]),
        (20, 0, 0, vec![1, 2]),
        (15, 6, 0, odd(1, 11)),
        (15, 5, 1, odd(1, 11)),
        // Eight days are left: from Monday to Sunday, and the Monday after it.
        (13, 0, 2, [(1..=13).collect(), vec![15]].concat()),
        (13, 0, 1, (1..=15).collect()),
        (usize::MAX, usize::MAX, 0, vec![]),
    ] {
        let thinned = store.clone().thin_out(whole, daily, weekly);
        assert_eq!(thinned.dropped("p"), expected, "{whole} {daily} {weekly}");
        assert!(thinned.plan().drops.iter().all(|drop| drop.rule == Rule::Thinned));
        let after = thinned.after(&thinned.plan());
        assert_eq!(after.dropped("p"), [0; 0], "{whole} {daily} {weekly}, once more");
    }
}

#[test]
fn the_state_that_stays_is_one_in_which_a_prompt_began_or_ended() {
    let day = [at(3, 8), at(3, 9), at(3, 10), at(3, 11)];
    let store = Store::new().live("p", &[day.as_slice(), &[at(0, 1)]].concat()).thin_out(1, 1, 0);
    for (prompts, expected) in [
        (vec![], vec![1, 2, 3]),
        (vec![2], vec![1, 3, 4]),
        (vec![1, 3], vec![1, 2, 4]),
        (vec![1, 2, 3, 4], vec![1, 2, 3]),
    ] {
        assert_eq!(at_prompts(store.clone(), &prompts).dropped("p"), expected, "{prompts:?}");
    }
    let damaged = at_prompts(store, &[3, 4]).change("p", |p| p.checkpoints[3].readable = false);
    assert_eq!(damaged.clone().dropped("p"), [1, 2, 4]);
    let none = damaged.change("p", |p| p.checkpoints[2].readable = false);
    assert_eq!(none.dropped("p"), [1, 3, 4], "rather one that can be read than one at a prompt");
}

#[test]
fn a_protected_checkpoint_stays_and_costs_no_other_its_place() {
    let times = [at(9, 8), at(5, 8), at(5, 9), at(5, 10), at(0, 1)];
    let store = Store::new().live("p", &times).thin_out(1, 1, 0);
    assert_eq!(store.dropped("p"), [1, 2, 3]);
    let store = store.change("p", |p| {
        p.checkpoints[0].in_use = true;
        p.checkpoints[1].pinned = true;
        p.checkpoints[2].named = true;
    });
    assert_eq!(store.dropped("p"), [0; 0], "the last of that day as well");
}

#[test]
fn somebody_who_was_away_finds_everything_as_it_was() {
    // Three days of work, half a year of something else, and one day of work.
    let times = [at(203, 8), at(203, 9), at(202, 8), at(202, 9), at(201, 8), at(201, 9), at(0, 1)];
    let store = Store::new().live("p", &times);
    assert_eq!(store.clone().thin_out(4, 0, 0).dropped("p"), [0; 0]);
    assert_eq!(store.clone().thin_out(3, 1, 0).dropped("p"), [1]);
    assert_eq!(store.thin_out(1, 3, 0).dropped("p"), [1, 3, 5]);
}

#[test]
fn the_newest_of_a_project_stays_however_little_is_wanted() {
    let store = Store::new().live("p", &[at(3, 8), at(2, 8)]).thin_out(0, 0, 0);
    assert_eq!(store.dropped("p"), [1]);
}

#[test]
fn saves_with_a_wrong_date_move_no_other_and_are_as_new_as_their_place() {
    let wrong = [at(9000, 1), at(-400, 1)];
    let times = [at(2, 8), at(2, 9), wrong[0], at(1, 8), wrong[1], at(0, 1)];
    let store = Store::new().live("p", &times);
    // Five days, each wrong one being one.
    assert_eq!(store.clone().thin_out(5, 0, 0).dropped("p"), [0; 0]);
    assert_eq!(store.clone().thin_out(4, 1, 0).dropped("p"), [1]);
    assert_eq!(store.thin_out(2, 3, 0).dropped("p"), [1]);
}

#[test]
fn a_doubtful_clock_and_a_project_that_is_given_up_are_left_to_others() {
    let times = [at(40, 8), at(40, 9), at(39, 1)];
    let store = Store::new().live("p", &times).thin_out(1, 1, 0);
    assert_eq!(store.dropped("p"), [1]);
    assert_eq!(store.clone().last_run(Some(NOW - 60.0 * DAY)).dropped("p"), [0; 0]);
    let rules: Vec<_> = store.keep_days(30).plan().drops.iter().map(|drop| drop.rule).collect();
    assert_eq!(rules, [Rule::Stale, Rule::Stale]);
}

#[test]
fn absurd_times_do_no_harm() {
    let times = [i64::MIN, i64::MAX, 0, i64::MAX, -1, days_ago(1)];
    assert_eq!(Store::new().live("p", &times).thin_out(0, 0, 9).plan().drops.len(), 2);
}
