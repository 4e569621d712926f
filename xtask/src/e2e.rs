//! `cargo xtask e2e`: do the real agents get their undo?
//!
//! Each agent is installed from npm or PyPI in a version that was looked at, and runs without a terminal
//! against a model on loopback that follows a script. `herma install` sets it up. The agent makes a file, edits one,
//! deletes one with `rm` and several from Python; afterwards `herma undo` and `herma restore` have to bring back, to
//! the byte, everything the receipt does not name as left out.
//!
//! With `--notice` the agent goes on after an undo: it has to be told, once, and commands typed as prompts have to be
//! answered without its model.
//!
//! With `--misbehave` it is Herma that fails: its program is gone, is killed, sleeps, or ends with an error, and
//! the agent has to do all of its work nevertheless. With `--chat` the conversation goes back with the files, and the agent
//! goes on with what is left of it. With `--bad-days` it is the agent's day that goes wrong.
//! With `--acp` it works for an editor, and `herma acp` stands between.
//! With `--mcp` no agent runs, but the clients of `herma mcp` that the protocol's makers publish.

mod acp;
mod agents;
mod bad_days;
mod behave;
mod chat;
mod check;
mod drivers;
mod heard;
mod isolation;
mod mcp;
mod misbehave;
mod model;
mod notice;
mod process;
mod project;
mod report;
mod sandbox;
mod script;
mod stage;

use std::path::PathBuf;
use std::time::Duration;

use agents::{Agents, Others, Package};
use drivers::Driver;
use stage::Setting;

use crate::{Result, workspace};

/// Longer than any agent takes for a scene.
const LIMIT: Duration = Duration::from_secs(6 * 60);

/// What every change is tried with: each is one archive, installed within seconds, and the two differ in how hooks get
/// there, one by an entry in the user's settings, one by a file of its own.
const CI: [&str; 2] = ["claude", "goose"];

/// What is tried.
#[derive(Clone, Copy)]
enum Runs {
    Behave,
    Bare,
    Misbehave,
    Notice,
    Chat,
    BadDays,
    Acp,
    Mcp,
}

struct Options {
    drivers: Vec<&'static dyn Driver>,
    runs: Runs,
    /// The one bad day that is tried, if not all.
    day: Option<String>,
    keep: bool,
    agents: Option<PathBuf>,
    herma: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            drivers: Vec::new(),
            runs: Runs::Behave,
            day: None,
            keep: false,
            agents: None,
            herma: None,
        };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--misbehave" => options.runs = Runs::Misbehave,
                "--notice" => options.runs = Runs::Notice,
                "--chat" => options.runs = Runs::Chat,
                "--bare" => options.runs = Runs::Bare,
                "--bad-days" => options.runs = Runs::BadDays,
                "--acp" => options.runs = Runs::Acp,
                "--mcp" => options.runs = Runs::Mcp,
                "--day" => options.day = Some(value()?.clone()),
                "--ci" => {
                    options.drivers.extend(CI.iter().filter_map(|word| drivers::by_word(word)))
                }
                "--keep" => options.keep = true,
                "--agents" => options.agents = Some(std::path::absolute(value()?)?),
                "--herma" => options.herma = Some(PathBuf::from(value()?).canonicalize()?),
                agent => {
                    let driver = drivers::by_word(agent);
                    let driver = driver.ok_or_else(|| format!("e2e: no agent {agent}"))?;
                    options.drivers.push(driver);
                }
            }
        }
        if options.drivers.is_empty() {
            options.drivers = drivers::ALL.to_vec();
        }
        Ok(options)
    }

    /// What has to be installed.
    fn packages(&self) -> Vec<&'static Package> {
        match self.runs {
            Runs::Mcp => vec![&agents::NODE, &agents::INSPECTOR, &agents::MCP_LIBRARY],
            _ => self.drivers.iter().flat_map(|driver| driver.packages()).collect(),
        }
    }
}

/// Runs the agents.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let agents = match &options.agents {
        Some(directory) => Agents::below(directory.clone(), Others::Refuse),
        None => Agents::below(workspace::target()?.join("agents"), Others::Replace),
    };
    let herma = match &options.herma {
        Some(program) => program.clone(),
        None => workspace::target()?.join("debug/herma"),
    };
    if !isolation::is_inside() {
        for package in options.packages() {
            agents.ensure(package)?;
        }
        if options.herma.is_none() {
            workspace::run(workspace::cargo()?.args(["build", "--quiet", "-p", "herma"]))?;
        }
    }
    let isolation = isolation::enter(args)?;
    println!("The agents run {}.", isolation.words());
    let setting = Setting { agents, herma, keep: options.keep };
    let drivers = &options.drivers;
    let table = match options.runs {
        Runs::Behave => behave::run(&setting, drivers, false),
        Runs::Bare => behave::run(&setting, drivers, true),
        Runs::Misbehave => misbehave::run(&setting, drivers),
        Runs::Notice => notice::run(&setting, drivers),
        Runs::Chat => chat::run(&setting, drivers),
        Runs::Acp => acp::run(&setting, drivers),
        Runs::Mcp => mcp::run(&setting),
        Runs::BadDays => bad_days::run(&setting, drivers, options.day.as_deref()),
    };
    if table.print() { Ok(()) } else { Err("not every agent passed".into()) }
}
