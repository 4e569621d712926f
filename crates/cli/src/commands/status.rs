//! `herma` without a command: where things stand and what to type next.

use std::io::Write;

use herma_agents::Agent;
use herma_agents::install::Scope;
use herma_core::steps::StepChoice;
use herma_view::json::{checkpoint_json, lazy_object};
use herma_view::{listing, timeline};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::commands::agents::install::places;
use crate::commands::agents::install::state::AgentState;
use crate::commands::list::rows_and_now;
use crate::render::nearby::{tell_how_to_begin, tell_of_moved};
use crate::render::project_json;
use crate::terminal::shown;

/// How many rows the status shows.
const SHOWN: usize = 3;

pub(crate) fn cmd_status(env: &CommandEnv) -> Result<Outcome> {
    let project = env.open_project()?;
    let (rows, now) = rows_and_now(env, &project, &StepChoice::default(), SHOWN)?;
    let (count, newest) = (rows.listed.count, rows.listed.checkpoints.first());
    let json = lazy_object! {
        schema: "herma.status/2",
        project: project_json(&project),
        checkpoints: count,
        newest: newest.map(checkpoint_json),
    };
    env.ui.answer(json, |out| {
        let count = match count {
            0 => "no checkpoints".to_owned(),
            count => listing::counted(count, "checkpoint"),
        };
        writeln!(out, "{}: {count}", shown(project.root()))?;
        timeline::write_rows(out, &env.ui, (&rows, now.as_ref()), false, env.now())
    })?;
    match newest {
        None => {
            tell_how_to_begin(env, &project);
        }
        Some(newest) => {
            if now.is_some_and(|now| now.changes.count > 0) {
                env.ui.hint(format_args!(
                    "`herma diff` shows what is not saved; `herma restore {} --all` drops it.",
                    newest.number
                ));
            }
            env.ui.hint("`herma list` shows all; `herma --help` the rest.");
        }
    }
    tell_of_moved(env, &project, count);
    for agent in unconnected(env) {
        let (title, word) = (agent.title(), agent.word());
        env.ui.hint(format_args!(
            "{title} is not connected: `herma install {word}` saves before its prompts and tool calls."
        ));
    }
    Ok(Outcome::Done)
}

/// The agents this user has, and that do not call Herma yet.
fn unconnected(env: &CommandEnv) -> Vec<Agent> {
    let Ok(places) = places(env) else { return Vec::new() };
    let is_unconnected =
        |agent: &Agent| AgentState::look(*agent, &places, &Scope::User).is_unconnected();
    Agent::ALL.into_iter().filter(is_unconnected).collect()
}
