//! Clocks that are wrong: the order of checkpoints, what the limits leave and what comes back are those of a
//! steady clock. (What age does is in `engine/defects_clock.rs`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use herma_core::cleanup::{CleanRequest, Limits};
use herma_core::engine::NoProgress;
use herma_core::types::clock::Timestamp;
use herma_core::{Clock, Settings};
use herma_fs::publish::Durability;
use herma_testkit::tree::Tree;

use crate::engine::project::{TestProject, engine_with_clock};

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;
/// A day in 2026.
const START: i64 = 1_790_000_000;
const END_OF_32_BITS: i64 = 1 << 31;
const IN_2100: i64 = 4_102_444_800;

/// A clock by the number of times it was looked at.
struct Wrong {
    looks: AtomicI64,
    shows: Shows,
}

impl Clock for Wrong {
    fn now(&self) -> Timestamp {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        Timestamp { seconds: (self.shows)(look), nanos: 0, offset_minutes: 0 }
    }
}

/// What a clock shows at each look.
type Shows = fn(look: i64) -> i64;

const CLOCKS: [(&str, Shows); 11] = [
    ("1970, standing still", |_| 0),
    ("before 1970", |look| look - YEAR),
    ("over the end of 32 bits", |look| END_OF_32_BITS - 40 + look),
    ("over the end of 32 unsigned bits", |look| 2 * END_OF_32_BITS - 40 + look),
    ("2100", |look| IN_2100 + look),
    ("a year ahead in the middle", |look| START + look + if look > 40 { YEAR } else { 0 }),
    ("a year back in the middle", |look| START + look - if look > 40 { YEAR } else { 0 }),
    ("backwards", |look| START - 60 * look),
    ("now 1970, now 2100", |look| if look % 2 == 0 { 0 } else { IN_2100 }),
    ("two hosts, an hour apart", |look| START + look + 3600 * (look / 7 % 2)),
    ("beyond all years", |look| i64::MAX - look),
];

/// All that may not depend on the clock.
#[derive(Debug, PartialEq)]
struct Seen {
    listed: Vec<String>,
    after_cleaning: Vec<String>,
    came_back: Vec<Tree>,
    undone: Tree,
    redone: Tree,
}

fn reasons(p: &TestProject) -> Vec<String> {
    let list = p.list();
    list.iter().map(|found| found.reason.to_string()).collect()
}

/// Saves, names, pins, drops, restores, undoes and cleans by count.
fn work(shows: Shows) -> Seen {
    let mut p = TestProject::new();
    let clock = Wrong { looks: AtomicI64::new(0), shows };
    let settings = Settings { durability: Durability::Cache, ..Settings::default() };
    p.engine = engine_with_clock(&p.home(), None, settings, Arc::new(clock));
    for number in 0..16 {
        p.write("a.txt", format!("state {number}\n"));
        p.write(&format!("only-{number}"), "x");
        p.save(&format!("save {number}"));
        if number == 3 {
            p.project().name(&p.find("@"), "early").unwrap();
            p.project().pin(&p.find("@-1")).unwrap();
        }
        if number == 9 {
            p.project().drop_checkpoint(&p.find("@-2")).unwrap();
        }
    }
    let listed = reasons(&p);
    p.restore("@-4");
    p.undo().unwrap();
    let undone = p.tree();
    p.redo().unwrap();
    let redone = p.tree();
    let request = CleanRequest {
        limits: Limits { max_snapshots: Some(6), ..Limits::default() },
        attended: true,
        clock_is_right: false,
    };
    let cleaned = p.engine.clean(&request, &NoProgress).unwrap();
    assert_eq!(cleaned.errors, [""; 0]);
    p.engine.maintain(&NoProgress).unwrap();
    let after_cleaning = reasons(&p);
    let ids: Vec<String> = p.list().iter().map(|found| format!("id:{}", found.id)).collect();
    let came_back = ids.iter().map(|id| {
        p.restore(id);
        p.tree()
    });
    let came_back = came_back.collect();
    p.fsck_but_dangling();
    Seen { listed, after_cleaning, came_back, undone, redone }
}

#[test]
fn whatever_the_clock_shows_order_and_retention_are_those_of_a_steady_clock() {
    let steady = work(|look| START + look);
    assert_eq!(steady.listed.len(), 15);
    assert!(steady.after_cleaning.len() < 15);
    for (name, shows) in CLOCKS {
        let seen = work(shows);
        assert_eq!(seen, steady, "{name}");
    }
}
