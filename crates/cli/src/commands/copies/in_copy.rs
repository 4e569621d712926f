//! Commands that are run in a copy.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use herma_fs::process::foreground::{Ended, Foreground, Output, Variable};

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::steps::run::{cannot_start, no_signals, not_started};
use crate::environment::apart;

/// For so long the last words of a command are waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);
const MAX_LINE: u64 = 64 << 10;

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

/// Runs a program in a copy, beside others, and passes on what it prints, line by line.
pub(crate) fn hear(
    directory: &Path,
    command: &[OsString],
    (variables, with_errors): (&[Variable], bool),
    tell: impl FnMut(&str) + Send + 'static,
) -> Result<Ended> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CommandError::usage("which command is to be run?"));
    };
    let prepared = Foreground::prepare().map_err(|error| no_signals(&error))?;
    let mut all = apart(directory);
    all.extend(variables.iter().cloned());
    let heard = prepared.start_heard(program, arguments, directory, (&all, with_errors));
    let heard = heard.map_err(|error| cannot_start(program, &error))?;
    let is_over = pass_on(heard.output, tell);
    let ended = heard.running.wait();
    // What it started in the background may go on printing; nobody waits for that.
    let _ = is_over.recv_timeout(LAST_WORDS);
    let lost = |error| CommandError::new(Kind::Failed, format!("the command is lost: {error}"));
    ended.map_err(lost)
}

/// Passes on lines in the background. Whoever waits is told when there are no more.
fn pass_on(output: PipeReader, mut tell: impl FnMut(&str) + Send + 'static) -> Receiver<()> {
    let (over, is_over) = channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        // Longer ones are broken.
        while matches!((&mut output).take(MAX_LINE).read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line);
            tell(text.strip_suffix('\n').unwrap_or(&text));
            line.clear();
        }
        let _ = over.send(());
    });
    is_over
}

/// A line as a shell reads it.
pub(crate) fn shell(line: &OsStr) -> Vec<OsString> {
    vec!["sh".into(), "-c".into(), line.to_owned()]
}
