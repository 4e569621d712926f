//! A command with a fault at one of its calls after the other, and a look at what each left behind.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use herma_testkit::faults;
use herma_testkit::faults::{Fault, Faults, Outcome, Status};

/// How many failing positions are shown in full.
const SHOWN: usize = 3;

pub(super) const ENOSPC: i32 = 28;
pub(super) const EIO: i32 = 5;

/// Every way a call can go wrong.
pub(super) const FAULTS: [Fault; 6] = [
    Fault::Kill,
    Fault::KillAfter,
    Fault::ShortWrite,
    Fault::Error(ENOSPC),
    Fault::Error(EIO),
    Fault::ErrorFrom(ENOSPC),
];

/// A command, what stands before it, and what must hold after it was disturbed.
pub(super) struct Disturbed<'d> {
    pub(super) name: &'d str,
    pub(super) command: Faults,
    pub(super) reset: &'d dyn Fn(),
    pub(super) check: &'d dyn Fn(&Outcome),
}

impl Disturbed<'_> {
    /// What the command does when nothing disturbs it.
    #[track_caller]
    pub(super) fn plain(&self) -> Outcome {
        (self.reset)();
        let plain = self.command.run(Fault::Count, 0);
        assert_eq!(plain.status, Status::Exited(0), "{}", words(&plain));
        assert!(plain.count > 2, "there is something to disturb");
        plain
    }

    /// Delivers every fault at every `stride`-th of the positions a sweep visits.
    #[track_caller]
    pub(super) fn everywhere(&self, stride: u64) {
        if !faults::available() {
            return;
        }
        let plain = self.plain();
        for (offset, fault) in (0..).zip(FAULTS) {
            let positions = match fault {
                // These are counted by themselves, and there are few.
                Fault::ShortWrite => spread(plain.writes, 1, 0),
                _ => spread(plain.count, stride, offset),
            };
            self.visit(fault, plain.count, &positions);
        }
    }

    /// Delivers a fault at these positions.
    #[track_caller]
    pub(super) fn visit(&self, fault: Fault, count: u64, positions: &BTreeSet<u64>) {
        let name = self.name;
        let mut hit = 0;
        let mut failures: Vec<String> = Vec::new();
        for n in positions {
            (self.reset)();
            let outcome = self.command.run(fault, *n);
            hit += u64::from(outcome.hit.is_some());
            if outcome.hit.is_none() && may_miss(fault) {
                continue;
            }
            let checked = catch_unwind(AssertUnwindSafe(|| (self.check)(&outcome)));
            if let Err(panic) = checked {
                let call = outcome.hit.map_or("-", |call| call.name);
                failures.push(format!("at {n} ({call}): {}", message_of(&*panic)));
            }
        }
        let (visited, failed) = (positions.len(), failures.len());
        eprintln!(
            "{name}, {fault:?}: {count} calls, {visited} visited, {hit} hit, {failed} failed"
        );
        failures.truncate(SHOWN);
        assert!(
            failures.is_empty(),
            "{name}, {fault:?}: {failed} of {visited} positions failed\n{}",
            failures.join("\n")
        );
    }
}

/// Are there calls that this fault does nothing to?
fn may_miss(fault: Fault) -> bool {
    matches!(fault, Fault::ShortWrite | Fault::Error(_) | Fault::ErrorFrom(_))
}

/// Every `stride`-th of the calls a sweep visits, beginning at another one for each fault, so that a sparse sweep
/// does not look at the same few calls six times.
pub(super) fn spread(count: u64, stride: u64, offset: u64) -> BTreeSet<u64> {
    let step = faults::step();
    if step == 1 {
        return (1..=count).collect();
    }
    let apart = step.saturating_mul(stride);
    let first = 1 + offset * apart / FAULTS.len() as u64;
    (first..=count).step_by(apart as usize).collect()
}

/// What a failing assertion said.
pub(super) fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// How a command ended and what it said.
pub(super) fn words(outcome: &Outcome) -> String {
    format!(
        "{:?}\n{}{}",
        outcome.status,
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    )
}

/// Did a disturbed command succeed? If not, it was killed, or says what failed and what that means.
#[track_caller]
pub(super) fn succeeded(outcome: &Outcome) -> bool {
    assert!(!outcome.timed_out, "it hung\n{}", words(outcome));
    match outcome.status {
        Status::Signaled(9) => false,
        Status::Exited(0) => true,
        Status::Exited(code) => {
            assert_explained(code, outcome);
            false
        }
        _ => panic!("it ended in an unforeseen way: {}", words(outcome)),
    }
}

/// A failure says what failed and what that means.
#[track_caller]
fn assert_explained(code: i32, outcome: &Outcome) {
    let said = words(outcome);
    assert!([1, 11, 12].contains(&code), "an unforeseen code: {said}");
    assert!(
        said.contains("os error") || said.contains("error\":{"),
        "the failed call is not named: {said}"
    );
}
