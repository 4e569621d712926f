//! What Herma promises, as ratios, and whether the figures keep it.

use std::fmt::Write;

use super::results::Results;
use super::sections::{checkpoints, copies, hooks, keeping, latency, lists, saving, search};

const LARGE: &str = "saving large";
const MEDIUM: &str = "saving medium";
const HUGE: &str = "saving huge";
const KERNEL: &str = "saving kernel";

/// A figure: subject, work, who.
type At = (&'static str, &'static str, &'static str);

/// A ratio and what it has to be.
pub struct Goal {
    pub name: &'static str,
    above: At,
    /// Added up.
    below: &'static [At],
    pub bound: Bound,
}

/// What a ratio has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Of the medians.
    pub ratio: f64,
    pub is_met: bool,
}

const LARGE_WALK: At = (LARGE, saving::WALK, saving::NOBODY);
const KERNEL_WALK: At = (KERNEL, saving::WALK, saving::NOBODY);
const LARGE_STEP_WALK: At = (LARGE, saving::STEP_WALK, saving::NOBODY);
const KERNEL_STEP_WALK: At = (KERNEL, saving::STEP_WALK, saving::NOBODY);
const LARGE_RESTORE_WALK: At = (LARGE, saving::RESTORE_WALK, saving::NOBODY);
const LARGE_ONE: At = (LARGE, saving::ONE, saving::HERMA);
const LARGE_SAME: At = (LARGE, saving::SAME, saving::HERMA);
const LARGE_FIRST: At = (LARGE, saving::FIRST, saving::HERMA);
const MEDIUM_ONE: At = (MEDIUM, saving::ONE, saving::HERMA);
const COLLECTED: At = (keeping::SUBJECT, keeping::SIZE, keeping::HERMA);
const BELOW_LIMITS: At = (keeping::SUBJECT, latency::SAVE, latency::BELOW);

const fn goal(name: &'static str, above: At, below: &'static [At], bound: Bound) -> Goal {
    Goal { name, above, below, bound }
}

