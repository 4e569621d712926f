//! Which argument of which command wants what.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::{Command, CommandFactory};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::values::Looked;
use super::words::can_be_told;
use crate::commands::cli::Cli;
use crate::environment::Environment;

/// What an argument wants.
type Wanted = fn(&Looked, &OsStr) -> Vec<CompletionCandidate>;

/// The commands, the names of their arguments, and what these want.
const WANTED: &[(&[&str], &str, Wanted)] = &[
    (&["restore"], "checkpoint", Looked::checkpoints),
    (&["restore"], "paths", Looked::paths),
    (&["restore"], "keep", Looked::paths),
    (&["undo"], "what", Looked::steps_or_paths),
    (&["undo"], "paths", Looked::paths),
    (&["undo"], "only_agent", Looked::agents),
    (&["undo"], "session", Looked::sessions_of_steps),
    (&["show"], "checkpoint", Looked::checkpoints),
    (&["diff"], "arguments", Looked::checkpoints_or_paths),
    (&["diff"], "session", Looked::sessions_of_steps),
    (&["diff"], "agent", Looked::agents),
    (&["steps"], "agent", Looked::agents),
    (&["steps"], "session", Looked::sessions_of_steps),
    (&["history"], "file", Looked::paths),
    (&["blame"], "file", Looked::paths),
    (&["ls"], "place", Looked::checkpoints),
    (&["cat"], "places", Looked::checkpoints),
    (&["bisect"], "good", Looked::checkpoints),
    (&["bisect"], "bad", Looked::checkpoints),
    (&["open"], "checkpoint", Looked::checkpoints),
    (&["try"], "checkpoint", Looked::checkpoints),
    (&["promote"], "paths", Looked::paths),
    (&["name"], "checkpoint", Looked::checkpoints),
    (&["unname"], "name", Looked::names),
    (&["pin"], "checkpoint", Looked::checkpoints),
    (&["unpin"], "checkpoint", Looked::checkpoints),
    (&["drop"], "chosen", Looked::checkpoints),
    (&["purge"], "paths", Looked::paths),
    (&["export"], "arguments", Looked::checkpoints_or_paths),
    (&["step", "end"], "handle", Looked::open_steps),
    (&["list"], "agent", Looked::agents),
    (&["list"], "session", Looked::sessions_of_steps),
    (&["list"], "paths", Looked::paths),
    (&["steps"], "paths", Looked::paths),
    (&["config", "get"], "key", Looked::keys),
    (&["config", "set"], "key", Looked::keys),
    (&["config", "unset"], "key", Looked::keys),
    (&["sessions", "show"], "session", Looked::sessions),
    (&["sessions", "delete"], "session", Looked::sessions),
    (&["sessions", "rename"], "session", Looked::sessions),
    (&["sessions", "archive"], "session", Looked::sessions),
    (&["sessions", "export"], "session_id", Looked::sessions),
    (&["help"], "words", Looked::topics),
];

/// The description of all commands, with what their arguments want. `typed` is the line so far.
pub(super) fn described(environment: &Environment, typed: &[OsString]) -> Command {
    let looked = Arc::new(Looked::new(environment, typed));
    let mut whole = Cli::command();
    for (path, argument, wanted) in WANTED {
        let looked = Arc::clone(&looked);
        let completer = ArgValueCompleter::new(move |current: &OsStr| {
            let mut offered = wanted(&looked, current);
            offered.retain(|one| can_be_told(looked.shell(), one.get_value()));
            offered
        });
        whole = at(whole, path, &|command| {
            // `mut_arg` would put it behind the others, and positions count.
            command.mut_args(|one| {
                if one.get_id() == *argument { one.add(completer.clone()) } else { one }
            })
        });
    }
    whole
}

/// The description with the command at this path changed.
fn at(command: Command, path: &[&'static str], change: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        [first, rest @ ..] => command.mut_subcommand(*first, |below| at(below, rest, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_here_is_one() {
        for (path, argument, _) in WANTED {
            let whole = Cli::command();
            let command =
                path.iter().try_fold(&whole, |command, name| command.find_subcommand(name));
            let mut arguments = command.unwrap().get_arguments();
            assert!(arguments.any(|one| one.get_id() == *argument), "{path:?} {argument}");
        }
    }

    /// An argument that takes a checkpoint is easily added and forgotten here.
    #[test]
    fn every_checkpoint_can_be_completed() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let name = argument.get_value_names().and_then(<[_]>::first);
                let is_wanted = |row: &(&[&str], &str, Wanted)| {
                    *row.0 == [command.get_name()] && argument.get_id() == row.1
                };
                if name.is_some_and(|name| name.starts_with("CHECKPOINT")) {
                    assert!(WANTED.iter().any(is_wanted), "{} {name:?}", command.get_name());
                }
            }
        }
    }
}
