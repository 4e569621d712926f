//! What was where and when, found in all states.
//!
//! * [`entries`], [`found`]: what one state has; lines, prompts and contents of all times
//! * [`versions`], [`lines`]: one file along the timeline, and who wrote its lines

pub mod entries;
pub mod found;
pub mod lines;
pub mod versions;

use herma_core::{PastChange, Stay, UnreadPast};
use herma_store::path::escape;

use crate::json::{PathJson, Serialize, object};
use crate::listing::fit;
use crate::time;
use crate::time::at;

/// A prompt is cut to so many columns.
const PROMPT_COLUMNS: usize = 40;

/// What nobody could read.
pub fn unread_json(one: &UnreadPast) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        path: PathJson::new(one.path.as_bytes()),
        checkpoint: one.checkpoint,
        error: one.what.clone(),
    }
}

/// Who changed something, and when.
pub fn change_json(change: &PastChange) -> impl Serialize + use<> {
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
pub fn stay_json(stay: &Stay) -> impl Serialize + use<> {
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
pub fn interval(stay: &Stay) -> String {
    let first = stay.came.number;
    match (stay.is_in_newest, first == stay.last) {
        (true, _) => format!("{first}–"),
        (false, true) => first.to_string(),
        (false, false) => format!("{first}–{}", stay.last),
    }
}

/// `17 claude "clean the repo"`, `17 you`.
pub fn by(change: &PastChange) -> String {
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
