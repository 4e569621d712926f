//! The runs in which something is undone between two prompts: the agent is told, once, in the request that follows. And what a
//! person types at its prompt to undo something does that without a request.

use super::drivers::Driver;
use super::project;
use super::report::Table;
use super::script::{Action, prompt_of};
use super::stage::{Setting, Stage, Talk};
use crate::Result;

/// How every notice begins.
const NOTICE: &str = "Note by Herma";

/// Runs each agent and says what came of it.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver]) -> Table {
    let mut table = Table::new(&["agent", "version", "told", "commands", "verdict"]);
    table.fill(drivers, |driver| run_one(setting, driver));
    table
}

fn run_one(setting: &Setting, driver: &'static dyn Driver) -> Result<(Vec<String>, Vec<String>)> {
    let stage = Stage::set_up(setting, driver, "notice")?;
    let create = Action::Create { path: "new.txt", text: "created\n" };
    let shell = Action::Shell { command: "rm removed.txt && echo side > side.txt".to_owned() };
    let mut talk = stage.converse(&[vec![vec![create], vec![shell]]])?;
    stage.install(&setting.herma)?;
    let mut problems = Vec::new();
    talk.say(&prompt_of(1))?;
    if !is_done(&stage) {
        return Ok((vec![stage.version()], vec!["the agent was kept from its work".to_owned()]));
    }
    let mut told = vec![most_told(&mut talk, 2)?];
    stage.sandbox.ask(&["undo"])?;
    told.push(most_told(&mut talk, 3)?);
    told.push(most_told(&mut talk, 4)?);
    // What was said stays in the conversation, where agents keep it.
    if told[..2] != [0, 1] || told[2] > 1 {
        problems.push(format!("the notice stands so often in the requests: {told:?}"));
    }
    let mut commands = Vec::new();
    for (command, is_done_then) in [("redo", true), ("undo", false), ("redo", true)] {
        let (requests, said) = talk.say(&format!("/herma-{command}"))?;
        if !requests.is_empty() {
            problems.push(format!("/herma-{command} led to {} requests", requests.len()));
        }
        if is_done(&stage) != is_done_then {
            problems.push(format!("/herma-{command} did nothing: {}", end_of(&said)));
        }
        // What we answered: agents show it in frames and formats of their own.
        let is_seen = said.contains("brings it back") || said.contains("undoes it again");
        commands.push(if is_seen { command } else { "unseen" });
    }
    let told: Vec<_> = told.iter().map(ToString::to_string).collect();
    Ok((vec![stage.version(), told.join(" "), commands.join(" ")], problems))
}

fn end_of(said: &str) -> String {
    let start = said.char_indices().rev().nth(300).map_or(0, |(at, _)| at);
    said[start..].to_owned()
}

/// Is the project as the first prompt left it?
fn is_done(stage: &Stage) -> bool {
    let found = project::read(&stage.sandbox.workspace());
    let has = |path: &str| found.0.contains_key(path.as_bytes());
    has("new.txt") && has("side.txt") && !has("removed.txt")
}

/// How often the notice stands in the request of this prompt that has it most often.
fn most_told(talk: &mut Talk<'_>, prompt: usize) -> Result<usize> {
    let text = prompt_of(prompt);
    let (requests, said) = talk.say(&text)?;
    let bodies = requests.iter().map(|request| request["body"].to_string());
    let own: Vec<String> = bodies.filter(|body| body.contains(&text)).collect();
    if own.is_empty() {
        return Err(format!("no request for prompt {prompt}: {}", end_of(&said)).into());
    }
    Ok(own.iter().map(|body| body.matches(NOTICE).count()).max().unwrap_or(0))
}
