//! `herma bisect`

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use herma_core::copies::{CopyPlace, OpenedCopy};
use herma_core::restore::KeptWhy;
use herma_core::steps::{StepChoice, StepId};
use herma_core::{Checkpoint, ObjectId, Project, RelPath, State, UndoSteps};
use herma_fs::process::foreground::{Ended, Output};
use herma_view::here;
use herma_view::json::{checkpoint_json, list, object};
use herma_view::listing::{counted, ranges};
use herma_view::steps::step_json;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::copies::in_copy::{Ran, run, shell};
use crate::commands::copies::known;
use crate::commands::copies::open::{default_place, name_lacks, open};
use crate::commands::copies::search::{Found, Verdict, most, search};
use crate::commands::going_back::undo_steps::undo_steps;
use crate::commands::show::{ShowArgs, cmd_show};
use crate::render::project_json;
use crate::transcript::Conversation;

/// With this a check says that a state cannot be told.
const SKIP: u8 = 125;
/// With these a shell says that a command cannot be run.
const NOT_RUNNABLE: [u8; 2] = [126, 127];
/// Hangup, interrupt, quit and termination: somebody wants to stop.
const STOPS: [i32; 4] = [1, 2, 3, 15];
/// A shell whose command was interrupted.
const INTERRUPTED: u8 = 130;

/// Find the change that broke something
///
/// Runs COMMAND in a copy of one state after the other, until a change is found before which it exits 0 and after which it does
/// not. 125 says that a state cannot be tested; where only such states remain, the range is named. Both ends are tried first.
/// Shows the change with its agent, prompt and patch. The present stays as it is.
#[derive(Args, Debug)]
pub(crate) struct BisectArgs {
    /// A checkpoint at which it worked [default: the newest in which one of your `checks` passed, or the oldest]
    #[arg(long, value_name = "CHECKPOINT")]
    good: Option<String>,
    /// A checkpoint at which it no longer works [default: the newest]
    #[arg(long, value_name = "CHECKPOINT", default_value = "@", hide_default_value = true)]
    bad: String,
    /// Run the command so often in each state that it passes; it is good if all runs are
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    repeat: u32,
    /// Also copy this from the present, which checkpoints leave out: dependencies, say (can be repeated)
    #[arg(long, value_name = "PATH")]
    with_ignored: Vec<PathBuf>,
    /// Run this line of shell first; where it fails, a state cannot be tested
    #[arg(long, value_name = "COMMAND")]
    setup: Option<OsString>,
    /// Run it again where this file or directory is another one (can be repeated)
    #[arg(long, value_name = "PATH", requires = "setup")]
    setup_on: Vec<PathBuf>,
    /// Undo the change that was found, and nothing else
    #[arg(long, conflicts_with = "json")]
    undo: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

/// A search under way.
struct Bisection<'a> {
    env: &'a CommandEnv,
    args: &'a BisectArgs,
    project: &'a Project,
    setup_on: Vec<RelPath>,
    states: &'a [Checkpoint],
    copy: &'a OpenedCopy,
    /// The state the copy is in.
    at: usize,
    /// The state in which it was set up last.
    set_up_at: Option<usize>,
    /// What is known of a state, by its tree and its modes.
    known: HashMap<(ObjectId, Option<ObjectId>), Verdict>,
    /// How many states were tried, and which.
    tried: Vec<(u64, Verdict)>,
}

pub(crate) fn cmd_bisect(env: &CommandEnv, args: &BisectArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let states = states(env, &project, args)?;
    let setup_on = env.project_paths(&project, &args.setup_on)?;
    let place = CopyPlace::In(default_place(env)?);
    let copy = open(env, &project, states[0].clone(), place, &args.with_ignored)?;
    name_lacks(env, &copy);
    let mut bisection = Bisection {
        env,
        args,
        project: &project,
        setup_on,
        states: &states,
        copy: &copy,
        at: 0,
        set_up_at: None,
        known: HashMap::new(),
        tried: Vec::new(),
    };
    let found = bisection.run();
    let tried = bisection.tried;
    known::remove(env, &copy.record)?;
    report(env, args, &project, (&states, found?), &tried)
}

