//! `herma sessions rename` and `herma sessions delete`

use clap::Args;
use herma_sessions::delete::Removed;
use herma_sessions::{Access, delete, session};
use herma_view::json::{lazy_object, object};

use super::{removed_json, tell_left};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::shown;

/// Give a session a title
#[derive(Args, Debug)]
pub(super) struct RenameArgs {
    /// The session
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
    session: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn cmd_rename(env: &CommandEnv, args: &RenameArgs) -> Result<Outcome> {
    let mut database = conversations::open(&env.home, Access::Write)?;
    let session = database.find(&args.session)?;
    let title = session::rename(&mut database, &session.id, &args.title.join(" "))?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.sessions-rename/1",
        session: &session.id,
        title: &title,
    })?;
    let (id, title) = (shown(&session.id), shown(&title));
    env.ui.status(format_args!("Session '{id}' is now called '{title}'."));
    Ok(Outcome::Done)
}

pub(super) fn cmd_delete(env: &CommandEnv, args: &DeleteArgs) -> Result<Outcome> {
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
        let instead = format!("`herma sessions delete {id} --yes`");
        let would = format!("session '{id}' would be deleted");
        let question = format!("Delete session '{id}' and all its messages? [y/N] ");
        if !env.ui.agrees(would, &instead, &question, "Cancelled.")? {
            return Ok(Outcome::Aborted);
        }
    }
    let removed = delete::delete(&mut database, dir.as_ref(), &session.id)?;
    tell_deleted(env, &session.id, &removed)
}

fn tell_deleted(env: &CommandEnv, id: &str, removed: &Removed) -> Result<Outcome> {
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.sessions-delete/1",
            session: id,
            #[serde(flatten)]
            removed: removed_json(removed),
        })?;
    } else if removed.sessions + removed.finished > 0 {
        env.ui.print(format_args!("Deleted session '{}'.", shown(id)))?;
    }
    Ok(tell_left(env, removed))
}
