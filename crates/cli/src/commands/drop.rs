//! `herma drop`

use clap::Args;
use herma_core::{Error, Project, Spec};

use crate::command_env::{CommandEnv, Kind, Outcome, Result, WithState, find};
use crate::commands::mark;
use crate::render::listing;

/// Remove a checkpoint for good
///
/// Other checkpoints keep their ids and content. On a terminal, shows the checkpoint and asks first.
#[derive(Args, Debug)]
pub(crate) struct DropArgs {
    /// The checkpoint
    checkpoint: String,
    /// Do not ask
    #[arg(short = 'f', long = "yes", visible_short_alias = 'y')]
    yes: bool,
}

pub(crate) fn cmd_drop(env: &CommandEnv, args: &DropArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let checkpoint = match find(&project, &args.checkpoint) {
        Err(error) if error.kind == Kind::Damaged && args.yes => {
            return drop_damaged(env, &project, &args.checkpoint);
        }
        found => found?,
    };
    let in_words = listing::in_words(&checkpoint);
    if !args.yes {
        let instead = format!("`herma drop --yes {}`", checkpoint.id);
        env.ui.must_ask(format!("{in_words} would be removed for good"), &instead)?;
        let mut out = env.ui.data();
        let shown = std::slice::from_ref(&checkpoint);
        listing::write_checkpoints(&mut out, &env.ui, shown, env.now())?;
        out.finish()?;
        env.ui.confirm_removal("Remove this checkpoint for good?")?;
    }
    project.drop_checkpoint(&checkpoint).with_state("Nothing was removed.")?;
    let words = format!("Removed {in_words}.");
    mark::tell(env, &project, ("drop", None), Some(&checkpoint), &words)
}

/// Removes a checkpoint that cannot be read, and so cannot be shown either.
fn drop_damaged(env: &CommandEnv, project: &Project, checkpoint: &str) -> Result<Outcome> {
    let spec = Spec::parse(checkpoint).map_err(Error::from)?;
    project.drop_named(&spec)?;
    mark::tell(env, project, ("drop", None), None, "Removed a damaged checkpoint.")
}
