//! `herma diff`

mod sides;
mod steps;

use herma_core::engine::NoProgress;
use herma_view::changes::names::{write_names, write_stats};
use herma_view::changes::{comparison_json, stats, write_patch};
use herma_view::here;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use herma_core::{Comparison, State};
use herma_diff::PatchOptions;

use self::sides::Sides;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::project_json;

/// Show what changed since a checkpoint, or between two
///
/// Without a checkpoint: from the newest to the files as they are now. With one: from it to now. With a range such as
/// 15-17: from before the first to after the last. Put `--` before a path that looks like a checkpoint.
///
/// With `--session`, `--turn`, `--step` or `--agent`: only what these steps changed, without hand edits and other
/// steps.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("form"))]
pub(crate) struct DiffArgs {
    /// Up to two checkpoints or paths in them (`13:src`), then files and directories to look at
    #[arg(value_name = "CHECKPOINT|PATH")]
    arguments: Vec<OsString>,
    /// Files and directories to look at
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
    /// Count lines per file
    #[arg(long, group = "form")]
    stat: bool,
    /// Print names only
    #[arg(long, group = "form")]
    name_only: bool,
    /// Print names, and whether added (A), deleted (D), modified (M), changed in type (T) or renamed (R)
    #[arg(long, group = "form")]
    name_status: bool,
    /// Include the content of binary files, for `git apply`
    #[arg(long)]
    binary: bool,
    /// Show a renamed file as one deleted and one added
    #[arg(long)]
    no_renames: bool,
    #[command(flatten)]
    steps: steps::StepsChoiceArgs,
    /// Show this many unchanged lines around a change
    #[arg(short = 'U', long, value_name = "LINES", default_value_t = 3)]
    unified: usize,
    /// End records with NUL and print names exactly; with `--stat`, `--name-only` or `--name-status`
    #[arg(short = 'z', long = "null", requires = "form", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_diff(env: &CommandEnv, args: &DiffArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    if let Some(choice) = args.steps.choice(&project)? {
        return steps::diff_steps(env, &project, args, &choice);
    }
    let sides = Sides::choose(env, &project, &args.arguments, &args.paths)?;
    let to = match &sides.to {
        Some(checkpoint) => State::Checkpoint(Box::new(checkpoint.clone())),
        None => State::Present,
    };
    let from = State::Checkpoint(Box::new(sides.from.clone()));
    let comparison = match (&sides.pair, &sides.to) {
        (Some([old, new]), Some(to)) => project.changes_of_paths((&sides.from, old), (to, new)),
        _ => project.changes(&from, &to, &sides.scope, !args.no_renames, &NoProgress),
    };
    let comparison = comparison.map_err(|error| sides.explain(&project, error))?;
    for path in &comparison.unreadable {
        let path = here::path(path);
        env.ui.warning(format_args!("{path} cannot be read: it is shown as if it were not there"));
    }
    for (place, reason) in &comparison.not_covered {
        let place = here::path(place);
        env.ui.warning(format_args!(
            "{place} is not compared: one of the two states does not have it as a part of this project ({})",
            reason.word()
        ));
    }
    if env.ui.json {
        let ends = (&sides.from, sides.to.as_ref());
        env.ui.write_json(&comparison_json(project_json(&project), ends, &comparison)?)?;
        return Ok(Outcome::Done);
    }
    write_text(env, args, &comparison)?;
    if comparison.modes_differ {
        env.ui.status("Also changed: permissions or empty directories (not shown in a patch).");
        env.ui.hint("`herma restore N --dry-run` lists them.");
    } else if comparison.changes.is_empty() {
        env.ui.status("No differences.");
    }
    Ok(Outcome::Done)
}

/// Prints the differences in the form that was asked for.
fn write_text(env: &CommandEnv, args: &DiffArgs, comparison: &Comparison) -> Result<()> {
    let mut out = env.ui.listing();
    if args.name_only || args.name_status {
        write_names(&mut out, &env.ui, &comparison.changes, args.name_status, args.null)?;
    } else if args.stat {
        write_stats(&mut out, &env.ui, &stats(comparison)?, args.null)?;
    } else {
        let options =
            PatchOptions { context: args.unified, binary: args.binary, ..PatchOptions::default() };
        let (old, new) = (comparison.old_side(), comparison.new_side());
        write_patch(&mut out, &env.ui, &comparison.changes, [&*old, &*new], &options)?;
    }
    Ok(out.finish()?)
}
