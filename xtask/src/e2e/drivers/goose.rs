//! Goose.

use super::*;
use crate::e2e::agents;

pub struct Goose;

const SETTINGS: &str = "\
GOOSE_PROVIDER: openai
GOOSE_MODEL: fake-model
GOOSE_MODE: auto
GOOSE_TELEMETRY_ENABLED: false
extensions:
  developer:
    enabled: true
    type: platform
    name: developer
    description: files and shell
    bundled: true
";

impl Driver for Goose {
    fn word(&self) -> &'static str {
        "goose"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::GOOSE]
    }

    fn prepare(&self, sandbox: &Sandbox, _: &str) -> Result<()> {
        sandbox.write(".config/goose/config.yaml", SETTINGS)
    }

    fn command(&self, sandbox: &Sandbox, model: &str, prompt: &str) -> Command {
        let mut command = goose(sandbox, model);
        command.args(["run", "-t", prompt]);
        command
    }

    fn for_editor(&self, sandbox: &Sandbox, model: &str) -> Option<Command> {
        let mut command = goose(sandbox, model);
        command.arg("acp");
        Some(command)
    }

    fn resume(&self, sandbox: &Sandbox, model: &str, session: &str) -> Option<Command> {
        let mut command = goose(sandbox, model);
        command.args(["run", "--resume", "--session-id", session, "-t", "go on"]);
        Some(command)
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        match action {
            Action::Create { path, text } => {
                let arguments = json!({"path": at(path), "content": text});
                Some(Call::tool("write", arguments))
            }
            Action::Look { .. } | Action::Background { .. } | Action::Delegate { .. } => None,
            Action::Edit { path, old, new } => {
                let arguments = json!({"path": at(path), "before": old, "after": new});
                Some(Call::tool("edit", arguments))
            }
            Action::Shell { command } => Some(Call::tool("shell", json!({"command": command}))),
        }
    }
}

fn goose(sandbox: &Sandbox, model: &str) -> Command {
    let mut command = sandbox.agent(&agents::GOOSE);
    command
        .env("OPENAI_HOST", model)
        .env("OPENAI_API_KEY", "fake-key-0000")
        .env("GOOSE_DISABLE_KEYRING", "1")
        .env("GOOSE_TELEMETRY_OFF", "1");
    command
}
