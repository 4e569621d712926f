//! A world for one run: a home, a workspace, a temporary directory, and an environment with nothing else.
//!
//! Nothing of the real user's home is seen or touched. Every process carries the run's token, by which they are
//! found and ended when the run is over.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::agents::{Agents, Package};
use super::{agents, process};
use crate::Result;

/// The world of one run.
pub struct Sandbox {
    directory: PathBuf,
    /// Deletes the directory, unless it is kept.
    _place: Option<TempDir>,
    token: String,
    path: OsString,
    agents: Agents,
    herma: PathBuf,
}

impl Sandbox {
    /// Makes a world for a run of this name. `herma` is the program that installs and restores.
    pub fn new(name: &str, agents: &Agents, herma: &Path, keep: bool) -> Result<Self> {
        let place = tempfile::Builder::new().prefix(&format!("herma-e2e-{name}-")).tempdir()?;
        let directory = place.path().canonicalize()?;
        let token = format!("{}-{}", std::process::id(), directory.display());
        for part in ["home", "workspace", "tmp"] {
            fs::create_dir(directory.join(part))?;
        }
        let place = if keep {
            let _ = place.keep();
            None
        } else {
            Some(place)
        };
        Ok(Self {
            directory,
            _place: place,
            token,
            path: agents::with_first(&agents.bin(&agents::NODE)),
            agents: agents.clone(),
            herma: herma.to_owned(),
        })
    }

    /// Where everything is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// The project the agent works in.
    pub fn workspace(&self) -> PathBuf {
        self.directory.join("workspace")
    }

    /// Herma.
    pub fn program(&self) -> &Path {
        &self.herma
    }

    /// Writes a file of the home.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let file = self.home().join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::write(file, text)?)
    }

    /// Writes a file of the home.
    pub fn write_json(&self, path: &str, value: &Value) -> Result<()> {
        self.write(path, &(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// A program that knows nothing but this world.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.home();
        let mut command = Command::new(program);
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &home)
            .env("TMPDIR", self.directory.join("tmp"))
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("no_proxy", "127.0.0.1,localhost")
            .env(process::TOKEN, &self.token);
        command
    }

    /// An agent's program.
    pub fn agent(&self, package: &Package) -> Command {
        self.command(self.agents.program(package))
    }

    /// What the agent says its version is.
    pub fn version(&self, package: &Package) -> String {
        let output = self.agent(package).arg("--version").output();
        let said = output.map(|output| output.stdout).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let number = said
            .split(|c: char| c.is_whitespace() || c == '/')
            .map(|word| word.trim_start_matches('v').trim_end_matches(['.', ',']))
            .find(|word| {
                word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit())
            });
        number.unwrap_or("?").to_owned()
    }

    /// Signals the agent, not what started it.
    pub fn signal_agent(&self, signal: Signal) {
        process::signal_largest(&self.token, signal);
    }

    /// A hook answers before its work is done. Waits for what is still under way.
    pub fn wait_for_herma(&self) {
        process::wait_for_program(&self.token, &self.herma, Duration::from_secs(30));
    }

    /// Runs `herma` in the workspace.
    pub fn herma(&self, args: &[&str]) -> Result<Output> {
        let mut command = self.command(&self.herma);
        Ok(command.args(args).stdin(Stdio::null()).output()?)
    }

    /// Runs `herma … --json` and takes its answer. What it left out, it names, so 3 is fine too.
    pub fn ask(&self, args: &[&str]) -> Result<Value> {
        let output = self.herma(&[args, &["--json"]].concat())?;
        let shown = args.join(" ");
        if !matches!(output.status.code(), Some(0 | 3)) {
            return Err(format!("`herma {shown}` {}: {}", output.status, said(&output)).into());
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("`herma {shown} --json` is no JSON: {error}").into())
    }

    /// Puts Herma into an agent; the hooks will call `binary`.
    pub fn install(&self, agent: &str, binary: &Path, options: &[&str]) -> Result<()> {
        let binary = binary.to_string_lossy();
        let args = [&["install", "--binary", &binary, agent], options].concat();
        let mut path = self.agents_path();
        path.push(":");
        path.push(&self.path);
        let mut command = self.command(&self.herma);
        let output = command.env("PATH", path).args(&args).stdin(Stdio::null()).output()?;
        fs::write(self.directory.join("install.out"), &output.stdout)?;
        fs::write(self.directory.join("install.err"), &output.stderr)?;
        well(&output, &format!("install {agent}"))
    }

    /// Takes Herma out of an agent.
    pub fn uninstall(&self, agent: &str) -> Result<()> {
        let output = self.herma(&["uninstall", agent])?;
        well(&output, &format!("uninstall {agent}"))
    }

    /// `herma install codex --trust` looks for `codex` where a user would have it.
    fn agents_path(&self) -> OsString {
        self.agents.bin(&agents::CODEX).into_os_string()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        process::end_all(&self.token);
    }
}

fn well(output: &Output, what: &str) -> Result<()> {
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("`herma {what}`: {}", said(output)).into())
    }
}

/// What a program said when it failed: its first lines.
fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().take(4).collect::<Vec<_>>().join(" ")
}
