//! `herma undo` and `herma redo`

use clap::Args;
use herma_core::engine::Project;
use herma_core::engine::Undone;
use herma_core::error::Error;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::commands::restore::with_state_of_files;
use crate::progress::TerminalProgress;
use crate::restore_report::Format;
use crate::restore_report::report_plan;
use crate::restore_report::report_restored;

/// The arguments of both; their help is where the commands are listed.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: what is done, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_undo(env: &CommandEnv, args: &UndoArgs) -> Result<Outcome, CommandError> {
    let project = env.open_project_quietly()?;
    go(env, args, &project, "herma redo", |progress| {
        project.undo(progress, args.dry_run)
    })
}

pub(crate) fn cmd_redo(env: &CommandEnv, args: &UndoArgs) -> Result<Outcome, CommandError> {
    let project = env.open_project()?;
    go(env, args, &project, "herma undo", |progress| {
        project.redo(progress, args.dry_run)
    })
}

fn go(
    env: &CommandEnv,
    args: &UndoArgs,
    project: &Project<'_>,
    what_reverses: &str,
    step: impl FnOnce(&TerminalProgress) -> Result<Undone, Error>,
) -> Result<Outcome, CommandError> {
    let format = if args.null {
        Format::Null
    } else {
        Format::Lines
    };
    let progress = env.ui.progress();
    let undone = step(&progress).map_err(|error| with_state_of_files(project, error))?;
    drop(progress);
    match undone {
        Undone::Planned(plan) => report_plan(env, project, &plan, format),
        Undone::Done(restored) => report_restored(env, project, &restored, format, what_reverses),
    }
}
