//! Which command it is, and what it is given.

use herma_settings::Overrides;

use super::cli::{Cli, Command};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::render::nearby::with_projects_nearby;
use crate::terminal::Ui;

/// Does what was asked for, and says so on `ui`.
pub(crate) fn dispatch(ui: &Ui, environment: &Environment, cli: &Cli) -> Result<Outcome> {
    // What only describes the program works without a home or a project.
    match &cli.command {
        Some(Command::Completions(args)) => {
            return super::about::completions::cmd_completions(ui, args);
        }
        Some(Command::Classify(args)) => return super::agents::classify::cmd_classify(ui, args),
        Some(Command::Man(args)) => return super::about::man::cmd_man(ui, args),
        Some(Command::Help(args)) => return super::about::help::cmd_help(ui, args),
        Some(Command::Version) => {
            ui.print(concat!("herma ", env!("CARGO_PKG_VERSION")))?;
            return Ok(Outcome::Done);
        }
        Some(Command::MarkdownHelp) => return super::about::markdown_help::cmd_markdown_help(ui),
        _ => {}
    }
    let global = match &cli.command {
        Some(Command::Slash(args)) => args.located(environment, &cli.global),
        _ => cli.global.clone(),
    };
    let env = prepare(ui, environment, &global, cli.command.as_ref());
    let env = match (env, &cli.command) {
        (Err(error), Some(Command::Slash(args))) => {
            return super::agents::slash::tell_failure(ui, args, &error);
        }
        (env, _) => env?,
    };
    if let Some(Command::Acp(args)) = &cli.command {
        return super::agents::acp::cmd_acp(env, args);
    }
    call(&env, cli).map_err(|error| with_projects_nearby(&env, error))
}

/// Calls a command that works with the settings and the projects.
fn call(env: &CommandEnv, cli: &Cli) -> Result<Outcome> {
    match &cli.command {
        None | Some(Command::Status) => super::status::cmd_status(env),
        Some(Command::Save(args)) => super::save::cmd_save(env, args),
        Some(Command::List(args)) => super::list::cmd_list(env, args),
        Some(Command::Show(args)) => super::show::cmd_show(env, args),
        Some(Command::Diff(args)) => super::diff::cmd_diff(env, args),
        Some(Command::Blame(args)) => super::blame::cmd_blame(env, args),
        Some(Command::History(args)) => super::history::cmd_history(env, args),
        Some(Command::Ls(args)) => super::past::ls::cmd_ls(env, args),
        Some(Command::Cat(args)) => super::past::cat::cmd_cat(env, args),
        Some(Command::Find(args)) => super::past::find::cmd_find(env, args),
        Some(Command::Grep(args)) => super::past::grep::cmd_grep(env, args),
        Some(Command::Has(args)) => super::past::has::cmd_has(env, args),
        Some(Command::Restore(args)) => super::going_back::restore::cmd_restore(env, args),
        Some(Command::Undo(args)) => super::going_back::undo::cmd_undo(env, args),
        Some(Command::Redo(args)) => super::going_back::undo::cmd_redo(env, args),
        Some(Command::Open(args)) => super::copies::open::cmd_open(env, args),
        Some(Command::Try(args)) => super::copies::attempts::cmd_try(env, args),
        Some(Command::Promote(args)) => super::copies::promote::cmd_promote(env, args),
        Some(Command::Bisect(args)) => super::copies::bisect::cmd_bisect(env, args),
        Some(Command::Run(args)) => super::steps::run::cmd_run(env, args),
        Some(Command::Steps(args)) => super::steps::list::cmd_steps(env, args),
        Some(Command::Step(args)) => super::steps::step::cmd_step(env, args),
        Some(Command::Turn(args)) => super::steps::turn::cmd_turn(env, args),
        Some(Command::Notice(args)) => super::steps::notice::cmd_notice(env, args),
        Some(Command::Name(args)) => super::mark::cmd_name(env, args),
        Some(Command::Unname(args)) => super::mark::cmd_unname(env, args),
        Some(Command::Pin(args)) => super::mark::cmd_pin(env, args),
        Some(Command::Unpin(args)) => super::mark::cmd_unpin(env, args),
        Some(Command::Drop(args)) => super::drop::cmd_drop(env, args),
        Some(Command::Purge(args)) => super::going_back::purge::cmd_purge(env, args),
        Some(Command::Export(args)) => super::exchange::export::cmd_export(env, args),
        Some(Command::Report(args)) => super::exchange::report::cmd_report(env, args),
        Some(Command::Import(args)) => super::exchange::import::cmd_import(env, args),
        Some(Command::CanUndo(args)) => super::agents::can_undo::cmd_can_undo(env, args),
        Some(Command::Slash(args)) => super::agents::slash::cmd_slash(env, args),
        Some(Command::Resume(args)) => super::resume::cmd_resume(env, args),
        Some(Command::Checkpoints(args)) => super::checkpoints::cmd_checkpoints(env, args),
        Some(Command::Sessions(args)) => super::sessions::cmd_sessions(env, args),
        Some(Command::Serve { .. }) => Err(CommandError::usage("`herma serve` is `herma mcp` now")
            .with_hint("`herma mcp --all-tools`, with `--socket PATH` for many clients; docs/AGENTS.md lists the tools.")),
        Some(Command::Maintain) => super::maintain::cmd_maintain(env),
        Some(Command::Install(args)) => super::agents::install::cmd_install(env, args),
        Some(Command::Uninstall(args)) => super::agents::uninstall::cmd_uninstall(env, args),
        Some(Command::Doctor(args)) => super::about::doctor::cmd_doctor(env, args),
        Some(Command::Config(args)) => super::config::cmd_config(env, args),
        Some(
            Command::Completions(_)
            | Command::Classify(_)
            | Command::Man(_)
            | Command::Help(_)
            | Command::Version
            | Command::MarkdownHelp
            | Command::Acp(_)
            | Command::Hook(_)
            | Command::Mcp(_),
        ) => Ok(Outcome::Done),
    }
}

/// Reads the settings for a command, and says what is wrong with them.
pub(crate) fn prepare(
    ui: &Ui,
    environment: &Environment,
    global: &GlobalArgs,
    command: Option<&Command>,
) -> Result<CommandEnv> {
    let overrides = command.map_or(Overrides::default(), Command::overrides);
    let env = CommandEnv::new(ui.clone(), environment, global, overrides)?;
    report_settings(&env, command)?;
    Ok(env)
}

/// Says what is wrong with the settings, or fails for it where going on would save the wrong files.
fn report_settings(env: &CommandEnv, command: Option<&Command>) -> Result<()> {
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
        env.ui.warning(format_args!("{problem}; the default is used"));
    }
    for warning in &env.settings.warnings {
        env.ui.warning(warning);
    }
    Ok(())
}
