//! Commands that look into the past and change nothing: [`ls`], [`cat`], [`find`], [`grep`], [`has`]; [`place`] reads which path of
//! which state is meant.

pub(crate) mod cat;
pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod has;
pub(crate) mod ls;
pub(crate) mod place;

use herma_core::UnreadPast;
use herma_view::here;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::authors::warn_of_gaps;
use crate::terminal::escape;

/// What nobody could read, in words; with the exit code that says so.
fn warn_of_unread(
    env: &CommandEnv,
    project: &herma_core::Project,
    unread: &[UnreadPast],
) -> Result<Outcome> {
    let gaps = warn_of_gaps(env, project)?;
    if unread.is_empty() {
        return Ok(gaps);
    }
    env.ui.warning("some of what was saved cannot be read; it was not looked at:");
    let line = |one: &UnreadPast| {
        let what = escape(one.what.as_bytes());
        match one.checkpoint {
            Some(number) => format!("{} in checkpoint {number}: {what}", here::path(&one.path)),
            None => format!("{} as it is now: {what}", here::path(&one.path)),
        }
    };
    env.ui.name_some(unread.iter().map(line), "herma checkpoints verify");
    env.ui.detail("`herma checkpoints repair` puts right what can be put right.");
    Ok(Outcome::Damaged)
}
