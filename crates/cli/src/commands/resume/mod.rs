//! `herma resume`: what a session was doing, kept for the one that goes on.

mod facts;
mod gc;
mod inject;
mod show;
mod write;

use clap::{Args, Subcommand};
use herma_sessions::resume::{ResumeStore, SessionId};
use herma_view::json::lazy_object;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};

/// Keep what a session was doing, for the session that continues it
///
/// A resume record holds the task, its steps, decisions and open questions, which so survive their conversation.
/// Records are `checkpoints/SESSION.yaml` in the home, which Hermes uses as well.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    #[command(subcommand)]
    command: ResumeCommand,
}

#[derive(Subcommand, Debug)]
enum ResumeCommand {
    /// Write the record of a session, replacing the one before
    ///
    /// Adds facts: directory, git branch, last commit, newest checkpoint, and the files changed since the session's
    /// first checkpoint.
    Save(write::WriteArgs),
    /// Update the record of a session
    ///
    /// Steps and decisions are added, facts merged, the rest replaced where given; facts about the project are
    /// refreshed. Exits 10 when the session has no record.
    Update(write::WriteArgs),
    Show(show::ShowArgs),
    List(show::ListArgs),
    Delete(DeleteArgs),
    Gc(gc::GcArgs),
    Inject(inject::InjectArgs),
}

/// Remove the record of a session
///
/// Asks first on a terminal.
#[derive(Args, Debug)]
struct DeleteArgs {
    /// The session
    #[arg(value_name = "SESSION", value_parser = SessionId::parse)]
    session: SessionId,
    /// Do not ask
    #[arg(short = 'f', long = "yes", visible_short_alias = 'y')]
    yes: bool,
}

pub(crate) fn cmd_resume(env: &CommandEnv, args: &ResumeArgs) -> Result<Outcome> {
    match &args.command {
        ResumeCommand::Save(args) => write::cmd_save(env, args),
        ResumeCommand::Update(args) => write::cmd_update(env, args),
        ResumeCommand::Show(args) => show::cmd_show(env, args),
        ResumeCommand::List(args) => show::cmd_list(env, args),
        ResumeCommand::Delete(args) => cmd_delete(env, args),
        ResumeCommand::Gc(args) => gc::cmd_gc(env, args),
        ResumeCommand::Inject(args) => inject::cmd_inject(env, args),
    }
}

fn cmd_delete(env: &CommandEnv, args: &DeleteArgs) -> Result<Outcome> {
    let session = &args.session;
    let store = ResumeStore::open(&env.home)?.ok_or_else(|| nothing(session))?;
    if store.look(session).is_none() {
        return Err(nothing(session));
    }
    if !args.yes {
        let record = format!("the resume record of session {session}");
        let instead = format!("`herma resume delete --yes {session}`");
        env.ui.must_ask(format!("{record} would be removed"), &instead)?;
        env.ui.confirm_removal(&format!("Remove {record}?"))?;
    }
    if !store.delete(session)? {
        return Err(nothing(session));
    }
    env.ui.answer_json(lazy_object! {
        schema: "herma.resume-delete/1",
        action: "deleted",
        session: session.as_str(),
    })?;
    env.ui.status(format_args!("Checkpoint cleared for session {session}"));
    Ok(Outcome::Done)
}

/// There is no record of this session.
fn nothing(session: &SessionId) -> CommandError {
    let message = format!("No checkpoint exists for session {session}");
    CommandError::new(Kind::NoStore, message)
        .with_hint("`herma resume list` shows the sessions that have one.")
}
