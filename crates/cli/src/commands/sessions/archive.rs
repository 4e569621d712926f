//! `herma sessions archive`

use std::io::Write;

use clap::Args;
use herma_sessions::prune::Removed;
use herma_sessions::{Access, archive, prune};
use herma_view::json::lazy_object;

use super::filters::FilterArgs;
use super::{removed_json, tell_left};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::{shown, size};

/// Move ended sessions out of the database into files
///
/// Each goes to `sessions/archive/<id>.jsonl.gz` with its messages and files, and is deleted once that was read back
/// and compared. Where the database can mark sessions as archived, they are marked and stay.
#[derive(Args, Debug)]
pub(super) struct ArchiveArgs {
    /// Only this session
    session: Option<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Only show what would be archived
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn cmd_archive(env: &CommandEnv, args: &ArchiveArgs) -> Result<Outcome> {
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let mut database = conversations::open(&env.home, access)?;
    let mut filter = args.filters.filter(env.now().as_float());
    if let Some(text) = &args.session {
        let session = database.find(text)?;
        if session.is_active {
            return Err(herma_sessions::Error::Active(session.id).into());
        }
        filter.id = Some(session.id);
    }
    let dir = conversations::directory(&env.home)?;
    let plan = prune::plan(&database, dir.as_ref(), &filter)?;
    if args.dry_run {
        return tell(
            env,
            true,
            &archive::Archived {
                sessions: plan.sessions,
                removed: Removed { kept: plan.kept, ..Removed::default() },
                ..archive::Archived::default()
            },
        );
    }
    if !args.yes {
        let count = plan.sessions;
        let would = format!("{count} session(s) would be archived");
        let question = format!("Archive {count} ended session(s)? [y/N] ");
        if !env.ui.agrees(would, "`herma sessions archive --yes`", &question, "Cancelled.")? {
            return Ok(Outcome::Aborted);
        }
    }
    let dir = match dir {
        Some(dir) => dir,
        None => conversations::ensure_directory(&env.home)?,
    };
    let done = archive::archive(&mut database, &dir, &filter)?;
    tell(env, false, &done)
}

fn tell(env: &CommandEnv, dry_run: bool, done: &archive::Archived) -> Result<Outcome> {
    let json = lazy_object! {
        schema: "herma.sessions-archive/1",
        dry_run,
        archived: done.sessions,
        marked: done.marked,
        archive_bytes: done.bytes,
        removed: removed_json(&done.removed),
    };
    env.ui.answer(json, |out| {
        let verb = if dry_run { "Would archive" } else { "Archived" };
        writeln!(out, "{verb} {} session(s).", done.sessions)
    })?;
    if done.marked {
        env.ui.status("They are marked, and stay in the database.");
    } else if done.sessions > 0 && !dry_run {
        env.ui.status(format_args!(
            "They are in {} ({}).",
            shown(env.home.join("sessions/archive")),
            size(done.bytes)
        ));
    }
    // Only what was to go and stays is left out.
    let outcome = tell_left(env, &done.removed);
    Ok(if dry_run { Outcome::Done } else { outcome })
}
