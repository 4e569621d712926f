//! Carrying out a request with the very command a person would type.
//!
//! clap reads the command line and [`dispatch`] carries it out; only what it would print is collected. So a tool
//! decides nothing that the command would decide otherwise, and its answer is the object that `--json` prints.
//! Settings are read for every request.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use herma_core::Project;
use herma_core::engine::NoProgress;
use herma_settings::Overrides;
use serde_json::{Value, json};

use crate::command_env::{CommandEnv, Kind, Outcome, Result};
use crate::commands::cli::Cli;
use crate::commands::dispatch::dispatch;
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::terminal::Ui;
use crate::terminal::answer::{Answer, Parts};
use crate::terminal::progress::Listener;
use crate::usage_error::usage_error;

/// Carries out command lines for clients.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    environment: Environment,
    home: PathBuf,
}

/// What came of a command line.
#[derive(Debug)]
pub(crate) struct Called {
    /// What it printed.
    pub(crate) parts: Parts,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl Caller {
    /// One for clients of a server that was started in this environment and uses this home.
    pub(crate) fn new(environment: &Environment, home: &Path) -> Self {
        Self {
            environment: Environment {
                pager: String::new(),
                editor: None,
                no_color: true,
                stdin_is_terminal: false,
                stdout_is_terminal: false,
                stderr_is_terminal: false,
                size: None,
                // What clients do is no part of the command the server may have been started by.
                outer_step: None,
                ..environment.clone()
            },
            home: home.to_owned(),
        }
    }

    fn environment(&self, root: Option<&Path>) -> Environment {
        let mut environment = self.environment.clone();
        if let Some(root) = root {
            environment.directory = Some(root.to_owned());
        }
        environment
    }

    fn global(&self, root: Option<&Path>) -> GlobalArgs {
        GlobalArgs {
            root: root.map(Path::to_owned),
            home: Some(self.home.clone()),
            ..GlobalArgs::plain_json()
        }
    }

    /// Carries out a command line for the project at `root`. With a limit it answers with the text a person would
    /// get, up to so many bytes, instead of JSON.
    pub(crate) fn call(
        &self,
        root: Option<&Path>,
        line: &[OsString],
        max_text_bytes: Option<usize>,
        listener: Listener,
    ) -> Result<Called> {
        let mut cli = Cli::try_parse_from(line).map_err(|error| usage_error(&error, line))?;
        let is_json = max_text_bytes.is_none();
        cli.global = self.global(root);
        cli.global.json = is_json;
        let answer = Answer::new(listener, max_text_bytes.unwrap_or(0));
        let ui = Ui::answering(answer.clone(), is_json);
        let done = dispatch(&ui, &self.environment(root), &cli);
        let parts = answer.take();
        let outcome = match done {
            Ok(outcome) => outcome,
            // There was more text than was wanted, which is how it is meant to end.
            Err(error) if error.kind == Kind::BrokenPipe && parts.is_cut => Outcome::Done,
            Err(error) => return Err(error),
        };
        Ok(Called { parts, outcome })
    }

    /// Lets somebody look at the project at `root`, or at the one around the server's directory.
    pub(crate) fn look<T>(
        &self,
        root: Option<&Path>,
        by: impl FnOnce(&CommandEnv, &Project) -> Result<T>,
    ) -> Result<T> {
        let env = self.env(root, root)?;
        let project = env.open_project_quietly()?;
        by(&env, &project)
    }

    /// The project around a directory.
    pub(crate) fn find_root(&self, directory: &Path) -> Result<PathBuf> {
        let env = self.env(Some(directory), None)?;
        Ok(env.engine.find_root(directory)?)
    }

    /// What a command works with that is given in a directory, or for a project.
    pub(crate) fn env(&self, directory: Option<&Path>, root: Option<&Path>) -> Result<CommandEnv> {
        let ui = Ui::answering(Answer::new(Arc::new(NoProgress), 0), true);
        let (environment, global) = (self.environment(directory), self.global(root));
        CommandEnv::new(ui, &environment, &global, Overrides::default())
    }
}

impl Called {
    /// The object, with how it ended and what it warned of.
    pub(crate) fn into_value(self) -> Value {
        let Parts { object, warnings, .. } = self.parts;
        let mut value = object.unwrap_or_else(|| json!({"schema": "herma.done/1"}));
        value["outcome"] = word(self.outcome).into();
        value["warnings"] = warnings.into();
        value
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done | Outcome::Command(_) => "done",
        Outcome::LeftOut => "left-out",
        Outcome::NotFound => "not-found",
        Outcome::Problems => "problems",
        Outcome::Aborted => "aborted",
        Outcome::Busy => "busy",
        Outcome::Damaged => "damaged",
    }
}
