//! `herma diff --session`, `--turn`, `--step`, `--agent`: what these steps changed, and nothing else.

use std::path::PathBuf;

use clap::Args;
use herma_core::steps::{StepChoice, StepId};
use herma_core::{Error, Project, RelPath, SessionChanges};
use herma_view::authors::numbers;
use herma_view::changes::session_changes_json;
use herma_view::here;
use herma_view::listing::counted;

use super::sides::as_checkpoint;
use super::{DiffArgs, write_text};
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::commands::going_back::undo_steps::turn_choice;
use crate::commands::steps::known::no_such_steps;
use crate::filters::session_meant;
use crate::render::authors::warn_of_gaps;
use crate::render::project_json;

/// Which steps are meant.
#[derive(Args, Debug)]
pub(super) struct StepsChoiceArgs {
    /// Show what this session changed; without an ID, the last one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    session: Option<Option<String>>,
    /// Show what this prompt led to; without an ID, the newest one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    turn: Option<Option<String>>,
    /// Show what this step changed (can be repeated)
    #[arg(long = "step", value_name = "STEP", value_parser = parse_step)]
    steps: Vec<StepId>,
    /// Show what this agent changed
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Reads which step is meant: `13`, or `s7` while it has no number.
pub(crate) fn parse_step(text: &str) -> std::result::Result<StepId, String> {
    StepId::parse(text)
        .ok_or_else(|| "a step is called by its number, as `herma list` shows it".to_owned())
}

impl StepsChoiceArgs {
    /// The steps that are meant, if any are.
    pub(super) fn choice(&self, project: &Project) -> Result<Option<StepChoice>> {
        let choice = StepChoice {
            ids: self.steps.clone(),
            agent: self.agent.clone(),
            session: session_meant(project, self.session.as_ref())?,
            turn: self.turn.clone().map(turn_choice),
            ..StepChoice::default()
        };
        Ok((!choice.is_all()).then_some(choice))
    }
}

/// Shows what the chosen steps changed.
pub(super) fn diff_steps(
    env: &CommandEnv,
    project: &Project,
    args: &DiffArgs,
    choice: &StepChoice,
) -> Result<Outcome> {
    let scope = scope(env, project, args)?;
    let found = env
        .ui
        .during(|progress| project.session_changes(choice, &scope, !args.no_renames, progress))
        .map_err(|error| match error {
            Error::NoSteps => no_such_steps(project, choice),
            error => error.into(),
        })?;
    if env.ui.json {
        env.ui.write_json(&session_changes_json(project_json(project), &found)?)?;
    } else {
        write_text(env, args, &found.comparison)?;
        if found.comparison.modes_differ {
            env.ui.status("Also changed: permissions or empty directories (not shown in a patch).");
        }
    }
    let outcome = name_gaps(env, &found);
    let is_empty = found.comparison.changes.is_empty() && !found.comparison.modes_differ;
    if is_empty && outcome == Outcome::Done {
        env.ui.status("No differences.");
    }
    match warn_of_gaps(env, project)? {
        Outcome::Done => Ok(outcome),
        damaged => Ok(damaged),
    }
}

/// The paths to look at. A checkpoint makes no sense here: the steps say what is compared.
fn scope(env: &CommandEnv, project: &Project, args: &DiffArgs) -> Result<Vec<RelPath>> {
    if let Some(first) = args.arguments.first()
        && as_checkpoint(env, project, first)?.is_some()
    {
        return Err(CommandError::usage("a checkpoint cannot be compared with what steps changed")
            .with_hint(
                "Name either steps or checkpoints; put `--` before a path that looks like one.",
            ));
    }
    let named: Vec<PathBuf> = args.arguments.iter().map(PathBuf::from).collect();
    let mut scope = env.project_paths(project, &named)?;
    scope.extend(env.project_paths(project, &args.paths)?);
    Ok(scope)
}

/// Says what is not shown, or may be somebody else's.
fn name_gaps(env: &CommandEnv, found: &SessionChanges) -> Outcome {
    let ui = &env.ui;
    let mut outcome = Outcome::Done;
    let mut name = |what: &str, paths: Vec<String>| {
        if !paths.is_empty() {
            outcome = Outcome::LeftOut;
            let files = counted(paths.len(), "file");
            ui.warning(format_args!("{what}: {files}"));
            ui.name_some(paths.into_iter(), "herma diff --json");
        }
    };
    let shown = |paths: &mut dyn Iterator<Item = &RelPath>| paths.map(here::path).collect();
    name(
        "changed while other steps were under way too, so that nobody can tell by whom; not shown",
        shown(&mut found.unattributed.iter()),
    );
    name(
        "the changes of these steps do not fit together; not all are shown",
        shown(&mut found.incomplete.iter()),
    );
    name(
        "left out of a checkpoint, so that nobody can tell what changed; not shown",
        shown(&mut found.left_out.iter().map(|(path, _)| path)),
    );
    if !found.forgotten.is_empty() {
        outcome = Outcome::LeftOut;
        ui.warning(format_args!(
            "the checkpoints around {} are not kept any more; what it changed is not shown.",
            numbers(&found.forgotten)
        ));
    }
    if !found.uncertain.is_empty() {
        ui.warning(format_args!(
            "nobody said how {} ended; what changed until the next checkpoint is shown.",
            numbers(&found.uncertain)
        ));
    }
    outcome
}
