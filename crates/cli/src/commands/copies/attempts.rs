//! `herma try`: one command in several copies of a state at once, so that the best can be kept.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use herma_core::copies::{Attempt, CopyPlace, OpenCopy, OpenedCopy};
use herma_core::engine::{NoProgress, Progress};
use herma_core::steps::{StepEnd, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Checkpoint, ListedStep, Project, SaveOptions, WhichStep};
use herma_fs::process::foreground::{Ended, Variable};
use herma_view::json::{PathJson, Serialize, checkpoint_json, list, object};
use herma_view::listing::{changes_in_words, counted_entries, in_columns};
use herma_view::steps::step_json;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::copies::in_copy::{hear, shell};
use crate::commands::copies::known;
use crate::commands::copies::open::{default_place, name_lacks, with_settings};
use crate::commands::steps::run::{agent_of, in_one_line, step_variables};
use crate::render::{project_json, step_report};
use crate::terminal::{Label, shown};

/// In each copy this says which one it is.
const WHICH: &str = "HERMA_TRY";
/// Hangup, interrupt, quit and termination, and what a shell makes of an interrupt: somebody wants to stop.
const STOPS: [u8; 4] = [129, 130, 131, 143];
/// Of a score, so many characters are kept.
const SCORE: usize = 60;

/// Try a command in several copies at once
///
/// Makes copies of CHECKPOINT, or of the present, which is saved first, and runs COMMAND in each of them, under a step of its own.
/// `HERMA_TRY` tells it which copy it is in, counted from 1. A table at the end compares them; the project stays as it is. `herma
/// promote 2` brings in what the second one did. Exits 0 if COMMAND did in any of them.
#[derive(Args, Debug)]
pub(crate) struct TryArgs {
    /// The checkpoint to begin with [default: the present]
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: Option<String>,
    /// So many copies
    #[arg(short = 'k', long, value_name = "COUNT", default_value = "3", value_parser = RangedU64ValueParser::<u32>::new().range(1..=100))]
    copies: u32,
    /// So many of them at once [default: all]
    #[arg(short, long, value_name = "COUNT", value_parser = RangedU64ValueParser::<u32>::new().range(1..=100))]
    jobs: Option<u32>,
    /// Run this line of shell in each copy afterwards; the last line it prints is the score
    #[arg(long, value_name = "COMMAND")]
    score: Option<OsString>,
    /// Also copy this from the present, which checkpoints leave out: dependencies, say (can be repeated)
    #[arg(long, value_name = "PATH")]
    with_ignored: Vec<PathBuf>,
    /// Whose work it is [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Remove the copies of all tries of this project, whatever is in them
    #[arg(long, conflicts_with_all = ["checkpoint", "copies", "jobs", "score", "with_ignored", "agent", "command"])]
    clean: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present = "clean", last = true)]
    command: Vec<OsString>,
}

/// What came of the command in one copy.
struct Tried {
    index: u32,
    /// `None` if it was not run, or nobody knows.
    ended: Option<Ended>,
    score: Option<String>,
    took: Duration,
    step: Option<ListedStep>,
}

pub(crate) fn cmd_try(env: &CommandEnv, args: &TryArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    if args.clean {
        let copies = env.engine.copies()?;
        let records = copies.iter().map(|copy| &copy.record);
        let tries = records.filter(|one| one.attempt.is_some() && one.of() == project.root());
        return known::remove_all(env, tries.collect(), /*anyway*/ true);
    }
    let progress = env.ui.progress();
    let made = beginning(env, &project, args, &progress)
        .and_then(|target| Ok((make(env, (&project, &target), args, &progress)?, target)));
    // Control-C is the commands' from here on.
    let is_cancelled = progress.let_go();
    let (copies, target) = made?;
    if is_cancelled {
        return Err(remove(env, &copies, CommandError::new(Kind::Cancelled, "interrupted")));
    }
    name_lacks(env, &copies[0]);
    let (tried, is_stopped) = run_all(env, args, &copies);
    report(env, &project, (&target, &copies), &tried)?;
    if is_stopped {
        return Ok(Outcome::Command(Kind::Cancelled.exit_code()));
    }
    let did = tried.iter().any(|one| one.ended == Some(Ended::Exited(0)));
    Ok(if did { Outcome::Done } else { Outcome::Command(1) })
}

