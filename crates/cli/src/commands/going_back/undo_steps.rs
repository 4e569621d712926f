//! What `herma restore` and `herma undo` share: which steps are meant, and undoing them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use herma_core::steps::{StepChoice, StepId, TurnChoice};
use herma_core::types::address::When;
use herma_core::{Checkpoint, Error, Project, UndoPlan, UndoSteps};
use herma_reversal::Conflicts;
use herma_view::listing::ranges_of_steps;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::command_error::unknown_path;
use crate::commands::going_back::restore::with_state_of_files;
use crate::commands::steps::known::no_such_steps;
use crate::filters::{parse_when, session_meant};
use crate::render::patch_choice;
use crate::render::undo_report::{report_planned, report_steps_undone};
use crate::transcript::{Conversation, Following, chat};

/// What is older is not undone without a question, unless it is named.
const SECONDS_OF_A_DAY: i64 = 24 * 3600;

/// Which steps are meant.
#[derive(Args, Debug, Default)]
pub(crate) struct ChoiceArgs {
    /// Only what this agent did
    #[arg(long, value_name = "NAME", alias = "agent")]
    only_agent: Option<String>,
    /// Only what this session did; at least four characters of its id are enough, and without one it is the last session
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    session: Option<Option<String>>,
    /// Only what this turn did; without an id the last one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    turn: Option<Option<String>>,
    /// Only steps started since then: 2h, today, 15:30, yesterday
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    since: Option<When>,
}

impl ChoiceArgs {
    /// Is anything said?
    pub(crate) fn is_given(&self) -> bool {
        self.only_agent.is_some()
            || self.session.is_some()
            || self.turn.is_some()
            || self.since.is_some()
    }

    /// May it mean steps of long ago that nobody named? An agent was always there; a session and a turn are from some day.
    pub(crate) fn is_open_ended(&self) -> bool {
        self.since.is_none() && self.session.is_none() && self.turn.is_none()
    }

    /// The session that is meant.
    pub(crate) fn session(&self, project: &Project) -> Result<Option<String>> {
        session_meant(project, self.session.as_ref())
    }

    /// The choice, as the engine wants it.
    pub(crate) fn choice(
        &self,
        env: &CommandEnv,
        project: &Project,
        ids: Vec<StepId>,
    ) -> Result<StepChoice> {
        Ok(StepChoice {
            ids,
            agent: self.only_agent.clone(),
            session: self.session(project)?,
            turn: self.turn.clone().map(turn_choice),
            since: self.since.as_ref().and_then(|when| when.first_second(env.now())),
            ..StepChoice::default()
        })
    }
}

/// The turn that is meant, which is the last one unless it is named.
pub(crate) fn turn_choice(turn: Option<String>) -> TurnChoice {
    turn.map_or(TurnChoice::Last, TurnChoice::Named)
}

/// What to do about conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConflictsArg {
    /// Leave files with conflicts as they are
    Leave,
    /// Undo what can be, keep the lines in conflict as they are now
    Ours,
    /// Undo everything, over what came after
    Theirs,
    /// Undo what can be, write both versions of the lines in conflict between markers
    Markers,
}

impl From<ConflictsArg> for Conflicts {
    fn from(argument: ConflictsArg) -> Self {
        match argument {
            ConflictsArg::Leave => Self::Leave,
            ConflictsArg::Ours => Self::Ours,
            ConflictsArg::Theirs => Self::Theirs,
            ConflictsArg::Markers => Self::Markers,
        }
    }
}

/// How to undo.
#[derive(Args, Debug)]
pub(crate) struct HowArgs {
    /// What to do where the same or adjacent lines were changed since
    #[arg(long, value_name = "HOW", value_enum, default_value = "leave")]
    conflicts: ConflictsArg,
    /// Choose interactively, hunk by hunk
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) patch: bool,
}

