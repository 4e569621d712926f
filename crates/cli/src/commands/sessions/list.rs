//! `herma sessions list`

use std::io::Write;

use clap::Args;
use herma_sessions::{Access, Session, list};
use herma_view::json::{lazy_object, list};
use herma_view::listing;

use super::filters::FilterArgs;
use super::session_json;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::{Label, shown, time};

/// List sessions, the latest activity first
///
/// Leaves out the sessions of tools without `--source tool`.
#[derive(Args, Debug, Default)]
pub(super) struct ListArgs {
    #[command(flatten)]
    filters: FilterArgs,
    /// Show at most this many [default: 20; all with `--json`]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<u64>,
    /// Print the ids only, each ended with NUL
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(super) fn cmd_list(env: &CommandEnv, args: &ListArgs) -> Result<Outcome> {
    let database = conversations::open(&env.home, Access::Read)?;
    let mut filter = args.filters.filter(env.now().as_float());
    if filter.source.is_none() {
        filter.not_source = Some("tool".to_owned());
    }
    let is_for_people = !env.ui.json && !args.null;
    let limit = args.limit.or(is_for_people.then_some(20));
    let sessions = list::list(&database, &filter, limit)?;
    let json = lazy_object! {
        schema: "herma.sessions-list/1",
        sessions: list(sessions.iter().map(session_json)),
    };
    env.ui.answer(json, |out| {
        for session in &sessions {
            if args.null {
                out.write_all(session.id.as_bytes())?;
                out.write_all(b"\0")?;
            } else {
                writeln!(out, "{}", line(env, session))?;
            }
        }
        Ok(())
    })?;
    if sessions.is_empty() {
        env.ui.status("No sessions found.");
    }
    Ok(Outcome::Done)
}

/// The id, when it was last used, where, how long it is, whether it is active, and its title.
fn line(env: &CommandEnv, session: &Session) -> String {
    let age =
        session.last_active.map_or("—".to_owned(), |time| time::age(time as i64, env.now()));
    let count = listing::counted(session.messages, "message");
    let active = if session.is_active { "  [active]" } else { "" };
    let id = format!("{:<24}", shown(&session.id));
    let source = shown(&session.source);
    let facts = format!("{age:<14}  {source:<10}  {count:>13}{active}");
    let title = shown(session.title.as_deref().unwrap_or_default());
    let used = listing::width(&id) + listing::width(&facts) + 4;
    let room = env.ui.width.map(|width| width.saturating_sub(used));
    let theme = env.ui.theme;
    let text = format!(
        "{}  {}  {}",
        theme.paint(Label::Id, &id),
        theme.paint(Label::Faint, &facts),
        listing::fit(&title, room)
    );
    text.trim_end().to_owned()
}
