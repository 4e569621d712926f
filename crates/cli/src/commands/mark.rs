//! `herma name`, `unname`, `pin` and `unpin`: marks that say a checkpoint matters.

use clap::Args;
use herma_core::{Checkpoint, Project, Spec, State};
use herma_view::here;
use herma_view::json::{checkpoint_json, lazy_object, list};
use herma_view::listing::{in_a_row, in_words};

use crate::command_env::{CommandEnv, Outcome, Result, find};
use crate::render::project_json;
use crate::terminal::{quote, shown};

/// So many files that changed since are named.
const NAMED: usize = 3;

/// Give a checkpoint a name, so that it is never cleaned up
///
/// Checkpoint 13 is the state after change 13. A name keeps it as `herma pin` does, and can be typed instead of its number.
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

/// Tells that checkpoints were marked or dropped: what was done, and to which as they were before.
pub(crate) fn tell(
    env: &CommandEnv,
    project: &Project,
    (action, name): (&str, Option<&str>),
    checkpoints: &[Checkpoint],
    words: &str,
) -> Result<Outcome> {
    env.ui.answer_json(lazy_object! {
        schema: "herma.mark/2",
        project: project_json(project),
        action,
        name,
        checkpoints: list(checkpoints.iter().map(checkpoint_json)),
    })?;
    env.ui.status(words);
    Ok(Outcome::Done)
}

pub(crate) fn cmd_name(env: &CommandEnv, args: &NameArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = env.find(&project, &args.checkpoint);
    let checkpoint = checkpoint.map_err(|error| match find(&project, &args.name) {
        // The other way round it makes sense.
        Ok(_) => error.with_only_hint(format!(
            "The checkpoint comes first: `herma name {} {}`.",
            shown(&args.name),
            shown(&args.checkpoint)
        )),
        Err(_) => error,
    })?;
    project.name(&checkpoint, &args.name)?;
    let words = format!("`{}` is now a name of {}.", shown(&args.name), in_words(&checkpoint));
    let named = [checkpoint];
    tell(env, &project, ("name", Some(&args.name)), &named, &words)?;
    if matches!(Spec::parse(&args.checkpoint), Ok(Spec::Back(0))) {
        let [newest] = named;
        tell_unsaved(env, &project, newest, &args.name);
    }
    Ok(Outcome::Done)
}

/// Whoever names the newest checkpoint means the project as it is: says so if something changed since.
fn tell_unsaved(env: &CommandEnv, project: &Project, newest: Checkpoint, name: &str) {
    if env.ui.json {
        return;
    }
    let newest = State::Checkpoint(Box::new(newest));
    let found = env.ui.during(|progress| {
        project.changes(&newest, &State::Present, &[], /*renames*/ true, progress)
    });
    // It is named, whatever can be told of the rest.
    let Ok(found) = found else { return };
    let mut paths: Vec<String> =
        found.changes.iter().take(NAMED).map(|change| here::path(&change.path)).collect();
    let is_one = found.changes.len() == 1;
    if paths.is_empty() {
        return;
    }
    if found.changes.len() > NAMED {
        paths.push(format!("{} more", found.changes.len() - NAMED));
    }
    let (paths, are) = (in_a_row(&paths), if is_one { "is" } else { "are" });
    env.ui.status(format_args!("{paths} changed since and {are} not in it."));
    let name = quote(name);
    env.ui.hint(format_args!(
        "`herma unname {name} && herma save --name {name}` names the project as it is now."
    ));
}

pub(crate) fn cmd_unname(env: &CommandEnv, args: &UnnameArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    project.unname(&args.name)?;
    let words = format!("`{}` is no longer a name; its checkpoint stays.", shown(&args.name));
    tell(env, &project, ("unname", Some(&args.name)), &[], &words)
}

pub(crate) fn cmd_pin(env: &CommandEnv, args: &PinArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = env.find(&project, &args.checkpoint)?;
    project.pin(&checkpoint)?;
    let words = format!("Pinned {}; cleaning will not remove it.", in_words(&checkpoint));
    tell(env, &project, ("pin", None), &[checkpoint], &words)
}

pub(crate) fn cmd_unpin(env: &CommandEnv, args: &PinArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = env.find(&project, &args.checkpoint)?;
    project.unpin(&checkpoint)?;
    let words = format!("Unpinned {}; cleaning may remove it.", in_words(&checkpoint));
    tell(env, &project, ("unpin", None), &[checkpoint], &words)
}
