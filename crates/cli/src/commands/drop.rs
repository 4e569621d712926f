//! `herma drop`

use clap::Args;
use herma_core::steps::StepChoice;
use herma_core::types::address::parse_range;
use herma_core::{Checkpoint, Error, Project, Spec};
use herma_view::listing;
use herma_view::listing::{counted, in_a_row, ranges};

use crate::command_env::{CommandEnv, Kind, Outcome, Result, WithState};
use crate::commands::mark;
use crate::terminal::escape;

/// Remove checkpoints for good
///
/// Other checkpoints keep their numbers, ids and content. Asks first on a terminal.
#[derive(Args, Debug)]
pub(crate) struct DropArgs {
    /// A checkpoint, or a range of numbers such as 3-7 (can be repeated)
    #[arg(value_name = "CHECKPOINT", required = true)]
    chosen: Vec<String>,
    /// Do not ask
    #[arg(short = 'f', long = "yes", visible_short_alias = 'y')]
    yes: bool,
    /// Also remove those that are pinned or have a name, which `--yes` does not
    #[arg(long)]
    pinned: bool,
}

pub(crate) fn cmd_drop(env: &CommandEnv, args: &DropArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let chosen = match choose(env, &project, &args.chosen) {
        Err(error) if error.kind == Kind::Damaged && args.yes && args.chosen.len() == 1 => {
            return drop_damaged(env, &project, &args.chosen[0]);
        }
        chosen => chosen?,
    };
    warn_of_undo(env, &project, &chosen)?;
    if !args.yes {
        let (what, question) = match &chosen[..] {
            [one] => (listing::in_words(one), "Remove this checkpoint for good?".to_owned()),
            many => {
                let what = counted(many.len(), "checkpoint");
                let question = format!("Remove these {what} for good?");
                (what, question)
            }
        };
        let instead = format!("`herma drop --yes {}`", args.chosen.join(" "));
        env.ui.must_ask(format!("{what} would be removed for good"), &instead)?;
        let mut out = env.ui.data();
        listing::write_checkpoints(&mut out, &env.ui, &chosen, env.now())?;
        out.finish()?;
        env.ui.confirm_removal(&question)?;
    }
    if !args.pinned {
        ask_about_pinned(env, args, &chosen)?;
    }
    let mut words = Vec::new();
    for checkpoint in &chosen {
        let dropped = project.drop_checkpoint(checkpoint);
        dropped.with_state(match words.len() {
            0 => "Nothing was removed.".to_owned(),
            removed => format!("{} removed before it.", counted(removed, "checkpoint")),
        })?;
        words.push(format!("Removed {}.", listing::in_words(checkpoint)));
    }
    mark::tell(env, &project, ("drop", None), &chosen, &words.join("\n"))
}

/// Asks once more about those that somebody pinned or named: they wanted to keep them.
fn ask_about_pinned(env: &CommandEnv, args: &DropArgs, chosen: &[Checkpoint]) -> Result<()> {
    let is_kept = |one: &&Checkpoint| one.pinned || !one.names.is_empty();
    let kept: Vec<&Checkpoint> = chosen.iter().filter(is_kept).collect();
    let described = |one: &&Checkpoint| match one.names.first() {
        Some(name) => format!("{} (`{}`)", one.number, escape(name.as_bytes())),
        None => format!("{} (pinned)", one.number),
    };
    let are = match kept.len() {
        0 => return Ok(()),
        1 => "is",
        _ => "are",
    };
    let named = in_a_row(&kept.iter().map(described).collect::<Vec<_>>());
    let would = format!("{named} {are} pinned or named, to be kept");
    let instead =
        format!("`herma drop --yes --pinned {}` removes that, too.", args.chosen.join(" "));
    env.ui.must_ask(&would, &instead)?;
    env.ui.confirm_removal(&format!("{would}. Remove that, too?"))
}

/// The checkpoints that are meant, each once. All are looked up before the first one goes.
fn choose(env: &CommandEnv, project: &Project, texts: &[String]) -> Result<Vec<Checkpoint>> {
    let mut chosen: Vec<Checkpoint> = Vec::new();
    for text in texts {
        for found in named(env, project, text)? {
            if !chosen.iter().any(|one| one.id == found.id) {
                chosen.push(found);
            }
        }
    }
    Ok(chosen)
}

/// Names the steps that begin or end in one of these checkpoints.
fn warn_of_undo(env: &CommandEnv, project: &Project, going: &[Checkpoint]) -> Result<()> {
    let goes = |id| going.iter().any(|one| one.id == id);
    let steps = project.steps(&StepChoice::default())?;
    let lost = steps.iter().map(|listed| &listed.step).filter(|step| {
        !step.kind.is_move() && (goes(step.before.checkpoint) || step.after().is_some_and(goes))
    });
    let mut lost: Vec<u64> = lost.filter_map(|step| step.number).collect();
    lost.sort_unstable();
    if !lost.is_empty() {
        let which = ranges(lost);
        env.ui.warning(format_args!(
            "without this, what {which} did can no longer be undone exactly, and edits by hand around it count as its own."
        ));
    }
    Ok(())
}

/// What one argument names.
fn named(env: &CommandEnv, project: &Project, text: &str) -> Result<Vec<Checkpoint>> {
    let Some(range) = parse_range(text) else { return Ok(vec![env.find(project, text)?]) };
    let mut inside = project.timeline()?;
    inside.retain(|one| range.contains(&one.number));
    if inside.is_empty() {
        // Says that there is none, and what is near.
        inside.push(project.find(&Spec::Number(*range.start()))?);
    }
    Ok(inside)
}

/// Removes a checkpoint that cannot be read, and so cannot be shown either.
fn drop_damaged(env: &CommandEnv, project: &Project, checkpoint: &str) -> Result<Outcome> {
    let spec = Spec::parse(checkpoint).map_err(Error::from)?;
    project.drop_named(&spec)?;
    mark::tell(env, project, ("drop", None), &[], "Removed a damaged checkpoint.")
}
