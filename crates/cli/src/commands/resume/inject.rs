//! `herma resume inject`

use std::io::Write;

use clap::Args;
use herma_sessions::resume::inject::Ancestry;
use herma_sessions::resume::{ResumeStore, SessionId, inject};
use herma_sessions::{Access, Database};
use herma_store::path::escape;
use herma_view::json::lazy_object;

use crate::command_env::{CommandEnv, Outcome, Result};

/// Print what a session should know of the one it continues
///
/// Prints the record of the nearest earlier session, at most five back, as text for a prompt of at most 4,000
/// characters; nothing if there is none or its task is completed.
#[derive(Args, Debug)]
pub(super) struct InjectArgs {
    /// The session that continues
    #[arg(value_name = "SESSION", value_parser = SessionId::parse)]
    session: SessionId,
    /// The session before it; repeated, the one before that [default: as its record or the session database says]
    #[arg(long, value_name = "SESSION", value_parser = SessionId::parse)]
    parent: Vec<SessionId>,
}

pub(super) fn cmd_inject(env: &CommandEnv, args: &InjectArgs) -> Result<Outcome> {
    // Without a database only the records say who goes on from whom.
    let database = Database::open(&env.home.join("state.db"), Access::Read).ok();
    let parent_of = |session: &str| {
        let in_database = || database.as_ref()?.parent_of(session).ok()?;
        args.parent_of(session).or_else(in_database)
    };
    let ancestry = match ResumeStore::open(&env.home)? {
        Some(store) => inject::nearest(&store, &args.session, parent_of),
        None => Ancestry::default(),
    };
    for (session, problem) in &ancestry.skipped {
        let problem = escape(problem.to_string().as_bytes());
        env.ui.warning(format_args!("the record of session {session} cannot be used: {problem}"));
    }
    let found = ancestry.found.as_ref();
    let block = found.and_then(|(_, record)| inject::block(record));
    let json = lazy_object! {
        schema: "herma.resume-inject/1",
        session: args.session.as_str(),
        from: found.map(|(session, _)| session.as_str()),
        block: &block,
    };
    env.ui.answer(json, |out| block.iter().try_for_each(|block| writeln!(out, "{block}")))?;
    Ok(Outcome::Done)
}

impl InjectArgs {
    /// The session before another one, as the arguments have it.
    fn parent_of(&self, session: &str) -> Option<String> {
        let line = std::iter::once(&self.session).chain(&self.parent);
        let mut pairs = line.zip(&self.parent);
        let (_, parent) = pairs.find(|(child, _)| child.as_str() == session)?;
        Some(parent.to_string())
    }
}
