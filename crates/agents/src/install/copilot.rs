//! Copilot CLI: a file of our own among its hooks.
//!
//! Its payloads do not name the event, so the command line does. Any failure of a hook denies the tool there,
//! which is what the guard of the command line is for.

use std::path::PathBuf;

use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::hooks_json::Shape;
use super::own_file::OwnFile;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson {
    shape: Shape::Copilot,
    version: Some(1),
    ..HooksJson::like_claude(
        Agent::Copilot,
        &[
            HookEvent::new("sessionStart", 20),
            HookEvent::new("userPromptSubmitted", 20),
            HookEvent::new("preToolUse", 20),
            HookEvent::new("postToolUse", 20),
            HookEvent::new("postToolUseFailure", 20),
            HookEvent::new("agentStop", 20),
            HookEvent::new("sessionEnd", 20),
        ],
    )
};

pub(super) fn directory(places: &Places) -> PathBuf {
    places.variable_or("COPILOT_HOME", ".copilot")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("hooks/herma.json");
    let path = scope.choose(".github/hooks/herma.json", of_user);
    vec![Target::own(vec![path], OwnFile::Hooks(HOOKS))]
}
