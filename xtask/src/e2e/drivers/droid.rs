//! Droid.

use super::*;
use crate::e2e::agents;

pub struct Droid;

impl Driver for Droid {
    fn word(&self) -> &'static str {
        "droid"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::DROID, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let fake = json!({
            "model": "fake-model", "id": "custom:fake", "index": 0, "displayName": "Fake",
            "baseUrl": format!("{model}/v1"), "apiKey": "x", "maxOutputTokens": 8000,
            "provider": "generic-chat-completion-api",
        });
        let settings = json!({"model": "custom:fake", "customModels": [fake]});
        sandbox.write_json(".factory/settings.json", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::DROID);
        command.args(["exec", "--skip-permissions-unsafe", "-m", "custom:fake", prompt]);
        command.env("FACTORY_AIRGAP_ENABLED", "1").env("FACTORY_API_KEY", "fk-fake");
        command.env("FACTORY_DROID_AUTO_UPDATE_ENABLED", "0").env("FACTORY_DISABLE_KEYRING", "1");
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("Create", json!({"file_path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("Read", json!({"file_path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "Edit",
                json!({"file_path": at(path), "old_str": old, "new_str": new, "change_all": false}),
            ),
            Action::Shell { command } => Call::tool(
                "Execute",
                json!({"summary": "as the script says", "command": command, "timeout": 60, "riskLevel": {"value": "low", "reason": "as the script says"}}),
            ),
            // Its sub-agents are told the prompt of the conversation, so the model cannot tell them from it.
            Action::Background { .. } | Action::Delegate { .. } => return None,
        })
    }
}
