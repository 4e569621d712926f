//! `herma run`: a command as a step, with the terminal as if we were not there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use clap::Args;
use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Ran, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{BegunStep, Project, WhichStep};
use herma_fs::process::foreground::{Ended, Foreground, Variable};
use herma_store::path::escape;
use herma_view::json::object;
use herma_view::listing;
use herma_view::steps::step_json;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::save;
use crate::environment::OuterStep;
use crate::render::{project_json, step_report};
use crate::terminal::quote;
use crate::tool_call::is_check;

/// What a shell answers when there is no such command.
const NOT_FOUND: u8 = 127;
/// What a shell answers when a command is there and cannot be run.
const NOT_RUNNABLE: u8 = 126;

/// Run a command, and know afterwards what it changed
///
/// Saves the project before and after, and says what changed and how to undo it. Terminal and exit code are the
/// command's (128 plus the signal that ended it; 127 not found, 126 not runnable). Steps that begin meanwhile are
/// part of it.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Give the checkpoint before it this name, so that it is never cleaned up
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Whose work it is [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Run the command even if the project cannot be saved first
    #[arg(long)]
    anyway: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

/// A step around the command.
struct Bracket {
    project: Project,
    begun: BegunStep,
}

pub(crate) fn cmd_run(env: &CommandEnv, args: &RunArgs) -> Result<Outcome> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(CommandError::usage("which command is to be run?"));
    };
    // Before the first save: from then on there is something to finish.
    let prepared = Foreground::prepare().map_err(|error| no_signals(&error))?;
    let bracket = match begin(env, args) {
        Ok(bracket) => Some(bracket),
        Err(error) if args.anyway && error.kind != Kind::Cancelled => {
            env.ui.warning(&error.message);
            env.ui.detail("The command runs anyway: what it does cannot be undone.");
            None
        }
        Err(error) => {
            let error = error.with_state("The command was not run.");
            return Err(match error.kind {
                Kind::Cancelled => error,
                _ => error.with_hint("`--anyway` runs it with no way back."),
            });
        }
    };
    let variables = bracket.as_ref().map(|b| step_variables(&b.project, &b.begun));
    let variables = variables.unwrap_or_default();
    let running = match prepared.start(program, arguments, &env.directory, &variables) {
        Ok(running) => running,
        Err(error) => {
            if let Some(bracket) = &bracket {
                end_quietly(bracket);
            }
            return Ok(not_started(env, program, &error));
        }
    };
    let ended = running
        .wait()
        .map_err(|error| CommandError::new(Kind::Failed, format!("the command is lost: {error}")));
    let exited = matches!(ended, Ok(Ended::Exited(0)));
    let told =
        bracket.as_ref().map(|bracket| finish(env, bracket, exited && is_check_of(env, args)));
    let ended = ended?;
    match told.transpose() {
        Ok(listed) => tell(env, bracket.as_ref(), listed.as_ref(), ended)?,
        // The command has done what it did; its exit code is what the caller waits for.
        Err(error) => env.ui.error(&error),
    }
    Ok(Outcome::Command(ended.exit_code()))
}

fn begin(env: &CommandEnv, args: &RunArgs) -> Result<Bracket> {
    let project = env.open_project()?;
    let agent = agent_of(args.agent.as_ref(), &args.command);
    let start = StepStart {
        facts: Facts { agent, tool: Some("run".to_owned()), ..Facts::default() },
        command: Some(in_one_line(&args.command)),
        within: env.outer_step(&project),
        ..StepStart::default()
    };
    let progress = env.ui.progress();
    let begun = project.begin_step(StepKind::Run, start, &progress);
    // Control-C is the command's from here on.
    let is_cancelled = progress.let_go();
    let begun = begun?;
    let bracket = Bracket { project, begun };
    env.clean_if_due(&bracket.begun.saved);
    save::warn_of_gaps(env, &bracket.begun.saved);
    let ready = match &args.name {
        _ if is_cancelled => Err(CommandError::new(Kind::Cancelled, "interrupted")),
        Some(name) => {
            let named = bracket.project.name(&bracket.begun.saved.checkpoint, name);
            named.map_err(CommandError::from)
        }
        None => Ok(()),
    };
    if let Err(error) = ready {
        end_quietly(&bracket);
        return Err(error);
    }
    Ok(bracket)
}

