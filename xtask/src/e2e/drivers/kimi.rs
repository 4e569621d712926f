//! Kimi Code.

use super::*;
use crate::e2e::agents;

pub struct Kimi;

impl Driver for Kimi {
    fn word(&self) -> &'static str {
        "kimi"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::KIMI, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let settings = format!(
            "# The settings of a made-up user.\n\
             default_model = \"fake\"\n\
             [providers.fake]\n\
             type = \"openai\"\n\
             base_url = \"{model}/v1\"\n\
             api_key = \"x\"\n\
             [models.fake]\n\
             provider = \"fake\"\n\
             model = \"fake-model\"\n\
             max_context_size = 100000\n"
        );
        sandbox.write(".kimi-code/config.toml", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::KIMI);
        command.args(["-p", prompt]);
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("Write", json!({"path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("Read", json!({"path": at(path)})),
            Action::Edit { path, old, new } => {
                Call::tool("Edit", json!({"path": at(path), "old_string": old, "new_string": new}))
            }
            Action::Shell { command } => Call::tool("Bash", json!({"command": command})),
            Action::Background { command } => Call::tool(
                "Bash",
                json!({"command": command, "description": "as the script says", "run_in_background": true}),
            ),
            Action::Delegate { prompt } => Call::tool(
                "Agent",
                json!({"description": "as the script says", "prompt": prompt, "subagent_type": "coder"}),
            ),
        })
    }
}
