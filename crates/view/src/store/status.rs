//! What the store holds and what it costs: the texts of Hermes, and below them what costs the disk.

use std::io;
use std::io::Write;

use herma_core::cleanup::Presence;
use herma_core::types::settings::Keeping;
use herma_core::{ProjectStatus, StoreStatus};
use herma_store::path::escape;

use super::{limits, place};
use crate::here::shown;
use crate::json::{PathJson, Serialize, list, object};
use crate::listing::{counted, fit, wrapped};
use crate::units::{short_age, size};

/// How many of the biggest files are named.
const NAMED_FILES: usize = 10;
const WHAT_TO_DO_WITH_LEGACY: &str = "\nClear with: herma checkpoints clear-legacy\nBring their history in with: herma checkpoints import-legacy";

/// Columns of a project's directory where there is room, and where there is none.
const WORKDIR: usize = 60;
const NARROW_WORKDIR: usize = 20;
/// Columns of all others, with what is between them.
const OTHERS: usize = 46;

/// Prints it; `limit` is how many projects are named, `room` how many columns there are, and `now` in seconds since 1970.
pub fn write_status(
    out: &mut dyn Write,
    (status, keeping): (&StoreStatus, &Keeping),
    (limit, room): (usize, Option<usize>),
    now: f64,
) -> io::Result<()> {
    writeln!(out, "{}", wrapped("Kept:            ", &limits::in_words(keeping), room))?;
    write_sizes(out, status)?;
    write_projects(out, &status.projects, (limit, room), now)?;
    write_legacy(out, status)?;
    write_biggest(out, &status.projects, room)?;
    if status.exists { write_disk(out, status, now) } else { Ok(()) }
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
        let line = project.line.as_ref();
        let unknown =
            || line.map_or("(unknown)".to_owned(), |line| format!("(imported as {line})"));
        let workdir = workdir.map_or_else(unknown, shown);
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

/// What `--json` prints: Hermes's keys, and ours beside them.
pub fn status_json(status: &StoreStatus, keeping: &Keeping) -> impl Serialize + use<> {
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
        limits: limits::to_json(keeping),
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

fn project_json(project: &ProjectStatus) -> impl Serialize + use<> {
    let cost = project.cost.clone().unwrap_or_default();
    object! {
        hash: project.id.to_string(),
        workdir: project.workdir.as_deref().map(PathJson::of),
        #[serde(flatten)]
        line: project.line.clone().map(|line| object! { line }),
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
