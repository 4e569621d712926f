//! `cargo xtask damage`: every file and every byte of a store damaged, one at a time, and the store used afterwards.

use crate::{Result, workspace};

/// Runs the sweep in full, built with optimisation.
pub fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return Err("damage: nothing can be asked for".into());
    }
    let tests = ["test", "--release", "-p", "herma-core", "--test", "rows"];
    let mut command = workspace::cargo()?;
    command.env("HERMA_FAULT_FULL", "1").args(tests).args(["rows::damage", "--", "--nocapture"]);
    workspace::run(&mut command)
}
