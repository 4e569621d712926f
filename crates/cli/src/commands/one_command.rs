//! Reads a command line that is one of the usual ones without describing all other commands first.
//!
//! Describing every command and option to the parser takes two milliseconds, more than a save of a small project that did not
//! change. So only the command that the line seems to name is described. What can be read that way means the same to
//! the whole description, which has all of it and more; what cannot, help and mistakes among it, is left to that.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Command as Description, FromArgMatches, Parser};

use crate::commands::about::help;
use crate::commands::cli::{Cli, Command};
use crate::options::GlobalArgs;

type Reader = fn(&'static str, &[OsString]) -> Option<Cli>;

/// The commands that are run often enough for it to matter.
const COMMANDS: &[(&str, Reader)] = &[
    ("save", |name, line| read(name, line, Command::Save)),
    ("list", |name, line| read(name, line, Command::List)),
    ("show", |name, line| read(name, line, Command::Show)),
    ("diff", |name, line| read(name, line, Command::Diff)),
    ("restore", |name, line| read(name, line, Command::Restore)),
    ("undo", |name, line| read(name, line, Command::Undo)),
    ("redo", |name, line| read(name, line, Command::Redo)),
    ("run", |name, line| read(name, line, Command::Run)),
    ("steps", |name, line| read(name, line, Command::Steps)),
    ("step", |name, line| read(name, line, Command::Step)),
    ("turn", |name, line| read(name, line, Command::Turn)),
    ("can-undo", |name, line| read(name, line, Command::CanUndo)),
    ("hook", |name, line| read(name, line, Command::Hook)),
    ("slash", |name, line| read(name, line, Command::Slash)),
];

/// What the line says, or what is wrong with it; help and the version come as errors, too.
pub(crate) fn parse(line: Vec<OsString>) -> Result<Cli, clap::Error> {
    if let Some(cli) = try_read(&line) {
        return Ok(cli);
    }
    if let [_, flag] = &line[..]
        && (flag == "--version" || flag == "-V")
    {
        // No command has to be described for that.
        let version = Description::new("herma").version(env!("CARGO_PKG_VERSION"));
        version.try_get_matches_from(&line)?;
    }
    match Cli::try_parse_from(&line) {
        // Only who reads it needs the examples and the groups.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let matches = help::described().try_get_matches_from(line)?;
            Cli::from_arg_matches(&matches)
        }
        parsed => parsed,
    }
}

/// What the line says, if it is one of these commands and nothing is wrong with it.
fn try_read(line: &[OsString]) -> Option<Cli> {
    let named = |word: &OsString| COMMANDS.iter().find(|(name, _)| word == name);
    let (name, reader) = line.iter().skip(1).find_map(named)?;
    reader(name, line)
}

fn read<A: Args>(name: &'static str, line: &[OsString], command: fn(A) -> Command) -> Option<Cli> {
    let own = A::augment_args(Description::new(name));
    let whole = GlobalArgs::augment_args(Description::new("herma")).subcommand(own);
    let matches = whole.try_get_matches_from(line).ok()?;
    let (_, given) = matches.subcommand()?;
    Some(Cli {
        global: GlobalArgs::from_arg_matches(&matches).ok()?,
        command: Some(command(A::from_arg_matches(given).ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn line(text: &str) -> Vec<OsString> {
        let words = text.split(' ').filter(|word| !word.is_empty());
        std::iter::once("herma").chain(words).map(OsString::from).collect()
    }

    #[test]
    fn what_is_read_is_what_the_whole_description_reads() {
        for text in [
            "save",
            "save -m why --name a --json",
            "--json save -m save",
            "-C save --root list save --fast -q",
            "list --json -n 3",
            "list --color always",
            "show 1",
            "diff 2 1 --stat src",
            "restore 2 src/a.rs --dry-run",
            "--home h restore @-2 --all",
            "undo 3-5",
            "undo --turn",
            "redo",
            "run -- make save",
            "steps --json",
            "step begin --agent a --tool Write",
            "step end 7 --json",
            "turn --agent a",
            "can-undo rm x",
            "slash /rollback",
            "hook claude",
            "--home h --root r hook cursor beforeShellExecution",
            "hook codex {\"type\":\"agent-turn-complete\"} --more -C save",
        ] {
            let line = line(text);
            let Ok(whole) = Cli::try_parse_from(&line) else {
                assert!(try_read(&line).is_none(), "{text}");
                continue;
            };
            let read = try_read(&line).unwrap_or_else(|| panic!("{text} was not read"));
            assert_eq!(format!("{read:?}"), format!("{whole:?}"), "{text}");
        }
    }

    #[test]
    fn help_mistakes_and_other_commands_are_left_to_the_whole_description() {
        for text in [
            "",
            "--version",
            "save --help",
            "save -h",
            "save --no-such-option",
            "restore",
            "doctor",
            "--root save list-of-nothing",
            "savee",
            "undo --turn --bogus",
        ] {
            assert!(try_read(&line(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn the_version_is_the_one_of_the_whole_description() {
        for flag in ["--version", "-V"] {
            let quick = parse(line(flag)).unwrap_err();
            let whole = Cli::try_parse_from(line(flag)).unwrap_err();
            assert_eq!(quick.kind(), whole.kind());
            assert_eq!(quick.to_string(), whole.to_string());
        }
    }

    #[test]
    fn every_command_here_is_one() {
        let whole = Cli::command();
        for (name, _) in COMMANDS {
            assert!(whole.find_subcommand(name).is_some(), "{name}");
        }
    }
}
