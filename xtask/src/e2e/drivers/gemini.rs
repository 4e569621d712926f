//! Gemini CLI.

use super::*;
use crate::e2e::agents;

pub struct Gemini;

impl Driver for Gemini {
    fn word(&self) -> &'static str {
        "gemini"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::GEMINI, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, _: &str) -> Result<()> {
        let settings = json!({
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": true},
            },
            "telemetry": {"enabled": false},
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
            "privacy": {"usageStatisticsEnabled": false},
        });
        sandbox.write_json(".gemini/settings.json", &settings)?;
        let projects = sandbox.directory().to_string_lossy().into_owned();
        let trusted = json!({projects: "TRUST_FOLDER"});
        sandbox.write_json(".gemini/trustedFolders.json", &trusted)
    }

    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::GEMINI);
        command
            .args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo"])
            .args(["-p", prompt, "--output-format", "stream-json"])
            .env("GEMINI_API_KEY", "fake")
            .env("GOOGLE_GEMINI_BASE_URL", model);
        command
    }

    fn go_on(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Option<Command> {
        let mut command = self.command(sandbox, model, prompt);
        command.args(["--resume", "latest"]);
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
            // It writes nothing outside its workspace.
            Action::Create { path, .. } if path.starts_with("../") => return None,
            Action::Create { path, text } => {
                Call::tool("write_file", json!({"file_path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("read_file", json!({"file_path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "replace",
                json!({
                    "file_path": at(path), "instruction": "as the script says",
                    "old_string": old, "new_string": new,
                }),
            ),
            Action::Shell { command } => Call::tool(
                "run_shell_command",
                json!({"command": command, "description": "as the script says"}),
            ),
            Action::Background { command } => Call::tool(
                "run_shell_command",
                json!({"command": command, "description": "as the script says", "is_background": true}),
            ),
            Action::Delegate { .. } => return None,
        })
    }
}
