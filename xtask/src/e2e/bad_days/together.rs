//! Agents that work for another one, or beside it.

use std::path::Path;

use herma_testkit::Tree;

use super::{Aftermath, play};
use crate::Result;
use crate::e2e::LIMIT;
use crate::e2e::check::with_saved_only;
use crate::e2e::drivers::Driver;
use crate::e2e::project::{self, put};
use crate::e2e::script::Action;
use crate::e2e::stage::{Scene, Setting, Stage};

/// What a sub-agent did is undone with the prompt.
pub fn sub_agent(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    if driver.call(&project::delegation(), Path::new("/")).is_none() {
        return Ok(None);
    }
    let stage = Stage::set_up(setting, driver, "prompt-of-sub-agent")?;
    let mut scenes = project::delegating_scenes();
    let create = Action::Create { path: "new.txt", text: "created\n" };
    scenes[0].insert(0, vec![create]);
    play(&stage, &scenes, 1)?;
    let mut after = Aftermath::of(&stage);
    let done = project::after(&stage.start, scenes.into_iter().flatten().flatten());
    after.expect("after the agent", &done);
    let mut without_step = with_saved_only(&stage.start);
    put(&mut without_step, "new.txt", "created\n");
    let without_prompt = with_saved_only(&stage.start);
    after.undo_step_and_prompt("untracked.txt", &without_step, &without_prompt)?;
    Ok(Some(after.problems))
}

/// Two sessions at once, in two worktrees of one repository.
pub fn worktrees(setting: &Setting, driver: &'static dyn Driver) -> Result<Option<Vec<String>>> {
    let mut stage = Stage::set_up(setting, driver, "worktrees")?;
    let second = stage.sandbox.directory().join("second");
    let mut git = herma_testkit::git::command();
    git.args(["worktree", "add", "--quiet"]).arg(&second);
    if !git.current_dir(stage.sandbox.workspace()).output()?.status.success() {
        return Err("there is no second worktree".into());
    }
    stage.second = Some(second.clone());
    let start = project::read(&second);
    let [first_done, second_done] = [&stage.start, &start].map(|tree| with_side(edited(tree)));
    // Some agents cannot be started twice at once for the first time.
    stage.play(&[], 1, LIMIT, |_| Ok(()))?;
    play(&stage, &[scene(), scene()], 2)?;
    let mut problems = Vec::new();
    let mut after = Aftermath::of(&stage);
    after.expect("after the agents, in the first worktree", &first_done);
    after.undo_step_and_prompt("side.txt", &edited(&stage.start), &stage.start)?;
    problems.append(&mut after.problems);
    after.place = second;
    after.expect("after the first was undone, in the second", &second_done);
    after.undo_step_and_prompt("side.txt", &edited(&start), &start)?;
    after.place = stage.sandbox.workspace();
    after.expect("after the second was undone, in the first", &stage.start);
    problems.append(&mut after.problems);
    Ok(Some(problems))
}

fn scene() -> Scene {
    let command = "rm removed.txt && echo side > side.txt".to_owned();
    vec![
        vec![Action::Look { path: "edited.txt" }],
        vec![Action::Edit { path: "edited.txt", old: "one", new: "two" }],
        vec![Action::Shell { command }],
    ]
}

fn edited(start: &Tree) -> Tree {
    let mut tree = start.clone();
    put(&mut tree, "edited.txt", "two\n");
    tree
}

fn with_side(mut tree: Tree) -> Tree {
    tree.remove(b"removed.txt");
    put(&mut tree, "side.txt", "side\n");
    tree
}