/// The states from the good one to the bad one, each another one than the one before.
fn states(env: &CommandEnv, project: &Project, args: &BisectArgs) -> Result<Vec<Checkpoint>> {
    let bad = env.find(project, &args.bad)?;
    let good = args.good.as_ref().map(|text| env.find(project, text)).transpose()?;
    let mut all = project.timeline()?;
    all.reverse();
    let state = |one: &Checkpoint| (one.tree, one.modes);
    let is_before = |one: &&Checkpoint| one.place < bad.place && state(one) != state(&bad);
    let green = all.iter().rev().filter(is_before).find(|one| one.green);
    let first = good.as_ref().or(green).map_or(i64::MIN, |good| good.place);
    all.retain(|one| (first..=bad.place).contains(&one.place));
    all.dedup_by(|one, before| (one.tree, one.modes) == (before.tree, before.modes));
    if all.len() < 2 {
        let error = CommandError::usage("there is no change between a good and a bad state");
        return Err(error
            .with_state("Nothing was run.")
            .with_hint("The good one is the older one; `herma list` shows the changes."));
    }
    Ok(all)
}

impl Bisection<'_> {
    fn run(&mut self) -> Result<Found> {
        let last = self.states.len() - 1;
        self.env.ui.status(format_args!(
            "{} between checkpoints {} and {}: at most {} if none is skipped.",
            counted(last, "change"),
            self.states[0].number,
            self.states[last].number,
            counted(most(last) + 2, "run"),
        ));
        for (end, wanted) in [(0, Verdict::Good), (last, Verdict::Bad)] {
            let verdict = self.check(end)?;
            if verdict != wanted {
                return Err(self.wrong_end(end, verdict));
            }
        }
        search(last, |state| self.check(state))
    }

    fn wrong_end(&self, end: usize, verdict: Verdict) -> CommandError {
        let number = self.states[end].number;
        let (message, hint) = match (end, verdict) {
            (_, Verdict::Skipped) => (
                format!("checkpoint {number} cannot be tested, and it is an end of the search"),
                "`--good` and `--bad` name other ends.",
            ),
            (0, _) => (
                format!("the command fails at checkpoint {number} already"),
                "`--good` names a checkpoint at which it worked.",
            ),
            _ => (
                format!("the command works at checkpoint {number}"),
                "`--bad` names a checkpoint at which it fails; `herma save` saves the present.",
            ),
        };
        CommandError::new(Kind::Failed, message).with_hint(hint)
    }

    /// Brings the copy to a state and tries it, unless that is known.
    fn check(&mut self, state: usize) -> Result<Verdict> {
        let checkpoint = &self.states[state];
        let key = (checkpoint.tree, checkpoint.modes);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.go_to(state)?;
        let verdict = if self.is_set_up(state)? { self.try_it()? } else { Verdict::Skipped };
        self.known.insert(key, verdict);
        self.tried.push((checkpoint.number, verdict));
        let word = word(verdict);
        self.env.ui.status(format_args!("Checkpoint {}: {word}.", checkpoint.number));
        Ok(verdict)
    }

    fn go_to(&mut self, state: usize) -> Result<()> {
        if self.at == state {
            return Ok(());
        }
        let (copy, checkpoint) = (&self.copy.project, &self.states[state]);
        let visited = self.env.ui.during(|progress| copy.visit(checkpoint, progress))?;
        self.at = state;
        for kept in visited.kept.iter().filter(|kept| !matches!(kept.why, KeptWhy::LeftOut(_))) {
            let (number, path) = (checkpoint.number, here::path(&kept.path));
            self.env
                .ui
                .warning(format_args!("{path} is not as in checkpoint {number} ({})", kept.why));
        }
        Ok(())
    }

    /// Sets the copy up for a state, if need be. What fails there cannot be tested.
    fn is_set_up(&mut self, state: usize) -> Result<bool> {
        let Some(line) = &self.args.setup else { return Ok(true) };
        if let Some(before) = self.set_up_at {
            let side = |at: usize| State::Checkpoint(Box::new(self.states[at].clone()));
            let (from, to, paths) = (side(before), side(state), &self.setup_on);
            let is_same = paths.is_empty() || {
                let changes = self
                    .env
                    .ui
                    .during(|progress| self.project.changes(&from, &to, paths, false, progress));
                changes?.changes.is_empty()
            };
            if is_same {
                return Ok(true);
            }
        }
        self.set_up_at = None;
        let verdict = self.run_once(&shell(line))?;
        if verdict == Verdict::Good {
            self.set_up_at = Some(state);
        }
        Ok(verdict == Verdict::Good)
    }

    fn try_it(&self) -> Result<Verdict> {
        for _ in 0..self.args.repeat {
            let verdict = self.run_once(&self.args.command)?;
            if verdict != Verdict::Good {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Good)
    }

    fn run_once(&self, command: &[OsString]) -> Result<Verdict> {
        let ran = run(self.env, self.copy.project.root(), command, Output::BesideOurs)?;
        let is_first = self.tried.is_empty();
        match ran {
            Ran::Ended(Ended::Killed(signal)) if STOPS.contains(&signal) => Err(stopped()),
            Ran::Ended(ended) => match ended.exit_code() {
                0 => Ok(Verdict::Good),
                SKIP => Ok(Verdict::Skipped),
                INTERRUPTED => Err(stopped()),
                code if NOT_RUNNABLE.contains(&code) => Ok(Verdict::Skipped),
                _ => Ok(Verdict::Bad),
            },
            // It was said why. Where the project has the program, it may be in other states.
            Ran::NotStarted(_) if !is_first => Ok(Verdict::Skipped),
            Ran::NotStarted(_) => Err(CommandError::new(Kind::Failed, "the command cannot be run")),
        }
    }
}

