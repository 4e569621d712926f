//! Kilo CLI.

use super::*;
use crate::e2e::agents;

pub struct Kilo;

impl Driver for Kilo {
    fn word(&self) -> &'static str {
        "kilo"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::KILO, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        sandbox.write_json(".config/kilo/kilo.json", &opencode::settings(model))
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::KILO);
        command.args(["run", "--format", "json", prompt]);
        for switch in
            ["KILO_DISABLE_AUTOUPDATE", "KILO_DISABLE_MODELS_FETCH", "KILO_DISABLE_LSP_DOWNLOAD"]
        {
            command.env(switch, "1");
        }
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
        opencode::OpenCode.call(action, workspace)
    }
}
