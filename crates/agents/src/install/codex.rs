//! Codex CLI: `hooks.json` in its home.
//!
//! Codex runs only hooks that the user has approved, and remembers them by their place in the file. So ours are
//! appended, and when others have come behind them, an empty group stays in their place.
//!
//! Its matchers know no negation, so there is none. The end of a session may take three seconds at most.

use std::path::PathBuf;

use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson {
    keeps_positions: true,
    ..HooksJson::like_claude(
        Agent::Codex,
        &[
            HookEvent::new("SessionStart", 20),
            HookEvent::new("UserPromptSubmit", 20),
            HookEvent::new("PreToolUse", 20),
            HookEvent::new("PostToolUse", 20),
            HookEvent::new("Stop", 20),
            HookEvent::new("SessionEnd", 3),
        ],
    )
};

pub(super) fn directory(places: &Places) -> PathBuf {
    places.variable_or("CODEX_HOME", ".codex")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("hooks.json");
    vec![Target::shared(
        scope.choose(".codex/hooks.json", of_user),
        HOOKS,
    )]
}
