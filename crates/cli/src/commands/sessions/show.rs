//! `herma sessions show`

use std::io::Write;

use clap::Args;
use herma_sessions::session::Message;
use herma_sessions::{Access, Session, session};
use herma_view::json::{Serialize, object};

use super::{moment, rfc3339, session_json};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::{Label, shown, time};

/// Show a session and what was said in it
#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    /// The session
    session: String,
}

fn message_json(message: Message) -> impl Serialize {
    object! {
        id: message.id,
        role: message.role,
        time: rfc3339(message.timestamp),
        content: message.content,
        tool_name: message.tool_name,
        tool_calls: message.tool_calls,
    }
}

pub(super) fn cmd_show(env: &CommandEnv, args: &ShowArgs) -> Result<Outcome> {
    let database = conversations::open(&env.home, Access::Read)?;
    let session = database.find(&args.session)?;
    if env.ui.json {
        let mut messages = Vec::new();
        session::for_each_message(&database, &session.id, |message| {
            messages.push(message_json(message));
            Ok(())
        })?;
        env.ui.write_json(&object! {
            schema: "herma.sessions-show/1",
            session: session_json(&session),
            messages,
        })?;
        return Ok(Outcome::Done);
    }
    let mut out = env.ui.listing();
    write_head(&mut out, &session)?;
    session::for_each_message(&database, &session.id, |message| {
        Ok(write_message(&mut out, env, &message)?)
    })?;
    out.finish()?;
    Ok(Outcome::Done)
}

fn write_head(out: &mut dyn Write, session: &Session) -> std::io::Result<()> {
    let when = |time: Option<f64>| time.map_or("—".to_owned(), |time| time::local(moment(time)));
    writeln!(out, "session   {}", shown(&session.id))?;
    if let Some(title) = &session.title {
        writeln!(out, "title     {}", shown(title))?;
    }
    writeln!(out, "source    {}", shown(&session.source))?;
    if let Some(model) = &session.model {
        writeln!(out, "model     {}", shown(model))?;
    }
    if let Some(parent) = &session.parent {
        writeln!(out, "parent    {}", shown(parent))?;
    }
    writeln!(out, "started   {}", when(session.started_at))?;
    if session.is_active {
        writeln!(out, "ended     not yet: it is active")?;
    } else {
        let reason = session.end_reason.as_deref().map(shown);
        let reason = reason.map(|reason| format!(" ({reason})"));
        let reason = reason.unwrap_or_default();
        writeln!(out, "ended     {}{reason}", when(session.ended_at))?;
    }
    writeln!(out, "messages  {}", session.messages)
}

fn write_message(out: &mut dyn Write, env: &CommandEnv, message: &Message) -> std::io::Result<()> {
    let when = message.timestamp.map(|time| time::local(moment(time)));
    let tool = message.tool_name.as_deref().map(|name| format!(" {}", shown(name)));
    let head = format!(
        "{}{}  {}",
        shown(&message.role),
        tool.unwrap_or_default(),
        when.unwrap_or_default()
    );
    writeln!(out)?;
    writeln!(out, "{}", env.ui.theme.paint(Label::Name, &head))?;
    for text in [&message.content, &message.tool_calls].into_iter().flatten() {
        for line in text.lines() {
            writeln!(out, "  {}", shown(line))?;
        }
    }
    Ok(())
}
