//! `herma list`

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, Project, Rows};
use herma_view::json::{checkpoint_json, lazy_object, list};
use herma_view::timeline;
use herma_view::timeline::Now;

use crate::command_env::{CommandEnv, MAKE_AGAIN, Outcome, Result};
use crate::filters::Filters;
use crate::render::nearby::{tell_how_to_begin, tell_of_moved};
use crate::render::project_json;
use crate::terminal::escape;

/// Show what happened here, newest first: prompts, edits by hand, restores
///
/// A row shows its number, when, who, what was asked, and how much changed. The first is what is not saved yet. `-v`
/// adds the tool calls of each prompt, sessions, ids, and every undo and redo. `herma steps --all` also lists what changed
/// nothing. Edits by hand bear the time they were saved.
#[derive(Args, Debug)]
#[command(alias = "log")]
pub(crate) struct ListArgs {
    /// Show tool calls, ids, undos and redos
    #[arg(short = 'v', long = "calls")]
    calls: bool,
    /// Show at most this many (older checkpoints are not checked for damage)
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    filters: Filters,
    /// Only states in which one of your `checks` passed
    #[arg(long)]
    green: bool,
    /// End each record with NUL; fields separated by tabs: number, id, seconds since 1970, pinned (0 or 1), names
    /// joined by commas, the whole reason
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
    /// What an imported line says of it
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
}

pub(crate) fn cmd_list(env: &CommandEnv, args: &ListArgs) -> Result<Outcome> {
    let project = env.open_line(args.line.as_deref())?;
    env.warn_of_purge()?;
    let shown = args.limit.unwrap_or(usize::MAX);
    let most = if args.green { usize::MAX } else { shown };
    let rows = if args.null { None } else { Some(look(env, &project, args)?) };
    let mut listed = match &rows {
        Some((rows, _)) => rows.listed.clone(),
        None => project.list_newest(most)?,
    };
    listed.checkpoints.truncate(most);
    if let Some(fitting) = args.filters.checkpoints(env, &project, most)? {
        listed.checkpoints = fitting;
    }
    if args.green {
        listed.checkpoints.retain(|checkpoint| checkpoint.green);
        listed.checkpoints.truncate(shown);
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
        rows: list(rows.iter().flat_map(|(rows, _)| rows.rows.iter().map(timeline::row_json))),
        checkpoints: list(checkpoints.iter().map(checkpoint_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for checkpoint in checkpoints {
                write_record(out, checkpoint)?;
            }
        } else {
            let Some((rows, unsaved)) = &rows else { return Ok(()) };
            timeline::write_rows(out, &env.ui, (rows, unsaved.as_ref()), args.calls, env.now())?;
        }
        Ok(())
    })?;
    if rows.is_some() && !args.filters.is_given() && env.is_inside(&project) {
        let root = escape(project.root().as_os_str().as_bytes());
        env.ui.hint(format_args!(
            "This is all of {root}; `herma list --path .` is what changed here."
        ));
    }
    if let Some(reach) = rows.as_ref().and_then(|(rows, _)| timeline::reach(rows, env.now())) {
        env.ui.status(reach);
    }
    if listed.count == 0 && listed.damaged.is_empty() {
        env.ui.status("This project has no checkpoints.");
        tell_how_to_begin(env, &project);
    } else if checkpoints.is_empty() && most > 0 && listed.damaged.is_empty() {
        env.ui.status("No checkpoint fits.");
    } else if !env.ui.json && !project.root().is_dir() {
        env.ui.warning("the directory of this project is not there any more.");
        env.ui.hint(MAKE_AGAIN);
    } else if rows.as_ref().is_some_and(|(rows, _)| rows.more == 0) {
        tell_of_moved(env, &project, listed.count);
    }
    Ok(outcome)
}

/// The rows, and for people what is not saved yet.
fn look(env: &CommandEnv, project: &Project, args: &ListArgs) -> Result<(Rows, Option<Now>)> {
    let most = args.limit.unwrap_or(usize::MAX);
    let choice = args.filters.steps(env, project)?;
    if args.green {
        let (mut rows, _) = rows_and_now(env, project, &choice, usize::MAX)?;
        keep_green(&mut rows, most);
        return Ok((rows, None));
    }
    let (rows, now) = rows_and_now(env, project, &choice, most)?;
    let is_shown = |now: &Now| !args.filters.is_given() || now.changes.count > 0;
    Ok((rows, now.filter(is_shown)))
}

/// Leaves only rows that led to a state in which a check passed.
fn keep_green(rows: &mut Rows, most: usize) {
    let greens = rows.listed.checkpoints.iter().filter(|one| one.green);
    let greens: BTreeSet<u64> = greens.map(|one| one.number).collect();
    let is_green = |number: u64| greens.contains(&number);
    rows.rows.retain(|row| {
        let mut numbers = row.calls.iter().filter_map(|call| call.step.number);
        row.id.number().is_some_and(is_green) || numbers.any(is_green)
    });
    rows.more = rows.rows.len().saturating_sub(most);
    rows.rows.truncate(most);
}

/// The newest rows, and for people what is not saved yet.
pub(crate) fn rows_and_now(
    env: &CommandEnv,
    project: &Project,
    choice: &StepChoice,
    most: usize,
) -> Result<(Rows, Option<Now>)> {
    // What is not saved is of now, and nobody's yet.
    let is_meant = choice.until.is_none() && choice.agent.is_none() && choice.session.is_none();
    // A line is from elsewhere: what is here is no part of it.
    let is_here = project.line_name().is_none() && project.root().is_dir();
    let is_seen = is_meant && !env.ui.json && is_here;
    let rows =
        env.ui.during(|progress| project.rows(choice, most, is_seen.then_some(progress as _)))?;
    let Some(changes) = rows.unsaved.clone() else { return Ok((rows, None)) };
    let who = project.open_steps()?.pop().map(|step| step.agent().to_owned());
    Ok((rows, Some(Now { changes, who })))
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
