//! Orders of what several threads do, tried one by one.
//!
//! Only with `--cfg shuttle`, which `cargo xtask interleavings` sets.

use std::env;
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// How many orders each test tries.
pub const SCHEDULES_VARIABLE: &str = "HERMA_SCHEDULES";

/// What a test tries on its own.
const DEFAULT: usize = 1000;

/// A bug may need so many changes of who goes first.
const DEPTH: usize = 3;

fn config() -> Config {
    let mut config = Config::new();
    // The engine builds paths and compresses on its stack.
    config.stack_size = 1 << 18;
    // Atomics are sequentially consistent here, which is said in docs/RELIABILITY.md rather than in every run.
    config.silence_warnings = true;
    config
}

/// Runs `test` under this many random orders.
pub fn run(schedules: usize, test: impl Fn() + Send + Sync + 'static) {
    Runner::new(RandomScheduler::new(schedules), config()).run(test);
}

/// Runs `test` under as many orders as asked for: half of them random, half with priorities that change now and then.
pub fn explore(test: impl Fn() + Send + Sync + 'static) {
    let schedules = match env::var(SCHEDULES_VARIABLE) {
        Ok(number) => number.parse().expect("it is a number"),
        Err(_) => DEFAULT,
    };
    let test = Arc::new(test);
    let again = Arc::clone(&test);
    run(schedules.div_ceil(2), move || test());
    let by_priority = PctScheduler::new(DEPTH, schedules / 2);
    Runner::new(by_priority, config()).run(move || again());
    println!("{schedules} schedules");
}
