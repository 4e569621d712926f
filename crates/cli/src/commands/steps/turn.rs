//! `herma turn`: the prompts of a conversation, for hooks.

use clap::{Args, Subcommand};
use herma_core::Project;
use herma_core::steps::Turn;
use herma_core::types::checkpoint::Facts;
use herma_store::path::escape;
use herma_view::json::{Serialize, lazy_object, object};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::project_json;

/// Mark the beginning or end of a turn: a prompt and what follows
///
/// Steps that begin later in the session belong to the turn. When it ends, its open tool calls end too, as `unknown`.
#[derive(Args, Debug)]
pub(crate) struct TurnArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Subcommand, Debug)]
enum End {
    Begin(BeginArgs),
    End(EndArgs),
}

/// A prompt begins a turn
#[derive(Args, Debug)]
struct BeginArgs {
    /// The session
    #[arg(long, value_name = "ID")]
    session: String,
    /// The agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What the agent calls the turn [default: its number in the session]
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// The prompt; its beginning is kept
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
}

/// The turn of a session is over
#[derive(Args, Debug)]
struct EndArgs {
    /// The session
    #[arg(long, value_name = "ID")]
    session: String,
}

pub(crate) fn cmd_turn(env: &CommandEnv, args: &TurnArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    match &args.end {
        End::Begin(args) => {
            let facts =
                Facts { agent: args.agent.clone(), turn: args.turn.clone(), ..Facts::default() };
            let turn = project.begin_turn(&args.session, &facts, args.prompt.as_deref())?;
            tell(env, &project, Some(&turn), "has begun")
        }
        End::End(args) => {
            let turn = project.end_turn(&args.session)?;
            tell(env, &project, turn.as_ref(), "is over")
        }
    }
}

fn tell(env: &CommandEnv, project: &Project, turn: Option<&Turn>, what: &str) -> Result<Outcome> {
    env.ui.answer_json(lazy_object! {
        schema: "herma.turn/1",
        project: project_json(project),
        turn: turn.cloned().map(turn_body),
    })?;
    match turn {
        Some(turn) => {
            let [name, session] = [&turn.turn, &turn.session].map(|text| escape(text.as_bytes()));
            env.ui.status(format_args!("Turn {name} of session {session} {what}."));
        }
        None => env.ui.status("No turn of this session has begun."),
    }
    Ok(Outcome::Done)
}

fn turn_body(turn: Turn) -> impl Serialize {
    object! {
        session: turn.session,
        turn: turn.turn,
        count: turn.count,
        agent: turn.agent,
        prompt: turn.prompt,
        seconds: turn.started,
        over: turn.over,
    }
}
