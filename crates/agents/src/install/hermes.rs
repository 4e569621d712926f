//! Hermes Agent: the `hooks` of `config.yaml`.

use std::path::PathBuf;

use super::error::NoProjectLevel;
use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::hooks_json::Shape;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

/// `on_session_end` comes after every turn; the end of the session is `on_session_finalize`.
pub(super) const HOOKS: HooksJson = HooksJson {
    shape: Shape::Flat { name: None },
    ..HooksJson::like_claude(
        Agent::Hermes,
        &[
            HookEvent::new("on_session_start", 20),
            HookEvent::new("pre_llm_call", 20),
            HookEvent::new("pre_tool_call", 20),
            HookEvent::new("post_tool_call", 20),
            HookEvent::new("on_session_end", 20),
            HookEvent::new("on_session_finalize", 20),
        ],
    )
};

pub(super) fn file(places: &Places) -> PathBuf {
    places
        .variable_or("HERMES_HOME", ".hermes")
        .join("config.yaml")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Result<Vec<Target>, NoProjectLevel> {
    if *scope != Scope::User {
        let why = "it has one configuration, in its home";
        let agent = Agent::Hermes;
        return Err(NoProjectLevel { agent, why });
    }
    Ok(vec![Target::hermes(file(places))])
}
