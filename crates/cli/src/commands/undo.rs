//! `herma undo` and `herma redo`

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use herma_core::engine::Project;
use herma_core::engine::Undone;
use herma_core::error::Error;
use herma_core::path::escape;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::commands::restore::with_state_of_files;
use crate::commands::take_back::Asked;
use crate::commands::take_back::ChoiceArgs;
use crate::commands::take_back::HowArgs;
use crate::commands::take_back::take_back;
use crate::progress::TerminalProgress;
use crate::restore_report::Format;
use crate::restore_report::report_plan;
use crate::restore_report::report_restored;
use crate::transcript::bring_back;
use crate::transcript::undo_without_files;

/// The arguments of `herma undo`; its help is where the commands are listed.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// The steps to take back, as `herma steps` numbers them: 3, or 3-5
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// Only in these files and directories
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: what is done, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

/// The arguments of `herma redo`.
#[derive(Args, Debug)]
pub(crate) struct RedoArgs {
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: what is done, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_undo(env: &CommandEnv, args: &UndoArgs) -> Result<Outcome, CommandError> {
    let project = env.open_project_quietly()?;
    let is_chosen = !args.steps.is_empty() || args.choice.is_given();
    if !is_chosen && (args.how.patch || !args.paths.is_empty()) {
        let error = CommandError::usage("which steps, is not said");
        return Err(error.with_hint("`herma undo STEP --patch`, or `herma restore N PATH`."));
    }
    if is_chosen {
        let mut numbers = Vec::new();
        for text in &args.steps {
            numbers.extend(parse_steps(text)?);
        }
        let steps = args.choice.choice(env, &numbers);
        let asked = Asked::new(env, &project, steps, None, &args.paths, &[])?;
        let format = format(args.null);
        return take_back(env, &project, &asked.how(&args.how), args.dry_run, format);
    }
    if !args.dry_run && undo_without_files(env, &project)? {
        return Ok(Outcome::Done);
    }
    go(env, args.null, &project, "herma redo", |progress| {
        project.undo(progress, args.dry_run)
    })
}

/// `3` or `3-5`.
fn parse_steps(text: &str) -> Result<RangeInclusive<u64>, CommandError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last && last - first < 10_000 => Ok(first..=last),
        _ => {
            let text = escape(text.as_bytes());
            let error = CommandError::usage(format!("`{text}` is not the number of a step"));
            Err(error
                .with_hint("`herma steps` lists the steps; `herma undo 3-5` takes back three."))
        }
    }
}

pub(crate) fn cmd_redo(env: &CommandEnv, args: &RedoArgs) -> Result<Outcome, CommandError> {
    let project = env.open_project()?;
    go(env, args.null, &project, "herma undo", |progress| {
        project.redo(progress, args.dry_run)
    })
}

const fn format(null: bool) -> Format {
    if null { Format::Null } else { Format::Lines }
}

fn go(
    env: &CommandEnv,
    null: bool,
    project: &Project<'_>,
    what_reverses: &str,
    by: impl FnOnce(&TerminalProgress) -> Result<Undone, Error>,
) -> Result<Outcome, CommandError> {
    let format = format(null);
    let progress = env.ui.progress();
    let undone = by(&progress).map_err(|error| with_state_of_files(project, error))?;
    drop(progress);
    match undone {
        Undone::Planned(plan) => report_plan(env, project, &plan, format),
        Undone::Done(restored) => {
            let outcome = report_restored(env, project, &restored, format, what_reverses)?;
            bring_back(env, restored.target.id)?;
            Ok(outcome)
        }
    }
}
