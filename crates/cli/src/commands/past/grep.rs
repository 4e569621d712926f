//! `herma grep`

use std::io;
use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use herma_core::{LineOptions, LinePattern, LinesAsked, Project, UnreadPast};

use super::warn_of_unread;
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::filters::TimeAndPlace;
use crate::render::project_json;
use crate::terminal::escape;
use herma_view::json::{lazy_object, list, object};
use herma_view::listing::counted;
use herma_view::past::found::{Shown, found_json, prompt_in_words, prompt_json};
use herma_view::past::unread_json;

/// So many are in an answer for programs that do not say how many they want.
const JSON_LIMIT: usize = 1000;

/// Search the lines of all files of all times
///
/// Searches everything that checkpoints hold, each distinct content once, those that were there last first, and says from
/// which change to which it was there, and who removed it. REGEX is written as for ripgrep. Lines of older contents that
/// were shown already are not shown again.
#[derive(Args, Debug)]
pub(crate) struct GrepArgs {
    /// What a line must match
    #[arg(value_name = "REGEX")]
    regex: String,
    /// Only lines that are in no file now
    #[arg(long)]
    gone: bool,
    /// Small and large letters are the same
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Only whole words
    #[arg(short = 'w', long)]
    word: bool,
    /// Each character stands for itself
    #[arg(short = 'F', long)]
    fixed: bool,
    /// Print only where the lines are
    #[arg(short = 'l', long)]
    files: bool,
    /// Search what people asked and agents ran instead
    #[arg(long, conflicts_with_all = ["gone", "paths", "files"])]
    prompts: bool,
    #[command(flatten)]
    scope: TimeAndPlace,
    /// Show at most this many contents
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
}

pub(crate) fn cmd_grep(env: &CommandEnv, args: &GrepArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let options = LineOptions { ignore_case: args.ignore_case, word: args.word, fixed: args.fixed };
    let pattern = LinePattern::new(&args.regex, options).map_err(|bad| {
        CommandError::usage(format!(
            "that is no regular expression: {}",
            escape(bad.to_string().as_bytes())
        ))
        .with_hint("With `-F` each character stands for itself.")
    })?;
    let (since, until) = args.scope.times(env);
    let paths = args.scope.paths(env, &project)?;
    let asked = LinesAsked { pattern, paths, since, until, only_gone: args.gone };
    if args.prompts {
        return prompts(env, &project, &asked, args.limit);
    }
    let most = args.limit.unwrap_or(if env.ui.json { JSON_LIMIT } else { usize::MAX });
    if env.ui.json {
        answer(env, &project, &asked, most)
    } else {
        show(env, &project, &asked, (args, most))
    }
}

/// Prints what is found as it is found.
fn show(
    env: &CommandEnv,
    project: &Project,
    asked: &LinesAsked,
    (args, most): (&GrepArgs, usize),
) -> Result<Outcome> {
    let mut out = env.ui.listing();
    let mut shown = Shown::default();
    let mut failed: io::Result<()> = Ok(());
    let mut is_more = false;
    let unread = env.ui.during(|progress| {
        project.grep(asked, progress, &mut |found| {
            if shown.contents == most {
                is_more = true;
                return ControlFlow::Break(());
            }
            failed = shown.write(&mut out, &env.ui, &found, args.files);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    failed?;
    out.finish()?;
    let unread: Vec<UnreadPast> = unread?;
    let outcome = warn_of_unread(env, project, &unread)?;
    if shown.repeated > 0 {
        let others = counted(shown.repeated, "older content");
        env.ui.status(format_args!("{others} with the same lines not shown; `--json` has all."));
    }
    if is_more {
        env.ui
            .status(format_args!("There is more: `-n` with a higher number than {most} shows it."));
    }
    if shown.contents == 0 && outcome == Outcome::Done {
        env.ui.status(if args.gone {
            "No line that is gone matches."
        } else {
            "No line of any time matches."
        });
        return Ok(Outcome::NotFound);
    }
    Ok(outcome)
}

fn answer(env: &CommandEnv, project: &Project, asked: &LinesAsked, most: usize) -> Result<Outcome> {
    let mut found = Vec::new();
    let mut is_more = false;
    let unread = env.ui.during(|progress| {
        project.grep(asked, progress, &mut |one| {
            is_more = found.len() == most;
            if is_more {
                return ControlFlow::Break(());
            }
            found.push(found_json(&one));
            ControlFlow::Continue(())
        })
    })?;
    let outcome = warn_of_unread(env, project, &unread)?;
    let is_empty = found.is_empty();
    env.ui.write_json(&object! {
        schema: "herma.grep/1",
        project: project_json(project),
        found,
        is_more,
        unread: list(unread.iter().map(unread_json)),
    })?;
    Ok(if is_empty && outcome == Outcome::Done { Outcome::NotFound } else { outcome })
}

/// Searches what people asked and agents ran.
fn prompts(
    env: &CommandEnv,
    project: &Project,
    asked: &LinesAsked,
    limit: Option<usize>,
) -> Result<Outcome> {
    let mut all = project.grep_prompts(asked)?;
    let count = all.len();
    all.truncate(limit.unwrap_or(if env.ui.json { JSON_LIMIT } else { usize::MAX }));
    let json = lazy_object! {
        schema: "herma.grep-prompts/1",
        project: project_json(project),
        prompts: list(all.iter().map(prompt_json)),
        is_more: count > all.len(),
    };
    env.ui.answer(json, |out| {
        let mut lines = all.iter().map(|one| prompt_in_words(one, env.ui.width));
        lines.try_for_each(|line| writeln!(out, "{line}"))
    })?;
    if !all.is_empty() {
        return Ok(Outcome::Done);
    }
    env.ui.status("No prompt and no command matches.");
    Ok(Outcome::NotFound)
}
