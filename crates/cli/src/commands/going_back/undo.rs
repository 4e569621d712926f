//! `herma undo` and `herma redo`

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use herma_core::{Error, Project, Undone};
use herma_sessions::rewind::Aim;
use herma_store::path::escape;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, find};
use crate::commands::going_back::restore::{is_path, with_state_of_files};
use crate::commands::going_back::take_back::{ChoiceArgs, HowArgs, take_back};
use crate::conversations::pending::Pending;
use crate::render::restore_report::{
    report_conversation, report_outside, report_plan, report_restored,
};
use crate::render::told::Told;
use crate::terminal::{quote, shown};
use crate::transcript::{Conversation, Following};

/// The arguments of `herma undo`; its help is where the commands are listed.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// The steps to undo, as `herma steps` numbers them: 3, or 3-5
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// Only in these files and directories
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: the action or `keep`, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

/// The arguments of `herma redo`.
#[derive(Args, Debug)]
pub(crate) struct RedoArgs {
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: the action or `keep`, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_undo(env: &CommandEnv, args: &UndoArgs) -> Result<Outcome> {
    let project = env.open_project_quietly()?;
    let is_chosen = !args.steps.is_empty() || args.choice.is_given();
    if !is_chosen && (args.how.patch || !args.paths.is_empty()) {
        return Err(no_step_named(args));
    }
    if is_chosen {
        let mut numbers = Vec::new();
        for text in &args.steps {
            let parsed = parse_steps(text);
            numbers.extend(parsed.map_err(|error| meant_otherwise(env, &project, error, text))?);
        }
        let steps = args.choice.choice(env, &numbers);
        let asked = args.how.asked(env, &project, steps, None, (&args.paths, &[]))?;
        let conversation = Conversation::none();
        return take_back(env, &project, &asked, args.dry_run, args.null, &conversation);
    }
    go(env, &project, Aim::Undo, args.dry_run, args.null)
}

/// `3` or `3-5`.
fn parse_steps(text: &str) -> Result<RangeInclusive<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last && last - first < 10_000 => Ok(first..=last),
        _ => {
            let text = escape(text.as_bytes());
            let error = CommandError::usage(format!("`{text}` is not the number of a step"));
            Err(error
                .with_state("Nothing was changed.")
                .with_hint("`herma steps` lists the steps; `herma undo 3-5` undoes three."))
        }
    }
}

/// The failure of an undo that names files, or wants to ask, and no steps.
fn no_step_named(args: &UndoArgs) -> CommandError {
    let error = CommandError::usage("no step was named").with_state("Nothing was changed.");
    let Some(path) = args.paths.first() else {
        return error.with_hint("`herma undo STEP --patch`; `herma steps` lists the steps.");
    };
    error.with_hint(in_one_file(&quote(&shown(path))))
}

/// How to undo what a step did in one file.
fn in_one_file(file: &str) -> String {
    format!(
        "`herma history {file}` names the steps that changed it; `herma undo STEP -- {file}` undoes one."
    )
}

/// What somebody may have meant whose steps are no numbers: another way to write several, a checkpoint, or a file.
fn meant_otherwise(
    env: &CommandEnv,
    project: &Project,
    error: CommandError,
    text: &str,
) -> CommandError {
    let numbers: Vec<u64> = text.split(['-', '.', ',']).filter_map(|n| n.parse().ok()).collect();
    let is_list = text.bytes().all(|byte| byte.is_ascii_digit() || b"-.,".contains(&byte));
    let hint = match (&numbers[..], is_list) {
        ([_, _, ..], true) if text.contains(',') => {
            let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
            format!("Write `herma undo {}`.", numbers.join(" "))
        }
        (&[one, other], true) if one.abs_diff(other) < 10_000 => {
            format!("Write `herma undo {}-{}`.", one.min(other), one.max(other))
        }
        _ if find(project, text).is_ok() => {
            format!("That is a checkpoint: `herma restore {}` goes back to it.", quote(text))
        }
        _ if is_path(env, project, text) => in_one_file(&quote(text)),
        _ => return error,
    };
    CommandError { hints: vec![hint], ..error }
}

pub(crate) fn cmd_redo(env: &CommandEnv, args: &RedoArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    go(env, &project, Aim::Redo, args.dry_run, args.null)
}

fn go(env: &CommandEnv, project: &Project, aim: Aim, dry_run: bool, null: bool) -> Result<Outcome> {
    if dry_run {
        return report(env, project, &aim, null, &step(env, project, &aim, true)?, Told::default());
    }
    match travel(env, project, aim)? {
        Travelled::Alone(told) => report_conversation(env, project, told),
        Travelled::Files(aim, undone, told) => report(env, project, &aim, null, &undone, told),
    }
}

/// What came of an undo or redo.
pub(crate) enum Travelled {
    /// Only a conversation had to go back or forth.
    Alone(Told),
    /// Files were moved, in this direction; and what that meant for a conversation.
    Files(Aim, Undone, Told),
}

/// Undoes or redoes, with the conversation that belongs to it.
pub(crate) fn travel(env: &CommandEnv, project: &Project, aim: Aim) -> Result<Travelled> {
    let mut following = Following::take(env, project)?;
    let aim = match following.pending()? {
        Pending::Files(intent) if aim == Aim::Undo => {
            following.take_up(intent, true)?;
            return moved(env, project, aim, following);
        }
        Pending::Files(_) => return Err(Error::RestoreUnfinished.into()),
        // It is reversed by its opposite.
        Pending::Due(intent, due)
            if aim == Aim::Undo && intent.aim == Aim::Undo && due.is_about_messages() =>
        {
            Aim::Redo
        }
        Pending::Due(..) | Pending::Nothing => aim,
    };
    following.settle_first()?;
    if let Some(told) = following.alone(&aim)? {
        return Ok(Travelled::Alone(told));
    }
    following.set_out(aim.clone())?;
    moved(env, project, aim, following)
}

/// Moves the files, and lets a conversation follow.
fn moved(
    env: &CommandEnv,
    project: &Project,
    aim: Aim,
    mut following: Following<'_>,
) -> Result<Travelled> {
    let undone = step(env, project, &aim, false).inspect_err(|_| following.failed())?;
    let told = following.finish()?;
    Ok(Travelled::Files(aim, undone, told))
}

fn step(env: &CommandEnv, project: &Project, aim: &Aim, dry_run: bool) -> Result<Undone> {
    let undone = env.ui.during(|progress| match aim {
        Aim::Redo => project.redo_with(progress, dry_run),
        _ => project.undo_with(progress, dry_run),
    });
    undone.map_err(|error| with_state_of_files(project, error))
}

fn report(
    env: &CommandEnv,
    project: &Project,
    aim: &Aim,
    null: bool,
    undone: &Undone,
    told: Told,
) -> Result<Outcome> {
    let what_reverses = if *aim == Aim::Redo { "herma undo" } else { "herma redo" };
    match undone {
        Undone::Planned(plan) => report_plan(env, project, plan, null, told),
        Undone::Outside(step) => report_outside(env, project, step, told),
        Undone::Done(restored) => {
            report_restored(env, project, restored, null, what_reverses, told)
        }
    }
}