/// Whose work a command is: that of its program, if nobody says otherwise.
pub(crate) fn agent_of(named: Option<&String>, command: &[OsString]) -> Option<String> {
    let program = || {
        let name = Path::new(command.first()?).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    named.cloned().or_else(program)
}

/// What the command's own calls of Herma find in their environment.
pub(crate) fn step_variables(project: &Project, begun: &BegunStep) -> Vec<Variable> {
    let number = begun.step.handle.to_string();
    let project = project.id().to_string();
    vec![(OuterStep::NUMBER, Some(number.into())), (OuterStep::PROJECT, Some(project.into()))]
}

/// Is it one of the commands that tell whether a state is good?
fn is_check_of(env: &CommandEnv, args: &RunArgs) -> bool {
    let words = args.command.iter().map(|word| word.as_encoded_bytes().into());
    is_check(env, &herma_shell::Command::Arguments(words.collect()))
}

/// Saves the project after the command, and looks at what changed. A check that passed marks the state.
fn finish(env: &CommandEnv, bracket: &Bracket, passed: bool) -> Result<herma_core::ListedStep> {
    let handle = StepId::Handle(bracket.begun.step.handle);
    let which = WhichStep::Id(handle);
    let progress = env.ui.progress_after_command();
    let end = CallEnd::Ran(Ran { passed, ..Ran::default() });
    let ended = bracket.project.end_call(&which, end, &progress);
    progress.let_go();
    let ended = ended.map_err(|error| {
        let before = listing::in_words(&bracket.begun.saved.checkpoint);
        CommandError::from(error)
            .with_state(format!(
                "The command has ended, but what it changed was not saved. The state before it is {before}."
            ))
            .with_hint("`herma save` tries again.")
    })?;
    if let Some(saved) = &ended.saved {
        env.clean_if_due(saved);
        // What was named before the command need not be named again.
        if saved.receipt.left_out != bracket.begun.saved.receipt.left_out {
            save::warn_of_gaps(env, saved);
        }
    }
    step_report::look_up(&bracket.project, handle)
}

fn tell(
    env: &CommandEnv,
    bracket: Option<&Bracket>,
    listed: Option<&herma_core::ListedStep>,
    ended: Ended,
) -> Result<()> {
    if env.ui.json {
        return env.ui.write_json(&object! {
            schema: "herma.run/2",
            project: bracket.map(|bracket| project_json(&bracket.project)),
            step: listed.map(step_json),
            exit_code: ended.exit_code(),
            signal: match ended {
                Ended::Exited(_) => None,
                Ended::Killed(signal) => Some(signal),
            },
        });
    }
    if let Some(listed) = listed {
        step_report::tell(&env.ui, listed);
    }
    Ok(())
}

/// Says that a program was not started; the exit code is the one a shell would give.
pub(crate) fn not_started(env: &CommandEnv, program: &OsStr, error: &io::Error) -> Outcome {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    env.ui.error(&cannot_start(program, error));
    Outcome::Command(if is_missing { NOT_FOUND } else { NOT_RUNNABLE })
}

/// Why a program was not started.
pub(crate) fn cannot_start(program: &OsStr, error: &io::Error) -> CommandError {
    let program = escape(program.as_encoded_bytes());
    let message = if error.kind() == io::ErrorKind::NotFound {
        format!("there is no command `{program}`")
    } else {
        format!("`{program}` cannot be run: {error}")
    };
    CommandError::new(Kind::Failed, message).with_state("Nothing was run.")
}

/// Ends a step whose command was never run. If that fails it stays open, and says so in the list.
fn end_quietly(bracket: &Bracket) {
    let which = WhichStep::Id(bracket.begun.step.id());
    let _ = bracket.project.end_step(&which, &NoProgress);
}

pub(crate) fn no_signals(error: &io::Error) -> CommandError {
    CommandError::new(Kind::Failed, format!("signals cannot be heard: {error}"))
        .with_state("The command was not run.")
}

/// The words as they could be typed.
pub(crate) fn in_one_line(words: &[OsString]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(&word.to_string_lossy())).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_noted_as_they_could_be_typed() {
        let words = ["sh", "-c", "echo $HOME; it's", "", "a=b"].map(OsString::from);
        assert_eq!(in_one_line(&words), r"sh -c 'echo $HOME; it'\''s' '' a=b");
    }
}
