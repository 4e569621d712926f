//! `herma step`: the two ends of a tool call, for hooks and scripts.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use herma_core::steps::{StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{BegunStep, Project, WhichStep};
use herma_view::json::{checkpoint_json, left_out_json, list, object};
use herma_view::steps::{begun_step_json, step_json};

use crate::command_env::{CommandEnv, CommandError, Outcome, Result, WithState};
use crate::commands::save;
use crate::render::{project_json, step_report};
use crate::transcript;

/// Mark the beginning or end of a tool call
///
/// The project is saved at both ends; the difference is what the call did. `herma run` does both for a command.
#[derive(Args, Debug)]
pub(crate) struct StepArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Subcommand, Debug)]
enum End {
    Begin(BeginArgs),
    End(EndArgs),
}

/// Save the project before a tool call, and print the handle of the step that begins, such as `s7`
#[derive(Args, Debug)]
struct BeginArgs {
    /// The agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The prompt within the session [default: what `herma turn begin` said last]
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// The tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The agent's own id of the call
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// The command line the tool runs
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// The prompt that led to it; its beginning is kept
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A file the tool names (can be repeated)
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The open step this one is part of [default: `$HERMA_STEP`]
    #[arg(long, value_name = "HANDLE", value_parser = parse_handle)]
    within: Option<i64>,
}

/// Save the project after a tool call, and say what it changed
///
/// When nothing changed, no checkpoint is made.
#[derive(Args, Debug)]
struct EndArgs {
    /// The handle of the step, as `herma step begin` printed it
    #[arg(value_name = "HANDLE", required_unless_present = "call", value_parser = parse_handle)]
    handle: Option<i64>,
    /// The agent's own id of the call, instead of the handle
    #[arg(long, value_name = "ID", conflicts_with = "handle")]
    call: Option<String>,
    /// It goes on in the background, or nobody knows how it ended
    #[arg(long)]
    unknown: bool,
}

/// `s7`; the `s` may be left out.
fn parse_handle(text: &str) -> std::result::Result<i64, String> {
    let handle = text.strip_prefix('s').unwrap_or(text).parse();
    handle.map_err(|_| "a handle is written like `s7`".to_owned())
}

pub(crate) fn cmd_step(env: &CommandEnv, args: &StepArgs) -> Result<Outcome> {
    match &args.end {
        End::Begin(args) => begin(env, args),
        End::End(args) => end(env, args),
    }
}

fn begin(env: &CommandEnv, args: &BeginArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let BeginArgs { agent, session, turn, tool, .. } = args;
    let facts = Facts::of(agent.clone(), session.clone(), turn.clone(), tool.clone());
    let start = StepStart {
        facts: Facts { transcript: transcript::mark(env, args.session.as_deref()), ..facts },
        call: args.call.clone(),
        command: args.command.clone(),
        paths: args.paths.iter().map(|path| shown(env, &project, path)).collect(),
        prompt: args.prompt.clone(),
        within: args.within.or_else(|| env.outer_step(&project)),
        ..StepStart::default()
    };
    let begun = env.ui.during(|progress| {
        project.begin_step(StepKind::Tool, start, progress).with_state("No step has begun.")
    })?;
    env.clean_if_due(&begun.saved);
    save::warn_of_gaps(env, &begun.saved);
    tell_begun(env, &project, &begun)?;
    Ok(save::outcome(&begun.saved))
}

fn tell_begun(env: &CommandEnv, project: &Project, begun: &BegunStep) -> Result<()> {
    let saved = &begun.saved;
    if env.ui.json {
        let left_out = saved.receipt.left_out.iter();
        return env.ui.write_json(&object! {
            schema: "herma.step-begin/3",
            project: project_json(project),
            step: begun_step_json(&begun.step),
            checkpoint: checkpoint_json(&saved.checkpoint),
            is_new: saved.is_new,
            beside: begun.beside.clone(),
            left_out: list(left_out.map(left_out_json)),
            notes: saved.notes.clone(),
        });
    }
    env.ui.print(format_args!("{}", begun.step.id()))?;
    if !begun.beside.is_empty() {
        let others: Vec<_> = begun.beside.iter().map(StepId::to_string).collect();
        env.ui.status(format_args!(
            "Under way at the same time: {}. What changes meanwhile cannot be attributed to one of them.",
            others.join(", ")
        ));
    }
    Ok(())
}

fn end(env: &CommandEnv, args: &EndArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let which = match (&args.call, args.handle) {
        (Some(call), _) => WhichStep::Call { id: call.clone(), session: None },
        (None, Some(handle)) => WhichStep::Id(StepId::Handle(handle)),
        (None, None) => return Err(CommandError::usage("which step has ended?")),
    };
    let ended = env.ui.during(|progress| {
        if args.unknown {
            project.end_step_unknown(&which)
        } else {
            project.end_step(&which, progress)
        }
    })?;
    let listed = step_report::look_up(&project, StepId::Handle(ended.step.handle))?;
    let saved = ended.saved.as_ref();
    if let Some(saved) = saved {
        env.clean_if_due(saved);
        save::warn_of_gaps(env, saved);
    }
    if env.ui.json {
        let left_out = saved.map_or(&[][..], |saved| &saved.receipt.left_out);
        env.ui.write_json(&object! {
            schema: "herma.step-end/3",
            project: project_json(&project),
            step: step_json(&listed),
            checkpoint: saved.map(|saved| checkpoint_json(&saved.checkpoint)),
            is_new: saved.is_some_and(|saved| saved.is_new),
            left_out: list(left_out.iter().map(left_out_json)),
            notes: saved.map(|saved| saved.notes.clone()).unwrap_or_default(),
        })?;
    } else {
        step_report::tell(&env.ui, &listed);
    }
    Ok(saved.map_or(Outcome::Done, save::outcome))
}

/// A file as records have it: inside the project if it is there, else as it was given.
fn shown(env: &CommandEnv, project: &Project, path: &std::path::Path) -> String {
    match project.rel_path(&env.absolute(path)) {
        Ok(inside) => inside.to_string(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}
