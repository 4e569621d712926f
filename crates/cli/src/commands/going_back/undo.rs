//! `herma undo` and `herma redo`

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use herma_core::steps::{Step, StepChoice, StepId};
use herma_core::types::address::When;
use herma_core::{Error, Move, NextMove, Project, RelPath, Spec, UndoLast, Undone};
use herma_sessions::rewind::Aim;
use herma_store::path::escape;
use herma_view::going_back::undo::{move_in_words, units_in_words};
use herma_view::here;
use herma_view::listing::{in_a_row, ranges};

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, WithState, find};
use crate::commands::going_back::restore::{is_path, with_state_of_files};
use crate::commands::going_back::undo_steps::{
    ChoiceArgs, HowArgs, agrees_to_old, choose, undo_steps,
};
use crate::conversations::pending::Pending;
use crate::render::nearby::moved_here;
use crate::render::restore_report::{Moved, report_conversation, report_plan, report_restored};
use crate::render::told::Told;
use crate::render::undo_report::{back_from_redo, report_planned, report_steps_undone};
use crate::terminal::quote;
use crate::transcript::refused::end_what_is_over;
use crate::transcript::{Conversation, Following};

/// The arguments of `herma undo`; its help is where the commands are listed.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Changes by number, such as 13 or 13-15, and files: `13 a.py` is what change 13 did to a.py
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// Only in these files and directories
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    how: HowArgs,
    /// The last prompt that changed something (the default); with --session, of that session
    #[arg(long, conflicts_with_all = ["only_agent", "turn", "since"])]
    last_prompt: bool,
    /// Of a range also what a person or Herma did
    #[arg(long)]
    all: bool,
    /// So many prompts at once: the last one and those before it
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    count: Option<u16>,
    /// Only the last tool call of the prompt
    #[arg(long, conflicts_with = "count")]
    step: bool,
    /// Also undo a prompt that is still under way
    #[arg(long)]
    running: bool,
    /// Do not ask before something old is undone
    #[arg(short, long)]
    yes: bool,
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: the action or `keep`, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

