//! What is installed now. Only reads, and runs nothing.

use std::path::{Path, PathBuf};

use herma_agents::Agent;
use herma_agents::install::switches::{Files, Question, Verdict};
use herma_agents::install::{HookCommand, InstallError, Places, Scope};
use herma_settings::file::SettingsFile;

use crate::command_error::clean;
use crate::terminal::shown;

/// How much of it is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installed {
    /// Nothing.
    No,
    /// Some of it.
    Partly,
    /// All of it.
    Yes,
}

/// What is installed for an agent.
pub(crate) struct AgentState {
    pub(crate) agent: Agent,
    /// Does this user have settings of it?
    pub(crate) used: bool,
    pub(crate) installed: Installed,
    /// The files with ours in them.
    pub(crate) files: Vec<PathBuf>,
    /// The call that is made.
    pub(crate) command: Option<HookCommand>,
    /// Why it cannot be told, or what is not as it should be.
    pub(crate) problem: Option<String>,
}

impl AgentState {
    /// Does the user have this agent, which does not call us?
    pub(crate) fn is_unconnected(&self) -> bool {
        self.used && matches!(self.installed, Installed::No) && self.problem.is_none()
    }

    /// Looks at the files of an agent.
    pub(crate) fn look(agent: Agent, places: &Places, scope: &Scope) -> Self {
        let mut state = Self {
            agent,
            used: is_used(agent, places),
            installed: Installed::No,
            files: Vec::new(),
            command: None,
            problem: None,
        };
        let Ok(targets) = agent.targets(places, scope) else { return state };
        let mut complete = 0;
        for target in &targets {
            let before = state.files.len();
            for path in &target.paths {
                match look_at(target, path) {
                    Ok(Some(found)) if found.present => {
                        let mut commands = found.commands.into_iter();
                        let command = commands.next().map(|(_, found)| found.command);
                        state.command = state.command.or(command);
                        state.files.push(path.clone());
                        let is_complete = found.missing.is_empty() && !found.foreign;
                        complete += usize::from(is_complete);
                    }
                    Ok(_) => {}
                    Err(problem) => state.problem = Some(problem),
                }
            }
            // Two places with ours are one too many, but both work.
            complete -= (state.files.len() - before).saturating_sub(1).min(complete);
        }
        state.installed = match (state.files.is_empty(), complete == targets.len()) {
            (true, _) => Installed::No,
            (false, true) => Installed::Yes,
            (false, false) => Installed::Partly,
        };
        state
    }

    /// The word lists and JSON use.
    pub(crate) fn word(&self) -> &'static str {
        match self.installed {
            Installed::Yes => "installed",
            Installed::Partly => "partly",
            Installed::No if self.problem.is_some() => "unreadable",
            Installed::No if self.used => "not-installed",
            Installed::No => "absent",
        }
    }

    /// The program that is called.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        self.command.as_ref().map(HookCommand::binary)
    }

    /// What the agent's other files say against it, for an agent that is started in this directory.
    pub(crate) fn verdict(&self, places: &Places, scope: &Scope, directory: &Path) -> Verdict {
        let (Some(command), Some(hooks_file)) = (&self.command, self.files.first()) else {
            return Verdict::Fine;
        };
        let question =
            Question { agent: self.agent, places, scope, hooks_file, command, directory };
        herma_agents::judge(&question, &FilesOnDisk)
    }
}

struct FilesOnDisk;

impl Files for FilesOnDisk {
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
        let bytes = SettingsFile::of_agent(path).and_then(|file| file.read());
        bytes.map_err(|error| clean(&error.to_string()))
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    }
}

fn look_at(
    target: &herma_agents::install::Target,
    path: &Path,
) -> Result<Option<herma_agents::install::Found>, String> {
    let words = |error: &dyn std::fmt::Display| {
        let text = format!("{}: {error}", shown(path));
        herma_store::path::escape(text.as_bytes())
    };
    let read = SettingsFile::of_agent(path).and_then(|file| file.read());
    match read {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => {
            let found = target.file.look(&bytes);
            let found: Result<_, InstallError> = found;
            found.map(Some).map_err(|error| words(&error))
        }
        Err(error) => Err(clean(&error.to_string())),
    }
}

/// Does this user have settings of the agent?
pub(crate) fn is_used(agent: Agent, places: &Places) -> bool {
    agent.sign(places).exists()
}
