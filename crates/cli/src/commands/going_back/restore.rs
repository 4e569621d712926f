//! `herma restore`, also `herma rollback`

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use herma_core::restore::RestoreOptions;
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, Error, NextMove, Project, RelPath, UndoLast};
use herma_reversal::Outcome as Becomes;
use herma_view::here;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::going_back::undo_steps::{HowArgs, undo_steps};
use crate::conversations::pending::Pending;
use crate::render::restore_report::{
    UNDO_BRINGS_BACK, report_conversation, report_nothing_to_continue, report_plan, report_restored,
};
use crate::render::told::Told;
use crate::several::Several;
use crate::terminal::{escape, quote, shown};
use crate::transcript::{Conversation, Following, chat};

/// Put files back as they were at a checkpoint
///
/// Checkpoint 13 is the state after change 13; `13^` is the one before it.
///
/// Undoes what agents did since the checkpoint and keeps what was edited by hand; with `--all`, or where no agent ever
/// worked, undoes everything. Paths that are named become as they were then, whoever changed them. What an agent or a
/// session did wherever it was, `herma undo` undoes.
///
/// The current state is saved first, so `herma undo` undoes this command. Files that checkpoints leave out are never
/// overwritten or deleted. A path that did not exist then is removed. One that the checkpoint left out is named with
/// the reason: exits 3 if others were restored, 10 if none was.
#[derive(Args, Debug)]
#[command(visible_alias = "rollback")]
pub(crate) struct RestoreArgs {
    /// The checkpoint
    #[arg(
        value_name = "CHECKPOINT",
        required_unless_present_any = ["continue_restore", "last", "last_green"]
    )]
    checkpoint: Option<String>,
    /// Restore only these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Bring back these files and directories as the newest checkpoint that has them does; no checkpoint is named
    #[arg(
        long,
        value_name = "PATH",
        num_args = 1..,
        conflicts_with_all = ["checkpoint", "paths", "all", "patch", "chat", "with_transcript"]
    )]
    last: Vec<PathBuf>,
    /// The newest state in which one of your `checks` passed; no checkpoint is named
    #[arg(long, conflicts_with_all = ["checkpoint", "paths", "last"])]
    last_green: bool,
    /// Leave this file or directory as it is (can be repeated)
    #[arg(long, value_name = "PATH")]
    keep: Vec<PathBuf>,
    /// Only print what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Undo everything that changed since, whoever changed it; with `--continue` also what was changed after the interruption
    #[arg(long, conflicts_with = "patch")]
    pub(crate) all: bool,
    #[command(flatten)]
    how: HowArgs,
    /// Also rewind the conversation of the checkpoint's session
    #[arg(long, requires = "checkpoint", conflicts_with = "paths")]
    with_transcript: bool,
    /// Also cut the agent's conversation to there, as a new session; the old one stays
    ///
    /// After change N, or with `N^` before the message that made it (before the prompt, if it is that one's first change).
    #[arg(long, requires = "checkpoint", conflicts_with_all = ["paths", "with_transcript"])]
    chat: bool,
    /// Finish an interrupted restore; what was changed after the interruption stays
    #[arg(
        long = "continue",
        conflicts_with_all = ["checkpoint", "paths", "last", "last_green", "keep", "patch", "chat"]
    )]
    continue_restore: bool,
    /// End each record with NUL: the action or `keep`, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_restore(env: &CommandEnv, args: &RestoreArgs) -> Result<Outcome> {
    if args.continue_restore {
        return continue_restore(env, args);
    }
    let project = env.open_project()?;
    let checkpoint = match &args.last[..] {
        [] if args.last_green => last_green(&project)?,
        [] => checkpoint(env, &project, args)?,
        paths => last_with(env, &project, paths)?,
    };
    if (args.chat || args.with_transcript) && checkpoint.line.is_some() {
        let error = CommandError::usage("no conversation came in with an imported line");
        return Err(error
            .with_state("Nothing was changed.")
            .with_hint("Restore the files alone, without it."));
    }
    let conversation = if args.chat {
        let text = args.checkpoint.as_deref().unwrap_or_default();
        Conversation::of_change(env, &project, (text, &checkpoint))?
    } else if args.with_transcript {
        Conversation::of(env, &checkpoint)?
    } else {
        Conversation::none()
    };
    // Whoever names a file wants that as it was then, whoever changed it.
    let is_foreign = checkpoint.line.is_some();
    let paths = if args.last.is_empty() { &args.paths } else { &args.last };
    let is_exact = args.all || is_foreign || !paths.is_empty();
    if args.how.patch || !is_exact && project.has_work()? {
        let (steps, keep) = (StepChoice::default(), &args.keep);
        let asked = args.how.asked(env, &project, steps, Some(checkpoint), (&args.paths, keep))?;
        return undo_steps(env, &project, &asked, args.dry_run, args.null, &conversation);
    }
    let options = RestoreOptions {
        paths: env.project_paths(&project, paths)?,
        keep: env.project_paths(&project, &args.keep)?,
    };
    let failed = |error| match error {
        Error::PathUnknown { path } => not_there_then(env, &project, &checkpoint, path),
        error => with_state_of_files(&project, error),
    };
    if args.dry_run {
        let plan = env.ui.during(|progress| project.plan_restore(&checkpoint, &options, progress));
        let plan = plan.map_err(failed)?;
        return report_plan(env, &project, (&plan, None), args.null, conversation.plan(env)?);
    }
    let forked = conversation.prepare(env);
    let mut following = Following::begin(env, &project, conversation.aim())?;
    let restored = env.ui.during(|progress| project.restore_with(&checkpoint, &options, progress));
    let restored = restored.map_err(|error| {
        following.failed();
        failed(error)
    })?;
    let told = following.finish()?.with(forked.map(|forked| chat::write(env, forked)));
    report_restored(env, &project, (&restored, None), args.null, UNDO_BRINGS_BACK, told)
}