/// The arguments of `herma redo`.
#[derive(Args, Debug)]
pub(crate) struct RedoArgs {
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    /// End each record with NUL: the action or `keep`, a tab, the path
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_undo(env: &CommandEnv, args: &UndoArgs) -> Result<Outcome> {
    let project = env.open_project_quietly()?;
    end_what_is_over(env, &project);
    let (ids, paths) = named(env, &project, args)?;
    if !ids.is_empty() || args.choice.is_given() && !args.last_prompt {
        check_chosen(args)?;
        let steps = args.choice.choice(env, &project, ids)?;
        let asked = args.how.asked(env, &project, steps, None, (&paths, &[]))?;
        let is_open = asked.steps.ids.is_empty() && args.choice.is_open_ended();
        let may_surprise = is_open && !args.yes && !args.dry_run && !args.how.patch;
        if may_surprise && !agrees_to_old(env, &project, &asked)? {
            env.ui.status("Nothing was changed.");
            return Ok(Outcome::Done);
        }
        let conversation = Conversation::none();
        return undo_steps(env, &project, &asked, args.dry_run, args.null, &conversation);
    }
    if args.all {
        let error = CommandError::usage("`--all` is about a range of changes, and none is named");
        return Err(meant_otherwise(&project, error.with_state("Nothing was changed."), "all"));
    }
    let asked = args.how.asked(env, &project, StepChoice::default(), None, (&paths, &[]))?;
    let last = UndoLast {
        more: args.count.map_or(0, |count| usize::from(count) - 1),
        paths: asked.paths,
        only_step: args.step,
        session: args.choice.session(&project)?,
        running: args.running,
        conflicts: asked.conflicts,
        file_by_file: args.how.patch,
    };
    let mode =
        Mode { dry_run: args.dry_run, null: args.null, patch: args.how.patch, yes: args.yes };
    go(env, &project, &Course::Undo(last), mode)
}

/// Refuses what is said about the last prompt where something else is chosen.
fn check_chosen(args: &UndoArgs) -> Result<()> {
    let said = [
        (args.step, "--step"),
        (args.count.is_some(), "--count"),
        (args.last_prompt, "--last-prompt"),
    ];
    let Some((_, option)) = said.into_iter().find(|(is_said, _)| *is_said) else { return Ok(()) };
    let error = format!("`{option}` is about the last prompt, and something else is chosen, too");
    Err(CommandError::usage(error)
        .with_state("Nothing was changed.")
        .with_hint("With `--last-prompt`, `--session ID` means the last prompt of that session."))
}

/// The changes and the files that are named.
fn named(
    env: &CommandEnv,
    project: &Project,
    args: &UndoArgs,
) -> Result<(Vec<StepId>, Vec<PathBuf>)> {
    let (mut ids, mut paths) = (Vec::new(), args.paths.clone());
    for text in &args.what {
        let several: Result<Vec<_>> = text.split(',').map(parse_steps).collect();
        match several.map_err(|_| not_a_number(text)) {
            Ok(ranges) => {
                for range in ranges {
                    match range[..] {
                        [one] => ids.push(change_of(project, one)?),
                        _ => ids.extend(changes_among(env, project, range, (text, args.all))?),
                    }
                }
            }
            Err(_) if is_path(env, project, text) => paths.push(PathBuf::from(text)),
            Err(error) => return Err(meant_otherwise(project, error, text)),
        }
    }
    Ok((ids, paths))
}

/// Refuses a number of which nothing can be undone.
fn change_of(project: &Project, id: StepId) -> Result<StepId> {
    let Some(number) = id.number() else { return Ok(id) };
    let is_step = |known: &Step| known.id() == id;
    if known_steps(project)?.iter().any(is_step) {
        return Ok(id);
    }
    let found = find(project, &number.to_string()).with_state("Nothing was changed.")?;
    if project.before(&found)?.is_some() {
        return Ok(id);
    }
    let error = format!("checkpoint {number} is the first: nobody knows what was there before it");
    let hint = format!("`herma show {number}` shows it; `herma restore {number}` goes back to it.");
    Err(CommandError::usage(error).with_state("Nothing was changed.").with_hint(hint))
}

fn known_steps(project: &Project) -> Result<Vec<Step>> {
    let steps = project.steps(&StepChoice::default())?;
    Ok(steps.into_iter().map(|listed| listed.step).collect())
}

/// The changes of a range. What a person or Herma did in between is named and stays, unless `all` is said.
fn changes_among(
    env: &CommandEnv,
    project: &Project,
    range: Vec<StepId>,
    (text, all): (&str, bool),
) -> Result<Vec<StepId>> {
    let saved = project.list_newest(usize::MAX)?.checkpoints;
    let oldest = saved.last().map(|oldest| oldest.number);
    let saved: BTreeSet<u64> = saved.iter().map(|one| one.number).collect();
    let known = known_steps(project)?;
    if let Some(last) = range.last().and_then(|last| last.number()) {
        let steps = known.iter().filter_map(|step| step.number);
        if steps.chain(saved.iter().copied()).all(|number| number < last) {
            find(project, &last.to_string()).with_state("Nothing was changed.")?;
        }
    }
    let is_work = |id: &StepId| known.iter().any(|step| step.id() == *id && !step.kind.is_move());
    let is_saved = |id: &StepId| id.number().is_some_and(|n| saved.contains(&n));
    let (mut chosen, others): (Vec<_>, Vec<_>) = range.into_iter().partition(is_work);
    let others = others.into_iter().filter(is_saved);
    if all {
        chosen.extend(others.filter(|id| id.number() != oldest));
    } else {
        let others: Vec<u64> = others.filter_map(StepId::number).collect();
        if !others.is_empty() {
            let stay = if others.len() == 1 { "it stays" } else { "they stay" };
            let numbers = ranges(others);
            env.ui.status(format_args!("Not by an agent, so {stay} without --all: {numbers}."));
        }
    }
    if chosen.is_empty() {
        let error = CommandError::usage(format!("no change in {text} was made by an agent"));
        return Err(error
            .with_state("Nothing was changed.")
            .with_hint("`herma list` shows the changes with their numbers."));
    }
    Ok(chosen)
}

/// `3`, `3-5`, or `s7` for a step that has no number yet.
fn parse_steps(text: &str) -> Result<Vec<StepId>> {
    let text = text.strip_prefix('#').unwrap_or(text);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (StepId::parse(first), StepId::parse(last)) {
        (Some(one), Some(other)) if one == other => Ok(vec![one]),
        (Some(StepId::Number(first)), Some(StepId::Number(last)))
            if first < last && last - first < 10_000 =>
        {
            Ok((first..=last).map(StepId::Number).collect())
        }
        _ => Err(not_a_number(text)),
    }
}

fn not_a_number(text: &str) -> CommandError {
    let text = escape(text.as_bytes());
    let error = format!("`{text}` is neither the number of a change nor a file");
    CommandError::usage(error)
        .with_state("Nothing was changed.")
        .with_hint("`herma list` shows the changes with their numbers: `herma undo 3` undoes one, `herma undo 3-5` the prompt with these.")
}

/// What somebody may have meant whose steps are no numbers: another way to write several, or a checkpoint.
fn meant_otherwise(project: &Project, error: CommandError, text: &str) -> CommandError {
    if matches!(Spec::parse(text), Ok(Spec::OnLine(..))) {
        return find(project, text).err().unwrap_or(error);
    }
    let numbers: Vec<u64> = text.split(['-', '.', ',']).filter_map(|n| n.parse().ok()).collect();
    let is_list = text.bytes().all(|byte| byte.is_ascii_digit() || b"-.,".contains(&byte));
    let is_agent = |step: &Step| step.agent() == text && !step.kind.is_move();
    let hint = match (&numbers[..], is_list) {
        (&[one, other], true) if one.abs_diff(other) < 10_000 => {
            format!("Write `herma undo {}-{}`.", one.min(other), one.max(other))
        }
        _ if text == "all" || text == "everything" => match project.timeline().unwrap_or_default().last() {
            Some(oldest) => format!(
                "`herma restore {oldest}` undoes all that agents did, with `--all` also your edits; `herma undo` undoes the last prompt.",
                oldest = oldest.number
            ),
            None => return error,
        },
        _ if known_steps(project).is_ok_and(|steps| steps.iter().any(is_agent)) => {
            let text = quote(text);
            format!("`herma undo --only-agent {text}` undoes all that {text} did; `herma list --agent {text}` lists it.")
        }
        _ if matches!(When::parse(text), Ok(Some(_))) => {
            let text = quote(text);
            format!("`herma undo --since {text}` undoes what agents did since then; `herma restore {text}` goes back to the state then.")
        }
        _ if text.starts_with("last") || text.ends_with("ago") => {
            "A time is written like 1h, 7d, `yesterday 18:00` or 2026-11-02: `herma undo --since 7d`; `herma undo` undoes the last prompt.".to_owned()
        }
        _ if find(project, text).is_ok() => {
            format!("That is a checkpoint: `herma restore {}` goes back to it.", quote(text))
        }
        _ => return error,
    };
    error.with_only_hint(hint)
}

pub(crate) fn cmd_redo(env: &CommandEnv, args: &RedoArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let mode = Mode { dry_run: args.dry_run, null: args.null, patch: false, yes: true };
    go(env, &project, &Course::Redo, mode)
}

/// Where an undo or redo goes.
pub(crate) enum Course {
    Undo(UndoLast),
    Redo,
}

/// How it is done and told.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mode {
    pub(crate) dry_run: bool,
    pub(crate) null: bool,
    pub(crate) patch: bool,
    pub(crate) yes: bool,
}

