//! Clocks that jump: one test per defect of the original.

use std::path::PathBuf;
use std::sync::Arc;

use herma_core::Settings;
use herma_core::engine::NoProgress;
use herma_core::types::settings::Keeping;
use herma_fs::publish::Durability;

use super::project::TestProject;
use super::upkeep::{DAY, HOUR, HandClock, START, maintain, make, reasons_at, save_at, with_clock};

const YEAR: i64 = 365 * DAY;

/// What the clock shows on a day of the test, besides what it should.
struct Jump {
    name: &'static str,
    /// The true day, and how far off the clock is.
    error: fn(day: i64) -> i64,
}

const JUMPS: [Jump; 7] = [
    Jump { name: "a year ahead for one day", error: |day| if day == 9 { YEAR } else { 0 } },
    Jump { name: "a year behind for one day", error: |day| if day == 9 { -YEAR } else { 0 } },
    Jump {
        name: "a year behind for a week",
        error: |day| if (9..16).contains(&day) { -YEAR } else { 0 },
    },
    Jump {
        name: "1970 for three days",
        error: |day| {
            if (9..12).contains(&day) { -START - day * DAY + 60 } else { 0 }
        },
    },
    Jump {
        name: "1970 every other day",
        error: |day| {
            if day % 2 == 1 { -START - day * DAY + 60 } else { 0 }
        },
    },
    Jump {
        name: "two hours back and forth",
        error: |day| if day % 2 == 1 { -2 * HOUR } else { 0 },
    },
    Jump { name: "the year 2100 for one day", error: |day| if day == 12 { 74 * YEAR } else { 0 } },
];

/// What is left after five weeks: of a project in use, of one saved until the day of the jump, and of one
/// that is idle from the beginning.
#[derive(Debug, PartialEq)]
struct Left(Vec<Vec<String>>);

struct World {
    p: TestProject,
    clock: Arc<HandClock>,
    roots: [PathBuf; 3],
}

impl World {
    fn new() -> Self {
        let (p, clock) = with_clock(Settings {
            keeping: Keeping {
                // No other limit has a say.
                max_snapshots: Some(0),
                max_total_size: Some(0),
                retention_days: 14,
                ..Keeping::default()
            },
            durability: Durability::Cache,
            ..Settings::default()
        });
        let roots = ["busy", "caught", "idle"].map(|name| make(&p, name));
        Self { p, clock, roots }
    }

    fn save(&self, project: usize, day: i64) {
        let root = &self.roots[project];
        std::fs::write(root.join("a"), day.to_string()).unwrap();
        save_at(&self.p, root, &day.to_string());
    }

    /// One day: the clock is set, projects are saved, and maintenance runs.
    fn day(&self, day: i64, error: i64) {
        self.clock.set(START + day * DAY + error);
        self.save(0, day);
        if day <= 12 {
            self.save(1, day);
        }
        if day < 3 {
            self.save(2, day);
        }
        self.clock.advance(HOUR / 2);
        maintain(&self.p);
    }

    fn left(&self) -> Left {
        Left(self.roots.iter().map(|r| reasons_at(&self.p, r)).collect())
    }
}

fn live(days: i64, error: fn(i64) -> i64) -> World {
    let world = World::new();
    for day in 0..days {
        world.day(day, error(day));
    }
    world
}

// HERMES defect 47: after a jump of the clock there was no maintenance, or too much.
#[test]
fn whatever_the_clock_shows_no_checkpoint_goes_earlier_than_by_a_steady_clock() {
    let steady = World::new();
    let steady: Vec<Left> = (0..24)
        .map(|day| {
            steady.day(day, 0);
            steady.left()
        })
        .collect();
    for Jump { name, error } in JUMPS {
        let jumping = World::new();
        for (day, steady) in (0..).zip(&steady) {
            jumping.day(day, error(day));
            for (steady, jumping) in steady.0.iter().zip(&jumping.left().0) {
                let kept = steady.iter().all(|reason| jumping.contains(reason));
                assert!(kept, "{name}, day {day}: {jumping:?} of {steady:?}");
            }
        }
        // With the clock right again, age counts again.
        for day in 24..32 {
            jumping.day(day, 0);
        }
        let left = jumping.left();
        assert_eq!(left.0[2], ["2"], "{name}: the idle one has been cleaned");
        assert_eq!(left.0[0].len(), 32, "{name}: the busy one has everything");
        jumping.p.fsck_but_dangling();
    }
}

