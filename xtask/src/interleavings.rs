//! `cargo xtask interleavings`: what threads share, under orders of their steps that are tried one by one.
//!
//! The engine and the server are built once more with `--cfg shuttle`, in a directory of their own, so that the
//! ordinary build stays as it is.

use crate::{Result, workspace};

/// What every test tries if nothing else is asked for.
const SCHEDULES: usize = 20_000;
/// Where the tests read how many orders they try.
const VARIABLE: &str = "HERMA_SCHEDULES";

/// Builds and runs the tests, those of the engine first.
pub fn run(args: &[String]) -> Result<()> {
    let schedules: usize = match args {
        [] => SCHEDULES,
        [name, number] if name == "--schedules" => number.parse()?,
        _ => return Err("interleavings: only `--schedules N` can be asked for".into()),
    };
    let engine = ["test", "-p", "herma-core", "--test", "interleavings"];
    let server = ["test", "-p", "herma", "--bin", "herma", "interleavings"];
    for tests in [&engine[..], &server[..]] {
        let mut command = workspace::cargo()?;
        command
            .env("RUSTFLAGS", "--cfg shuttle")
            .env("CARGO_TARGET_DIR", workspace::target()?.join("interleavings"))
            .env(VARIABLE, schedules.to_string())
            .args(tests)
            .args(["--", "--nocapture"]);
        workspace::run(&mut command)?;
    }
    Ok(())
}
