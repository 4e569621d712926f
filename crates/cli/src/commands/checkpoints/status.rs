//! `herma checkpoints status`: the texts of Hermes, and below them what costs the disk.

use std::io;
use std::io::Write;

use clap::Args;
use herma_core::cleanup::Presence;
use herma_core::types::settings::Keeping;
use herma_core::{ProjectStatus, StoreStatus};
use herma_view::json::{PathJson, Serialize, list, object};
use herma_view::listing::{counted, fit, wrapped};

use super::{limits, place};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{escape, short_age, shown, size};

/// How many projects are shown unless told otherwise.
const SHOWN: usize = 20;
/// How many of the biggest files are named.
const NAMED_FILES: usize = 10;
const WHAT_TO_DO_WITH_LEGACY: &str = "\nClear with: herma checkpoints clear-legacy\nBring their history in with: herma checkpoints import-legacy";

/// Columns of a project's directory where there is room, and where there is none.
const WORKDIR: usize = 60;
const NARROW_WORKDIR: usize = 20;
/// Columns of all others, with what is between them.
const OTHERS: usize = 46;

/// Show what the store holds and what it costs
///
/// STATE is `live`, `orphan` (deleted), `away` (missing, but not proven deleted: its volume may not be mounted) or
/// `unknown` (nobody knows where it was). SIZE is what only that project's checkpoints hold.
#[derive(Args, Debug, Default)]
pub(super) struct StatusArgs {
    /// Show at most this many projects [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) fn cmd_status(env: &CommandEnv, args: &StatusArgs) -> Result<Outcome> {
    let status = env.ui.during(|progress| env.engine.status(true, progress))?;
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(SHOWN);
    let now = env.now().as_float();
    let json = || status_json(&status, env);
    env.ui.answer(json, |out| {
        let (kept, room) = (limits::in_words(&keeping(env, &status)), env.ui.width);
        writeln!(out, "{}", wrapped("Kept:            ", &kept, room))?;
        write_sizes(out, &status)?;
        write_projects(out, &status.projects, (limit, room), now)?;
        write_legacy(out, &status)?;
        write_biggest(out, &status.projects, room)?;
        if status.exists { write_disk(out, &status, now) } else { Ok(()) }
    })?;
    Ok(Outcome::Done)
}

fn write_sizes(out: &mut dyn Write, status: &StoreStatus) -> io::Result<()> {
    writeln!(out, "Checkpoint base: {}", shown(&status.base))?;
    writeln!(out, "Total size:      {}", size(status.total_bytes()))?;
    writeln!(out, "  store/         {}", size(status.store_bytes))?;
    writeln!(out, "  legacy-*       {}", size(status.legacy_bytes))?;
    if !status.pre_v2.is_empty() {
        writeln!(out, "  version 1      {}", size(status.pre_v2_bytes))?;
    }
    writeln!(out, "Projects:        {}", status.projects.len())
}

fn write_projects(
    out: &mut dyn Write,
    projects: &[ProjectStatus],
    (limit, room): (usize, Option<usize>),
    now: f64,
) -> io::Result<()> {
    if projects.is_empty() {
        return Ok(());
    }
    let columns = room.map_or(WORKDIR, |room| room.saturating_sub(OTHERS));
    let columns = columns.clamp(NARROW_WORKDIR, WORKDIR);
    writeln!(
        out,
        "\n  {:<columns$}  {:>7}  {:>12}  {:<7}  {:>10}",
        "WORKDIR", "COMMITS", "LAST TOUCH", "STATE", "SIZE"
    )?;
    for project in projects.iter().take(limit) {
        let workdir = project.workdir.as_deref();
        let workdir = workdir.map_or_else(|| "(unknown)".to_owned(), shown);
        let own = project.cost.as_ref().map_or(0, |cost| cost.own_bytes);
        writeln!(
            out,
            "  {:<columns$}  {:>7}  {:>12}  {:<7}  {:>10}",
            last_columns(&workdir, columns),
            project.checkpoints,
            short_age(project.last_touch, now),
            state(&project.presence),
            size(own),
        )?;
    }
    let more = projects.len().saturating_sub(limit);
    if more > 0 {
        writeln!(out, "  and {more} more: --limit {}", projects.len())?;
    }
    Ok(())
}

/// The word for whether a project is still there.
fn state(presence: &Presence) -> &'static str {
    match presence {
        Presence::Live => "live",
        Presence::Gone | Presence::GoneWithParents => "orphan",
        Presence::OutOfReach(_) => "away",
        Presence::Unknown => "unknown",
    }
}

/// The end of a path is what tells it from others.
fn last_columns(path: &str, columns: usize) -> String {
    let count = path.chars().count();
    if count <= columns {
        return path.to_owned();
    }
    let end: String = path.chars().skip(count - (columns - 1)).collect();
    format!("…{end}")
}

fn write_legacy(out: &mut dyn Write, status: &StoreStatus) -> io::Result<()> {
    if !status.legacy.is_empty() {
        let mut archives: Vec<_> = status.legacy.iter().collect();
        archives.sort_by(|a, b| b.mtime.total_cmp(&a.mtime));
        writeln!(out, "\nLegacy archives ({}):", archives.len())?;
        for archive in archives {
            let bytes = size(archive.size_bytes);
            writeln!(out, "  {:<40}  {bytes:>10}", shown(&archive.name))?;
        }
        writeln!(out, "{WHAT_TO_DO_WITH_LEGACY}")?;
    }
    if !status.pre_v2.is_empty() {
        writeln!(out, "\nRepositories of version 1 ({}):", status.pre_v2.len())?;
        for repository in &status.pre_v2 {
            let of = place(repository.workdir.as_deref(), &repository.project);
            let state = if repository.exists { "live" } else { "away" };
            let bytes = size(repository.size_bytes);
            writeln!(out, "  {of}  {state}  {bytes:>10}")?;
        }
        writeln!(out, "{WHAT_TO_DO_WITH_LEGACY}")?;
    }
    Ok(())
}

