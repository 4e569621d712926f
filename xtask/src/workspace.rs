//! Where things are, and how to call cargo.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;

/// The directory of the workspace.
pub fn root() -> Result<PathBuf> {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(xtask) => Ok(PathBuf::from(xtask).join("..").canonicalize()?),
        None => Ok(std::env::current_dir()?),
    }
}

/// Where cargo builds to.
pub fn target() -> Result<PathBuf> {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => Ok(root()?.join(target)),
        None => Ok(root()?.join("target")),
    }
}

/// A cargo command in the workspace.
pub fn cargo() -> Result<Command> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()?);
    Ok(command)
}

/// Runs a command to its end, showing it first.
pub fn run(command: &mut Command) -> Result<()> {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = words.join(" ");
    eprintln!("── {shown}");
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}").into()) }
}