/// The checkpoint that is named.
fn checkpoint(env: &CommandEnv, project: &Project, args: &RestoreArgs) -> Result<Checkpoint> {
    let text = args.checkpoint.as_deref().unwrap_or_default();
    let found = env.find_on_lines(project, text).map(|(_, found)| found);
    found.map_err(|error| match in_one_state(project, args, text) {
        Some(meant) => meant,
        None => meant_as_path(env, project, error, text),
    })
}

/// The newest checkpoint in whose state a check passed.
fn last_green(project: &Project) -> Result<Checkpoint> {
    let found = project.timeline()?.into_iter().find(|checkpoint| checkpoint.green);
    let found = found.ok_or_else(|| {
        CommandError::new(Kind::NoStore, "no check has passed in a state that is still there")
            .with_state("Nothing was changed.")
            .with_hint("`herma config set checks 'cargo test*'` says which commands are checks; `herma run -- cargo test` runs one.")
    })?;
    Ok(found)
}

/// The newest checkpoint that has these paths, which are to be brought back.
fn last_with(env: &CommandEnv, project: &Project, paths: &[PathBuf]) -> Result<Checkpoint> {
    let mut found: Option<(Checkpoint, RelPath)> = None;
    for path in env.project_paths(project, paths)? {
        let typed = quote(&here::path(&path));
        let Some(newest) = project.newest_with(&path)? else {
            let error = CommandError::new(
                Kind::NoStore,
                format!("no checkpoint has {}", here::path(&path)),
            );
            let name = path.split().map_or_else(String::new, |(_, name)| quote(&escape(name)));
            return Err(error
                .with_state("Nothing was changed.")
                .with_hint(format!("`herma find {name}` looks for the name everywhere.")));
        };
        if project.root().join(OsStr::from_bytes(path.as_bytes())).symlink_metadata().is_ok() {
            let error = CommandError::usage(format!("{} is not gone", here::path(&path)));
            return Err(error.with_state("Nothing was changed.").with_hint(format!(
                "`herma restore {} {typed}` makes it what was last saved; `herma history {typed}` lists older versions.",
                newest.number
            )));
        }
        match &found {
            Some((other, at)) if other.id != newest.id => {
                let error = CommandError::usage(format!(
                    "{} was last there in checkpoint {}, {} in {}",
                    here::path(at),
                    other.number,
                    here::path(&path),
                    newest.number
                ));
                return Err(error
                    .with_state("Nothing was changed.")
                    .with_hint("Bring them back one at a time."));
            }
            _ => found = Some((newest, path)),
        }
    }
    found.map(|(newest, _)| newest).ok_or_else(|| CommandError::usage("no path is named"))
}

/// Whoever names a prompt as the list prints it is told which states are after it and before it.
fn in_one_state(project: &Project, args: &RestoreArgs, text: &str) -> Option<CommandError> {
    let several = Several::parse(text)?;
    let [before, _] = several.ends(project).ok()?;
    let paths = args.paths.iter().map(|path| format!(" {}", quote(&shown(path))));
    let paths: String = paths.collect();
    let (first, last) = (several.first(), several.last());
    let text = quote(text);
    let error =
        CommandError::usage(format!("`{text}` names several changes; a restore goes to one state"));
    Some(error.with_state("Nothing was changed.").with_hint(format!(
        "`herma restore {last}{paths}` goes to the state after them, `herma restore {first}^{paths}` (checkpoint {}) to the one \
         before; `herma undo {text}` undoes only them.",
        before.number
    )))
}

