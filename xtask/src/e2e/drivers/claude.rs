//! Claude Code.

use super::*;
use crate::e2e::agents;

pub struct Claude;

/// Too short to be one.
const KEY: &str = "sk-ant-fake";

fn claude(sandbox: &Sandbox, model: &str) -> Command {
    let mut command = sandbox.agent(&agents::CLAUDE);
    command
        .args(["--model", "claude-sonnet-4-5"])
        .env("ANTHROPIC_BASE_URL", model)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_ERROR_REPORTING", "1");
    command
}

impl Driver for Claude {
    fn word(&self) -> &'static str {
        "claude"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::CLAUDE]
    }

    fn prepare(&self, _: &Sandbox, _: &str) -> Result<()> {
        Ok(())
    }

    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command {
        let mut command = claude(sandbox, model);
        command.args(["-p", prompt]).args(["--allowedTools", "Bash,Write,Edit,Read,Agent"]).args([
            "--output-format",
            "stream-json",
            "--verbose",
        ]);
        command
    }

    fn dialog(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Result<Option<Dialog>> {
        let workspace = sandbox.workspace().to_string_lossy().into_owned();
        // A user who has started it before, here.
        let seen = json!({
            "hasCompletedOnboarding": true, "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {workspace: {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
            }},
        });
        sandbox.write_json(".claude.json", &seen)?;
        let mut command = claude(sandbox, model);
        command.args([prompt, "--allowedTools", "Write,Edit,Read"]);
        let (allow, refuse, refused) = ("1", "\u{1b}", "Interrupted");
        let stop = Some(refuse);
        Ok(Some(Dialog { command, question: "proceed?", allow, refuse, refused, stop }))
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
                Call::tool("Write", json!({"file_path": at(path), "content": text}))
            }
            Action::Look { path } => Call::tool("Read", json!({"file_path": at(path)})),
            Action::Edit { path, old, new } => Call::tool(
                "Edit",
                json!({"file_path": at(path), "old_string": old, "new_string": new}),
            ),
            Action::Shell { command } => {
                Call::tool("Bash", json!({"command": command, "description": "as the script says"}))
            }
            Action::Background { command } => Call::tool(
                "Bash",
                json!({"command": command, "description": "as the script says", "run_in_background": true}),
            ),
            Action::Delegate { prompt } => Call::tool(
                "Agent",
                json!({
                    "description": "as the script says", "prompt": prompt,
                    "subagent_type": "general-purpose",
                }),
            ),
        })
    }
}
