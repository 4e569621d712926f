//! `cargo xtask faults`: the failure table ([`rows`]), each row by its number. `docs/RELIABILITY.md` says which rows show which promise.

mod rows;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use herma_testkit::faults::{FULL_VARIABLE, STEP_VARIABLE};

use self::rows::{ROWS, Row, Step};
use crate::test_names::Asked;
use crate::{Result, workspace};

/// How often many writers are let loose before a release.
const CROWDS_BEFORE_RELEASE: usize = 10;
/// Where they are in the table.
const CROWD: &str = "9";

/// Runs what the arguments ask for.
pub fn run(args: &[String]) -> Result<()> {
    let (options, words): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with('-'));
    let options: Vec<&str> = options.into_iter().map(String::as_str).collect();
    match options.as_slice() {
        ["--list"] if words.is_empty() => {
            list();
            Ok(())
        }
        ["--release"] if words.is_empty() => {
            let mut rows: Vec<&Row> = ROWS.iter().collect();
            let crowd = ROWS.iter().find(|row| row.key == CROWD);
            rows.extend(crowd.iter().cycle().take(CROWDS_BEFORE_RELEASE - 1));
            run_rows(&rows, Size::Full)
        }
        [] => run_words(&words, Size::Small),
        ["--full"] => run_words(&words, Size::Full),
        _ => Err(format!("faults: not understood: {}", options.join(" ")).into()),
    }
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// What every change is tried with.
    Small,
    /// Every single call, crowds and counts in their full size, in a release build.
    Full,
}

fn list() {
    for row in &ROWS {
        println!("{:>7}  {}", row.key, row.title);
        println!("{:>7}  shows: {}", "", row.shows);
        for step in row.steps {
            println!("{:>7}  cargo {}", "", step.words(Size::Small).join(" "));
        }
    }
}

/// Rows by their number or name, or by what their tests of the engine are called; anything else is a filter for the fault tests of
/// the program.
fn run_words(words: &[&String], size: Size) -> Result<()> {
    let rows: Vec<&Row> = words.iter().filter_map(|word| row_of(word)).collect();
    let filters: Vec<&&String> = words.iter().filter(|w| row_of(w).is_none()).collect();
    for filter in &filters {
        if !fits_a_fault_test(filter, size)? {
            return Err(format!(
                "faults: no row and no test is called {filter}; --list has the rows"
            )
            .into());
        }
    }
    if words.is_empty() || !filters.is_empty() {
        let all = Step::Tests { package: "herma", binary: "faults", filters: &[] };
        let mut command = all.command(size)?;
        workspace::run(command.args(filters))?;
    }
    if rows.is_empty() {
        return Ok(());
    }
    run_rows(&rows, size)
}

fn row_of(word: &str) -> Option<&'static Row> {
    let is_its_module = |step: &Step| match step {
        Step::Tests { package: "herma-core", filters, .. } => {
            filters.iter().any(|f| f.trim_end_matches("::") == word)
        }
        _ => false,
    };
    let mut rows = ROWS.iter();
    rows.find(|row| row.key == word || row.steps.iter().any(is_its_module))
}

/// Is there a fault test of the program whose name contains this? What runs nothing would pass.
fn fits_a_fault_test(filter: &str, size: Size) -> Result<bool> {
    let asked = Asked {
        package: Some("herma"),
        target: Some("faults"),
        filters: vec![filter],
        runs_ignored: size == Size::Full,
    };
    Ok(asked.in_vain(&workspace::root()?)?.is_empty())
}

/// Would `cargo xtask faults --full` run something for this word?
#[cfg(test)]
pub fn is_known(word: &str) -> Result<bool> {
    Ok(row_of(word).is_some() || fits_a_fault_test(word, Size::Full)?)
}

/// What came of a row.
struct Report<'r> {
    row: &'r Row,
    took: Duration,
    problem: Option<String>,
}

/// Runs rows one after the other. Rows share sweeps: what was run for one counts for the next, unless the
/// same row is asked for again.
fn run_rows(rows: &[&Row], size: Size) -> Result<()> {
    let mut done: Vec<(Step, Option<String>)> = Vec::new();
    let mut reports: Vec<Report<'_>> = Vec::new();
    for row in rows {
        let is_repeated = reports.iter().any(|report| report.row.key == row.key);
        let started = Instant::now();
        let mut problem = None;
        for step in row.steps {
            let known = done.iter().find(|(known, _)| known == step);
            let failed = match known {
                Some((_, failed)) if !is_repeated => failed.clone(),
                _ => {
                    let failed = run_step(step, size).err().map(|error| error.to_string());
                    done.push((*step, failed.clone()));
                    failed
                }
            };
            problem = problem.or(failed);
        }
        let took = started.elapsed();
        let word = if problem.is_none() { "ok" } else { "FAILED" };
        eprintln!("── row {} {word} in {} s", row.key, took.as_secs());
        reports.push(Report { row, took, problem });
    }
    tell(&reports)
}

