//! Cline, the command line.

use std::time::Duration;

use super::*;
use crate::e2e::agents;
use crate::e2e::process::run_bounded;

pub struct Cline;

impl Driver for Cline {
    fn word(&self) -> &'static str {
        "cline"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::CLINE, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let mut login = quiet(sandbox);
        login.args(["auth", "-p", "openai-compatible", "-k", "fake-key-0000"]).args([
            "-m",
            "fake-model",
            "-b",
            &format!("{model}/v1"),
        ]);
        let limit = Duration::from_secs(60);
        let ended = run_bounded(&mut login, sandbox.directory(), "login", limit)?;
        if ended.is_well() {
            Ok(())
        } else {
            Err(format!("`cline auth`: {}", ended.words()).into())
        }
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = quiet(sandbox);
        command.args(["--json", "-P", "openai-compatible", "-m", "fake-model"]).arg(prompt);
        command
    }

    fn call(&self, action: &Action, workspace: &Path) -> Option<Call> {
        let at = |path| absolute(workspace, path);
        match action {
            Action::Create { path, text } => {
                let arguments = json!({"path": at(path), "new_text": text});
                Some(Call::tool("editor", arguments))
            }
            Action::Look { .. } | Action::Background { .. } | Action::Delegate { .. } => None,
            Action::Edit { path, old, new } => {
                let arguments = json!({"path": at(path), "old_text": old, "new_text": new});
                Some(Call::tool("editor", arguments))
            }
            Action::Shell { command } => {
                Some(Call::tool("run_commands", json!({"commands": [command]})))
            }
        }
    }
}

fn quiet(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.agent(&agents::CLINE);
    for switch in ["CLINE_TELEMETRY_DISABLED", "CLINE_NO_AUTO_UPDATE", "DO_NOT_TRACK"] {
        command.env(switch, "1");
    }
    command
}
