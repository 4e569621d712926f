//! Qwen Code.

use super::*;
use crate::e2e::agents;

pub struct Qwen;

impl Driver for Qwen {
    fn word(&self) -> &'static str {
        "qwen"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::QWEN, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, _: &str) -> Result<()> {
        let settings = json!({
            "security": {"auth": {"selectedType": "openai"}},
            "telemetry": {"enabled": false},
            "general": {"enableAutoUpdate": false},
            "privacy": {"usageStatisticsEnabled": false},
        });
        sandbox.write_json(".qwen/settings.json", &settings)
    }

    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::QWEN);
        command
            .args(["--approval-mode", "yolo", "-p", prompt])
            .args(["--output-format", "stream-json"])
            .env("OPENAI_API_KEY", "fake-key-0000")
            .env("OPENAI_BASE_URL", format!("{model}/v1"))
            .env("OPENAI_MODEL", "fake-model");
        command
    }

    fn go_on(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Option<Command> {
        let mut command = self.command(sandbox, model, prompt);
        command.args(["--continue"]);
        Some(command)
    }

    fn resume(&self, sandbox: &Sandbox, model: &str, session: &str) -> Option<Command> {
        let mut command = self.command(sandbox, model, "go on");
        command.args(["--resume", session]);
        Some(command)
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("write_file", json!({"file_path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read_file", json!({"file_path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "edit",
                json!({"file_path": at(path), "old_string": old, "new_string": new}),
            ),
            Action::Shell { command } => Call::tool(
                "run_shell_command",
                json!({
                    "command": command, "description": "as the script says", "is_background": false,
                }),
            ),
            Action::Background { command } => Call::tool(
                "run_shell_command",
                json!({"command": command, "description": "as the script says", "is_background": true}),
            ),
            Action::Delegate { .. } => return None,
        })
    }
}
