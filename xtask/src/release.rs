//! `cargo xtask release`: the program as it is given away, without symbols, and these in a file beside it, where debuggers look.

use std::fs;
use std::process::Command;

use crate::{Result, workspace};

/// Builds both into `target/dist`.
pub fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return Err("release: there are no options".into());
    }
    let symbols = ["profile.release.debug=\"line-tables-only\"", "profile.release.strip=\"none\""];
    let mut cargo = workspace::cargo()?;
    cargo.args(["build", "--release", "-p", "herma"]);
    workspace::run(cargo.args(symbols.iter().flat_map(|setting| ["--config", setting])))?;
    let (target, dist) = (workspace::target()?, workspace::target()?.join("dist"));
    fs::create_dir_all(&dist)?;
    fs::copy(target.join("release/herma"), dist.join("herma"))?;
    let objcopy =
        |args: &[&str]| workspace::run(Command::new("objcopy").args(args).current_dir(&dist));
    objcopy(&["--only-keep-debug", "herma", "herma.debug"])?;
    objcopy(&["--strip-all", "--add-gnu-debuglink=herma.debug", "herma"])
}
