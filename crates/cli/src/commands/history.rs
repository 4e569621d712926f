//! `herma history`

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;
use herma_core::steps::{StepChoice, StepId};
use herma_core::{
    AuthorshipError, Error, FileHistory, Project, RelPath, Row, RowChanges, RowKind, Version,
    VersionChange,
};
use herma_view::authors::columns;
use herma_view::json::{PathJson, Serialize, checkpoint_json, lazy_object, list, object};
use herma_view::steps::named_step_json;
use herma_view::time::at;
use herma_view::{authors, here, listing, timeline, units};

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::commands::list::rows_and_now;
use crate::render::authors::{explain_steps, no_such_file, warn_of_gaps};
use crate::render::project_json;
use crate::terminal::{Label, Ui, quote, time};

/// So many deleted files are named in a hint.
const SHOWN: usize = 3;

/// List every version of a file, newest first, with the step that made it
///
/// Shows the first checkpoint with the version, its time, the author as in `herma blame`, what changed and the size.
/// A file that moved is followed.
#[derive(Args, Debug)]
pub(crate) struct HistoryArgs {
    /// The file, which may be gone
    file: PathBuf,
    /// End each record with NUL; fields separated by tabs: checkpoint id, seconds since 1970, author (`step`,
    /// `hand`, `earlier` or `unattributed`), steps joined by commas, what changed, lines added, lines removed,
    /// bytes (each empty if there is none), the path then
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_history(env: &CommandEnv, args: &HistoryArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let path = project.rel_path(&env.absolute(&args.file))?;
    let history = env.ui.during(|progress| project.history(&path, progress));
    if matches!(
        &history,
        Err(Error::Authorship(AuthorshipError::NotAFile { .. }) | Error::PathUnknown { .. })
    ) && project.first_unknown(std::slice::from_ref(&path))?.is_none()
    {
        return directory(env, &project, path, args);
    }
    let history = history.map_err(|error| no_such_file(&project, &path, error))?;
    let outcome = warn_of_gaps(env, &project)?;
    let json = lazy_object! {
        schema: "herma.history/3",
        project: project_json(&project),
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        versions: list(history.versions.iter().map(version_json)),
        steps: list(history.steps.iter().map(named_step_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for version in &history.versions {
                write_record(out, version)?;
            }
        } else {
            write_versions(out, &env.ui, &history)?;
        }
        Ok(())
    })?;
    if !args.null {
        explain_steps(&env.ui, &project, &history.steps)?;
    }
    Ok(outcome)
}

/// The rows that changed something in a directory, which may be gone by now.
fn directory(
    env: &CommandEnv,
    project: &Project,
    path: RelPath,
    args: &HistoryArgs,
) -> Result<Outcome> {
    if args.null {
        let error =
            CommandError::usage(format!("{} is a directory; `-z` is for files", here::path(&path)));
        return Err(error.with_hint(format!(
            "`herma history {} --json` is for programs.",
            quote(&here::path(&path))
        )));
    }
    let paths = vec![path];
    let choice = StepChoice { paths: paths.clone(), ..StepChoice::default() };
    let (rows, now) = rows_and_now(env, project, &choice, usize::MAX)?;
    let now = now.filter(|now| now.changes.count > 0);
    let json = lazy_object! {
        schema: "herma.history/3",
        project: project_json(project),
        #[serde(flatten)]
        path: PathJson::new(paths[0].as_bytes()),
        rows: list(rows.rows.iter().map(timeline::row_json)),
    };
    env.ui.answer(json, |out| {
        timeline::write_rows(
            out,
            &env.ui,
            (&rows, now.as_ref()),
            /*with_calls*/ false,
            env.now(),
        )
    })?;
    if now.is_none() && rows.rows.iter().all(|row| row.changes.count == 0) {
        env.ui.status("Nothing in it has changed since the first checkpoint.");
    }
    let on_disk = |path: &RelPath| project.root().join(OsStr::from_bytes(path.as_bytes()));
    let is_there = |path: &RelPath| on_disk(path).symlink_metadata().is_ok();
    let mut gone = deletions(&rows.rows).into_iter().map(|(id, mut deleted)| {
        deleted.retain(|path| !is_there(path));
        (id, deleted)
    });
    if let Some((id, deleted)) = gone.find(|(_, deleted)| !deleted.is_empty()) {
        // Of a directory that is there, only what was deleted: the rest may be newer.
        let is_left = on_disk(&paths[0]).read_dir().is_ok_and(|mut rest| rest.next().is_some());
        let deleted = if is_left { deleted } else { paths };
        let shown = deleted.iter().take(SHOWN).map(|path| quote(&here::path(path)));
        let named = shown.collect::<Vec<_>>().join(" ");
        env.ui.hint(format_args!("`herma restore {id}^ {named}` brings back what {id} deleted."));
    }
    Ok(Outcome::Done)
}

/// What each change deleted, the newest first.
fn deletions(rows: &[Row]) -> Vec<(StepId, Vec<RelPath>)> {
    let of = |(id, changes): (StepId, &RowChanges)| {
        let deleted = changes.files.iter().filter(|(_, is_gone)| **is_gone);
        (id, deleted.map(|(path, _)| path.clone()).collect())
    };
    let rows = rows.iter().filter(|row| row.kind != RowKind::Shift && row.undone == 0);
    let each = rows.flat_map(|row| {
        let calls = row.calls.iter();
        let calls = calls.filter_map(|call| Some((call.step.id(), call.changes.as_ref()?)));
        calls.chain(row.calls.is_empty().then_some((row.id, &row.changes)))
    });
    each.map(of).collect()
}

fn version_json(version: &Version) -> impl Serialize {
    let from = match &version.change {
        VersionChange::Renamed { from } => Some(PathJson::new(from.as_bytes())),
        _ => None,
    };
    object! {
        checkpoint: version.checkpoint.as_deref().map(checkpoint_json),
        author: version.author.word(),
        steps: version.author.steps().to_vec(),
        change: version.change.word(),
        #[serde(flatten)]
        path: PathJson::new(version.path.as_bytes()),
        from,
        insertions: version.insertions,
        deletions: version.deletions,
        bytes: version.size,
        seconds: version.time,
        time: version.time.and_then(|seconds| time::rfc3339(at(seconds))),
    }
}

fn write_record(out: &mut dyn Write, version: &Version) -> std::io::Result<()> {
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let id = version.checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_hex());
    let steps: Vec<String> = version.author.steps().iter().map(StepId::to_string).collect();
    let fields = [
        id.unwrap_or_default(),
        version.time.map_or(String::new(), |seconds| seconds.to_string()),
        version.author.word().to_owned(),
        steps.join(","),
        version.change.word().to_owned(),
        number(version.insertions),
        number(version.deletions),
        number(version.size),
    ];
    write!(out, "{}\t", fields.join("\t"))?;
    out.write_all(&here::bytes(version.path.as_bytes()))?;
    out.write_all(b"\0")
}

