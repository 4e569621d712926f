//! Goose: a plugin directory of our own.

use super::error::NoProjectLevel;
use super::hooks_json::HooksJson;
use super::hooks_json::claude_events;
use super::own_file::OwnFile;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson::like_claude(Agent::Goose, &claude_events(20));

const MANIFEST: &str = "{\n  \"name\": \"herma\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Instant undo for AI agents\"\n}\n";

pub(super) fn targets(places: &Places, scope: &Scope) -> Result<Vec<Target>, NoProjectLevel> {
    if *scope != Scope::User {
        let why = "its plugins are read from the user's home";
        let agent = Agent::Goose;
        return Err(NoProjectLevel { agent, why });
    }
    let plugin = places.home.join(".agents/plugins/herma");
    let hooks = vec![plugin.join("hooks/hooks.json")];
    let manifest = vec![plugin.join("plugin.json")];
    Ok(vec![
        Target::own(hooks, OwnFile::Hooks(HOOKS)).inside(&plugin.join("hooks")),
        Target::own(manifest, OwnFile::Fixed(MANIFEST)).inside(&plugin),
    ])
}
