//! After a run: does Herma bring back what it promised?

use std::path::Path;

use herma_testkit::Tree;
use serde_json::Value;

use super::project;
use super::script::Action;
use super::stage::{Scene, Stage};
use crate::Result;

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Checkpoints of the project after the run.
    pub checkpoints: usize,
    /// Tool calls that are known as steps, and how many of them changed something.
    pub steps: usize,
    pub changed_steps: usize,
    /// Files the last restore brought back or took away.
    pub restored: usize,
    /// What is not as it should be.
    pub problems: Vec<String>,
}

impl Findings {
    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }
}

/// Looks at steps, undoes the deletion, and then everything.
pub fn check(stage: &Stage, scene: &Scene) -> Result<Findings> {
    let mut findings = Findings::default();
    let steps = check_steps(stage, scene, &mut findings)?;
    let list = stage.sandbox.ask(&["list"])?;
    let checkpoints = array(&list, "checkpoints");
    findings.checkpoints = checkpoints.len();
    if let Some(step) = steps.iter().find(|step| is_deletion(step)) {
        check_undo(stage, step, &mut findings)?;
    } else {
        let problem = "no step has the command of the deletion";
        findings.problems.push(problem.to_owned());
    }
    match checkpoints.last() {
        Some(oldest) => check_restore(stage, text(oldest, "id"), &mut findings)?,
        None => findings.problems.push("there is no checkpoint".to_owned()),
    }
    Ok(findings)
}

/// Every call that changes files is a step of its own, and the step knows what the call changed.
fn check_steps(stage: &Stage, scene: &Scene, findings: &mut Findings) -> Result<Vec<Value>> {
    let answer = stage.sandbox.ask(&["steps", "--all"])?;
    let steps: Vec<_> = array(&answer, "steps")
        .iter()
        .filter(|step| text(step, "kind") == "tool")
        .cloned()
        .collect();
    let changed: Vec<_> = steps.iter().filter(|step| text(step, "state") == "changed").collect();
    findings.steps = steps.len();
    findings.changed_steps = changed.len();
    let calls: Vec<_> = scene.iter().flatten().collect();
    let changing = calls.iter().filter(|action| action.changes_files()).count();
    findings.expect(changed.len() == changing, || {
        format!("{} steps changed files instead of {changing}", changed.len())
    });
    for action in calls.into_iter().filter(|action| action.changes_files()) {
        let file = touched(action);
        let knows =
            |step: &&&Value| array(step, "files").iter().any(|one| text(one, "path") == file);
        let found = changed.iter().filter(knows).count();
        findings.expect(found > 0, || format!("no step knows that it changed {file}"));
    }
    Ok(steps)
}

/// One file an action changes and no other action of the scene does.
fn touched(action: &Action) -> &'static str {
    match action {
        Action::Create { path, .. } | Action::Look { path } | Action::Edit { path, .. } => path,
        Action::Shell { .. } if is_deletion_action(action) => project::DELETED_AND_SAVED[0],
        Action::Shell { .. } | Action::Background { .. } => "removed.txt",
        Action::Delegate { .. } => project::DELETED_AND_SAVED[0],
    }
}

fn is_deletion_action(action: &Action) -> bool {
    matches!(action, Action::Shell { command } if command.starts_with("python3"))
}

fn is_deletion(step: &Value) -> bool {
    text(step, "command").contains("python3 -c")
}

/// Undoing the deletion brings its files back and leaves the rest of what the agent did.
fn check_undo(stage: &Stage, step: &Value, findings: &mut Findings) -> Result<()> {
    check_receipt(stage, text(step, "before"), findings)?;
    let number = step["number"].to_string();
    stage.sandbox.ask(&["undo", &number])?;
    let mut expected = with_saved_only(&stage.start);
    for (path, text) in [("new.txt", "created\n"), ("side.txt", "side\n"), ("edited.txt", "two\n")]
    {
        project::put(&mut expected, path, text);
    }
    expected.remove(b"removed.txt");
    compare(stage, &expected, "after `herma undo STEP`", findings);
    Ok(())
}

/// What the checkpoint before the deletion left out, it names, with the reason.
fn check_receipt(stage: &Stage, checkpoint: &str, findings: &mut Findings) -> Result<()> {
    let receipt = stage.sandbox.ask(&["show", checkpoint])?;
    for (path, reason) in project::LEFT_OUT {
        let named = array(&receipt, "left_out").iter().any(|entry| {
            Path::new(path).starts_with(text(entry, "path")) && text(entry, "reason") == reason
        });
        findings.expect(named, || format!("the receipt does not name {path} as {reason}"));
    }
    Ok(())
}

/// The first checkpoint brings back every byte the agent found, but for what its receipt names.
fn check_restore(stage: &Stage, checkpoint: &str, findings: &mut Findings) -> Result<()> {
    check_receipt(stage, checkpoint, findings)?;
    let answer = stage.sandbox.ask(&["restore", checkpoint])?;
    let count = |field| answer[field].as_u64().unwrap_or(0) as usize;
    findings.restored = count("written") + count("removed");
    let expected = with_saved_only(&stage.start);
    compare(stage, &expected, "after `herma restore`", findings);
    Ok(())
}

/// After agents that worked at the same time: everything back to the beginning.
pub fn check_restore_of_all(stage: &Stage, scenes: &[Scene]) -> Result<Findings> {
    let mut findings = Findings::default();
    let answer = stage.sandbox.ask(&["steps", "--all"])?;
    findings.steps = array(&answer, "steps").len();
    let (calls, steps) = (scenes.iter().flatten().flatten().count(), findings.steps);
    findings.expect(steps == calls, || format!("{calls} calls are {steps} steps"));
    let list = stage.sandbox.ask(&["list"])?;
    let checkpoints = array(&list, "checkpoints");
    findings.checkpoints = checkpoints.len();
    let Some(oldest) = checkpoints.last() else {
        findings.problems.push("there is no checkpoint".to_owned());
        return Ok(findings);
    };
    stage.sandbox.ask(&["restore", text(oldest, "id"), "--all"])?;
    let expected = with_saved_only(&stage.start);
    compare(stage, &expected, "after `herma restore --all`", &mut findings);
    Ok(findings)
}

/// After an agent that let another one work: what that one did is a step, and can be undone. Also says what the
/// step knows of itself: how it ended, and whether it is part of the step that let the other one work.
pub fn check_delegation(stage: &Stage, scenes: &[Scene]) -> Result<(String, Findings)> {
    let answer = stage.sandbox.ask(&["steps", "--all"])?;
    let step = array(&answer, "steps").iter().find(|step| is_deletion(step));
    let known = step.map_or("no step".to_owned(), |step| {
        let place = if step["within"].is_null() { "apart" } else { "within" };
        format!("{}, {place}", text(step, "state"))
    });
    let mut findings = check_restore_of_all(stage, scenes)?;
    findings.expect(step.is_some(), || "what the sub-agent did is no step".to_owned());
    Ok((known, findings))
}

fn compare(stage: &Stage, expected: &Tree, when: &str, findings: &mut Findings) {
    let found = project::read(&stage.sandbox.workspace());
    if let Some(names) = project::differences(expected, &found) {
        findings.problems.push(format!("{when} these differ: {names}"));
    }
}

/// The tree without what the receipt names: the agent has deleted that, and nobody has it.
pub fn with_saved_only(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    for (path, _) in project::LEFT_OUT {
        tree.remove(path.as_bytes());
    }
    tree
}

/// The list in a field.
pub fn array<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// The text in a field.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
