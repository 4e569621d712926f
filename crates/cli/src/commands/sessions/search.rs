//! `herma sessions search`

use std::io::Write;

use clap::Args;
use herma_sessions::{Access, search};
use herma_view::json::{lazy_object, list, object};

use super::filters::FilterArgs;
use super::{moment, rfc3339};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::conversations;
use crate::terminal::{Label, shown, time};

/// Find what was said in any session
///
/// Messages with all the words are found; nothing in them is an operator.
#[derive(Args, Debug)]
pub(super) struct SearchArgs {
    /// The words
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: u64,
}

pub(super) fn cmd_search(env: &CommandEnv, args: &SearchArgs) -> Result<Outcome> {
    let database = conversations::open(&env.home, Access::Read)?;
    let filter = args.filters.filter(env.now().as_float());
    let found = search::search(&database, &args.words.join(" "), &filter, args.limit)?;
    let json = lazy_object! {
        schema: "herma.sessions-search/1",
        found: list(found.iter().map(|found| object! {
            session: &found.session,
            message: found.message,
            role: &found.role,
            time: rfc3339(found.timestamp),
            excerpt: &found.excerpt,
        })),
    };
    env.ui.answer(json, |out| {
        for one in &found {
            let when = one.timestamp.map(|time| time::local(moment(time)));
            let when = when.unwrap_or_default();
            let id = env.ui.theme.paint(Label::Id, &shown(&one.session));
            writeln!(out, "{id}  {}  {when}", shown(&one.role))?;
            let words: Vec<&str> = one.excerpt.split_whitespace().collect();
            writeln!(out, "  {}", shown(words.join(" ")))?;
        }
        Ok(())
    })?;
    if found.is_empty() {
        env.ui.status("Nothing found.");
    }
    Ok(Outcome::Done)
}
