//! `herma checkpoints clear`

use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use herma_core::engine::NoProgress;
use herma_fs::{Dir, IfThere};
use herma_view::json::{PathJson, lazy_object, list};

use super::shown_first;
use crate::command_env::{CommandEnv, Outcome, Result, WithState};
use crate::terminal::{escape, shown, size};

/// Delete all checkpoints of all projects
///
/// Deletes the store, legacy archives and version 1 repositories. Other files stay, and are named.
#[derive(Args, Debug)]
pub(super) struct ClearArgs {
    /// Do not ask
    #[arg(short, long, visible_short_alias = 'y', visible_alias = "yes")]
    force: bool,
}

pub(super) fn cmd_clear(env: &CommandEnv, args: &ClearArgs) -> Result<Outcome> {
    let base = env.home.join("checkpoints");
    if matches!(Dir::open_nofollow(&base).if_there(), Ok(None)) {
        return tell(env, None, false, 0, &[]);
    }
    let mut shown = None;
    if !env.ui.json {
        // A store too damaged to be counted can be cleared all the same.
        shown = env.engine.count_checkpoints().ok();
        shown_first(describe(env), args.force)?;
    }
    let would = "all checkpoints of all projects would be deleted";
    let instead = "`herma checkpoints clear --force`";
    if !args.force && !env.ui.agrees(would, instead, "Proceed? [y/N]: ", "Aborted.")? {
        return Ok(Outcome::Aborted);
    }
    let cleared = env.engine.clear(shown.as_ref());
    let cleared = cleared
        .with_state("Could not clear checkpoint base; what was not removed is still usable.")?;
    let freed = cleared.bytes_freed;
    tell(env, Some(&base), cleared.deleted, freed, &cleared.kept)
}

/// What will be lost. A store too damaged to be described can be cleared all the same.
fn describe(env: &CommandEnv) -> Result<()> {
    let base = env.home.join("checkpoints");
    let mut out = env.ui.data();
    let shown = shown(base);
    writeln!(out, "This will delete the ENTIRE checkpoint base at {shown}")?;
    match env.engine.status(false, &NoProgress) {
        Ok(status) => {
            writeln!(out, "  size:        {}", size(status.total_bytes()))?;
            writeln!(out, "  projects:    {}", status.projects.len())?;
            writeln!(out, "  legacy dirs: {}", status.legacy.len())?;
            if !status.pre_v2.is_empty() {
                writeln!(out, "  version 1:   {}", status.pre_v2.len())?;
            }
        }
        Err(error) => {
            writeln!(out, "  size:        unknown: {}", escape(error.to_string().as_bytes()))?;
        }
    }
    writeln!(out)?;
    writeln!(out, "All /rollback history for every working directory will be lost.")?;
    Ok(out.finish()?)
}

fn tell(
    env: &CommandEnv,
    base: Option<&std::path::Path>,
    deleted: bool,
    bytes_freed: u64,
    kept: &[OsString],
) -> Result<Outcome> {
    let json = lazy_object! {
        schema: "herma.checkpoints-clear/1",
        base: PathJson::of(env.home.join("checkpoints")),
        deleted,
        bytes_freed,
        kept: list(kept.iter().map(PathJson::of)),
    };
    env.ui.answer(json, |out| {
        if base.is_none() {
            writeln!(out, "Nothing to clear — checkpoint base does not exist.")?;
        } else {
            writeln!(out, "Cleared. Reclaimed {}.", size(bytes_freed))?;
        }
        if !kept.is_empty() {
            writeln!(out, "Kept what is no checkpoint:")?;
            for kept in kept {
                writeln!(out, "  {}", shown(kept))?;
            }
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}