impl Course {
    const fn aim(&self) -> Aim {
        match self {
            Self::Undo(_) => Aim::Undo,
            Self::Redo => Aim::Redo,
        }
    }

    /// What would be done next.
    fn next(&self, env: &CommandEnv, project: &Project) -> Result<NextMove> {
        let next = env.ui.during(|progress| match self {
            Self::Undo(asked) => project.plan_undo(asked, progress),
            Self::Redo => project.plan_redo(progress),
        });
        next.map_err(|error| match (error, self) {
            (Error::NothingToUndo, Self::Undo(asked)) if !asked.paths.is_empty() => {
                nothing_to_undo_in(project, &asked.paths)
            }
            (Error::NothingToUndo, _) => {
                let error = with_state_of_files(project, Error::NothingToUndo);
                let moved = moved_here(&project.adoptable().unwrap_or_default());
                moved.into_iter().fold(error, CommandError::with_hint)
            }
            (error, _) => with_state_of_files(project, error),
        })
    }
}

fn nothing_to_undo_in(project: &Project, paths: &[RelPath]) -> CommandError {
    let named: Vec<String> = paths.iter().map(here::path).collect();
    let error = Error::NothingToUndo;
    let mut error = CommandError::from(error).with_state("Nothing was changed.");
    error.message = format!("there is nothing to undo in {}", in_a_row(&named));
    let path = quote(&here::path(&paths[0]));
    if !matches!(project.newest_with(&paths[0]), Ok(Some(_))) {
        error.hints = vec![format!("No checkpoint holds {path}.")];
        return error;
    }
    error.hints = vec![format!(
        "`herma history {path}` lists what changed it; `herma restore N {path}` brings a version back."
    )];
    error
}