/// The state all of them begin with.
fn beginning(
    env: &CommandEnv,
    project: &Project,
    args: &TryArgs,
    progress: &dyn Progress,
) -> Result<Checkpoint> {
    if let Some(text) = &args.checkpoint {
        return env.find(project, text);
    }
    let options = SaveOptions { reason: "before a try".into(), ..SaveOptions::default() };
    let saved = project.save_with(&options, progress);
    let saved =
        saved.map_err(|error| CommandError::from(error).with_state("Nothing was tried."))?;
    env.clean_if_due(&saved);
    Ok(saved.checkpoint)
}

fn make(
    env: &CommandEnv,
    (project, target): (&Project, &Checkpoint),
    args: &TryArgs,
    progress: &dyn Progress,
) -> Result<Vec<OpenedCopy>> {
    let now = env.now();
    let batch = now.seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(now.nanos));
    let mut asked = OpenCopy {
        target: target.clone(),
        at: CopyPlace::In(default_place(env)?),
        with_ignored: with_settings(env, project, &args.with_ignored)?,
        attempt: None,
    };
    let mut made = Vec::new();
    for index in 1..=args.copies {
        asked.attempt = Some(Attempt { batch, index });
        match project.open_copy(&asked, progress) {
            Ok(copy) => made.push(copy),
            Err(error) => {
                let error = CommandError::from(error).with_state("Nothing was tried.");
                return Err(remove(env, &made, error));
            }
        }
    }
    Ok(made)
}

/// Removes what was made for nothing. What cannot be removed is on record.
fn remove(env: &CommandEnv, copies: &[OpenedCopy], error: CommandError) -> CommandError {
    for copy in copies {
        let _ = known::remove(env, &copy.record);
    }
    error
}

/// Runs the command in all of them. Did somebody want to stop?
fn run_all(env: &CommandEnv, args: &TryArgs, copies: &[OpenedCopy]) -> (Vec<Tried>, bool) {
    let watch = env.ui.progress_after_command();
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let tried = Mutex::new(Vec::new());
    let jobs = args.jobs.unwrap_or(args.copies).min(args.copies);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while !is_stopped.load(Ordering::Relaxed) {
                    let Some(copy) = copies.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        break;
                    };
                    let one = run_one(env, args, copy);
                    let wants_to_stop =
                        one.ended.is_some_and(|ended| STOPS.contains(&ended.exit_code()));
                    if wants_to_stop || watch.is_cancelled() {
                        is_stopped.store(true, Ordering::Relaxed);
                    }
                    tried.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                }
            });
        }
    });
    let mut tried = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    tried.sort_by_key(|one| one.index);
    let is_stopped = watch.let_go() || is_stopped.into_inner();
    (tried, is_stopped)
}

/// Runs the command in one of them. What goes wrong there is said, and the others go on.
fn run_one(env: &CommandEnv, args: &TryArgs, copy: &OpenedCopy) -> Tried {
    let index = copy.record.attempt.map_or(1, |attempt| attempt.index);
    let mut tried = Tried { index, ended: None, score: None, took: Duration::ZERO, step: None };
    if let Err(error) = run_step(env, args, copy, &mut tried) {
        env.ui.warning(format_args!("try {index}: {}", error.message));
        error.causes.iter().for_each(|cause| env.ui.detail(format_args!("Because: {cause}")));
    }
    tried
}