impl HowArgs {
    /// What is asked for, with the paths resolved.
    pub(crate) fn asked(
        &self,
        env: &CommandEnv,
        project: &Project,
        steps: StepChoice,
        since: Option<Checkpoint>,
        (paths, keep): (&[PathBuf], &[PathBuf]),
    ) -> Result<UndoSteps> {
        let (paths, keep) = (env.project_paths(project, paths)?, env.project_paths(project, keep)?);
        // No step did anything to a path that nobody ever had: that would be told as success.
        for named in [&paths, &keep] {
            if let Some(path) = project.first_unknown(named)? {
                return Err(unknown_path(&path));
            }
        }
        Ok(UndoSteps {
            steps,
            since,
            paths,
            keep,
            conflicts: self.conflicts.into(),
            file_by_file: self.patch,
            ..UndoSteps::default()
        })
    }
}

/// Asks before steps are undone that are older than a day and were not named.
pub(crate) fn agrees_to_old(
    env: &CommandEnv,
    project: &Project,
    asked: &UndoSteps,
) -> Result<bool> {
    let day_ago = env.now().seconds - SECONDS_OF_A_DAY;
    let mut old = project.steps(&asked.steps)?;
    old.retain(|one| !one.undone && one.step.ended.is_some_and(|ended| ended < day_ago));
    if old.is_empty() {
        return Ok(true);
    }
    let plan = env.ui.during(|progress| project.plan_undo_steps(asked, progress));
    let outcomes = plan.map_err(|error| failed(project, asked, error))?.outcomes();
    old.retain(|one| outcomes.iter().any(|outcome| one.step.is(outcome.step)));
    let mut ids: Vec<StepId> = old.iter().map(|one| one.step.id()).collect();
    ids.sort_unstable();
    let why = match &ids[..] {
        [] => return Ok(true),
        [one] => format!("step {one} is older than a day"),
        many => format!("steps {} are older than a day", ranges_of_steps(many)),
    };
    if !env.ui.can_ask() {
        return Err(CommandError::usage(why)
            .with_state("Nothing was changed.")
            .with_hint("`--since 1d` leaves what is older; `--yes` undoes it, too."));
    }
    Ok(env.ui.ask(&format!("{why}. Undo that, too? [y/N] "))?)
}

/// Undoes what is asked for, or says what that would do.
pub(crate) fn undo_steps(
    env: &CommandEnv,
    project: &Project,
    asked: &UndoSteps,
    dry_run: bool,
    null: bool,
    conversation: &Conversation,
) -> Result<Outcome> {
    let mut chosen = None;
    if dry_run || asked.file_by_file {
        let planned = env.ui.during(|progress| project.plan_undo_steps(asked, progress));
        let mut plan = planned.map_err(|error| failed(project, asked, error))?;
        if dry_run {
            return report_planned(env, project, (&plan, &[]), null, conversation.plan(env)?);
        }
        if !choose(env, project, &mut plan)? {
            env.ui.status("Nothing was changed.");
            return Ok(Outcome::Done);
        }
        chosen = Some(plan);
    }
    let forked = conversation.prepare(env);
    let mut following = Following::begin(env, project, conversation.aim())?;
    let taken = env.ui.during(|progress| match chosen {
        Some(plan) => project.undo_as_planned(plan, progress),
        None => project.undo_steps(asked, progress),
    });
    let taken = taken.map_err(|error| {
        following.failed();
        failed(project, asked, error)
    })?;
    let told = following.finish()?.with(forked.map(|forked| chat::write(env, forked)));
    report_steps_undone(env, project, (&taken, None), null, told)
}

fn failed(project: &Project, asked: &UndoSteps, error: Error) -> CommandError {
    match error {
        Error::NoSteps => no_such_steps(project, &asked.steps).with_state("Nothing was changed."),
        error => with_state_of_files(project, error),
    }
}

/// Lets a person choose; is anything left to do? Where there is nothing to choose, the report says why.
pub(crate) fn choose(env: &CommandEnv, project: &Project, plan: &mut UndoPlan) -> Result<bool> {
    if plan.is_empty() {
        return Ok(true);
    }
    let preview = project.preview(plan)?;
    patch_choice::choose(&env.ui, &preview, plan)?;
    Ok(!plan.is_empty())
}