/// Whoever asks a checkpoint for what was gone by then is told which one still has it.
fn not_there_then(
    env: &CommandEnv,
    project: &Project,
    checkpoint: &Checkpoint,
    path: RelPath,
) -> CommandError {
    let named = here::path(&path);
    let saved = project.newest_with(&path).ok().flatten();
    let asked = UndoLast { paths: vec![path.clone()], ..UndoLast::default() };
    let error = CommandError::from(Error::PathUnknown { path }).with_state("Nothing was changed.");
    let Some(saved) = saved else { return error };
    let message =
        format!("{named} is not in checkpoint {}, and not in the project now", checkpoint.number);
    let typed = quote(&named);
    let hint =
        format!("`herma restore {} {typed}` brings it back as it was last saved.", saved.number);
    let error = CommandError { message, ..error }.with_only_hint(hint);
    let next = env.ui.during(|progress| project.plan_undo(&asked, progress));
    let Ok(NextMove::Steps(planned)) = next else { return error };
    let mut becomes = planned.plan.reversed.changes.iter();
    let is_back =
        becomes.any(|(at, becomes)| at.starts_with(&asked.paths[0]) && *becomes != Becomes::Gone);
    if is_back {
        error.with_hint(format!("`herma undo {typed}` undoes the change that removed it."))
    } else {
        error
    }
}

/// Whoever is used to name only a file is told how a checkpoint of it is named.
fn meant_as_path(
    env: &CommandEnv,
    project: &Project,
    error: CommandError,
    text: &str,
) -> CommandError {
    let error = error.with_state("Nothing was changed.");
    let saved = path_of(env, project, text).and_then(|path| project.newest_with(&path).ok()?);
    let Some(saved) = saved else { return error };
    let (number, path) = (saved.number, quote(text));
    let hint = format!("`herma restore {number} {path}` brings it back as it was last saved.");
    CommandError { hints: vec![hint], ..error }
}

/// The path in the project that is called so.
fn path_of(env: &CommandEnv, project: &Project, text: &str) -> Option<RelPath> {
    let path = project.rel_path(&env.absolute(Path::new(text)));
    path.ok().filter(|path| !path.is_root())
}

/// Is this the name of something that is or was in the project?
pub(super) fn is_path(env: &CommandEnv, project: &Project, text: &str) -> bool {
    let unknown = path_of(env, project, text).map(|path| project.first_unknown(&[path]));
    matches!(unknown, Some(Ok(None)))
}

fn continue_restore(env: &CommandEnv, args: &RestoreArgs) -> Result<Outcome> {
    let project = env.open_project_quietly()?;
    if args.dry_run {
        return plan_continue(env, &project, args);
    }
    let mut following = Following::take(env, &project)?;
    match following.pending()? {
        Pending::Files(intent) => following.take_up(intent, false)?,
        Pending::Due(..) => {
            let told = following.settle()?;
            return report_conversation(env, &project, told);
        }
        Pending::Nothing => {}
    }
    if project.interrupted()?.is_none() {
        return report_nothing_to_continue(env, &project);
    }
    let restored = env.ui.during(|progress| {
        let restored = if args.all {
            project.continue_restore_over_all(progress)
        } else {
            project.continue_restore(progress)
        };
        restored.map_err(|error| with_state_of_files(&project, error))
    })?;
    let told = following.finish()?;
    report_restored(env, &project, (&restored, None), args.null, UNDO_BRINGS_BACK, told)
}

/// Tells what finishing an interrupted restore would do to the files.
fn plan_continue(env: &CommandEnv, project: &Project, args: &RestoreArgs) -> Result<Outcome> {
    if project.interrupted()?.is_none() {
        return report_nothing_to_continue(env, project);
    }
    let plan = env.ui.during(|progress| project.plan_continue(args.all, progress))?;
    report_plan(env, project, (&plan, None), args.null, Told::default())
}

/// Says whether a failed restore changed anything: it did if it left something to finish.
pub(crate) fn with_state_of_files(project: &Project, error: Error) -> CommandError {
    let error = CommandError::from(error);
    match project.interrupted() {
        Ok(Some(interrupted)) => error
            .with_state(format!(
                "Some files may be restored already; the state from before is saved as {}",
                interrupted.safety
            ))
            .with_hint("`herma restore --continue` finishes the restore; `herma undo` undoes it."),
        Ok(None) => error.with_state("Nothing was changed."),
        Err(_) => error,
    }
}
