//! Cursor: `hooks.json`, which needs a version.
//!
//! Shell commands also have an event of their own, before which `preToolUse` comes anyway.

use std::path::PathBuf;

use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::hooks_json::Shape;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson {
    shape: Shape::Flat { name: None },
    version: Some(1),
    ..HooksJson::like_claude(
        Agent::Cursor,
        &[
            HookEvent::new("sessionStart", 20),
            HookEvent::new("beforeSubmitPrompt", 20),
            HookEvent::new("preToolUse", 20),
            HookEvent::new("postToolUse", 20),
            HookEvent::new("postToolUseFailure", 20),
            HookEvent::new("stop", 20),
            HookEvent::new("sessionEnd", 20),
        ],
    )
};

pub(super) fn directory(places: &Places) -> PathBuf {
    places.home.join(".cursor")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("hooks.json");
    vec![Target::shared(
        scope.choose(".cursor/hooks.json", of_user),
        HOOKS,
    )]
}
