//! `herma name`, `unname`, `pin` and `unpin`: marks that say a checkpoint matters.

use clap::Args;
use herma_core::{Checkpoint, Project};
use herma_store::path::escape;

use crate::command_env::{CommandEnv, Outcome, Result, find};
use crate::render::json::{Serialize, checkpoint_json, object, project_json};
use crate::render::listing;

/// Give a checkpoint a name; named checkpoints are never cleaned up
#[derive(Args, Debug)]
pub(crate) struct NameArgs {
    /// The checkpoint
    checkpoint: String,
    /// Its name: letters, digits, `-`, `_`, `.` and `/`
    name: String,
}

/// Remove a name; the checkpoint stays
#[derive(Args, Debug)]
pub(crate) struct UnnameArgs {
    /// The name
    name: String,
}

/// The arguments of `pin` and `unpin`; their help is where the commands are listed.
#[derive(Args, Debug)]
pub(crate) struct PinArgs {
    /// The checkpoint
    checkpoint: String,
}

/// What `--json` prints for a command that marks or drops a checkpoint: what was done, and to which checkpoint as it was before.
pub(crate) fn mark_json(
    project: &Project,
    action: &str,
    name: Option<&str>,
    checkpoint: Option<&Checkpoint>,
) -> impl Serialize {
    object! {
        schema: "herma.mark/1",
        project: project_json(project),
        action,
        name,
        checkpoint: checkpoint.map(checkpoint_json),
    }
}

pub(crate) fn cmd_name(env: &CommandEnv, args: &NameArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = find(&project, &args.checkpoint)?;
    project.name(&checkpoint, &args.name)?;
    done(env, &mark_json(&project, "name", Some(&args.name), Some(&checkpoint)))?;
    let name = escape(args.name.as_bytes());
    let checkpoint = listing::in_words(&checkpoint);
    env.ui.status(format_args!("`{name}` is now a name of {checkpoint}."));
    Ok(Outcome::Done)
}

pub(crate) fn cmd_unname(env: &CommandEnv, args: &UnnameArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    project.unname(&args.name)?;
    done(env, &mark_json(&project, "unname", Some(&args.name), None))?;
    let name = escape(args.name.as_bytes());
    env.ui.status(format_args!("`{name}` is no longer a name; its checkpoint stays."));
    Ok(Outcome::Done)
}

pub(crate) fn cmd_pin(env: &CommandEnv, args: &PinArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = find(&project, &args.checkpoint)?;
    project.pin(&checkpoint)?;
    done(env, &mark_json(&project, "pin", None, Some(&checkpoint)))?;
    let checkpoint = listing::in_words(&checkpoint);
    env.ui.status(format_args!("Pinned {checkpoint}; cleaning will not remove it."));
    Ok(Outcome::Done)
}

pub(crate) fn cmd_unpin(env: &CommandEnv, args: &PinArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = find(&project, &args.checkpoint)?;
    project.unpin(&checkpoint)?;
    done(env, &mark_json(&project, "unpin", None, Some(&checkpoint)))?;
    let checkpoint = listing::in_words(&checkpoint);
    env.ui.status(format_args!("Unpinned {checkpoint}; cleaning may remove it."));
    Ok(Outcome::Done)
}

fn done(env: &CommandEnv, json: &impl Serialize) -> Result<()> {
    if env.ui.json { env.ui.write_json(json) } else { Ok(()) }
}
