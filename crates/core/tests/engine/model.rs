//! Random sequences of edits, saves, agents' steps, restores, undos, drops, cleanings and crashes, compared step
//! by step with a model.
//!
//! A sequence is a list of numbers; each number, together with the state it meets, is one step. So any
//! step can be left out and the rest still makes sense, which is how a failing sequence is made small.
//! `HERMA_MODEL_SEQUENCES` and `HERMA_FAULT_FULL` run more of them, `HERMA_MODEL_FIRST` begins at another seed.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use herma_testkit::faults;
use herma_testkit::random::Random;

use super::model_run::Run;

const SEQUENCES: u64 = 15;
const SEQUENCES_IN_FULL: u64 = 600;
const STEPS: usize = 30;

/// What went wrong, and after which steps.
struct Failure {
    message: String,
    log: Vec<String>,
    /// How many choices had been made.
    made: usize,
}

fn run(choices: &[u64]) -> Result<(), Failure> {
    let log = RefCell::new(Vec::new());
    let made = RefCell::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut run = Run::new(&log);
        for (number, choice) in choices.iter().enumerate() {
            *made.borrow_mut() = number + 1;
            run.step(*choice);
            if number % 10 == 9 {
                run.fsck();
            }
        }
        run.check_all();
    }));
    outcome.map_err(|panic| Failure {
        message: match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => (*text).to_owned(),
            _ => "a panic without words".to_owned(),
        },
        log: log.take(),
        made: made.take(),
    })
}

/// Leaves out steps for as long as the rest still fails.
fn shrink(mut choices: Vec<u64>, mut failure: Failure) -> (Vec<u64>, Failure) {
    choices.truncate(failure.made);
    let mut size = choices.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < choices.len() {
            let mut fewer = choices.clone();
            fewer.drain(at..(at + size).min(choices.len()));
            match run(&fewer) {
                Err(other) => (choices, failure) = (fewer, other),
                Ok(()) => at += size,
            }
        }
        size /= 2;
    }
    (choices, failure)
}

/// A number from the environment.
pub fn number(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |value| value.parse().expect("a number"))
}

#[test]
pub(super) fn random_work_always_ends_in_the_state_the_model_predicts() {
    let first = number("HERMA_MODEL_FIRST", 0);
    let next = AtomicU64::new(first);
    let usual = if faults::is_full() { SEQUENCES_IN_FULL } else { SEQUENCES };
    let end = first + number("HERMA_MODEL_SEQUENCES", usual);
    let failed = Mutex::new(None);
    let work = || {
        while failed.lock().unwrap().is_none() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let mut random = Random::new(seed);
            let choices: Vec<u64> = (0..STEPS).map(|_| random.next_number()).collect();
            if let Err(failure) = run(&choices) {
                failed.lock().unwrap().get_or_insert((seed, choices, failure));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    if let Some((seed, choices, failure)) = failed.into_inner().unwrap() {
        let (choices, failure) = shrink(choices, failure);
        panic!(
            "seed {seed}, made small: {choices:?}\n{}\n{}",
            failure.log.join("\n"),
            failure.message
        );
    }
}