/// Prints one line for each version; columns that would be empty are left away.
fn write_versions(out: &mut dyn Write, ui: &Ui, history: &FileHistory) -> std::io::Result<()> {
    let ids: Vec<_> = history
        .versions
        .iter()
        .filter_map(|version| Some(version.checkpoint.as_ref()?.id))
        .collect();
    let digits = listing::id_digits(&ids);
    let rows: Vec<[String; 7]> =
        history.versions.iter().map(|version| row(version, history, digits)).collect();
    let labels = [
        Label::Number,
        Label::Id,
        Label::Faint,
        Label::Number,
        Label::Name,
        Label::Changed,
        Label::Faint,
    ];
    let lines = listing::in_columns(ui, labels, &rows);
    lines.iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

fn row(version: &Version, history: &FileHistory, digits: usize) -> [String; 7] {
    let checkpoint = version.checkpoint.as_deref();
    let number = checkpoint.map_or(String::new(), |c| c.number.to_string());
    let [who, agent] = columns(&version.author, &history.steps);
    // A step has the number of the checkpoint it ended in.
    let who = if who == number { String::new() } else { who };
    let change = match &version.change {
        VersionChange::Renamed { from } => format!("renamed from {}", here::path(from)),
        other => other.word().to_owned(),
    };
    let lines = match (version.insertions, version.deletions) {
        (Some(insertions), Some(deletions)) => format!("+{insertions}/-{deletions}"),
        _ => "not counted".to_owned(),
    };
    let amount = match version.size {
        Some(bytes) => format!("{lines}, {}", units::size(bytes)),
        None => lines,
    };
    [
        number,
        checkpoint.map_or(String::new(), |c| listing::short_id(c.id, digits)),
        authors::when(version.time),
        who,
        agent,
        change,
        amount,
    ]
}