fn stopped() -> CommandError {
    CommandError::new(Kind::Cancelled, "interrupted")
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Skipped => "skipped",
    }
}

fn report(
    env: &CommandEnv,
    args: &BisectArgs,
    project: &Project,
    (states, found): (&[Checkpoint], Found),
    tried: &[(u64, Verdict)],
) -> Result<Outcome> {
    let changes = &states[found.good + 1..=found.bad];
    let change = match changes {
        [one] => Some(one),
        _ => None,
    };
    if env.ui.json {
        let ids = change.map(|change| vec![StepId::Number(change.number)]);
        let choice = ids.map(|ids| StepChoice { ids, ..StepChoice::default() });
        let steps = choice.map(|choice| project.steps(&choice)).transpose()?;
        let step = steps.as_ref().and_then(|steps| steps.first());
        env.ui.write_json(&object! {
            schema: "herma.bisect/1",
            project: project_json(project),
            good: checkpoint_json(&states[found.good]),
            bad: checkpoint_json(&states[found.bad]),
            change: change.map(checkpoint_json),
            step: step.map(step_json),
            range: list(changes.iter().map(|one| one.number)),
            runs: tried.len(),
            tried: list(tried.iter().map(|(number, verdict)| object! {
                number: *number,
                verdict: word(*verdict),
            })),
        })?;
    }
    let runs = counted(tried.len(), "run");
    let Some(change) = change else {
        let numbers = ranges(changes.iter().map(|one| one.number));
        env.ui.status(format_args!(
            "It broke with one of the changes {numbers}: the states between them cannot be tested ({runs})."
        ));
        let (first, last) = (changes[0].number, states[found.bad].number);
        env.ui.hint(format_args!("`herma show {first}-{last}` shows them."));
        return Ok(Outcome::LeftOut);
    };
    let number = change.number;
    env.ui.status(format_args!("It broke with change {number} ({runs})."));
    if env.ui.json {
        return Ok(Outcome::Done);
    }
    let shown = cmd_show(env, &ShowArgs::of(number))?;
    if !args.undo {
        env.ui.hint(format_args!("`herma undo {number}` undoes it and keeps what came later."));
        return Ok(shown);
    }
    let steps = StepChoice { ids: vec![StepId::Number(number)], ..StepChoice::default() };
    let asked = UndoSteps { steps, ..UndoSteps::default() };
    undo_steps(env, project, &asked, false, false, &Conversation::none())
}
