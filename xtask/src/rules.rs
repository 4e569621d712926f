//! `cargo xtask rules`: a thousand random days on which rules change between and inside steps.

use crate::{Result, workspace};

const CASES: &str = "1000";

/// Runs the suite that every change runs in small.
pub fn run(args: &[String]) -> Result<()> {
    let (cases, first) = match args {
        [] => (CASES, "0"),
        [option, cases] if option == "--cases" => (cases.as_str(), "0"),
        [option, case] if option == "--case" => ("1", case.as_str()),
        _ => return Err("rules: only `--cases N` or `--case N` can be asked for".into()),
    };
    let tests = ["test", "-p", "herma-core", "--test", "engine"];
    let mut command = workspace::cargo()?;
    command.env("HERMA_RULES_CASES", cases).env("HERMA_RULES_FIRST", first).args(tests).args([
        "engine::rule_interleavings",
        "--",
        "--nocapture",
    ]);
    workspace::run(&mut command)
}