fn run_step(env: &CommandEnv, args: &TryArgs, copy: &OpenedCopy, tried: &mut Tried) -> Result<()> {
    let index = tried.index;
    let facts = Facts {
        agent: agent_of(args.agent.as_ref(), &args.command),
        tool: Some("try".to_owned()),
        ..Facts::default()
    };
    let command = Some(in_one_line(&args.command));
    let start = StepStart { facts, command, ..StepStart::default() };
    let begun = copy.project.begin_step(StepKind::Run, start, &NoProgress)?;
    let handle = StepId::Handle(begun.step.handle);
    let mut variables: Vec<Variable> = vec![(WHICH, Some(index.to_string().into()))];
    variables.extend(step_variables(&copy.project, &begun));
    let started = Instant::now();
    let ui = env.ui.clone();
    let tell = move |line: &str| ui.pass_on(format_args!("{index} | {line}"));
    let root = copy.project.root();
    let said = hear(root, &args.command, (&variables, /*with_errors*/ true), tell);
    tried.took = started.elapsed();
    copy.project.end_step(&WhichStep::Id(handle), &NoProgress)?;
    tried.step = Some(step_report::look_up(&copy.project, handle)?);
    tried.ended = Some(said?);
    if let (Some(_), Some(line)) = (tried.ended, &args.score) {
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        let tell = move |line: &str| {
            if !line.trim().is_empty() {
                let line: String = line.trim().chars().take(SCORE).collect();
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
            }
        };
        let which = [(WHICH, Some(index.to_string().into()))];
        let ended = hear(root, &shell(line), (&which, /*with_errors*/ false), tell)?;
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        tried.score = last.filter(|_| ended == Ended::Exited(0));
    }
    Ok(())
}

fn report(
    env: &CommandEnv,
    project: &Project,
    (target, copies): (&Checkpoint, &[OpenedCopy]),
    tried: &[Tried],
) -> Result<()> {
    let copy_of = |one: &Tried| &copies[one.index as usize - 1];
    let json = || {
        object! {
            schema: "herma.try/1",
            project: project_json(project),
            checkpoint: checkpoint_json(target),
            tries: list(tried.iter().map(|one| tried_json(one, copy_of(one)))),
            not_run: copies.len() - tried.len(),
        }
    };
    env.ui.answer(json, |out| {
        let with_score = tried.iter().any(|one| one.score.is_some());
        let score = if with_score { "score" } else { "" };
        let header = ["try", "exit", score, "changed", "time", "directory"].map(str::to_owned);
        let rows = tried.iter().map(|one| row(one, copy_of(one)));
        let rows: Vec<[String; 6]> = std::iter::once(header).chain(rows).collect();
        let plain = Label::Faint;
        let labels = [Label::Number, plain, Label::Number, plain, plain, plain];
        for row in in_columns(&env.ui, labels, &rows) {
            writeln!(out, "{}", row.trim_end())?;
        }
        Ok(())
    })?;
    let left = copies.len() - tried.len();
    if left > 0 {
        let copies = counted_entries(left, "copy", "copies");
        env.ui.status(format_args!("Stopped: the command was not run in {copies}."));
    }
    env.ui.status(
        "The project is as it was. `herma promote N` brings in what try N changed; `herma try --clean` removes the copies.",
    );
    Ok(())
}

fn row(one: &Tried, copy: &OpenedCopy) -> [String; 6] {
    let ended = match one.ended {
        Some(Ended::Exited(code)) => code.to_string(),
        Some(Ended::Killed(signal)) => format!("signal {signal}"),
        None => "not run".to_owned(),
    };
    let changed = one.step.as_ref().map_or_else(String::new, |listed| match listed.changes {
        _ if matches!(listed.step.end, StepEnd::Unchanged(_)) => "nothing".to_owned(),
        Some(count) if count.files == 0 => "permissions or directories".to_owned(),
        Some(count) => changes_in_words(count),
        None => "not known".to_owned(),
    });
    let score = one.score.clone().unwrap_or_default();
    let place = shown(copy.project.root());
    [one.index.to_string(), ended, score, changed, in_words(one.took), place]
}

fn in_words(took: Duration) -> String {
    match took.as_secs() {
        0..60 => format!("{:.1}s", took.as_secs_f64()),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

fn tried_json(one: &Tried, copy: &OpenedCopy) -> impl Serialize {
    object! {
        #[serde(rename = "try")]
        index: one.index,
        copy: object! {
            #[serde(flatten)]
            root: PathJson::of(copy.project.root()),
        },
        exit_code: one.ended.map(Ended::exit_code),
        signal: match one.ended {
            Some(Ended::Killed(signal)) => Some(signal),
            _ => None,
        },
        score: one.score.clone(),
        seconds: one.took.as_secs_f64(),
        step: one.step.as_ref().map(step_json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let words = |seconds| in_words(Duration::from_secs_f64(seconds));
        assert_eq!([0.04, 59.9, 62.0].map(words), ["0.0s", "59.9s", "1m 02s"]);
    }
}
