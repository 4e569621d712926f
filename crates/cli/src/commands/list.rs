//! `herma list`

use std::io::Write;

use clap::Args;
use herma_core::Checkpoint;

use crate::command_env::{CommandEnv, MAKE_AGAIN, Outcome, Result};
use crate::filters::Filters;
use crate::render::json::{checkpoint_json, lazy_object, list, project_json};
use crate::render::listing;
use crate::render::nearby::projects_nearby;

/// List the checkpoints of this project, newest first
///
/// Shows number, id, time, reason, what changed since the checkpoint before, pin and names.
#[derive(Args, Debug)]
#[command(alias = "log")]
pub(crate) struct ListArgs {
    /// Show at most this many; of older ones, only total losses are reported
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    filters: Filters,
    /// End each record with NUL; fields separated by tabs: number, id, seconds since 1970, pinned (0 or 1), names
    /// joined by commas, the whole reason
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_list(env: &CommandEnv, args: &ListArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    env.warn_of_purge()?;
    let most = args.limit.unwrap_or(usize::MAX);
    let mut listed = project.list_newest(most)?;
    if let Some(fitting) = args.filters.checkpoints(env, &project, most)? {
        listed.checkpoints = fitting;
    }
    let checkpoints = &listed.checkpoints;
    for one in &listed.damaged {
        let number = one.number.map_or(String::new(), |n| format!("checkpoint {n}, "));
        let text = format!("{number}{} is damaged: {}", one.name, one.what);
        env.ui.warning(herma_store::path::escape(text.as_bytes()));
    }
    let is_whole = listed.damaged.is_empty() && !checkpoints.iter().any(|one| one.receipt_damaged);
    let outcome = if is_whole { Outcome::Done } else { Outcome::Damaged };
    let json = lazy_object! {
        schema: "herma.list/2",
        project: project_json(&project),
        checkpoints: list(checkpoints.iter().map(checkpoint_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for checkpoint in checkpoints {
                write_record(out, checkpoint)?;
            }
        } else {
            listing::write_checkpoints(out, &env.ui, checkpoints, env.now())?;
        }
        Ok(())
    })?;
    if listed.count == 0 && listed.damaged.is_empty() {
        env.ui.status("This project has no checkpoints.");
        for hint in projects_nearby(env, project.root()) {
            env.ui.hint(hint);
        }
        env.ui.hint("`herma save` makes the first one.");
    } else if checkpoints.is_empty() && most > 0 && listed.damaged.is_empty() {
        env.ui.status("No checkpoint fits.");
    } else if !env.ui.json && !project.root().is_dir() {
        env.ui.warning("the directory of this project is not there any more.");
        env.ui.hint(MAKE_AGAIN);
    }
    Ok(outcome)
}

fn write_record(out: &mut dyn Write, checkpoint: &Checkpoint) -> std::io::Result<()> {
    write!(
        out,
        "{}\t{}\t{}\t{}\t{}\t",
        checkpoint.number,
        checkpoint.id,
        checkpoint.time.seconds,
        u8::from(checkpoint.pinned),
        checkpoint.names.join(","),
    )?;
    out.write_all(&checkpoint.reason)?;
    out.write_all(b"\0")
}
