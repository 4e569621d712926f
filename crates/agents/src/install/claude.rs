//! Claude Code: the `hooks` of `settings.json`.
//!
//! There is no matcher: Claude Code compares some patterns with names and others as expressions, adds older
//! names of tools to both, and treats negations in a way of its own. A hook that sees every tool misses none.
//!
//! Per project it is `settings.local.json`, which is the user's own and not shared: the command line holds a
//! path of this machine. Copilot CLI also runs the hooks of a project's `settings.json`, Cursor those of the
//! user's; both call with their own payloads, which are told apart.

use std::path::PathBuf;

use super::hooks_json::HooksJson;
use super::hooks_json::claude_events;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson::like_claude(Agent::Claude, &claude_events(20));

pub(super) fn directory(places: &Places) -> PathBuf {
    places.variable_or("CLAUDE_CONFIG_DIR", ".claude")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("settings.json");
    let path = scope.choose(".claude/settings.local.json", of_user);
    vec![Target::shared(path, HOOKS)]
}
