//! `herma save`

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use clap::Args;
use herma_core::types::checkpoint::{Checkpoint, Facts};
use herma_core::{SaveOptions, Saved};
use herma_settings::Overrides;
use herma_store::path::escape;
use herma_view::json::{checkpoint_json, lazy_object, left_out_json, list, object};
use herma_view::listing::counted_entries;
use herma_view::{here, listing};
use herma_worktree::receipt::LeftOut;

use crate::command_env::{CommandEnv, Outcome, Result, WithState};
use crate::render::losses::warn_of_losses;
use crate::render::nearby::tell_of_moved;
use crate::render::project_json;
use crate::terminal::shown;
use crate::transcript;

/// The number of a project's first checkpoint, which no other one of the project ever gets.
const FIRST: u64 = 1;
/// The first saves of a project tell of what it may have lost when it was moved.
const FIRST_ONES: u64 = 3;

/// Save the project as a checkpoint
///
/// If nothing changed since the newest checkpoint, names that one and makes none.
#[derive(Args, Debug)]
pub(crate) struct SaveArgs {
    /// Why, in your words
    #[arg(short, long, value_name = "REASON", default_value = Checkpoint::UNSAID)]
    message: OsString,
    /// Give the checkpoint this name, so that it is never cleaned up
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Read every file again, instead of trusting times and sizes
    #[arg(long)]
    rehash: bool,
    /// Do not wait for the disk: a power cut within seconds may lose this checkpoint
    #[arg(long)]
    fast: bool,
    /// Wait this long for another herma to finish [default: 10]
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u32>,
    /// The agent the checkpoint is for
    #[arg(long, value_name = "NAME", help_heading = "Facts")]
    agent: Option<String>,
    /// The session
    #[arg(long, value_name = "ID", help_heading = "Facts")]
    session: Option<String>,
    /// The prompt within the session
    #[arg(long, value_name = "ID", help_heading = "Facts")]
    turn: Option<String>,
    /// The tool about to run
    #[arg(long, value_name = "NAME", help_heading = "Facts")]
    tool: Option<String>,
}

impl SaveArgs {
    /// What these arguments change about the settings.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            fast: self.fast,
            wait: self.wait.map(|seconds| Duration::from_secs(seconds.into())),
        }
    }
}

pub(crate) fn cmd_save(env: &CommandEnv, args: &SaveArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let options = SaveOptions {
        reason: args.message.as_bytes().into(),
        name: args.name.clone(),
        facts: Facts {
            agent: args.agent.clone(),
            session: args.session.clone(),
            turn: args.turn.clone(),
            tool: args.tool.clone(),
            transcript: transcript::mark(env, args.session.as_deref()),
        },
        rehash: args.rehash,
    };
    let saved = env.ui.during(|progress| {
        project.save_with(&options, progress).with_state("No checkpoint was made.")
    })?;
    env.clean_if_due(&saved);

    env.ui.answer_json(lazy_object! {
        schema: "herma.save/2",
        project: project_json(&project),
        checkpoint: checkpoint_json(&saved.checkpoint),
        is_new: saved.is_new,
        files: saved.receipt.summary.files,
        bytes: saved.receipt.summary.bytes,
        left_out: list(saved.receipt.left_out.iter().map(left_out_json)),
        notes: saved.notes.clone(),
        saved_again: saved.lost.files,
        lost_packs: saved.lost.packs.clone(),
        waited_ms: object! {
            store: saved.waited.for_store.as_millis(),
            project: saved.waited.for_project.as_millis(),
        },
    })?;
    tell(env, &saved, args.name.as_deref());
    if saved.is_new && saved.checkpoint.number <= FIRST_ONES {
        tell_of_moved(env, &project, 1);
    }
    if !saved.is_new && args.message != Checkpoint::UNSAID {
        let number = saved.checkpoint.number;
        env.ui.status(format_args!(
            "The message was not stored: `herma name {number} NAME` names that checkpoint."
        ));
    }
    Ok(outcome(&saved))
}

/// A save that left something out is not quite done.
pub(crate) fn outcome(saved: &Saved) -> Outcome {
    if saved.receipt.summary.is_partial() { Outcome::LeftOut } else { Outcome::Done }
}

fn tell(env: &CommandEnv, saved: &Saved, name: Option<&str>) {
    let checkpoint = listing::in_words(&saved.checkpoint);
    if saved.is_new {
        let files = listing::counted(saved.receipt.summary.files, "file");
        let changes = match saved.checkpoint.changes {
            Some(count) => format!("{} changed", listing::changes_in_words(count)),
            None => files,
        };
        env.ui.status(format_args!("Saved {checkpoint}: {changes}."));
    } else {
        env.ui.status(format_args!("Nothing changed since {checkpoint}."));
    }
    if let Some(name) = name {
        let name = shown(name);
        env.ui.status(format_args!("`{name}` is a name of it, so cleaning will not remove it."));
    }
    warn_of_gaps(env, saved);
    if saved.is_new && saved.checkpoint.number == FIRST {
        env.ui.advice(
            "If it breaks: `herma undo` undoes the last change, `herma list` shows them all.",
        );
    }
}

/// Names what is not in the checkpoint although no rule leaves it out, what is in it and looks like a secret,
/// and what else went wrong.
pub(crate) fn warn_of_gaps(env: &CommandEnv, saved: &Saved) {
    for note in &saved.notes {
        env.ui.warning(escape(note.as_bytes()));
    }
    warn_of_losses(&env.ui, &saved.lost);
    let list = &saved.receipt.left_out;
    let (gaps, secrets): (Vec<_>, Vec<_>) = list.iter().partition(|entry| entry.reason.is_gap());
    let all = format!("herma show {}", saved.checkpoint.number);
    if !gaps.is_empty() {
        let count = counted_entries(gaps.len(), "file was", "files were");
        env.ui.warning(format_args!("{count} not saved as on disk:"));
        env.ui.name_some(gaps.iter().map(|entry| in_words(entry)), &all);
        if gaps.iter().any(|entry| entry.secret.is_some()) {
            env.ui.detail("To save it anyway, add a line `!path` to `.hermaignore`.");
        }
    }
    if !secrets.is_empty() {
        let count = counted_entries(
            secrets.len(),
            "saved file looks like it holds",
            "saved files look like they hold",
        );
        env.ui.warning(format_args!("{count} a secret:"));
        env.ui.name_some(secrets.iter().map(|entry| in_words(entry)), &all);
        env.ui.detail(
            "`herma purge PATH` removes one from all checkpoints; a line `!path` in `.hermaignore` ends this warning.",
        );
    }
}

/// What is not in a checkpoint and why, or which secret is in it.
pub(crate) fn in_words(entry: &LeftOut) -> String {
    let path = here::from_here(&entry.path);
    match entry.secret {
        Some(secret) => format!("{path} ({secret})"),
        None => format!("{path} ({})", entry.reason.word()),
    }
}
