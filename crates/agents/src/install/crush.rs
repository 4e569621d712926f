//! Crush: the `hooks` of `crush.json`. It has one event, and does not tell of what its sub-agents do.

use std::path::PathBuf;

use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::hooks_json::Shape;
use super::json::Dialect;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson {
    dialect: Dialect::Relaxed,
    shape: Shape::Flat {
        name: Some("herma"),
    },
    ..HooksJson::like_claude(Agent::Crush, &[HookEvent::new("PreToolUse", 20)])
};

pub(super) fn directory(places: &Places) -> PathBuf {
    places.config().join("crush")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("crush.json");
    vec![Target::shared(scope.choose("crush.json", of_user), HOOKS)]
}
