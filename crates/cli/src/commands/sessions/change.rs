//! `herma sessions rename` and `herma sessions delete`

use std::io::Write;

use clap::Args;
use herma_sessions::delete::Removed;
use herma_sessions::{Access, delete, rename};

use super::{no_terminal, removed_json, shown, tell_left};
use crate::command_env::{CommandEnv, Outcome};
use crate::command_error::CommandError;
use crate::conversations;
use crate::render::json::object;

/// Give a session a title
#[derive(Args, Debug)]
pub(super) struct RenameArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// The title, which no other session may have
    #[arg(value_name = "TITLE", required = true)]
    title: Vec<String>,
}

/// Delete a session with its messages and its files
///
/// Sessions that came out of it stay. An active session is refused.
#[derive(Args, Debug)]
pub(super) struct DeleteArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn cmd_rename(env: &CommandEnv, args: &RenameArgs) -> Result<Outcome, CommandError> {
    let mut database = conversations::open(&env.home, Access::Write)?;
    let session = database.find(&args.session)?;
    let title = rename::rename(&mut database, &session.id, &args.title.join(" "))?;
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.sessions-rename/1",
            session: &session.id,
            title: &title,
        })?;
        return Ok(Outcome::Done);
    }
    let (id, title) = (shown(&session.id), shown(&title));
    env.ui.status(format_args!("Session '{id}' is now called '{title}'."));
    Ok(Outcome::Done)
}

pub(super) fn cmd_delete(env: &CommandEnv, args: &DeleteArgs) -> Result<Outcome, CommandError> {
    let mut database = conversations::open(&env.home, Access::Write)?;
    let dir = conversations::directory(&env.home)?;
    let finished = delete::finish(&mut database, dir.as_ref())?;
    if delete::is_finished(&database, &finished, &args.session)? {
        // An interrupted command that is repeated must not take another session for this one.
        return tell_deleted(env, &args.session, &finished);
    }
    tell_left(env, &finished);
    let session = database.find(&args.session)?;
    if session.is_active {
        return Err(herma_sessions::Error::Active(session.id).into());
    }
    let id = shown(&session.id);
    if !args.yes {
        let question = format!("Delete session '{id}' and all its messages? [y/N] ");
        if !env.ui.can_ask() {
            let message = format!("session '{id}' would be deleted");
            return Err(no_terminal(&message, &format!("herma sessions delete {id}")));
        }
        if !env.ui.ask(&question)? {
            let mut out = env.ui.data();
            writeln!(out, "Cancelled.")?;
            out.finish()?;
            return Ok(Outcome::Aborted);
        }
    }
    let removed = delete::delete(&mut database, dir.as_ref(), &session.id)?;
    tell_deleted(env, &session.id, &removed)
}

fn tell_deleted(env: &CommandEnv, id: &str, removed: &Removed) -> Result<Outcome, CommandError> {
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.sessions-delete/1",
            session: id,
            #[serde(flatten)]
            removed: removed_json(removed),
        })?;
    } else if removed.sessions + removed.finished > 0 {
        let mut out = env.ui.data();
        writeln!(out, "Deleted session '{}'.", shown(id))?;
        out.finish()?;
    }
    Ok(tell_left(env, removed))
}