fn tell(reports: &[Report<'_>]) -> Result<()> {
    println!("| row | what | seconds | result |\n|---|---|---|---|");
    for report in reports {
        let Row { key, title, .. } = report.row;
        let result = report.problem.as_deref().unwrap_or("passed");
        println!("| {key} | {title} | {} | {result} |", report.took.as_secs());
    }
    let failed = reports.iter().filter(|report| report.problem.is_some());
    match failed.count() {
        0 => Ok(()),
        count => Err(format!("{count} of {} rows failed", reports.len()).into()),
    }
}

/// Runs a step and shows what it says.
fn run_step(step: &Step, size: Size) -> Result<()> {
    let mut command = step.command(size)?;
    if !matches!(step, Step::Tests { .. }) {
        return workspace::run(&mut command);
    }
    let shown = step.words(size).join(" ");
    eprintln!("── cargo {shown}");
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let said = child.stdout.take().ok_or("a pipe was asked for")?;
    let mut passed = 0;
    for line in BufReader::new(said).lines() {
        let line = line?;
        println!("{line}");
        passed += passed_in(&line);
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("cargo {shown}: {status}").into());
    }
    if passed == 0 {
        // A filter that fits nothing would pass for ever.
        return Err(format!("cargo {shown}: no such test was run; some need --full").into());
    }
    Ok(())
}

/// How many tests passed, where a line of the harness says it. Those that it ignored are not among them.
fn passed_in(line: &str) -> usize {
    let result = line.strip_prefix("test result: ");
    let count = result.and_then(|result| {
        let (before, _) = result.split_once(" passed;")?;
        before.rsplit(' ').next()?.parse().ok()
    });
    count.unwrap_or(0)
}

impl Step {
    /// What follows `cargo`.
    fn words(&self, size: Size) -> Vec<&'static str> {
        match *self {
            Self::Chore { name, small, full } => {
                let args = if size == Size::Full { full } else { small };
                [&["xtask", name], args].concat()
            }
            Self::Tests { package, binary, filters } => {
                let mut words = vec!["test", "-p", package, "--test", binary];
                if size == Size::Full {
                    words.push("--release");
                }
                words.extend(["--", "--nocapture"]);
                // What takes too long for every change. In other programs the ignored are workers of other tests.
                if size == Size::Full && binary == "faults" {
                    words.push("--include-ignored");
                }
                words.extend(filters);
                words
            }
        }
    }

    fn command(&self, size: Size) -> Result<Command> {
        let mut command = match self {
            Self::Tests { .. } => workspace::cargo()?,
            // Not through cargo once more: its directory may be locked by us.
            Self::Chore { .. } => Command::new(std::env::current_exe()?),
        };
        let skipped = usize::from(matches!(self, Self::Chore { .. }));
        command.args(&self.words(size)[skipped..]);
        if size == Size::Full {
            command.env(STEP_VARIABLE, "1").env(FULL_VARIABLE, "1");
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn every_row_of_the_table_has_an_entry_and_only_one() {
        let keys: HashSet<&str> = ROWS.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), ROWS.len(), "keys are unique");
        for number in 1..=25 {
            assert!(keys.contains(number.to_string().as_str()), "row {number}");
        }
        for name in ["model", "fuzz", "mutants", CROWD] {
            assert!(keys.contains(name), "{name}");
        }
        for row in &ROWS {
            assert!(!row.steps.is_empty(), "row {} runs nothing", row.key);
        }
    }

    #[test]
    fn every_filter_fits_a_test() {
        for step in ROWS.iter().flat_map(|row| row.steps) {
            if let Step::Tests { .. } = step {
                let asked = Asked::by(step.words(Size::Full).into_iter().skip(1));
                let in_vain = asked.in_vain(&root()).unwrap();
                assert!(in_vain.is_empty(), "no test fits: {in_vain:?}");
            }
        }
    }

    #[test]
    fn rows_and_tests_are_known_by_their_names() {
        assert_eq!(row_of("16").unwrap().key, "16");
        assert_eq!(row_of("damage").unwrap().key, "16");
        assert!(row_of("kill::a_restore").is_none());
        for filter in ["kill", "kill::a_restore", "crash_syncs", "faults::crash"] {
            assert!(fits_a_fault_test(filter, Size::Small).unwrap(), "{filter}");
        }
    }

    #[test]
    fn only_tests_that_passed_were_run() {
        let said = "test result: ok. 7 passed; 0 failed; 26 ignored; 0 measured; 3 filtered out";
        assert_eq!(passed_in(said), 7);
        assert_eq!(passed_in("test result: ok. 0 passed; 0 failed; 1 ignored;"), 0);
        assert_eq!(passed_in("running 8 tests"), 0);
    }

    #[test]
    fn every_chore_is_known() {
        let main = std::fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
        for step in ROWS.iter().flat_map(|row| row.steps) {
            if let Step::Chore { name, .. } = step {
                assert!(main.contains(&format!("Some(\"{name}\")")), "{name}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for args in [
            ["--sometimes"].as_slice(),
            &["--list", "3"],
            &["--full", "--list"],
            &["no_such_test"],
            &["--full", "kill::no_such_test"],
        ] {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            assert!(run(&args).is_err(), "{args:?}");
        }
    }
}
