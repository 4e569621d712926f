//! Commands that look into the past and change nothing: [`ls`], [`cat`], [`find`], [`grep`], [`has`]; [`place`] reads which path of
//! which state is meant.

pub(crate) mod cat;
pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod has;
pub(crate) mod ls;
pub(crate) mod place;

use herma_core::{PastChange, Stay, UnreadPast};
use herma_view::json::Serialize;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::authors::warn_of_gaps;
use crate::terminal::{escape, time};
use herma_view::here;
use herma_view::json::{PathJson, object};
use herma_view::listing::fit;
use herma_view::time::at;

/// A prompt is cut to so many columns.
const PROMPT_COLUMNS: usize = 40;

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

fn unread_json(one: &UnreadPast) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(one.path.as_bytes()),
        checkpoint: one.checkpoint,
        error: one.what.clone(),
    }
}

fn change_json(change: &PastChange) -> impl Serialize + use<> {
    object! {
        number: change.number,
        author: change.author.word(),
        agent: change.agent.clone(),
        prompt: change.prompt.clone(),
        seconds: change.time,
        time: time::rfc3339(at(change.time)),
    }
}

/// Where something was, and from when to when.
fn stay_json(stay: &Stay) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(stay.path.as_bytes()),
        first: change_json(&stay.came),
        last: stay.last,
        gone: stay.gone.as_ref().map(change_json),
        is_in_newest: stay.is_in_newest,
    }
}

/// `3–17`, or `3–` for what is still there.
fn interval(stay: &Stay) -> String {
    let first = stay.came.number;
    match (stay.is_in_newest, first == stay.last) {
        (true, _) => format!("{first}–"),
        (false, true) => first.to_string(),
        (false, false) => format!("{first}–{}", stay.last),
    }
}

/// `17 claude "clean the repo"`, `17 you`.
fn by(change: &PastChange) -> String {
    let who = match (&change.agent, change.author.word()) {
        (Some(agent), _) => escape(agent.as_bytes()),
        (None, "hand") => "you".to_owned(),
        (None, _) => String::new(),
    };
    let mut words = change.number.to_string();
    if !who.is_empty() {
        words = format!("{words} {who}");
    }
    if let Some(prompt) = &change.prompt {
        let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        words = format!("{words} \"{}\"", fit(&escape(prompt.as_bytes()), Some(PROMPT_COLUMNS)));
    }
    words
}
