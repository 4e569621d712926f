//! `herma sessions`: conversations of an agent, in its database and in the files beside it.

mod archive;
mod change;
mod export;
mod filters;
mod list;
mod prune;
mod search;
mod show;
mod stats;

use clap::{Args, Subcommand};
use herma_core::types::clock::Timestamp;
use herma_sessions::Session;
use herma_sessions::prune::Removed;
use herma_view::json::{PathJson, Serialize, list, object};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{escape, shown, time};

/// Look at the sessions of an agent, and delete old ones
///
/// Without a command, lists them. A SESSION is an id or its unique beginning. Works on Hermes's `state.db` up to
/// schema version 26; a newer one is only read. Exits 10 when there is no database or no such session, 1 when a
/// question was answered with no.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Subcommand, Debug)]
enum SessionsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    /// Count sessions, messages and bytes
    Stats,
    Export(export::ExportArgs),
    Rename(change::RenameArgs),
    Delete(change::DeleteArgs),
    Prune(prune::PruneArgs),
    Archive(archive::ArchiveArgs),
}

pub(crate) fn cmd_sessions(env: &CommandEnv, args: &SessionsArgs) -> Result<Outcome> {
    use SessionsCommand as Command;
    match &args.command {
        None => list::cmd_list(env, &list::ListArgs::default()),
        Some(Command::List(args)) => list::cmd_list(env, args),
        Some(Command::Show(args)) => show::cmd_show(env, args),
        Some(Command::Search(args)) => search::cmd_search(env, args),
        Some(Command::Stats) => stats::cmd_stats(env),
        Some(Command::Export(args)) => export::cmd_export(env, args),
        Some(Command::Rename(args)) => change::cmd_rename(env, args),
        Some(Command::Delete(args)) => change::cmd_delete(env, args),
        Some(Command::Prune(args)) => prune::cmd_prune(env, args),
        Some(Command::Archive(args)) => archive::cmd_archive(env, args),
    }
}

/// A moment of the database, which counts in seconds with a fraction.
fn moment(seconds: f64) -> Timestamp {
    Timestamp { seconds: seconds as i64, nanos: 0, offset_minutes: 0 }
}

/// A moment as programs read it.
fn rfc3339(seconds: Option<f64>) -> Option<String> {
    seconds.and_then(|seconds| time::rfc3339(moment(seconds)))
}

fn session_json(session: &Session) -> impl Serialize {
    object! {
        id: &session.id,
        source: &session.source,
        model: session.model.as_deref(),
        title: session.title.as_deref(),
        parent: session.parent.as_deref(),
        active: session.is_active,
        started_at: rfc3339(session.started_at),
        ended_at: rfc3339(session.ended_at),
        end_reason: session.end_reason.as_deref(),
        last_active: rfc3339(session.last_active),
        messages: session.messages,
        tool_calls: session.tool_calls,
        input_tokens: session.input_tokens,
        output_tokens: session.output_tokens,
    }
}

fn removed_json(removed: &Removed) -> impl Serialize {
    let kept =
        removed.kept.iter().map(|kept| object! { id: kept.id.clone(), why: kept.why.clone() });
    let left = removed.files_left.iter();
    object! {
        sessions: removed.sessions,
        messages: removed.messages,
        files: removed.files,
        bytes: removed.bytes,
        finished: removed.finished,
        kept: list(kept),
        files_left: list(left.map(|left| PathJson::new(&left.name))),
        notes: removed.notes.clone(),
    }
}

/// Names what stayed though it was to go; something did if the answer is not "done".
fn tell_left(env: &CommandEnv, removed: &Removed) -> Outcome {
    for note in &removed.notes {
        env.ui.warning(shown(note));
    }
    for kept in &removed.kept {
        env.ui.warning(format_args!("session '{}' stays: {}", shown(&kept.id), shown(&kept.why)));
    }
    for left in &removed.files_left {
        env.ui.warning(format_args!(
            "{} could not be removed: {}",
            escape(&left.name),
            shown(&left.why)
        ));
    }
    if removed.more_files_left > 0 {
        env.ui.warning(format_args!("{} more files could not be removed", removed.more_files_left));
    }
    if removed.kept.is_empty() && removed.files_left.is_empty() {
        Outcome::Done
    } else {
        Outcome::LeftOut
    }
}
