//! Copilot CLI.

use super::*;
use crate::e2e::agents;

pub struct Copilot;

impl Driver for Copilot {
    fn word(&self) -> &'static str {
        "copilot"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::COPILOT, agents::NODE]
    }

    fn prepare(&self, _: &Sandbox, _: &str) -> Result<()> {
        Ok(())
    }

    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command {
        let mut command = copilot(sandbox, model);
        command.args(["-p", prompt, "--allow-all", "--trust-folder"]);
        command
    }

    fn dialog(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Result<Option<Dialog>> {
        let workspace = sandbox.workspace().to_string_lossy().into_owned();
        sandbox.write_json(".copilot/config.json", &json!({"trustedFolders": [workspace]}))?;
        let mut command = sandbox.agent(&agents::COPILOT);
        with_model(&mut command, model);
        command.args(["-i", prompt, "--allow-tool", "write"]);
        let (allow, refuse, refused) = ("1", "\u{1b}", "cancelled");
        let question = "run this command?";
        Ok(Some(Dialog { command, question, allow, refuse, refused, stop: None }))
    }

    fn go_on(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Option<Command> {
        let mut command = copilot(sandbox, model);
        command.args(["-p", prompt, "--allow-all", "--continue"]);
        Some(command)
    }

    fn resume(&self, sandbox: &Sandbox, model: &str, session: &str) -> Option<Command> {
        let mut command = copilot(sandbox, model);
        command.args(["-p", "go on", "--allow-all", &format!("--resume={session}")]);
        Some(command)
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        Some(match action {
            Action::Create { path, text } => {
                Call::tool("create", json!({"path": at(path), "file_text": text}))
            }
            Action::Look { path } => Call::tool("view", json!({"path": at(path)})),
            Action::Edit { path, old, new } => {
                Call::tool("edit", json!({"path": at(path), "old_str": old, "new_str": new}))
            }
            Action::Shell { command } => {
                Call::tool("bash", json!({"command": command, "description": "as the script says"}))
            }
            Action::Background { command } => Call::tool(
                "bash",
                json!({"command": command, "description": "as the script says", "mode": "async"}),
            ),
            Action::Delegate { .. } => return None,
        })
    }
}

fn copilot(sandbox: &Sandbox, model: &str) -> Command {
    let mut command = sandbox.agent(&agents::COPILOT);
    command.args(["--output-format", "json"]);
    with_model(&mut command, model);
    command
}

fn with_model(command: &mut Command, model: &str) {
    command
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_AUTO_UPDATE", "false")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{model}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", "fake-key-0000")
        .env("COPILOT_MODEL", "fake-model")
        .env("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", "100000")
        .env("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", "8000");
}
