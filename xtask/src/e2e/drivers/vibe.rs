//! Mistral Vibe.

use super::*;
use crate::e2e::agents;

pub struct Vibe;

impl Driver for Vibe {
    fn word(&self) -> &'static str {
        "vibe"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::VIBE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let settings = format!(
            "active_model = \"fake\"\n\
             enable_telemetry = false\n\
             [[providers]]\n\
             name = \"fake\"\n\
             api_base = \"{model}/v1\"\n\
             api_key_env_var = \"FAKE_KEY\"\n\
             [[models]]\n\
             name = \"fake-model\"\n\
             provider = \"fake\"\n\
             alias = \"fake\"\n"
        );
        sandbox.write(".vibe/config.toml", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::VIBE);
        command.args(["--auto-approve", "--trust", "--output", "json", "-p", prompt]);
        command.env("FAKE_KEY", "x").env("VIBE_ENABLE_UPDATE_CHECKS", "false");
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("write_file", json!({"path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read_file", json!({"path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "edit",
                json!({"file_path": at(path), "old_string": old, "new_string": new}),
            ),
            Action::Shell { command } => Call::tool("bash", json!({"command": command})),
            Action::Background { .. } | Action::Delegate { .. } => return None,
        })
    }
}
