//! Plugins as packages, for those who install Herma as their agents install plugins: `plugins/` in the repository. What is in
//! them is what `herma install` writes, but that they call `herma` by its name.

use serde_json::{Value, json};

use super::script;
use crate::agent::Agent;
use crate::agents::{claude, command_file, opencode};
use crate::install::HookCommand;

const ABOUT: &str = "Instant undo for AI agents: saves the project before every prompt and tool call, and takes back what you choose.";

/// The files of the packages, by their paths in `plugins/`. The program of this version has to be installed as well.
pub fn packages(version: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut add = |path: &str, text: String| files.push((path.to_owned(), text));
    let command = HookCommand::by_name();
    let about = json!({
        "name": "herma", "version": version, "description": ABOUT, "license": "MIT OR Apache-2.0",
        "author": {"name": "Herma"},
    });
    add("claude/.claude-plugin/plugin.json", pretty(&about));
    let itself = json!({"name": "herma", "source": "./", "description": ABOUT});
    let market = json!({
        "name": "herma", "owner": {"name": "Herma"}, "description": ABOUT, "plugins": [itself],
    });
    add("claude/.claude-plugin/marketplace.json", pretty(&market));
    add("claude/hooks/hooks.json", claude::HOOKS.fresh(&command) + "\n");
    let server = json!({"mcpServers": {"herma": {"command": "herma", "args": ["mcp"]}}});
    add("claude/.mcp.json", pretty(&server));
    for (name, text) in command_file::of_plugin() {
        add(&format!("claude/commands/{name}"), text);
    }
    let about = json!({
        "name": "opencode-herma", "version": version, "description": ABOUT,
        "license": "MIT OR Apache-2.0", "type": "module", "main": "herma.js", "files": ["herma.js"],
    });
    add("opencode/package.json", pretty(&about));
    add("opencode/herma.js", script(&command, Agent::OpenCode, opencode::BODY));
    files
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