fn go(env: &CommandEnv, project: &Project, course: &Course, mode: Mode) -> Result<Outcome> {
    if mode.dry_run {
        let next = course.next(env, project)?;
        let moved = own_move(project, &next, course.aim() == Aim::Redo)?;
        let undone = carry_out(env, project, next, true)?;
        return report(env, project, (&undone, moved), mode.null, "", Told::default());
    }
    match travel(env, project, course, mode)? {
        Travelled::Alone(told) => report_conversation(env, project, told),
        Travelled::Not => {
            env.ui.status("Nothing was changed.");
            Ok(Outcome::Done)
        }
        Travelled::Files { undone, moved, way_back, told } => {
            report(env, project, (&undone, moved), mode.null, way_back, told)
        }
    }
}

/// What came of an undo or redo.
pub(crate) enum Travelled {
    /// Only a conversation had to go back or forth.
    Alone(Told),
    /// The person does not want it after all.
    Not,
    /// Files were moved.
    Files {
        undone: Undone,
        /// The move of Herma's own that this was about.
        moved: Option<Moved>,
        /// What to type after that.
        way_back: &'static str,
        /// What that meant for a conversation.
        told: Told,
    },
}

/// Undoes or redoes, with the conversation that belongs to it.
pub(crate) fn travel(
    env: &CommandEnv,
    project: &Project,
    course: &Course,
    mode: Mode,
) -> Result<Travelled> {
    let mut following = Following::take(env, project)?;
    let aim = match following.pending()? {
        Pending::Files(intent) if matches!(course, Course::Undo(last) if last.more == 0) => {
            following.take_up(intent, true)?;
            let next = NextMove::States(Move::Undo, None);
            return moved(env, project, &Aim::Undo, next, following);
        }
        Pending::Files(_) => return Err(Error::RestoreUnfinished.into()),
        // It is reversed by its opposite.
        Pending::Due(intent, due)
            if course.aim() == Aim::Undo && intent.aim == Aim::Undo && due.is_about_messages() =>
        {
            Aim::Redo
        }
        Pending::Due(..) | Pending::Nothing => course.aim(),
    };
    following.settle_first()?;
    if let Some(told) = following.alone(&aim)? {
        return Ok(Travelled::Alone(told));
    }
    let mut next = match aim {
        Aim::Redo => Course::Redo.next(env, project)?,
        _ => course.next(env, project)?,
    };
    if !agrees(env, &next, mode)? {
        return Ok(Travelled::Not);
    }
    let aim = match &next {
        NextMove::Again(moved) if moved.is_undo() => Aim::Undo,
        _ => aim,
    };
    if let NextMove::Steps(planned) = &mut next {
        if mode.patch && !choose(env, project, &mut planned.plan)? {
            return Ok(Travelled::Not);
        }
    } else {
        following.set_out(aim.clone())?;
    }
    moved(env, project, &aim, next, following)
}

