//! OpenCode.

use super::*;
use crate::e2e::agents;

pub struct OpenCode;

/// The settings of a user with nothing but the fake model.
pub fn settings(model: &str) -> Value {
    let fake = json!({
        "name": "Fake", "tool_call": true, "limit": {"context": 100_000, "output": 8_000},
    });
    json!({
        "model": "fake/fake-model", "small_model": "fake/fake-model",
        "autoupdate": false, "share": "disabled",
        "provider": {"fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "Fake",
            "options": {"baseURL": format!("{model}/v1"), "apiKey": "x"},
            "models": {"fake-model": fake},
        }},
        "permission": {
            "edit": "allow", "bash": "allow", "webfetch": "deny", "external_directory": "allow",
        },
    })
}

impl Driver for OpenCode {
    fn word(&self) -> &'static str {
        "opencode"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::OPENCODE, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        sandbox.write_json(".config/opencode/opencode.json", &settings(model))
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::OPENCODE);
        command.args(["run", "--format", "json", prompt]);
        for switch in [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        ] {
            command.env(switch, "1");
        }
        // It fetches a package for plugins at its first start, and goes on without it after a minute of trying.
        command.env("npm_config_fetch_retries", "0");
        command
    }

    fn go_on(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Option<Command> {
        let mut command = self.command(sandbox, model, prompt);
        command.args(["--continue"]);
        Some(command)
    }

    fn go_on_with_command(&self, sandbox: &Sandbox, model: &str, command: &str) -> Option<Command> {
        let mut started = self.go_on(sandbox, model, "")?;
        started.args(["--command", command]);
        Some(started)
    }

    fn resume(&self, sandbox: &Sandbox, model: &str, session: &str) -> Option<Command> {
        let mut command = self.command(sandbox, model, "go on");
        command.args(["--session", session]);
        Some(command)
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("write", json!({"filePath": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read", json!({"filePath": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "edit",
                json!({"filePath": at(path), "oldString": old, "newString": new}),
            ),
            Action::Shell { command } => {
                Call::tool("bash", json!({"command": command, "description": "as the script says"}))
            }
            Action::Background { .. } => return None,
            Action::Delegate { prompt } => Call::tool(
                "task",
                json!({
                    "description": "as the script says", "prompt": prompt, "subagent_type": "general",
                }),
            ),
        })
    }
}
