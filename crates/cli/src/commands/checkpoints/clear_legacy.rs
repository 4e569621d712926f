//! `herma checkpoints clear-legacy`

use std::io::Write;

use clap::Args;
use herma_core::{ClearedLegacy, LegacyArchive, PreV2Project};
use herma_view::json::{PathJson, list, object};
use herma_view::listing::counted;
use herma_view::store::place;

use super::shown_first;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{shown, size};

/// Delete the repositories from before the single store, and archives of them
///
/// Resume records that are in archives move back beside the store.
#[derive(Args, Debug)]
pub(super) struct ClearLegacyArgs {
    /// Do not ask
    #[arg(short, long, visible_short_alias = 'y', visible_alias = "yes")]
    force: bool,
}

pub(super) fn cmd_clear_legacy(env: &CommandEnv, args: &ClearLegacyArgs) -> Result<Outcome> {
    let mut archives = env.engine.legacy()?;
    archives.sort_by(|a, b| b.mtime.total_cmp(&a.mtime));
    let repositories = env.engine.pre_v2_projects()?;
    if archives.is_empty() && repositories.is_empty() {
        return tell(env, None);
    }
    if !env.ui.json {
        shown_first(describe(env, &archives, &repositories), args.force)?;
    }
    if !args.force {
        let count = counted(archives.len() + repositories.len(), "legacy archive");
        let instead = "`herma checkpoints clear-legacy --force`";
        let (would, question) =
            (format!("{count} would be deleted"), "Delete all legacy archives? [y/N]: ");
        if !env.ui.agrees(would, instead, question, "Aborted.")? {
            return Ok(Outcome::Aborted);
        }
    }
    tell(env, Some(remove(env, &archives, &repositories)?))
}

/// Removes what was shown, and nothing that came since.
fn remove(
    env: &CommandEnv,
    archives: &[LegacyArchive],
    repositories: &[PreV2Project],
) -> Result<ClearedLegacy> {
    let mut cleared = ClearedLegacy::default();
    for repository in repositories {
        cleared.bytes_freed += env.engine.remove_pre_v2(&repository.project)?;
        cleared.deleted += 1;
    }
    for archive in archives {
        let removed = env.engine.remove_legacy(&archive.name)?;
        cleared.add(archive.name.clone(), removed);
    }
    Ok(cleared)
}

fn describe(
    env: &CommandEnv,
    archives: &[LegacyArchive],
    repositories: &[PreV2Project],
) -> Result<()> {
    let sizes = archives.iter().map(|archive| archive.size_bytes);
    let total = sizes.chain(repositories.iter().map(|old| old.size_bytes)).sum();
    let mut out = env.ui.data();
    writeln!(
        out,
        "Found {} legacy archive(s), total {}:",
        archives.len() + repositories.len(),
        size(total)
    )?;
    for old in repositories {
        let bytes = size(old.size_bytes);
        let of = place(old.workdir.as_deref(), &old.project);
        writeln!(out, "  {:<40}  {bytes:>10}  {of}", old.project.to_string())?;
    }
    for archive in archives {
        let bytes = size(archive.size_bytes);
        writeln!(out, "  {:<40}  {bytes:>10}", shown(&archive.name))?;
    }
    writeln!(out)?;
    writeln!(out, "Legacy archives hold pre-v2 per-project shadow repos, moved aside")?;
    writeln!(out, "during the single-store migration. Delete when you're confident")?;
    writeln!(out, "you don't need the old /rollback history.")?;
    Ok(out.finish()?)
}

fn tell(env: &CommandEnv, cleared: Option<ClearedLegacy>) -> Result<Outcome> {
    let was_there = cleared.is_some();
    let cleared = cleared.unwrap_or_default();
    let outcome = if cleared.kept.is_empty() { Outcome::Done } else { Outcome::LeftOut };
    if env.ui.json {
        let paths = |names: &[std::ffi::OsString]| list(names.iter().map(PathJson::of));
        env.ui.write_json(&object! {
            schema: "herma.checkpoints-clear-legacy/1",
            deleted: cleared.deleted,
            bytes_freed: cleared.bytes_freed,
            moved_back: paths(&cleared.moved_back),
            kept: paths(&cleared.kept),
        })?;
        return Ok(outcome);
    }
    let mut out = env.ui.data();
    if was_there {
        let (deleted, freed) = (cleared.deleted, size(cleared.bytes_freed));
        writeln!(out, "Deleted {deleted} archive(s), reclaimed {freed}.")?;
    } else {
        writeln!(out, "No legacy archives to clear.")?;
    }
    if !cleared.moved_back.is_empty() {
        writeln!(out, "Moved back resume records:")?;
    }
    for moved in &cleared.moved_back {
        writeln!(out, "  {}", shown(moved))?;
    }
    out.finish()?;
    for kept in &cleared.kept {
        env.ui.warning(format_args!(
            "{} stays: it holds files whose names are taken beside the store",
            shown(kept)
        ));
    }
    Ok(outcome)
}
