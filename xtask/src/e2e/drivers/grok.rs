//! Grok.

use super::*;
use crate::e2e::agents;

pub struct Grok;

impl Driver for Grok {
    fn word(&self) -> &'static str {
        "grok"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::GROK, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let settings = format!(
            "[models]\n\
             default = \"fake\"\n\
             [model.fake]\n\
             model = \"fake-model\"\n\
             base_url = \"{model}/v1\"\n\
             name = \"Fake\"\n\
             api_key = \"x\"\n\
             api_backend = \"chat_completions\"\n\
             context_window = 128000\n"
        );
        sandbox.write(".grok/config.toml", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::GROK);
        command.args(["-m", "fake", "--always-approve", "-p", prompt]);
        command.env("GROK_AUTO_UPDATE", "0");
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("write", json!({"file_path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read_file", json!({"target_file": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "search_replace",
                json!({"file_path": at(path), "old_string": old, "new_string": new}),
            ),
            Action::Shell { command } => Call::tool(
                "run_terminal_command",
                json!({"command": command, "description": "as the script says"}),
            ),
            Action::Background { command } => Call::tool(
                "run_terminal_command",
                json!({"command": command, "description": "as the script says", "background": true}),
            ),
            Action::Delegate { prompt } => Call::tool(
                "spawn_subagent",
                json!({"prompt": prompt, "description": "as the script says", "background": false}),
            ),
        })
    }
}
