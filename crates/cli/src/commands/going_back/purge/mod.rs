//! `herma purge`

mod texts;
mod words;

use std::path::PathBuf;

use clap::Args;
use herma_core::purge::{Copies, PurgePlan, PurgeRequest, Purged};
use herma_core::{Error, Project};
use herma_view::going_back::purge::purge_json;
use herma_view::here;
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::conversations::pending::Pending;
use crate::render::project_json;
use crate::transcript::Following;

/// Remove a leaked file from every checkpoint, for good
///
/// Rewrites every checkpoint of this project that has the file or directory, and removes its content from the store.
/// Numbers, names, pins and times stay; ids change, also of later checkpoints. The file itself is not touched, now or
/// by a restore; the next save saves it again unless `.hermaignore` leaves it out.
///
/// The same content at other paths is named, and stays without `--copies` or `--everywhere`. Nothing brings back what
/// was purged. Not searched: reasons, names, prompts, command lines, resume records, backups of the store. Exits 10
/// if the path was nowhere.
#[derive(Args, Debug)]
pub(crate) struct PurgeArgs {
    /// The files and directories
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Also remove the same content at other paths of this project
    #[arg(long)]
    copies: bool,
    /// Also remove the same content from all other projects
    #[arg(long)]
    everywhere: bool,
    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short = 'f', long = "yes", visible_short_alias = 'y')]
    yes: bool,
}

pub(crate) fn cmd_purge(env: &CommandEnv, args: &PurgeArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let request = PurgeRequest {
        paths: env.project_paths(&project, &args.paths)?,
        copies: match (args.copies, args.everywhere) {
            (_, true) => Copies::GoFromEverywhere,
            (true, false) => Copies::GoFromProject,
            (false, false) => Copies::Stay,
        },
    };
    let plan = env.ui.during(|progress| project.plan_purge(&request, progress))?;
    if args.dry_run {
        if env.ui.json {
            write_json(env, &project, &plan, None)?;
        } else {
            words::describe(env, &project, &plan)?;
        }
        words::warn(env, &project, &plan);
        if plan.is_empty() && plan.unreadable.is_empty() {
            return not_found(env, &request, "Nothing was changed.".to_owned());
        }
        env.ui.status(format_args!("Dry run: {}. Nothing was changed.", words::would(&plan)));
        return Ok(Outcome::Done);
    }
    if !plan.is_empty() {
        confirm(env, &project, args, &plan)?;
    }
    let mut following = Following::take(env, &project)?;
    if let Pending::Files(_) = following.pending()? {
        return Err(CommandError::from(Error::RestoreUnfinished).with_state("Nothing was changed."));
    }
    following.settle_first()?;
    // Also where nothing was found: an interrupted purge may have left something to take away.
    let purged = env.ui.during(|progress| project.purge(&request, progress)).map_err(|error| {
        let is_refused = matches!(
            error,
            Error::RestoreUnfinished | Error::OtherRestoreUnfinished { .. }
        );
        let state = if is_refused {
            "Nothing was changed."
        } else {
            "Each checkpoint is as it was or as it is to be; running the command again finishes the rest."
        };
        CommandError::from(error).with_state(state)
    })?;
    following.follow_rewritten()?;
    report(env, &project, &request, &purged)
}

fn write_json(
    env: &CommandEnv,
    project: &Project,
    plan: &PurgePlan,
    purged: Option<&Purged>,
) -> Result<()> {
    let texts = texts::present(env, project).into_iter().map(|(word, _)| word).collect();
    env.ui.write_json(&purge_json(project_json(project), plan, purged, texts))
}

/// Shows what would be removed and asks.
fn confirm(env: &CommandEnv, project: &Project, args: &PurgeArgs, plan: &PurgePlan) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let instead = "`herma purge --yes PATH` does it; `--dry-run` shows what it would do.";
    env.ui.must_ask(format!("{} for good", words::would(plan)), instead)?;
    words::describe(env, project, plan)?;
    words::warn(env, project, plan);
    env.ui.confirm_removal("Remove this for good?")
}

fn report(
    env: &CommandEnv,
    project: &Project,
    request: &PurgeRequest,
    purged: &Purged,
) -> Result<Outcome> {
    if env.ui.json {
        write_json(env, project, &purged.plan, Some(purged))?;
    } else if !purged.plan.is_empty() {
        words::describe(env, project, &purged.plan)?;
    }
    words::warn(env, project, &purged.plan);
    words::done(env, project, purged);
    let is_whole = purged.remaining.is_empty() && purged.left_over.is_empty();
    if !purged.damaged.is_empty() {
        Ok(Outcome::Damaged)
    } else if !is_whole || !purged.plan.unreadable.is_empty() {
        Ok(Outcome::LeftOut)
    } else if purged.plan.is_empty() && purged.gone == 0 {
        let state = match purged.litter_removed {
            0 => "Nothing was changed.".to_owned(),
            count => format!(
                "{} that interrupted commands, cleanings and repairs had left in the store went, in case one held it.",
                counted(count, "file")
            ),
        };
        not_found(env, request, state)
    } else {
        Ok(Outcome::Done)
    }
}

/// Says what was looked for, and where it was not.
fn not_found(env: &CommandEnv, request: &PurgeRequest, state: String) -> Result<Outcome> {
    if env.ui.json {
        return Ok(Outcome::NotFound);
    }
    let paths: Vec<String> = request.paths.iter().map(here::path).collect();
    let message =
        format!("nothing was found: {} is in no checkpoint of this project", paths.join(", "));
    Err(CommandError::new(Kind::NoStore, message)
        .with_state(state)
        .with_hint("Look with `herma list` and `herma diff NUMBER` where it is; for a file of another project, run this there."))
}
