//! `herma open`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use herma_core::copies::{CopyPlace, OpenCopy, OpenedCopy};
use herma_core::{Checkpoint, Project, RelPath};
use herma_fs::process::foreground::Output;
use herma_view::here;
use herma_view::json::{PathJson, checkpoint_json, list, object};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::commands::copies::in_copy::{Ran, run, shell};
use crate::commands::copies::repository::Placed;
use crate::commands::copies::{known, repository};
use crate::render::project_json;
use crate::terminal::{escape, quote, shown};

/// Open an old state in a directory of its own
///
/// Makes a directory with the files of CHECKPOINT and prints its path. The directory is a project of its own that begins with
/// this state; nothing of the present changes. Without DIR it is made in the user's cache, below `herma/open`. It has no `.git` without
/// `--git`, and nothing that checkpoints leave out unless `--with-ignored` or the setting `open_with_ignored` names it.
#[derive(Args, Debug)]
pub(crate) struct OpenArgs {
    /// The checkpoint
    #[arg(value_name = "CHECKPOINT", required_unless_present_any = ["list", "clean"])]
    checkpoint: Option<String>,
    /// Where: a directory that is empty or not there yet, outside the project
    #[arg(value_name = "DIR", conflicts_with = "run")]
    place: Option<PathBuf>,
    /// Also copy this from the present, which checkpoints leave out: dependencies, say (can be repeated)
    #[arg(long, value_name = "PATH")]
    with_ignored: Vec<PathBuf>,
    /// Also make a repository there, with the history of yours and nothing in common with it
    #[arg(long)]
    git: bool,
    /// Run this line of shell there, and remove the directory afterwards; exits as it does
    #[arg(long, value_name = "COMMAND")]
    run: Option<OsString>,
    /// List the directories that were opened
    #[arg(long, conflicts_with_all = ["checkpoint", "place", "with_ignored", "git", "run", "clean"])]
    list: bool,
    /// Remove what was opened in the user's cache and not changed, and what was never finished; or these, whatever is in them
    #[arg(long, value_name = "DIR", num_args = 0.., conflicts_with_all = ["checkpoint", "place", "with_ignored", "git", "run"])]
    clean: Option<Vec<PathBuf>>,
}

pub(crate) fn cmd_open(env: &CommandEnv, args: &OpenArgs) -> Result<Outcome> {
    if args.list {
        return known::list_copies(env);
    }
    if let Some(directories) = &args.clean {
        return known::clean(env, directories);
    }
    let project = env.open_project()?;
    let text = args.checkpoint.as_deref().unwrap_or_default();
    let target = env.find(&project, text)?;
    let at = match &args.place {
        Some(place) => CopyPlace::Chosen(env.absolute(place)),
        None => CopyPlace::In(default_place(env)?),
    };
    let placed = args.git.then(|| repository::of_project(&project)).transpose()?;
    let opened = open(env, &project, target, at, &args.with_ignored)?;
    if let Some(placed) = &placed {
        let cloned = repository::clone_into(opened.project.root(), &project, placed);
        if let Err(error) = cloned {
            // Half a repository is none. What cannot be removed is on record.
            let _ = known::remove(env, &opened.record);
            return Err(error.with_state("Nothing was opened."));
        }
    }
    match &args.run {
        Some(line) => run_and_remove(env, &opened, line),
        None => report(env, &project, (&opened, placed.as_ref())),
    }
}

/// Where copies are made if nobody says where.
pub(crate) fn default_place(env: &CommandEnv) -> Result<PathBuf> {
    env.environment.copies().ok_or_else(|| {
        CommandError::usage(
            "cannot tell where your cache is: neither `XDG_CACHE_HOME` nor `HOME` is set",
        )
        .with_state("Nothing was opened.")
        .with_hint("`herma open CHECKPOINT DIR` says where.")
    })
}

