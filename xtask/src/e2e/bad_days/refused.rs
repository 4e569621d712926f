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
    let name = if reply == Reply::Allow { "allowed" } else { "refused" };
    let stage = Stage::set_up(setting, driver, name)?;
    let create = Action::Create { path: "new.txt", text: "created\n" };
    let command = "rm removed.txt && echo side > side.txt".to_owned();
    let talk = stage.converse(&[vec![vec![create], vec![Action::Shell { command }]]])?;
    let Some(dialog) = talk.dialog(&prompt_of(1))? else {
        return Ok(None);
    };
    stage.install_herma()?;
    let mut terminal = Terminal::start_on_screen(dialog.command);
    shows(&mut terminal, dialog.question)?;
    fs::write(stage.sandbox.workspace().join(BY_HAND), "by hand\n")?;
    std::thread::sleep(TIME_TO_ANSWER);
    let mut by_hand = stage.start.clone();
    put(&mut by_hand, BY_HAND, "by hand\n");
    let mut done = by_hand.clone();
    put(&mut done, "new.txt", "created\n");
    let mut after = Aftermath::of(&stage);
    if reply == Reply::Refuse {
        terminal.press(dialog.refuse);
        shows(&mut terminal, dialog.refused)?;
        stage.sandbox.wait_for_herma();
        after.expect("after the answer", &done);
        let number = after.step("new.txt")?["number"].to_string();
        after.undo(&[&number], &by_hand);
        let own = after.ask(&["steps"])?["steps"][0]["number"].to_string();
        after.undo(&[&own], &done);
        // No hook tells of the answer: for all that is known, it still asks.
        after.undo(&["--running"], &by_hand);
    } else {
        terminal.press(dialog.allow);
        shows(&mut terminal, "done.")?;
        let home = stage.sandbox.home();
        eventually(|| Heard::read(&home).has("turn-end"));
        stage.sandbox.wait_for_herma();
        let before = done.clone();
        done.remove(b"removed.txt");
        put(&mut done, "side.txt", "side\n");
        after.expect("after the answer", &done);
        after.undo_step_and_prompt("side.txt", &before, &by_hand)?;
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
