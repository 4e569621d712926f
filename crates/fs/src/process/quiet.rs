//! A program that is run to its end without a terminal, for what it answers.

use std::ffi::OsStr;
use std::io;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a program answered.
#[derive(Debug)]
pub struct Answer {
    /// Did it exit with 0?
    pub success: bool,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
}

/// The variables a program gets: those of ours that are kept, and others.
pub type Variables<'v> = (&'v dyn Fn(&OsStr) -> bool, &'v [(&'v OsStr, &'v OsStr)]);

/// Runs a program in a directory.
pub fn run(
    program: &OsStr,
    arguments: &[&OsStr],
    directory: &Path,
    (keeps, variables): Variables<'_>,
    input: &[u8],
) -> io::Result<Answer> {
    let inherited = std::env::vars_os().filter(|(name, _)| keeps(name));
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(inherited)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    let answered = std::thread::scope(|scope| {
        // Both ends may be full at once.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output()
    })?;
    Ok(Answer {
        success: answered.status.success(),
        stdout: answered.stdout,
        stderr: answered.stderr,
    })
}
