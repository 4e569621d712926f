//! From the arguments to the exit code.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use herma_store::path::escape;

use crate::cli::Cli;
use crate::cli::Command;
use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::commands;
use crate::environment::Environment;
use crate::hook;
use crate::one_command;
use crate::options::GlobalArgs;
use crate::settings::Overrides;
use crate::ui::Ui;

/// Does what the arguments say; returns the exit code.
pub(crate) fn run(arguments: Vec<OsString>) -> u8 {
    let environment = Environment::read();
    if hook::is_call(&arguments) {
        return hook::answer(&environment, arguments);
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
    match dispatch(&ui, &environment, &cli) {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            if error.kind() != Kind::BrokenPipe {
                ui.error(&error);
            }
            error.kind().exit_code()
        }
    }
}

/// Help and the version are answers, not failures; everything else clap says is a wrong usage.
fn explain_usage(environment: &Environment, error: &clap::Error, wants_json: bool) -> u8 {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
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

/// Does what was asked for, and says so on `ui`.
pub(crate) fn dispatch(
    ui: &Ui,
    environment: &Environment,
    cli: &Cli,
) -> Result<Outcome, CommandError> {
    // What only describes the program works without a home or a project.
    match &cli.command {
        Some(Command::Completions(args)) => {
            return commands::completions::cmd_completions(ui, args);
        }
        Some(Command::Classify(args)) => return commands::classify::cmd_classify(ui, args),
        Some(Command::Man(args)) => return commands::man::cmd_man(ui, args),
        Some(Command::MarkdownHelp) => return commands::markdown_help::cmd_markdown_help(ui),
        _ => {}
    }
    let overrides = cli
        .command
        .as_ref()
        .map_or(Overrides::default(), Command::overrides);
    let global = match &cli.command {
        Some(Command::Slash(args)) => args.located(environment, &cli.global),
        _ => cli.global.clone(),
    };
    let env = CommandEnv::new(ui.clone(), environment, &global, overrides);
    let env = match (env, &cli.command) {
        (Err(error), Some(Command::Slash(args))) => {
            return commands::slash::tell_failure(ui, args, &error);
        }
        (env, _) => env?,
    };
    report_settings(&env, cli.command.as_ref())?;
    match &cli.command {
        None => commands::status::cmd_status(&env),
        Some(Command::Save(args)) => commands::save::cmd_save(&env, args),
        Some(Command::List(args)) => commands::list::cmd_list(&env, args),
        Some(Command::Show(args)) => commands::show::cmd_show(&env, args),
        Some(Command::Diff(args)) => commands::diff::cmd_diff(&env, args),
        Some(Command::Blame(args)) => commands::blame::cmd_blame(&env, args),
        Some(Command::History(args)) => commands::history::cmd_history(&env, args),
        Some(Command::Restore(args)) => commands::restore::cmd_restore(&env, args),
        Some(Command::Undo(args)) => commands::undo::cmd_undo(&env, args),
        Some(Command::Redo(args)) => commands::undo::cmd_redo(&env, args),
        Some(Command::Run(args)) => commands::run::cmd_run(&env, args),
        Some(Command::Steps(args)) => commands::steps::cmd_steps(&env, args),
        Some(Command::Step(args)) => commands::step::cmd_step(&env, args),
        Some(Command::Turn(args)) => commands::turn::cmd_turn(&env, args),
        Some(Command::Name(args)) => commands::mark::cmd_name(&env, args),
        Some(Command::Unname(args)) => commands::mark::cmd_unname(&env, args),
        Some(Command::Pin(args)) => commands::mark::cmd_pin(&env, args),
        Some(Command::Unpin(args)) => commands::mark::cmd_unpin(&env, args),
        Some(Command::Drop(args)) => commands::drop::cmd_drop(&env, args),
        Some(Command::Purge(args)) => commands::purge::cmd_purge(&env, args),
        Some(Command::CanUndo(args)) => commands::can_undo::cmd_can_undo(&env, args),
        Some(Command::Slash(args)) => commands::slash::cmd_slash(&env, args),
        Some(Command::Acp(args)) => commands::acp::cmd_acp(env, args),
        Some(Command::Resume(args)) => commands::resume::cmd_resume(&env, args),
        Some(Command::Checkpoints(args)) => commands::checkpoints::cmd_checkpoints(&env, args),
        Some(Command::Sessions(args)) => commands::sessions::cmd_sessions(&env, args),
        Some(Command::Serve { .. }) => Err(CommandError::usage("`herma serve` is `herma mcp` now")
            .with_hint("`herma mcp --all-tools`, with `--socket PATH` for many clients; docs/AGENTS.md lists the tools.")),
        Some(Command::Mcp(args)) => commands::mcp::cmd_mcp(&env, environment, args),
        Some(Command::Maintain) => commands::maintain::cmd_maintain(&env),
        Some(Command::Install(args)) => commands::install::cmd_install(&env, args),
        Some(Command::Uninstall(args)) => commands::uninstall::cmd_uninstall(&env, args),
        Some(Command::Doctor(args)) => commands::doctor::cmd_doctor(&env, args),
        Some(Command::Config(args)) => commands::config::cmd_config(&env, args),
        Some(
            Command::Completions(_)
            | Command::Classify(_)
            | Command::Man(_)
            | Command::MarkdownHelp
            | Command::Hook(_),
        ) => Ok(Outcome::Done),
    }
}

/// Says what is wrong with the settings, or fails for it where going on would save the wrong files.
fn report_settings(env: &CommandEnv, command: Option<&Command>) -> Result<(), CommandError> {
    if command.is_some_and(Command::reports_settings) {
        return Ok(());
    }
    if let Some(problem) = command.and_then(|command| command.stopped_by(&env.settings.problems)) {
        let state = match command {
            Some(Command::CanUndo(_)) => "Without it there is no answer.",
            Some(Command::Save(_) | Command::Step(_)) => "No checkpoint was made.",
            Some(Command::Run(_)) => "The command was not run.",
            _ => "Nothing was removed.",
        };
        return Err(CommandError::from(problem.clone()).with_state(state));
    }
    for problem in &env.settings.problems {
        env.ui
            .warning(format_args!("{problem}; the default is used"));
    }
    for warning in &env.settings.warnings {
        env.ui.warning(warning);
    }
    Ok(())
}
