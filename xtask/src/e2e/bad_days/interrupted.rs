//! An agent that is ended while a command of its runs, and another session after it.

use nix::sys::signal::Signal;

use super::Aftermath;
use crate::Result;
use crate::e2e::LIMIT;
use crate::e2e::drivers::Driver;
use crate::e2e::project::put;
use crate::e2e::script::{Action, prompt_of};
use crate::e2e::stage::{Setting, Stage};

/// What the command that is cut short does.
const HALF: &str = "echo half > half.txt; sleep 30";

/// Sends the signal while the command runs, and undoes both sessions.
pub fn run(
    setting: &Setting,
    driver: &'static dyn Driver,
    signal: Signal,
) -> Result<Option<Vec<String>>> {
    let stage = Stage::set_up(setting, driver, signal.as_str())?;
    let create = Action::Create { path: "new.txt", text: "created\n" };
    let shell = Action::Shell { command: HALF.to_owned() };
    let look = Action::Look { path: "edited.txt" };
    let edit = Action::Edit { path: "edited.txt", old: "one", new: "two" };
    let mut talk =
        stage.converse(&[vec![vec![create], vec![shell]], vec![vec![look], vec![edit]]])?;
    stage.install_herma()?;
    let mut first = talk.begin(&prompt_of(1))?;
    let half = stage.sandbox.workspace().join("half.txt");
    let is_whole = || std::fs::read(&half).is_ok_and(|words| words == b"half\n");
    if !first.wait_until(LIMIT, is_whole)? {
        return Err("the command was never begun".into());
    }
    match signal {
        Signal::SIGINT | Signal::SIGHUP => first.signal_group(signal),
        _ => stage.sandbox.signal_agent(signal),
    }
    let mut after = Aftermath::of(&stage);
    let ended = first.wait(LIMIT)?;
    after.expect_that(ended.status.is_some(), || "the signal did not end it".to_owned());
    let second = talk.begin(&prompt_of(2))?.wait(LIMIT)?;
    after.expect_that(second.is_well(), || format!("the second session: {}", second.words()));
    stage.sandbox.wait_for_herma();

    let mut before = stage.start.clone();
    put(&mut before, "new.txt", "created\n");
    put(&mut before, "half.txt", "half\n");
    let mut done = before.clone();
    put(&mut done, "edited.txt", "two\n");
    after.expect("after the agents", &done);
    let of_first = after.step("new.txt")?;
    after.undo_step_and_prompt("edited.txt", &before, &before)?;
    after.undo_prompt(&of_first, &stage.start);
    Ok(Some(after.problems))
}
