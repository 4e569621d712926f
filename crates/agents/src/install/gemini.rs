//! Gemini CLI: an extension of our own, so that the user's settings need no edit.
//!
//! Its matchers are JavaScript expressions on the tool's name, so tools that are known to look only are left
//! out; everything else, also what is unknown or new, is told. Timeouts are in milliseconds.

use std::path::PathBuf;

use super::error::NoProjectLevel;
use super::hooks_json::HookEvent;
use super::hooks_json::HooksJson;
use super::own_file::OwnFile;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const CHANGES_FILES: Option<&str> = Some(
    "^(?!(?:read_file|read_many_files|list_directory|glob|grep_search|search_file_content|google_web_search|web_fetch|get_internal_docs)$)",
);

const fn tool(name: &'static str) -> HookEvent {
    HookEvent {
        name,
        timeout: 20_000,
        matcher: CHANGES_FILES,
    }
}

const HOOKS: HooksJson = HooksJson::like_claude(
    Agent::Gemini,
    &[
        HookEvent::new("SessionStart", 20_000),
        HookEvent::new("BeforeAgent", 20_000),
        tool("BeforeTool"),
        tool("AfterTool"),
        HookEvent::new("AfterAgent", 20_000),
        HookEvent::new("SessionEnd", 20_000),
    ],
);

const MANIFEST: &str = "{\n  \"name\": \"herma\",\n  \"version\": \"1.0.0\"\n}\n";

pub(super) fn directory(places: &Places) -> PathBuf {
    match places
        .variables
        .iter()
        .find(|(name, _)| *name == "GEMINI_CLI_HOME")
    {
        Some((_, home)) if home.is_absolute() => home.join(".gemini"),
        _ => places.home.join(".gemini"),
    }
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Result<Vec<Target>, NoProjectLevel> {
    if *scope != Scope::User {
        let why = "its extensions belong to the user, and it asks about hooks of a project at every change";
        let agent = Agent::Gemini;
        return Err(NoProjectLevel { agent, why });
    }
    let extension = directory(places).join("extensions/herma");
    let hooks = vec![extension.join("hooks/hooks.json")];
    let manifest = vec![extension.join("gemini-extension.json")];
    Ok(vec![
        Target::own(hooks, OwnFile::Hooks(HOOKS)).inside(&extension.join("hooks")),
        Target::own(manifest, OwnFile::Fixed(MANIFEST)).inside(&extension),
    ])
}