fn write_biggest(
    out: &mut dyn Write,
    projects: &[ProjectStatus],
    room: Option<usize>,
) -> io::Result<()> {
    let mut files = Vec::new();
    for project in projects {
        let biggest = project.cost.iter().flat_map(|cost| &cost.biggest);
        files.extend(biggest.map(|file| (file, project)));
    }
    files.sort_by(|a, b| b.0.bytes.cmp(&a.0.bytes).then(a.0.path.cmp(&b.0.path)));
    files.truncate(NAMED_FILES);
    if files.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nBiggest files:")?;
    writeln!(out, "  {:>10}  {:>8}  FILE", "SIZE", "VERSIONS")?;
    for (file, project) in files {
        let of = place(project.workdir.as_deref(), &project.id);
        let path = escape(&file.path);
        let bytes = size(file.bytes);
        let line = format!("  {bytes:>10}  {:>8}  {path}  ({of})", file.versions);
        writeln!(out, "{}", fit(&line, room))?;
    }
    writeln!(
        out,
        "Leave files out of later checkpoints with a line in the project's .hermaignore,\n\
         or in all projects with: herma config set exclude PATTERN..."
    )
}

fn write_disk(out: &mut dyn Write, status: &StoreStatus, now: f64) -> io::Result<()> {
    writeln!(out, "\nOn disk:         {}", size(status.store_disk_bytes))?;
    writeln!(out, "Packs:           {}", status.packs)?;
    writeln!(out, "Trash:           {}", size(status.trash_bytes))?;
    let Some(record) = &status.last_cleaning else {
        return writeln!(out, "Last cleaning:   never");
    };
    let (age, freed) = (short_age(Some(record.at), now), size(record.freed_bytes));
    let dropped = counted(record.dropped, "checkpoint");
    writeln!(out, "Last cleaning:   {age}, {dropped} dropped, {freed} freed")?;
    match &record.problem {
        Some(problem) => writeln!(out, "  problem:       {}", escape(problem.as_bytes())),
        None => Ok(()),
    }
}

/// The limits in force.
fn keeping(env: &CommandEnv, status: &StoreStatus) -> Keeping {
    Keeping { max_total_size: Some(status.size_limit), ..env.engine.settings().keeping }
}

/// What `--json` prints: Hermes's keys, and ours beside them.
fn status_json(status: &StoreStatus, env: &CommandEnv) -> impl Serialize {
    object! {
        schema: "herma.checkpoints-status/1",
        base: PathJson::of(&status.base),
        exists: status.exists,
        store_size_bytes: status.store_bytes,
        store_disk_bytes: status.store_disk_bytes,
        legacy_size_bytes: status.legacy_bytes,
        pre_v2_size_bytes: status.pre_v2_bytes,
        total_size_bytes: status.total_bytes(),
        trash_bytes: status.trash_bytes,
        packs: status.packs,
        project_count: status.projects.len(),
        projects: list(status.projects.iter().map(project_json)),
        legacy_archives: list(status.legacy.iter().map(|archive| object! {
            name: PathJson::of(&archive.name),
            size_bytes: archive.size_bytes,
            mtime: archive.mtime,
            repositories: archive.repositories,
            other: list(archive.other.iter().map(PathJson::of)),
        })),
        pre_v2: list(status.pre_v2.iter().map(|repository| object! {
            hash: repository.project.to_string(),
            #[serde(flatten)]
            path: PathJson::of(&repository.path),
            workdir: repository.workdir.as_deref().map(PathJson::of),
            exists: repository.exists,
            size_bytes: repository.size_bytes,
        })),
        limits: limits::to_json(&keeping(env, status)),
        last_cleaning: status.last_cleaning.as_ref().map(|record| object! {
            at: record.at,
            store_bytes: record.store_bytes,
            packs: record.packs,
            dropped: record.dropped,
            freed_bytes: record.freed_bytes,
            problem: record.problem.clone(),
        }),
    }
}

fn project_json(project: &ProjectStatus) -> impl Serialize {
    let cost = project.cost.clone().unwrap_or_default();
    object! {
        hash: project.id.to_string(),
        workdir: project.workdir.as_deref().map(PathJson::of),
        exists: project.presence == Presence::Live,
        state: state(&project.presence),
        doubt: match &project.presence {
            Presence::OutOfReach(doubt) => Some(doubt.to_string()),
            _ => None,
        },
        created_at: project.created_at,
        last_touch: project.last_touch,
        commits: project.checkpoints,
        own_bytes: cost.own_bytes,
        shared_bytes: cost.shared_bytes,
        biggest_files: list(cost.biggest.iter().map(|file| object! {
            #[serde(flatten)]
            path: PathJson::new(&file.path),
            bytes: file.bytes,
            versions: file.versions,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_directories_show_their_end() {
        assert_eq!(last_columns("/a", 60), "/a");
        let exact = "x".repeat(60);
        assert_eq!(last_columns(&exact, 60), exact);
        let shown = last_columns(&format!("/start/{exact}"), 60);
        assert_eq!(shown, format!("…{}", "x".repeat(59)));
    }
}
