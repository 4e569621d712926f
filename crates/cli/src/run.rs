//! From the arguments to the exit code. What agents call and what stays connected to them is told apart here; they use commands,
//! and no command knows them.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;

use crate::command_error::{CommandError, Kind};
use crate::commands::about::completions;
use crate::commands::cli::Command;
use crate::commands::dispatch::{dispatch, prepare};
use crate::commands::one_command;
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::terminal::{Ui, escape};
use crate::{hook, mcp};

/// Does what the arguments say; returns the exit code.
pub(crate) fn run(arguments: Vec<OsString>) -> u8 {
    let environment = Environment::read();
    if hook::is_call(&arguments) {
        return hook::answer(&environment, arguments);
    }
    if environment.is_completing {
        return completions::answer(&environment, arguments);
    }
    let wants_json = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json");
    let cli = match one_command::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&environment, &error, wants_json),
    };
    let environment = environment.with_options(&cli.global);
    let ui = Ui::new(&environment, &cli.global);
    let done = match &cli.command {
        Some(Command::Mcp(args)) => prepare(&ui, &environment, &cli.global, cli.command.as_ref())
            .and_then(|env| mcp::cmd_mcp(&env, &environment, args)),
        _ => dispatch(&ui, &environment, &cli),
    };
    match done {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            if error.kind != Kind::BrokenPipe {
                ui.error(&error);
            }
            error.kind.exit_code()
        }
    }
}

/// Help and the version are answers, not failures; everything else clap says is a wrong usage.
fn explain_usage(environment: &Environment, error: &clap::Error, wants_json: bool) -> u8 {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_answer {
        // Nobody reading the help is no failure.
        let _ = error.print();
        return 0;
    }
    if !wants_json {
        // What was typed is in the message, and may hold anything: it is shown, not obeyed.
        let text = error.render().to_string();
        let lines: Vec<String> = text.lines().map(|line| escape(line.as_bytes())).collect();
        let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
        return Kind::Usage.exit_code();
    }
    let text = error.render().to_string();
    let message = text.lines().next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let ui = Ui::new(environment, &GlobalArgs::plain_json());
    ui.error(&CommandError::usage(message).with_hint("`herma --help` lists the commands."));
    Kind::Usage.exit_code()
}
