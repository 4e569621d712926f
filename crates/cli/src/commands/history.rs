//! `herma history`

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;
use herma_core::steps::StepChoice;
use herma_core::{AuthorshipError, Error, Project, RelPath};
use herma_view::json::{PathJson, lazy_object, list};
use herma_view::past::versions::{deletions, history_json, write_record, write_versions};
use herma_view::{here, timeline};

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::commands::list::rows_and_now;
use crate::render::authors::{explain_steps, no_such_file, warn_of_gaps};
use crate::render::project_json;
use crate::terminal::quote;

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
    /// What an imported line says of it
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
}

pub(crate) fn cmd_history(env: &CommandEnv, args: &HistoryArgs) -> Result<Outcome> {
    let project = env.open_line(args.line.as_deref())?;
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
    let json = || history_json(project_json(&project), &path, &history);
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