/// All of them, in the order they are shown.
pub const GOALS: &[Goal] = &[
    goal(
        "80,000 files: nothing changed / bare walk",
        LARGE_SAME,
        &[LARGE_WALK],
        Bound::AtMost(0.95),
    ),
    goal("80,000 files: 1 file changed / bare walk", LARGE_ONE, &[LARGE_WALK], Bound::AtMost(1.1)),
    goal(
        "80,000 files: git / herma, 1 file changed",
        (LARGE, saving::ONE, "git"),
        &[LARGE_ONE],
        Bound::AtLeast(4.0),
    ),
    goal(
        "80,000 files: jj / herma, 1 file changed",
        (LARGE, saving::ONE, "jj"),
        &[LARGE_ONE],
        Bound::AtLeast(3.5),
    ),
    goal(
        "6,500 files: hermes-agent / herma, 1 file changed",
        (MEDIUM, saving::ONE, "hermes-agent"),
        &[MEDIUM_ONE],
        Bound::AtLeast(20.0),
    ),
    goal(
        "80,000 files: git / herma, first save",
        (LARGE, saving::FIRST, "git"),
        &[LARGE_FIRST],
        Bound::AtLeast(5.5),
    ),
    goal(
        "80,000 files: restic / herma, first save",
        (LARGE, saving::FIRST, "restic"),
        &[LARGE_FIRST],
        Bound::AtLeast(1.0),
    ),
    goal(
        "80,000 files: 1 file changed, at the cap / below it",
        (LARGE, saving::ONE, "herma at the cap"),
        &[LARGE_ONE],
        Bound::AtMost(1.1),
    ),
    goal(
        "700 files: a save at the count limit / below it",
        (keeping::SUBJECT, latency::SAVE, latency::AT_COUNT),
        &[BELOW_LIMITS],
        Bound::AtMost(1.1),
    ),
    goal(
        "700 files: a save at the size limit / below it",
        (keeping::SUBJECT, latency::SAVE, latency::AT_SIZE),
        &[BELOW_LIMITS],
        Bound::AtMost(1.1),
    ),
    goal(
        "80,000 files: restore of 100 files / bare walk",
        (LARGE, saving::RESTORE_HUNDRED, saving::HERMA),
        &[LARGE_RESTORE_WALK],
        Bound::AtMost(1.6),
    ),
    goal(
        "kernel source: nothing changed / bare walk",
        (KERNEL, saving::SAME, saving::HERMA),
        &[KERNEL_WALK],
        Bound::AtMost(0.95),
    ),
    goal(
        "kernel source: 1 file changed / bare walk",
        (KERNEL, saving::ONE, saving::HERMA),
        &[KERNEL_WALK],
        Bound::AtMost(1.1),
    ),
    goal(
        "kernel source: git / herma, first save",
        (KERNEL, saving::FIRST, "git"),
        &[(KERNEL, saving::FIRST, saving::HERMA)],
        Bound::AtLeast(5.5),
    ),
    goal(
        "kernel source: restore of 100 files / bare walk",
        (KERNEL, saving::RESTORE_HUNDRED, saving::HERMA),
        &[(KERNEL, saving::RESTORE_WALK, saving::NOBODY)],
        Bound::AtMost(1.6),
    ),
    goal(
        "80,000 files: undo of a step / bare walk",
        (LARGE, saving::UNDO, saving::HERMA),
        &[LARGE_STEP_WALK],
        Bound::AtMost(1.8),
    ),
    goal(
        "80,000 files: restore across a step / bare walk",
        (LARGE, saving::RESTORE_STEP, saving::HERMA),
        &[LARGE_STEP_WALK],
        Bound::AtMost(2.0),
    ),
    goal(
        "kernel source: undo of a step / bare walk",
        (KERNEL, saving::UNDO, saving::HERMA),
        &[KERNEL_STEP_WALK],
        Bound::AtMost(1.8),
    ),
    goal(
        "kernel source: restore across a step / bare walk",
        (KERNEL, saving::RESTORE_STEP, saving::HERMA),
        &[KERNEL_STEP_WALK],
        Bound::AtMost(2.0),
    ),
    goal(
        "1 GB of contents in 1,000 states: grep / ripgrep in files",
        (search::SUBJECT, search::RARE, search::HERMA),
        &[(search::SUBJECT, search::RARE, search::RIPGREP)],
        Bound::AtMost(2.0),
    ),
    goal(
        "80,000 files: open of a state / cp -a",
        (copies::SUBJECT, copies::COPIED, copies::HERMA),
        &[(copies::SUBJECT, copies::COPIED, copies::CP)],
        Bound::AtMost(1.2),
    ),
    goal(
        "80,000 files on btrfs: open of a state / cp -a --reflink=always",
        (copies::SUBJECT, copies::SHARED, copies::HERMA),
        &[(copies::SUBJECT, copies::SHARED, copies::CP)],
        Bound::AtMost(2.0),
    ),
    goal(
        "the last 20 steps: of 5,000 / of 500",
        (checkpoints::SUBJECT, checkpoints::STEPS_20, checkpoints::MANY_STEPS),
        &[(checkpoints::SUBJECT, checkpoints::STEPS_20, checkpoints::FEW_STEPS)],
        Bound::AtMost(1.2),
    ),
    goal(
        "200 checkpoints: size / git gc",
        COLLECTED,
        &[(keeping::SUBJECT, keeping::SIZE, keeping::GIT_GC)],
        Bound::AtMost(1.0),
    ),
    goal(
        "200 checkpoints: size / restic",
        COLLECTED,
        &[(keeping::SUBJECT, keeping::SIZE, keeping::RESTIC)],
        Bound::AtMost(1.0),
    ),
    goal(
        "100,000 files: time of a collection / git gc",
        (keeping::SUBJECT, keeping::COLLECT_MANY, keeping::HERMA),
        &[(keeping::SUBJECT, keeping::COLLECT_MANY, keeping::GIT_GC)],
        Bound::AtMost(2.0),
    ),
    goal(
        "1,000,000 files / 80,000 files, nothing changed",
        (HUGE, saving::SAME, saving::HERMA),
        &[LARGE_SAME],
        Bound::AtMost(13.0),
    ),
    goal(
        "6,500 files: hook before a tool / bare walk and program start",
        (hooks::SUBJECT, hooks::BEFORE, "herma"),
        &[(hooks::SUBJECT, hooks::WALK, "herma"), (hooks::SUBJECT, hooks::START, "herma")],
        Bound::AtMost(1.5),
    ),
    goal(
        "6,500 files: hook before a tool / the program before",
        (hooks::SUBJECT, hooks::BEFORE, hooks::HERMA),
        &[(hooks::SUBJECT, hooks::BEFORE, hooks::BEFORE_HERMA)],
        Bound::AtMost(1.2),
    ),
    goal(
        "6,500 files: hook before a tool / save",
        (hooks::SUBJECT, hooks::BEFORE, hooks::HERMA),
        &[(hooks::SUBJECT, hooks::SAVE, hooks::HERMA)],
        Bound::AtMost(1.5),
    ),
    goal(
        "6,500 files: hook after a tool / before it",
        (hooks::SUBJECT, hooks::AFTER, hooks::HERMA),
        &[(hooks::SUBJECT, hooks::BEFORE, hooks::HERMA)],
        Bound::AtMost(1.0),
    ),
    goal(
        "hook before a tool that only reads / program start",
        (hooks::SUBJECT, hooks::READS, hooks::HERMA),
        &[(hooks::SUBJECT, hooks::START, hooks::HERMA)],
        Bound::AtMost(4.0),
    ),
    goal(
        "list of 1,000 checkpoints / the program before",
        (lists::SUBJECT, lists::LIST, lists::HERMA),
        &[(lists::SUBJECT, lists::LIST, lists::BEFORE_HERMA)],
        Bound::AtMost(1.1),
    ),
    goal(
        "status of 1,000 checkpoints / the program before",
        (lists::SUBJECT, lists::STATUS, lists::HERMA),
        &[(lists::SUBJECT, lists::STATUS, lists::BEFORE_HERMA)],
        Bound::AtMost(1.1),
    ),
    goal(
        "save at 1,000 checkpoints / the program before",
        (lists::SUBJECT, lists::SAVE, lists::HERMA),
        &[(lists::SUBJECT, lists::SAVE, lists::BEFORE_HERMA)],
        Bound::AtMost(1.02),
    ),
];

