//! Pi.

use super::*;
use crate::e2e::agents;

pub struct Pi;

impl Driver for Pi {
    fn word(&self) -> &'static str {
        "pi"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::PI, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let provider = json!({
            "baseUrl": format!("{model}/v1"), "api": "openai-completions", "apiKey": "x",
            "models": [{"id": "fake-model"}],
        });
        sandbox.write_json(".pi/agent/models.json", &json!({"providers": {"fake": provider}}))
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::PI);
        command.args(["--provider", "fake", "--model", "fake-model", "-p", prompt]);
        command.env("PI_OFFLINE", "1");
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("write", json!({"path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read", json!({"path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "edit",
                json!({"path": at(path), "edits": [{"oldText": old, "newText": new}]}),
            ),
            Action::Shell { command } => Call::tool("bash", json!({"command": command})),
            Action::Background { .. } | Action::Delegate { .. } => return None,
        })
    }
}
