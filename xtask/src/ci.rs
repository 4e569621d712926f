//! What a change must pass.

use std::process::Command;

use herma_testkit::skips::VARIABLE;

use crate::Result;
use crate::workspace::{cargo, run};

/// Runs every check, cheapest first.
pub fn check_everything() -> Result<()> {
    run(cargo()?.args(["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run(cargo()?.args(clippy))?;
    crate::house::size::run(&["--check".to_owned()])?;
    crate::house::layout::run(&[])?;
    crate::fuzz::check()?;
    let skipped = crate::workspace::target()?.join("skipped");
    std::fs::write(&skipped, "")?;
    let mut tests = cargo()?;
    run(tests.args(["test", "--workspace"]).env(VARIABLE, &skipped))?;
    crate::picture::run(&["--check".to_owned()])?;
    check_python()?;
    let doc = ["doc", "--workspace", "--no-deps", "--quiet"];
    run(cargo()?.args(doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    check_licences()?;
    crate::skips::tell(&skipped)
}

/// The Python package needs an interpreter, and the package index for its test runner.
fn check_python() -> Result<()> {
    let installed = Command::new("python3").arg("--version").output();
    if installed.is_ok_and(|o| o.status.success()) {
        return crate::python::check(&[]);
    }
    eprintln!("── cargo xtask python: SKIPPED, python3 is not installed");
    Ok(())
}

fn check_licences() -> Result<()> {
    let installed = cargo()?.args(["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        eprintln!("── cargo deny check: SKIPPED, cargo-deny is not installed");
        return Ok(());
    }
    run(cargo()?.args(["deny", "check", "bans", "licenses", "sources"]))?;
    // The list of known vulnerabilities comes over the network and changes without us: report it,
    // but do not fail an unrelated change for it.
    if let Err(error) = run(cargo()?.args(["deny", "check", "advisories"])) {
        eprintln!("WARNING: advisories were found, or their list could not be fetched: {error}");
    }
    Ok(())
}

/// Looks into public trees for what would be left out by mistake.
pub fn count_secret_hits(directories: &[String]) -> Result<()> {
    if directories.is_empty() {
        println!("SKIPPED: name the directories to look into.");
        return Ok(());
    }
    let mut command = cargo()?;
    command.args(["run", "--release", "-p", "herma-worktree", "--example", "secret_hits", "--"]);
    run(command.args(directories))
}