/// What is copied from the present: what is named, and what the settings name, as far as it is there.
pub(crate) fn with_settings(
    env: &CommandEnv,
    project: &Project,
    named: &[PathBuf],
) -> Result<Vec<RelPath>> {
    let mut all = env.project_paths(project, named)?;
    for path in env.settings.open_with_ignored() {
        let path = project.root().join(path);
        if path.symlink_metadata().is_ok() {
            let path = project.rel_path(&path)?;
            all.extend(Some(path).filter(|path| !all.contains(path)));
        }
    }
    Ok(all)
}

/// Makes a copy.
pub(crate) fn open(
    env: &CommandEnv,
    project: &Project,
    target: Checkpoint,
    at: CopyPlace,
    with_ignored: &[PathBuf],
) -> Result<OpenedCopy> {
    let with_ignored = with_settings(env, project, with_ignored)?;
    let asked = OpenCopy { target, at, with_ignored, attempt: None };
    let opened = env.ui.during(|progress| project.open_copy(&asked, progress));
    opened.map_err(|error| CommandError::from(error).with_state("Nothing was opened."))
}

fn run_and_remove(env: &CommandEnv, opened: &OpenedCopy, line: &OsString) -> Result<Outcome> {
    name_lacks(env, opened);
    let ran = run(env, opened.project.root(), &shell(line), Output::Ours);
    known::remove(env, &opened.record)?;
    Ok(match ran? {
        Ran::Ended(ended) => Outcome::Command(ended.exit_code()),
        Ran::NotStarted(outcome) => outcome,
    })
}

fn report(
    env: &CommandEnv,
    project: &Project,
    (opened, placed): (&OpenedCopy, Option<&Placed>),
) -> Result<Outcome> {
    let root = opened.project.root();
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.open/1",
            project: project_json(project),
            copy: project_json(&opened.project),
            checkpoint: checkpoint_json(&opened.checkpoint),
            of: opened.record.number,
            head: placed.map(|placed| placed.commit.clone()),
            written: opened.written,
            shared: opened.shared,
            ignored: opened.ignored,
            receipt_damaged: opened.receipt_damaged,
            kept: list(opened.kept.iter().map(|kept| object! {
                #[serde(flatten)]
                path: PathJson::new(kept.path.as_bytes()),
                reason: kept.why.word(),
            })),
            passed_over: list(opened.passed_over.iter().map(|path| PathJson::new(path.as_bytes()))),
        })?;
        return Ok(outcome(opened));
    }
    env.ui.print(shown(root))?;
    let number = opened.record.number;
    let beside = match opened.ignored {
        0 => String::new(),
        files => format!(", and {} that checkpoints leave out", counted(files, "file")),
    };
    env.ui.status(format_args!(
        "Checkpoint {number} is open there: {}{beside}.",
        counted(opened.written, "file")
    ));
    if let Some(Placed { commit, branch }) = placed {
        let on = branch.as_ref().map(|branch| format!(" ({})", escape(branch.as_bytes())));
        env.ui.status(format_args!(
            "Its repository is at your present HEAD, {commit:.10}{}: checkpoints do not record where HEAD was.",
            on.unwrap_or_default()
        ));
    }
    name_lacks(env, opened);
    env.ui.advice(format_args!("`herma open --clean {}` removes it.", quote(&shown(root))));
    Ok(outcome(opened))
}

fn outcome(opened: &OpenedCopy) -> Outcome {
    let is_whole = opened.kept.is_empty() && opened.passed_over.is_empty();
    if is_whole && !opened.receipt_damaged { Outcome::Done } else { Outcome::LeftOut }
}

/// Names what is missing there.
pub(crate) fn name_lacks(env: &CommandEnv, opened: &OpenedCopy) {
    if opened.receipt_damaged {
        env.ui.warning("the modes of this checkpoint cannot be read: files have the usual ones.");
    }
    for kept in &opened.kept {
        let path = here::path(&kept.path);
        env.ui.warning(format_args!("{path} is not there as it was ({})", kept.why));
    }
    for path in &opened.passed_over {
        let path = here::path(path);
        env.ui.warning(format_args!(
            "{path} was not copied: it is a repository's own, mounted, or no file"
        ));
    }
}
