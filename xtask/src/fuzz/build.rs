//! One program with all targets in it, in which Herma's own code and the parsers it calls are counted.
//!
//! Everything else (compression, SQLite, the command line's library) is compiled as it is delivered: an input that
//! takes another way through it is not interesting, and counting costs time in building and in running.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, workspace};

/// Counts edges, and shows the fuzzer what is compared with what.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What the doors of a crate are compiled with.
const DOORS: &str = "--cfg=fuzzing";

/// The packages that have doors, and those the doors are called from.
const OURS: [&str; 13] = [
    "herma-core",
    "herma-exchange",
    "herma-fs",
    "herma-fuzz",
    "herma-agents",
    "herma-program",
    "herma-records",
    "herma-sessions",
    "herma-settings",
    "herma-shell",
    "herma-view",
    "herma-worktree",
    "herma-yaml",
];

/// Parsers of others. What is generic in a library is compiled, and so counted, where it is used; and one with a
/// build script cannot be here, because the flags would be for that, too.
const PARSERS: [&str; 6] =
    ["gix-glob", "granit-parser", "imara-diff", "rable", "toml_edit", "toml_parser"];

/// Builds the program, and returns where it is.
pub fn program(sanitizes: bool) -> Result<PathBuf> {
    let directory = if sanitizes { "build-sanitizer" } else { "build" };
    let directory = workspace::target()?.join("fuzz").join(directory);
    let machine = machine()?;
    fs::create_dir_all(&directory)?;
    let settings = directory.join("counters.toml");
    fs::write(&settings, counters())?;
    let mut cargo = workspace::cargo()?;
    cargo
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["-Zprofile-rustflags", "--target", &machine])
        .arg("--target-dir")
        .arg(&directory)
        .arg("--config")
        .arg(&settings)
        // The flags are of an unfinished kind, which a released compiler takes only if told so.
        .env("RUSTC_BOOTSTRAP", "1");
    if sanitizes {
        cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    }
    workspace::run(&mut cargo)?;
    Ok(directory.join(machine).join("release/herma-fuzz"))
}

/// The targets and their doors still fit what they are for.
pub fn check() -> Result<()> {
    let directory = workspace::target()?.join("fuzz/check");
    let mut cargo = workspace::cargo()?;
    cargo
        .args(["check", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"])
        .arg(directory)
        .env("RUSTFLAGS", DOORS);
    workspace::run(&mut cargo)
}

/// The settings of cargo that compile some of the packages with counters.
fn counters() -> String {
    let flags = |package: &str, more: &[&str]| {
        let flags: Vec<&str> = COVERAGE.iter().chain(more).copied().collect();
        format!("profile.release.package.{package}.rustflags = {flags:?}\n")
    };
    let ours = OURS.map(|package| flags(package, &[DOORS]));
    ours.concat() + &PARSERS.map(|package| flags(package, &[])).concat()
}

/// What the compiler calls this machine: only with a target named does the sanitizer spare build scripts.
fn machine() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.ok_or("rustc does not say what machine this is")?.to_owned())
}

/// The targets a program has.
pub fn targets_of(program: &Path) -> Result<Vec<String>> {
    let output = Command::new(program)
        .env("HERMA_FUZZ_TARGET", "")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().map(str::to_owned).collect())
}
