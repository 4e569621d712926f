//! Carrying out a request with the very command a person would type.
//!
//! A method's parameters become the arguments of a command line, which clap reads and [`dispatch`] carries out;
//! only what it would print is collected. So a method decides nothing that the command would decide
//! otherwise, and its answer is the object that `--json` prints. Settings are read for every request.
//!
//! What a client sends is never taken for an option: values stand behind `=`, and everything else behind `--`.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use herma_core::engine::NoProgress;
use herma_core::engine::Project;
use serde_json::Value;
use serde_json::json;

use super::answer::Answer;
use super::answer::Parts;
use crate::cli::Cli;
use crate::cli::GlobalArgs;
use crate::cli::Overrides;
use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::environment::Environment;
use crate::progress::Listener;
use crate::run::dispatch;
use crate::ui::Ui;

/// So much of a text (a patch) is handed on at most.
pub(crate) const MOST_TEXT: usize = 1 << 20;

/// Carries out command lines for clients.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    environment: Environment,
    home: PathBuf,
}

/// A command line in the making.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    words: Vec<OsString>,
    /// What stands behind `--`.
    rest: Vec<OsString>,
    is_text: bool,
    most_text: usize,
}

/// What came of a command line.
#[derive(Debug)]
pub(crate) struct Called {
    /// What it printed.
    pub(crate) parts: Parts,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

impl CommandLine {
    /// The command of these words.
    pub(crate) fn new(words: &[&str]) -> Self {
        let program = std::iter::once("herma");
        Self {
            words: program
                .chain(words.iter().copied())
                .map(OsString::from)
                .collect(),
            rest: Vec::new(),
            is_text: false,
            most_text: 0,
        }
    }

    /// Wants the text a person would get, up to so many bytes, instead of JSON.
    pub(crate) fn text_up_to(mut self, most: usize) -> Self {
        self.is_text = true;
        self.most_text = most;
        self
    }

    /// A switch.
    pub(crate) fn flag(mut self, name: &str, is_set: bool) -> Self {
        if is_set {
            self.words.push(name.into());
        }
        self
    }

    /// An option with a value, if there is one.
    pub(crate) fn option(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.words.push(format!("{name}={value}").into());
        }
        self
    }

    /// An option that can be repeated.
    pub(crate) fn options(self, name: &str, values: &[String]) -> Self {
        values
            .iter()
            .fold(self, |line, value| line.option(name, Some(value)))
    }

    /// A number that stands for itself.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.words.push(number.to_string().into());
        self
    }

    /// The whole id of a checkpoint, as an argument of its own.
    pub(crate) fn checkpoint(mut self, id: &str) -> Self {
        self.words.push(format!("id:{id}").into());
        self
    }

    /// Arguments that may be anything.
    pub(crate) fn then(mut self, arguments: &[String]) -> Self {
        self.rest.extend(arguments.iter().map(OsString::from));
        self
    }

    /// All of it, the program's name included.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = self.words.clone();
        if !self.rest.is_empty() {
            arguments.push("--".into());
            arguments.extend_from_slice(&self.rest);
        }
        arguments
    }
}

impl Caller {
    /// One for clients of a server that was started in this environment and uses this home.
    pub(crate) fn new(environment: &Environment, home: &Path) -> Self {
        Self {
            environment: Environment {
                pager: String::new(),
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

    /// Where settings and checkpoints are kept.
    pub(crate) fn home(&self) -> &Path {
        &self.home
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

    /// Carries out a command line for the project at `root`.
    pub(crate) fn call(
        &self,
        root: Option<&Path>,
        line: &CommandLine,
        listener: Listener,
    ) -> Result<Called, CommandError> {
        let mut cli = Cli::try_parse_from(line.arguments()).map_err(|error| usage(&error))?;
        cli.global = self.global(root);
        cli.global.json = !line.is_text;
        let answer = Answer::new(listener, line.most_text);
        let ui = Ui::answering(answer.clone(), !line.is_text);
        let done = dispatch(&ui, &self.environment(root), &cli);
        let parts = answer.take();
        let outcome = match done {
            Ok(outcome) => outcome,
            // There was more text than was wanted, which is how it is meant to end.
            Err(error) if error.kind() == Kind::BrokenPipe && parts.is_cut => Outcome::Done,
            Err(error) => return Err(error),
        };
        Ok(Called { parts, outcome })
    }

    /// Lets somebody look at the project at `root`, or at the one around the server's directory.
    pub(crate) fn look<T>(
        &self,
        root: Option<&Path>,
        by: impl FnOnce(&CommandEnv, &Project<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let env = self.env(root, root)?;
        let project = env.open_project_quietly()?;
        by(&env, &project)
    }

    /// The project around a directory.
    pub(crate) fn find_root(&self, directory: &Path) -> Result<PathBuf, CommandError> {
        let env = self.env(Some(directory), None)?;
        Ok(env.engine.find_root(directory)?)
    }

    /// What a command works with that is given in a directory, or for a project.
    pub(crate) fn env(
        &self,
        directory: Option<&Path>,
        root: Option<&Path>,
    ) -> Result<CommandEnv, CommandError> {
        let ui = Ui::answering(Answer::new(Arc::new(NoProgress), 0), true);
        let (environment, global) = (self.environment(directory), self.global(root));
        CommandEnv::new(ui, &environment, &global, Overrides::default())
    }
}

/// What clap says about a command line, without what it says about options that nobody typed.
fn usage(error: &clap::Error) -> CommandError {
    let text = error.render().to_string();
    let message = text.lines().next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    // What is missing, or does not go together, is listed below a colon.
    let listed = text
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix("  "));
    let listed: Vec<_> = listed.map(str::trim).collect();
    CommandError::usage(format!("{message} {}", listed.join(", ")).trim_end())
}

impl Called {
    /// The object, with how it ended and what it warned of.
    pub(crate) fn into_value(self) -> Value {
        let Parts {
            object, warnings, ..
        } = self.parts;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sends_is_never_an_option() {
        let line = CommandLine::new(&["restore"])
            .flag("--dry-run", true)
            .flag("--all", false)
            .option("--keep", Some("--all"))
            .option("--session", None::<&str>)
            .then(&["--yes".to_owned()]);
        let expected = [
            "herma",
            "restore",
            "--dry-run",
            "--keep=--all",
            "--",
            "--yes",
        ];
        assert_eq!(line.arguments(), expected.map(OsString::from));
    }
}
