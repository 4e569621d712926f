//! `herma steps`

use clap::Args;
use herma_core::steps::StepChoice;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::commands::going_back::take_back::turn_choice;
use crate::render::json::{lazy_object, list, project_json};
use crate::render::listing::counted;
use crate::render::step_report;
use crate::render::step_report::step_json;
use crate::terminal::time;

/// List what agents did in this project, one tool call each, newest first
///
/// Shows number, time, agent, tool, the command, files or prompt, and how much changed. A step that "overlaps"
/// others was under way at the same time: what changed then cannot be attributed to one of them. Restores, undos
/// and redos are listed too.
#[derive(Args, Debug)]
pub(crate) struct StepsArgs {
    /// Only steps of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only steps of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only steps of this prompt; without an ID, of the newest one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    turn: Option<Option<String>>,
    /// Only steps started within the last 90s, 10m, 2h, 3d or 1w
    #[arg(long, value_name = "TIME", value_parser = time::parse_length)]
    since: Option<i64>,
    /// Also show steps that changed nothing
    #[arg(long)]
    all: bool,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    /// End each record with NUL; fields separated by tabs: number, kind, state, seconds since 1970, files, lines
    /// added, lines removed (each empty if not known), both checkpoints there (0 or 1), overlapping steps joined
    /// by commas, agent and tool (escaped), the whole command, paths or prompt
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_steps(env: &CommandEnv, args: &StepsArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let now = env.now();
    let choice = StepChoice {
        numbers: Vec::new(),
        agent: args.agent.clone(),
        session: args.session.clone(),
        turn: args.turn.clone().map(turn_choice),
        since: args.since.map(|length| now.seconds.saturating_sub(length)),
    };
    let most = args.limit.unwrap_or(usize::MAX);
    let (steps, hidden) = project.newest_steps(&choice, most, args.all)?;
    let json = lazy_object! {
        schema: "herma.steps/1",
        project: project_json(&project),
        steps: list(steps.iter().map(step_json)),
        hidden,
    };
    env.ui.answer(json, |out| {
        if args.null {
            for listed in &steps {
                step_report::write_record(out, listed)?;
            }
        } else {
            step_report::write_lines(out, &env.ui, &steps, now)?;
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
