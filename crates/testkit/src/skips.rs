//! Tests that cannot run here: each says so, and is counted.
//!
//! The test harness knows no test that finds out while it runs that it cannot: one that returns early counts as passed. So
//! it says first which ring of tests it belongs to and what is missing. [`skipped`] prints that, and writes it to the file
//! that [`VARIABLE`] names, where `cargo xtask skips` counts the tests and fails for a ring that has to run.
//!
//! ```no_run
//! # fn tool_is_there() -> bool { true }
//! # fn test() {
//! if !tool_is_there() {
//!     return herma_testkit::skipped("tool", "the tool is not installed");
//! }
//! # }
//! ```

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Names the file to which tests that cannot run are written, one a line: ring, program and test, reason, with tabs between.
pub const VARIABLE: &str = "HERMA_SKIPPED";

/// The test that calls this cannot run, or not all of it. `.ci/may-skip` lists the rings that may be missing on a machine.
pub fn skipped(ring: &str, reason: impl Display) {
    eprintln!("SKIPPED ({ring}): {reason}");
    let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) else {
        return;
    };
    write_down(Path::new(&file), &line(ring, &reason.to_string()));
}

/// Asks `is_there`, and counts the calling test as skipped if not.
#[must_use = "a test returns if not"]
pub fn needs(ring: &str, is_there: bool, otherwise: impl Display) -> bool {
    if !is_there {
        skipped(ring, otherwise);
    }
    is_there
}

fn line(ring: &str, reason: &str) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo puts a number after the name of a test program.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let thread = std::thread::current();
    // The harness names the thread of a test after it.
    let test = thread.name().unwrap_or("a thread of a test");
    let reason = reason.replace(['\t', '\n'], " ");
    format!("{ring}\t{program} {test}\t{reason}\n")
}

/// In one piece, for many tests write at once.
fn write_down(file: &Path, line: &str) {
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|e| panic!("{}: a skipped test cannot be counted: {e}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_ring_test_and_reason() {
        let expected =
            "ring\therma_testkit skips::tests::a_line_names_ring_test_and_reason\tno tool\n";
        assert_eq!(line("ring", "no\ttool"), expected);
    }

    #[test]
    fn lines_of_many_tests_follow_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("skipped");
        write_down(&file, "one\n");
        write_down(&file, "two\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    }
}