/// No command may have more than this at any time, with a million files.
const MAX_MEMORY_BYTES: f64 = 300.0 * 1_048_576.0;

impl Goal {
    /// What the figures say; `None` where they say nothing.
    pub fn find(&self, results: &Results) -> Option<Found> {
        let figure = |at: &At| results.find(at.0, at.1, at.2);
        let above = figure(&self.above)?;
        let below = self.below.iter().map(|at| Some(figure(at)?.median));
        let ratio = above.median / below.sum::<Option<f64>>()?;
        Some(Found { ratio, is_met: self.bound.is_met(ratio) })
    }
}

impl Bound {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }

    fn words(self) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {most}×"),
            Self::AtLeast(least) => format!("≥ {least}×"),
        }
    }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "yes" } else { "**no**" }
}

/// The table of all goals, as Markdown. What was not measured says so.
pub fn table(results: &Results) -> String {
    let mut text =
        String::from("| ratio of medians | measured | goal | met |\n|---|---|---|---|\n");
    for goal in GOALS {
        let (name, bound) = (goal.name, goal.bound.words());
        let row = match goal.find(results) {
            Some(found) => {
                format!("| {name} | {} | {bound} | {} |", times(found.ratio), verdict(found.is_met))
            }
            None => format!("| {name} | not measured | {bound} | |"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{row}");
    }
    let _ = writeln!(text, "{}", memory_row(results));
    text
}

fn memory_row(results: &Results) -> String {
    let name = "1,000,000 files: peak memory";
    let works = [saving::MEMORY, saving::MEMORY_FIRST];
    let peaks = works.map(|work| results.find(HUGE, work, saving::HERMA));
    let peak = peaks.into_iter().flatten().map(|figure| figure.median).reduce(f64::max);
    match peak {
        Some(bytes) => format!(
            "| {name} | {:.0} MiB | < 300 MiB | {} |",
            bytes / 1_048_576.0,
            verdict(bytes < MAX_MEMORY_BYTES)
        ),
        None => format!("| {name} | not measured | < 300 MiB | |"),
    }
}

/// A ratio with as many digits as mean something.
fn times(ratio: f64) -> String {
    match ratio {
        large if large >= 10.0 => format!("{large:.0}×"),
        middle if middle >= 2.0 => format!("{middle:.1}×"),
        small => format!("{small:.2}×"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::results::Recorder;

    fn measured(walk: u64, same: u64) -> Results {
        let mut results = Results::default();
        let mut record = Recorder::new(LARGE);
        record.time(saving::WALK, saving::NOBODY, Duration::from_millis(walk));
        record.time(saving::SAME, saving::HERMA, Duration::from_millis(same));
        record.finish(&mut results);
        results
    }

    #[test]
    fn a_goal_is_met_or_missed_by_its_ratio() {
        let found = GOALS[0].find(&measured(100, 95)).unwrap();
        assert!((found.ratio - 0.95).abs() < 1e-9);
        assert!(found.is_met);
        let found = GOALS[0].find(&measured(100, 96)).unwrap();
        assert!(!found.is_met);
        assert!(!Bound::AtLeast(4.0).is_met(3.9));
    }

    #[test]
    fn what_is_below_is_added_up() {
        let hook = GOALS.iter().find(|goal| goal.below.len() == 2).unwrap();
        let mut results = Results::default();
        let mut record = Recorder::new(hooks::SUBJECT);
        for (work, time) in [(hooks::WALK, 10), (hooks::START, 2), (hooks::BEFORE, 18)] {
            record.time(work, "herma", Duration::from_millis(time));
        }
        record.finish(&mut results);
        let found = hook.find(&results).unwrap();
        assert_eq!((found.ratio, found.is_met), (1.5, true));
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let table = table(&measured(100, 99));
        assert!(table.contains("| 0.99× | ≤ 0.95× | **no** |"), "{table}");
        let missing = table.lines().filter(|line| line.contains("not measured"));
        assert_eq!(missing.count(), GOALS.len());
    }
}
