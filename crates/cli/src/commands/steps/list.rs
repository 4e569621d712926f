//! `herma steps`

use clap::Args;
use herma_core::steps::StepChoice;
use herma_view::json::{lazy_object, list};
use herma_view::listing::counted;
use herma_view::steps;
use herma_view::steps::step_json;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::commands::going_back::undo_steps::turn_choice;
use crate::filters::Filters;
use crate::render::project_json;

/// List what agents did in this project, one tool call each, newest first
///
/// Shows number, time, agent, tool, the command, files or prompt, and how much changed; restores, undos and redos
/// too. What changed while a step "overlaps" others cannot be attributed to one of them.
#[derive(Args, Debug)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    filters: Filters,
    /// Only steps of this prompt; without an ID, of the newest one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    turn: Option<Option<String>>,
    /// Also show steps that changed nothing
    #[arg(long)]
    all: bool,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    /// End each record with NUL; fields separated by tabs: number (or `s7` while it has none), kind, state, seconds since 1970, files, lines
    /// added, lines removed (each empty if not known), both checkpoints there (0 or 1), overlapping steps joined
    /// by commas, agent and tool (escaped), the whole command, paths or prompt
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_steps(env: &CommandEnv, args: &StepsArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let now = env.now();
    let choice = StepChoice {
        turn: args.turn.clone().map(turn_choice),
        ..args.filters.steps(env, &project)?
    };
    let most = args.limit.unwrap_or(usize::MAX);
    let (steps, hidden) = project.newest_steps(&choice, most, args.all)?;
    let json = lazy_object! {
        schema: "herma.steps/2",
        project: project_json(&project),
        steps: list(steps.iter().map(step_json)),
        hidden,
    };
    env.ui.answer(json, |out| {
        if args.null {
            for listed in &steps {
                steps::write_record(out, listed)?;
            }
        } else {
            steps::write_lines(out, &env.ui, &steps, now)?;
        }
        Ok(())
    })?;
    if hidden > 0 {
        let hidden = counted(hidden, "step");
        env.ui.status(format_args!("{hidden} that changed nothing not shown: `--all` shows them."));
    }
    if steps.is_empty() && hidden == 0 && most > 0 {
        env.ui.status(if choice.is_all() {
            "No steps of this project are known."
        } else {
            "No such steps of this project are known."
        });
        env.ui.hint("`herma run -- COMMAND` runs a command as a step.");
    }
    Ok(Outcome::Done)
}
