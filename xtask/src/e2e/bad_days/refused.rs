//! A person who is asked whether a command may run, edits a file meanwhile, and answers.

use std::fs;
use std::time::{Duration, Instant};

use herma_testkit::terminal::Terminal;

use super::Aftermath;
use crate::Result;
use crate::e2e::drivers::Driver;
use crate::e2e::heard::Heard;
use crate::e2e::project::put;
use crate::e2e::script::{Action, prompt_of};
use crate::e2e::stage::{Setting, Stage};

/// What the person answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Allow,
    Refuse,
    /// Yes, and then the agent is told to stop, while the command runs.
    Stop,
}

impl Reply {
    const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Refuse => "refused",
            Self::Stop => "stopped",
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Stop => "rm removed.txt && echo side > side.txt; sleep 30",
            _ => "rm removed.txt && echo side > side.txt",
        }
    }
}

/// What is edited by hand while the agent asks.
const BY_HAND: &str = "tracked.txt";

/// A tool may have begun so long before its end is told as it says it took, and a little more: what was edited by hand in that moment
/// counts as the tool's.
const TIME_TO_ANSWER: Duration = Duration::from_secs(6);

/// The edit by hand is nobody's but the person's, whatever the answer.
pub fn run(
    setting: &Setting,
    driver: &'static dyn Driver,
    reply: Reply,
) -> Result<Option<Vec<String>>> {
    let stage = Stage::set_up(setting, driver, reply.word())?;
    let create = Action::Create { path: "new.txt", text: "created\n" };
    let command = reply.command().to_owned();
    let talk = stage.converse(&[vec![vec![create], vec![Action::Shell { command }]]])?;
    let Some(dialog) = talk.dialog(&prompt_of(1))? else {
        return Ok(None);
    };
    if reply == Reply::Stop && dialog.stop.is_none() {
        return Ok(None);
    }
    stage.install_herma()?;
    let mut terminal = Terminal::start_on_screen(dialog.command);
    shows(&mut terminal, dialog.question)?;
    let mut by_hand = stage.start.clone();
    // What a call did that was stopped is all that changed until somebody looks.
    if reply != Reply::Stop {
        fs::write(stage.sandbox.workspace().join(BY_HAND), "by hand\n")?;
        put(&mut by_hand, BY_HAND, "by hand\n");
        std::thread::sleep(TIME_TO_ANSWER);
    }
    let mut created = by_hand.clone();
    put(&mut created, "new.txt", "created\n");
    let mut ran = created.clone();
    ran.remove(b"removed.txt");
    put(&mut ran, "side.txt", "side\n");
    let mut after = Aftermath::of(&stage);
    let is_there = || stage.sandbox.workspace().join("side.txt").exists();
    match reply {
        Reply::Refuse => {
            terminal.press(dialog.refuse);
            shows(&mut terminal, dialog.refused)?;
            stage.sandbox.wait_for_herma();
            after.expect("after the answer", &created);
            // The agent may take a moment to write down what it was told.
            eventually(|| after.ask(&["undo", "--dry-run"]).is_ok());
            after.undo_step_and_prompt("new.txt", &by_hand, &by_hand)?;
        }
        Reply::Stop => {
            terminal.press(dialog.allow);
            eventually(is_there);
            terminal.press(dialog.stop.unwrap_or_default());
            shows(&mut terminal, dialog.refused)?;
            stage.sandbox.wait_for_herma();
            after.expect("after the answer", &ran);
            eventually(|| after.ask(&["undo", "--dry-run"]).is_ok());
            after.undo_step_and_prompt("side.txt", &created, &by_hand)?;
        }
        Reply::Allow => {
            terminal.press(dialog.allow);
            let home = stage.sandbox.home();
            eventually(|| Heard::read(&home).has("turn-end"));
            stage.sandbox.wait_for_herma();
            after.expect("after the answer", &ran);
            after.undo_step_and_prompt("side.txt", &created, &by_hand)?;
        }
    }
    Ok(Some(after.problems))
}

fn shows(terminal: &mut Terminal, text: &str) -> Result<()> {
    terminal.shows(text).map_err(|shown| format!("{text:?} was never shown: {shown}").into())
}

/// Waits until something is so, but not for ever.
fn eventually(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
}
