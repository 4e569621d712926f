//! The runs in which the agent's day goes wrong: calls fail, it is killed, a person says no, others work beside it. Afterwards one step
//! is undone, that undo is undone, and then the whole prompt; the project has to be right to the byte each time.

mod interrupted;
mod refused;
mod together;
mod trouble;

use std::path::PathBuf;

use herma_testkit::Tree;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::check::{array, text};
use super::drivers::Driver;
use super::project;
use super::report::{Outcome, Table};
use super::stage::{Scene, Setting, Stage};
use crate::Result;
use refused::Reply;

/// A bad day: what is not as it should be after it, or `None` if the agent cannot have it.
type Day = fn(&Setting, &'static dyn Driver) -> Result<Option<Vec<String>>>;

const ALL: [(&str, Day); 14] = [
    ("failed-edit", trouble::failed_edit),
    ("failed-command", trouble::failed_command),
    ("INT", |setting, driver| interrupted::run(setting, driver, Signal::SIGINT)),
    ("TERM", |setting, driver| interrupted::run(setting, driver, Signal::SIGTERM)),
    ("HUP", |setting, driver| interrupted::run(setting, driver, Signal::SIGHUP)),
    ("KILL", |setting, driver| interrupted::run(setting, driver, Signal::SIGKILL)),
    ("refused", |setting, driver| refused::run(setting, driver, Reply::Refuse)),
    ("allowed", |setting, driver| refused::run(setting, driver, Reply::Allow)),
    ("stopped", |setting, driver| refused::run(setting, driver, Reply::Stop)),
    ("sub-agent", together::sub_agent),
    ("worktrees", together::worktrees),
    ("background", trouble::background),
    ("notified", trouble::notified),
    ("elsewhere", trouble::elsewhere),
];

/// Gives each agent each of its bad days, or only the one that is named.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver], only: Option<&str>) -> Table {
    let days: Vec<_> =
        ALL.into_iter().filter(|(word, _)| only.is_none_or(|only| only == *word)).collect();
    let mut head = vec!["agent"];
    head.extend(days.iter().map(|(word, _)| *word));
    head.push("verdict");
    let mut table = Table::new(&head);
    for driver in drivers {
        let attempt = |&(word, day): &(&'static str, Day)| {
            eprintln!("── {}, {word}", driver.word());
            (word, Outcome::of(day(setting, *driver).map(outcome)))
        };
        table.push_outcomes(driver.word(), days.iter().map(attempt).collect());
    }
    table
}

fn outcome(problems: Option<Vec<String>>) -> Outcome {
    let cell = match &problems {
        None => "-",
        Some(problems) if problems.is_empty() => "ok",
        Some(_) => "BAD",
    };
    Outcome { cell: cell.to_owned(), problems: problems.unwrap_or_default() }
}

/// The scenes are played by as many agents, under Herma.
fn play(stage: &Stage, scenes: &[Scene], agents: usize) -> Result<()> {
    stage.play(scenes, agents, super::LIMIT, |stage| stage.install_herma()).map(drop)
}

/// What is left of a day, in one project.
struct Aftermath<'s> {
    stage: &'s Stage,
    place: PathBuf,
    problems: Vec<String>,
}

impl<'s> Aftermath<'s> {
    fn of(stage: &'s Stage) -> Self {
        Self { stage, place: stage.sandbox.workspace(), problems: Vec::new() }
    }

    /// Is the project so?
    fn expect(&mut self, when: &str, expected: &Tree) {
        if let Some(names) = project::differences(expected, &project::read(&self.place)) {
            self.problems.push(format!("{when} these differ: {names}"));
        }
    }

    fn expect_that(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }

    fn ask(&self, args: &[&str]) -> Result<Value> {
        let place = self.place.to_string_lossy();
        self.stage.sandbox.ask(&[&["-C", &place], args].concat())
    }

    /// The newest step that changed this file, else one whose end nobody told and whose command names it.
    fn step(&self, file: &str) -> Result<Value> {
        let answer = self.ask(&["steps", "--all"])?;
        let calls = || array(&answer, "steps").iter().filter(|step| text(step, "kind") == "tool");
        let changed =
            |step: &&Value| array(step, "files").iter().any(|one| text(one, "path") == file);
        let names = |step: &&Value| {
            text(step, "state") == "unknown" && text(step, "command").contains(file)
        };
        let step = calls().find(changed).or_else(|| calls().find(names));
        step.cloned().ok_or_else(|| format!("no step changed {file}").into())
    }

    /// Undoes something. What Herma says of it, or null if that was refused.
    fn undo(&mut self, what: &[&str], expected: &Tree) -> Value {
        let args = [&["undo"], what].concat();
        let answer = self.ask(&args).unwrap_or_else(|problem| {
            self.problems.push(problem.to_string());
            Value::Null
        });
        self.expect(&format!("after `herma {}`", args.join(" ")), expected);
        answer
    }

    /// Undoes the last prompt, in which this step was; all of its session where nothing tells of prompts.
    fn undo_prompt(&mut self, step: &Value, expected: &Tree) -> Value {
        match step["turn"] {
            Value::Null => self.undo(&["--session", text(step, "session")], expected),
            _ => self.undo(&[], expected),
        }
    }

    /// Undoes the step that changed a file, undoes that, and undoes the prompt. What Herma says of that.
    fn undo_step_and_prompt(
        &mut self,
        file: &str,
        without_step: &Tree,
        without_prompt: &Tree,
    ) -> Result<Value> {
        let done = project::read(&self.place);
        let step = self.step(file)?;
        self.undo(&[&name_of(&step)], without_step);
        self.undo(&[], &done);
        Ok(self.undo_prompt(&step, without_prompt))
    }
}

/// What a step is called.
fn name_of(step: &Value) -> String {
    match &step["number"] {
        Value::Null => text(step, "handle").to_owned(),
        number => number.to_string(),
    }
}
