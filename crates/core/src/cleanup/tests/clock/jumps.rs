//! A week of saving and cleaning with a clock that jumps: no checkpoint goes because of it.

use super::testing::{NOW, Store, commit, days_ago};
use super::*;

const YEAR: f64 = 365.0 * DAY;
const JUMPS: [usize; 3] = [2, 3, 4];

/// Three projects, used for a week and cleaned every day. `busy` is saved every day, `caught` only up to
/// the last day of the jump, `idle` never. None of them is unused for longer than the limit.
struct Week {
    store: Store,
    jump: f64,
    days: std::ops::Range<usize>,
}

impl Week {
    fn new(jump: f64, days: std::ops::Range<usize>) -> Self {
        let store = Store::new()
            .live("busy", &[4, 3, 2, 1].map(days_ago))
            .live("caught", &[4, 3, 2, 1].map(days_ago))
            .live("idle", &[4, 3, 2, 1].map(days_ago))
            .keep_days(9)
            .keep_count(20);
        Self { store, jump, days }
    }

    fn save(&mut self, name: &str, now: f64) {
        self.store = self.store.clone().change(name, |project| {
            let last = project.checkpoints.last().expect("it was saved before");
            let number = last.number + 1;
            project.checkpoints.push(CheckpointFacts {
                number,
                id: commit(name, number),
                time: now as i64,
                ..last.clone()
            });
            project.last_touch = Some(now);
        });
    }

    /// Lives through the week; returns what went.
    fn run(mut self) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        for day in 0..7 {
            let jump = if self.days.contains(&day) { self.jump } else { 0.0 };
            let now = NOW + day as f64 * DAY + jump;
            self.save("busy", now);
            if day < self.days.end {
                self.save("caught", now);
            }
            self.store.facts.now = now;
            let plan = self.store.plan();
            self.store = self.store.after(&plan).last_run(Some(now));
            dropped.extend(plan.drops);
        }
        dropped
    }
}

#[test]
fn a_steady_clock_drops_nothing_in_this_week() {
    assert_eq!(Week::new(0.0, 2..3).run(), []);
}

#[test]
fn a_year_ahead_for_a_day_drops_nothing() {
    for day in JUMPS {
        assert_eq!(Week::new(YEAR, day..day + 1).run(), [], "on day {day}");
    }
}

#[test]
fn a_year_behind_or_1970_drops_nothing_however_long_it_lasts() {
    for jump in [-YEAR, -20.0 * DAY, -NOW] {
        for first in JUMPS {
            for end in first + 1..7 {
                assert_eq!(Week::new(jump, first..end).run(), [], "{jump} {first}..{end}");
            }
        }
    }
}

#[test]
fn after_a_jump_age_counts_again() {
    for (jump, days) in [(YEAR, 2..3), (-YEAR, 2..4)] {
        let mut week = Week::new(jump, days);
        // By a clock that is right its time is over on the last day.
        week.store = week.store.live("old", &[6, 5, 4].map(days_ago));
        let dropped = week.run();
        assert_eq!(dropped.len(), 2, "{jump}");
        assert!(dropped.iter().all(|drop| drop.rule == Rule::Stale));
    }
}
