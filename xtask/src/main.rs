//! The project's own chores: `cargo xtask demo`, `ci`, `bench`, `faults`.

mod bench;
mod ci;
mod demo;
mod workspace;

use std::process::ExitCode;

/// Chores fail with a sentence for the person who started them.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

  demo                      Plays the session of the README in a temporary directory
  ci                        Everything a change must pass: format, lints, tests, documents, licences
  faults [--full] [FILTER]  The fault tests in release mode; --full stops at every single system call
                            (HERMA_FAULT_STEP=1) instead of every 7th, has crowds of processes in their
                            full size (HERMA_FAULT_FULL=1), and runs the ignored tests too
  bench [OPTIONS]           Measures saving against a bare walk and git, keeping against git and restic,
                            pruning sessions against sqlite3 and find
      --only SECTION        Only `saving`, only `keeping` or only `sessions`
      --sessions N          Sessions that are pruned [default: 300000]
      --files N             Files of the generated tree [default: 80000]
      --tree PATH           Measure this tree instead; one file in it is changed and changed back
      --rounds N            Interleaved rounds [default: 11]
      --history PATH        A repository whose last 200 commits are kept [default: a made-up history]
      --json FILE           Also write the numbers as JSON
      --herma PATH          Measure this program instead of building one
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let done = match args.first().map(String::as_str) {
        Some("ci") if rest.is_empty() => ci::check_everything(),
        Some("demo") if rest.is_empty() => demo::play(),
        Some("faults") => ci::run_fault_tests(rest),
        Some("bench") => bench::run(rest),
        Some(bench::PEAK_MEMORY) => bench::print_peak_memory(rest),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}