/// Asks before something old is undone.
fn agrees(env: &CommandEnv, next: &NextMove, mode: Mode) -> Result<bool> {
    let Some((unit, doubt)) = next.doubt().filter(|_| !mode.yes) else { return Ok(true) };
    let why = format!("{} {doubt}", units_in_words(std::slice::from_ref(unit)));
    if !env.ui.can_ask() {
        return Err(CommandError::usage(why).with_state("Nothing was changed.").with_hint(
            "The same command with `--dry-run` shows what undoing it would change, with `--yes` does it.",
        ));
    }
    Ok(env.ui.ask(&format!("{why}. Undo it? [y/N] "))?)
}

/// Moves the files, and lets a conversation follow.
fn moved(
    env: &CommandEnv,
    project: &Project,
    aim: &Aim,
    next: NextMove,
    mut following: Following<'_>,
) -> Result<Travelled> {
    let moved = own_move(project, &next, *aim == Aim::Redo)?;
    let way_back = match aim {
        Aim::Redo => back_from_redo(next.is_whole()),
        _ => "`herma redo` brings back the state from before.",
    };
    let undone = carry_out(env, project, next, false).inspect_err(|_| following.failed())?;
    let told = following.finish()?;
    Ok(Travelled::Files { undone, moved, way_back, told })
}

/// Which move of Herma's own is undone or redone along the states. A redo is told by what the undo had undone.
fn own_move(project: &Project, next: &NextMove, is_redo: bool) -> Result<Option<Moved>> {
    let NextMove::States(_, Some(just)) = next else { return Ok(None) };
    let mut steps = just.unit.steps.clone();
    let undid = steps.first().and_then(|step| step.undid.as_ref());
    if let Some(undid) = undid.filter(|_| is_redo) {
        let ids = undid.steps.iter().copied().map(StepId::Handle).collect();
        let found = project.steps(&StepChoice { ids, ..StepChoice::default() })?;
        steps = found.into_iter().map(|listed| listed.step).collect();
    }
    let [doing, did] = if is_redo { ["Redoing", "Redid"] } else { ["Undoing", "Undid"] };
    let which = steps.first().and_then(move_in_words);
    Ok(which.map(|which| Moved { doing, did, which }))
}

fn carry_out(env: &CommandEnv, project: &Project, next: NextMove, dry_run: bool) -> Result<Undone> {
    let undone = env.ui.during(|progress| project.carry_out(next, progress, dry_run));
    undone.map_err(|error| with_state_of_files(project, error))
}

fn report(
    env: &CommandEnv,
    project: &Project,
    (undone, moved): (&Undone, Option<Moved>),
    null: bool,
    way_back: &str,
    told: Told,
) -> Result<Outcome> {
    let moved = moved.as_ref();
    match undone {
        Undone::Planned(plan) => report_plan(env, project, (plan, moved), null, told),
        Undone::Steps(planned, None) => {
            report_planned(env, project, (&planned.plan, &planned.units), null, told)
        }
        Undone::Steps(planned, Some(taken)) => {
            if planned.units.iter().any(|unit| unit.is_under_way(env.now().seconds)) {
                env.ui.status("The agent is still at work, and goes on.");
            }
            report_steps_undone(env, project, (taken, Some(planned)), null, told)
        }
        Undone::Done(restored) => {
            report_restored(env, project, (restored, moved), null, way_back, told)
        }
    }
}
