//! Hermes Agent.

use super::*;
use crate::e2e::agents;

pub struct Hermes;

impl Driver for Hermes {
    fn word(&self) -> &'static str {
        "hermes"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::HERMES]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let settings = format!(
            "# The settings of a made-up user.\n\
             model:\n\
             \x20 default: fake-model\n\
             \x20 provider: custom\n\
             \x20 base_url: {model}/v1\n\
             \x20 api_key: fake-key-0000\n\
             \x20 context_length: 131072\n\
             terminal:\n\
             \x20 backend: local\n"
        );
        sandbox.write(".hermes/config.yaml", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::HERMES);
        // Nobody is there to be asked whether the hooks may run.
        command.args(["chat", "-Q", "--yolo", "--accept-hooks", "-q", prompt]);
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
                "patch",
                json!({
                    "mode": "replace", "path": at(path), "old_string": old, "new_string": new,
                }),
            ),
            Action::Shell { command } => Call::tool("terminal", json!({"command": command})),
            Action::Background { command } => {
                Call::tool("terminal", json!({"command": command, "background": true}))
            }
            Action::Delegate { .. } => return None,
        })
    }
}
