//! From the arguments to the exit code. What agents call and what stays connected to them is told apart here; they use commands,
//! and no command knows them.

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::command_error::Kind;
use crate::commands::about::completions;
use crate::commands::cli::Command;
use crate::commands::dispatch::{dispatch, prepare};
use crate::commands::one_command;
use crate::environment::{Environment, time_zone};
use crate::options::GlobalArgs;
use crate::terminal::Ui;
use crate::usage_error::usage_error;
use crate::{hook, mcp};

/// Does what the arguments say; returns the exit code.
pub(crate) fn run(arguments: Vec<OsString>) -> u8 {
    let environment = Environment::read();
    herma_view::time::put_in(time_zone);
    if hook::is_call(&arguments) {
        return hook::answer(&environment, arguments);
    }
    if environment.completing.is_some() {
        return completions::answer(&environment, &arguments);
    }
    let wants_json = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json");
    let cli = match one_command::parse(arguments.clone()) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&environment, &error, &arguments, wants_json),
    };
    let environment = environment.with_options(&cli.global);
    let ui = Ui::new(&environment, &cli.global);
    let done = match &cli.command {
        Some(Command::Mcp(args)) => prepare(&ui, &environment, &cli.global, cli.command.as_ref())
            .and_then(|env| mcp::cmd_mcp(&env, args)),
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
fn explain_usage(
    environment: &Environment,
    error: &clap::Error,
    line: &[OsString],
    wants_json: bool,
) -> u8 {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_answer {
        // Nobody reading the help is no failure.
        let _ = error.print();
        return 0;
    }
    let global = if wants_json { GlobalArgs::plain_json() } else { GlobalArgs::default() };
    Ui::new(environment, &global).error(&usage_error(error, line));
    Kind::Usage.exit_code()
}
