//! Commands that are run in a copy.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use herma_fs::process::foreground::{Ended, Foreground, Output};

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::steps::run::{no_signals, not_started};
use crate::environment::apart;

/// How a command came to its end in a copy.
pub(crate) enum Ran {
    Ended(Ended),
    /// There is no such program, or it cannot be run; that was said.
    NotStarted(Outcome),
}

/// Runs a program in a copy, with the terminal as if we were not there.
pub(crate) fn run(
    env: &CommandEnv,
    directory: &Path,
    command: &[OsString],
    output: Output,
) -> Result<Ran> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CommandError::usage("which command is to be run?"));
    };
    let prepared = Foreground::prepare().map_err(|error| no_signals(&error))?;
    match prepared.printing(output).start(program, arguments, directory, &apart(directory)) {
        Ok(running) => running.wait().map(Ran::Ended).map_err(|error| {
            CommandError::new(Kind::Failed, format!("the command is lost: {error}"))
        }),
        Err(error) => Ok(Ran::NotStarted(not_started(env, program, &error))),
    }
}

/// A line as a shell reads it.
pub(crate) fn shell(line: &OsStr) -> Vec<OsString> {
    vec!["sh".into(), "-c".into(), line.to_owned()]
}