// HERMES defect 47
#[test]
fn a_machine_that_was_off_for_six_weeks_cleans_up_one_cycle_later() {
    let world = live(5, |_| 0);
    world.clock.set(START + 47 * DAY);
    let first = maintain(&world.p);
    assert_eq!(first.dropped, [], "the clock may have jumped");
    world.clock.advance(2 * DAY);
    let second = maintain(&world.p);
    assert!(!second.dropped.is_empty(), "time has really passed");
    let left = world.left().0;
    assert_eq!(left, [["4"], ["4"], ["2"]], "the newest stay");
}

// HERMES defect 47: a marker from the future turned maintenance off until then.
#[test]
fn a_wrong_marker_is_replaced_and_costs_nothing() {
    let marks: [&[u8]; 9] = [
        b"",
        b"yesterday",
        b"nan",
        b"inf",
        b"-5",
        b"99999999999.0",
        b"0",
        b"\xff\xfe",
        &[b'1'; 5000],
    ];
    for mark in marks {
        let world = live(5, |_| 0);
        let path = world.p.home().join("checkpoints/.last_prune");
        std::fs::write(&path, mark).unwrap();
        let before = world.left();
        for day in 5..8 {
            world.clock.set(START + day * DAY);
            maintain(&world.p);
            let healed = std::fs::read_to_string(&path).unwrap();
            let healed: f64 = healed.trim().parse().unwrap();
            assert!((healed - (START + day * DAY) as f64).abs() < 1.0);
        }
        assert_eq!(world.left(), before, "{:?}", mark.escape_ascii().to_string());
    }
}

// HERMES defect 47
#[test]
fn a_directory_in_the_place_of_the_marker_does_not_stop_maintenance() {
    let world = live(2, |_| 0);
    let path = world.p.home().join("checkpoints/.last_prune");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("file"), "x").unwrap();
    for day in 2..4 {
        world.clock.set(START + day * DAY);
        let cleaned = world.p.engine.maintain(&NoProgress).unwrap().unwrap();
        assert_eq!(cleaned.dropped, []);
    }
    assert!(path.is_file(), "it is out of the way");
}

// HERMES defect 47: a project touched in the future was never cleaned up.
#[test]
fn a_record_from_the_future_is_put_right_and_then_ages() {
    for touch in ["99999999999.0", "NaN", "\"yesterday\"", "1.0"] {
        let world = live(4, |_| 0);
        let id = world.p.engine.project(&world.roots[2]).unwrap().id().to_string();
        let record = world.p.store().join(format!("projects/{id}.json"));
        let text = std::fs::read_to_string(&record).unwrap();
        let at = text.find("\"last_touch\": ").unwrap() + 14;
        let end = at + text[at..].find([',', '\n', '}']).unwrap();
        let text = format!("{}{touch}{}", &text[..at], &text[end..]);
        std::fs::write(&record, text).unwrap();
        for day in 4..30 {
            world.day(day, 0);
            let idle = &world.left().0[2];
            if day < 14 {
                assert_eq!(idle.len(), 3, "{touch}, day {day}");
            }
        }
        assert_eq!(world.left().0[2], ["2"], "{touch}");
    }
}

// The time that was compared was not the one that was about to be written, so every look was noted and synced.
#[test]
fn a_look_that_finds_nothing_new_is_not_noted_because_the_clock_goes_on() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let record = std::fs::read_dir(p.store().join("projects")).unwrap();
    let record = record.map(|entry| entry.unwrap().path()).next().unwrap();
    let first = std::fs::read(&record).unwrap();
    assert!(!p.save("again").is_new);
    assert_eq!(std::fs::read(&record).unwrap(), first);
}

// A record that is written anew for every look has to be synced every time, or a power cut leaves it empty.
#[test]
fn a_look_that_finds_nothing_new_is_noted_once_a_minute() {
    let (p, clock) = with_clock(Settings::default());
    p.write("a.txt", "one\n");
    p.save("first");
    let record = std::fs::read_dir(p.store().join("projects")).unwrap();
    let record = record.map(|entry| entry.unwrap().path()).next().unwrap();
    let read = || std::fs::read_to_string(&record).unwrap();
    let first = read();
    clock.advance(59);
    assert!(!p.save("again").is_new);
    assert_eq!(read(), first, "within the minute");
    clock.advance(1);
    assert!(!p.save("again").is_new);
    let second = read();
    assert_ne!(second, first, "a minute later");
    clock.set(START - DAY);
    assert!(!p.save("again").is_new);
    assert_ne!(read(), second, "a clock that went back is noted at once");
    std::fs::write(&record, "").unwrap();
    assert!(!p.save("again").is_new);
    assert_eq!(read().matches("last_touch").count(), 1, "an empty record is made anew at once");
}
