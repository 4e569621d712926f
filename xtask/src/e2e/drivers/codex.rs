//! Codex CLI.

use super::*;
use crate::e2e::agents;

pub struct Codex;

impl Driver for Codex {
    fn word(&self) -> &'static str {
        "codex"
    }

    fn packages(&self) -> &'static [Package] {
        &[agents::CODEX, agents::NODE]
    }

    fn prepare(&self, sandbox: &Sandbox, model: &str) -> Result<()> {
        let workspace = sandbox.workspace();
        let settings = format!(
            "model = \"gpt-5.5\"\n\
             model_provider = \"fake\"\n\
             approval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\n\
             check_for_update_on_startup = false\n\
             \n\
             [analytics]\n\
             enabled = false\n\
             \n\
             [model_providers.fake]\n\
             name = \"fake\"\n\
             base_url = \"{model}/v1\"\n\
             wire_api = \"responses\"\n\
             env_key = \"FAKE_KEY\"\n\
             \n\
             [projects.\"{}\"]\n\
             trust_level = \"trusted\"\n",
            workspace.display()
        );
        sandbox.write(".codex/config.toml", &settings)
    }

    fn command(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Command {
        let mut command = sandbox.agent(&agents::CODEX);
        command.args(["exec", "--json", "--skip-git-repo-check", prompt]).env("FAKE_KEY", "x");
        command
    }

    fn go_on(&self, sandbox: &Sandbox, _: &str, prompt: &str) -> Option<Command> {
        let mut command = sandbox.agent(&agents::CODEX);
        command.args(["exec", "--json", "--skip-git-repo-check", "resume", "--last", prompt]);
        command.env("FAKE_KEY", "x");
        Some(command)
    }

    fn resume(&self, sandbox: &Sandbox, _: &str, session: &str) -> Option<Command> {
        let mut command = sandbox.agent(&agents::CODEX);
        let resume = ["exec", "resume", "--json", "--skip-git-repo-check", session, "go on"];
        command.args(resume).env("FAKE_KEY", "x");
        Some(command)
    }

    fn call(&self, action: &Action, _: &Path) -> Option<Call> {
        let patch = |body: String| Call::Freeform {
            name: "apply_patch",
            input: format!("*** Begin Patch\n{body}*** End Patch\n"),
        };
        match action {
            Action::Create { path, text } => {
                let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
                Some(patch(format!("*** Add File: {path}\n{lines}")))
            }
            // A command of its that goes on is an open call.
            Action::Background { .. } | Action::Look { .. } | Action::Delegate { .. } => None,
            Action::Edit { path, old, new } => {
                Some(patch(format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n")))
            }
            Action::Shell { command } => Some(Call::tool("exec_command", json!({"cmd": command}))),
        }
    }

    /// Codex runs no hook that nobody has approved, and says nothing about it.
    fn install_options(&self) -> &'static [&'static str] {
        &["--trust"]
    }
}
