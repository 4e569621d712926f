//! Calls that fail, go on after they were answered, or go elsewhere.

use std::path::Path;

use super::{Aftermath, name_of, play};
use serde_json::Value;

use crate::Result;
use crate::e2e::check::{array, text};
use crate::e2e::drivers::Driver;
use crate::e2e::heard::Heard;
use crate::e2e::project::put;
use crate::e2e::script::{Action, prompt_of};
use crate::e2e::stage::{Scene, Setting, Stage};

const CREATE: Action = Action::Create { path: "new.txt", text: "created\n" };
const LOOK: Action = Action::Look { path: "edited.txt" };
const EDIT: Action = Action::Edit { path: "edited.txt", old: "one", new: "two" };

/// An edit whose old text is not there, and then one whose is.
pub fn failed_edit(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    let failing = Action::Edit { path: "edited.txt", old: "not there", new: "three" };
    let stage = Stage::set_up(setting, driver, "failed-edit")?;
    undo_edit_after(&stage, vec![vec![CREATE], vec![LOOK], vec![failing]], "new.txt", "created\n")
}

/// A command that writes a file and ends with 3.
pub fn failed_command(
    setting: &Setting,
    driver: &'static dyn Driver,
) -> Result<Option<Vec<String>>> {
    let failing = Action::Shell { command: "echo part > part.txt; exit 3".to_owned() };
    let stage = Stage::set_up(setting, driver, "failed-command")?;
    undo_edit_after(&stage, vec![vec![failing], vec![LOOK]], "part.txt", "part\n")
}

/// The agent edits a file after what made another one; both steps can be undone alone.
fn undo_edit_after(
    stage: &Stage,
    mut scene: Scene,
    path: &str,
    words: &str,
) -> Result<Option<Vec<String>>> {
    scene.push(vec![EDIT]);
    play(stage, &[scene], 1)?;
    let mut after = Aftermath::of(stage);
    let (mut before_edit, mut only_edit) = (stage.start.clone(), stage.start.clone());
    put(&mut before_edit, path, words);
    put(&mut only_edit, "edited.txt", "two\n");
    let mut done = before_edit.clone();
    put(&mut done, "edited.txt", "two\n");
    after.expect("after the agent", &done);
    let step = name_of(&after.step(path)?);
    after.undo(&[&step], &only_edit);
    after.undo(&[], &done);
    after.undo_step_and_prompt("edited.txt", &before_edit, &stage.start)?;
    Ok(Some(after.problems))
}

/// A command in the background writes a file after its call has ended; that is nobody's work.
pub fn background(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    let command = "sleep 3; echo late > late.txt; sleep 20".to_owned();
    let action = Action::Background { command };
    if driver.call(&action, Path::new("/")).is_none() {
        return Ok(None);
    }
    let stage = Stage::set_up(setting, driver, "background")?;
    let wait = "while ! test -e late.txt; do sleep 0.2; done".to_owned();
    let scene = vec![vec![action], vec![Action::Shell { command: wait }], vec![CREATE]];
    play(&stage, &[scene], 1)?;
    let mut after = Aftermath::of(&stage);
    let mut late = stage.start.clone();
    put(&mut late, "late.txt", "late\n");
    let mut done = late.clone();
    put(&mut done, "new.txt", "created\n");
    after.expect("after the agent", &done);
    let steps = after.ask(&["steps", "--all"])?;
    let is_marked = array(&steps, "steps")
        .iter()
        .any(|step| text(step, "command").contains("sleep 3") && step["background"] == true);
    after.expect_that(is_marked, || "no step is in the background".to_owned());
    after.undo_step_and_prompt("new.txt", &late, &late)?;
    Ok(Some(after.problems))
}

/// A command in the background ends after its prompt, and the agent goes on by itself: that belongs to the prompt.
pub fn notified(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    // Only Claude Code was seen to do so.
    if driver.word() != "claude" {
        return Ok(None);
    }
    let stage = Stage::set_up(setting, driver, "notified")?;
    let action = Action::Background { command: "sleep 8".to_owned() };
    let late = Action::Create { path: "late.txt", text: "late\n" };
    let scene = vec![vec![CREATE], vec![action]];
    let mut talk = stage.converse_and_notify(&scene, "<status>completed", &late)?;
    stage.install_herma()?;
    talk.say(&prompt_of(1))?;
    let mut after = Aftermath::of(&stage);
    let mut created = stage.start.clone();
    put(&mut created, "new.txt", "created\n");
    let mut done = created.clone();
    put(&mut done, "late.txt", "late\n");
    after.expect("after the agent", &done);
    let resumed = Heard::read(&stage.sandbox.home()).has("turn-resumed");
    after.expect_that(resumed, || "the agent was not heard to go on by itself".to_owned());
    after.undo_step_and_prompt("late.txt", &created, &stage.start)?;
    Ok(Some(after.problems))
}

/// An edit in a directory that is no project.
pub fn elsewhere(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    let outside = Action::Create { path: "../elsewhere/out.txt", text: "out\n" };
    if driver.call(&outside, Path::new("/home")).is_none() {
        return Ok(None);
    }
    let stage = Stage::set_up(setting, driver, "elsewhere")?;
    let directory = stage.sandbox.directory().join("elsewhere");
    std::fs::create_dir(&directory)?;
    play(&stage, &[vec![vec![CREATE], vec![outside], vec![LOOK], vec![EDIT]]], 1)?;
    let is_there = || directory.join("out.txt").exists();
    if !is_there() {
        return Err("the agent was kept from its work".into());
    }
    let mut after = Aftermath::of(&stage);
    let steps = after.ask(&["steps", "--all"])?;
    let names = |entry: &Value| {
        text(entry, "what") == "elsewhere" && text(entry, "path").ends_with("elsewhere/out.txt")
    };
    let knows = |step: &&Value| array(step, "outside").iter().any(names);
    match array(&steps, "steps").iter().find(knows) {
        None => after.problems.push("no step knows what was changed elsewhere".to_owned()),
        Some(step) => {
            let shown = stage.sandbox.herma(&["show", &name_of(step)])?;
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            after.expect_that(shown.contains("elsewhere/out.txt"), || {
                format!("`herma show`: {shown}")
            });
        }
    }
    let mut created = stage.start.clone();
    put(&mut created, "new.txt", "created\n");
    let undone = after.undo_step_and_prompt("edited.txt", &created, &stage.start)?;
    after.expect_that(array(&undone, "outside").iter().any(names), || {
        format!("the undo does not say what stays elsewhere: {undone}")
    });
    after.expect_that(is_there(), || "the undo went elsewhere".to_owned());
    Ok(Some(after.problems))
}
