//! Green states: a check that passed marks the state it ran on, and people go back to it.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::io::Write;
use std::process::Stdio;

use herma_testkit::{Bounded, TestEnv, WorkDir};
use serde_json::{Value, json};

use super::{json as read, test_env};

/// A project whose check is whether `good` is there.
fn project(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a", "1\n"), ("good", "yes\n")]);
    project.write(".gitignore", "log\n");
    project.run(["config", "set", "checks", "sh -c 'test -e good'", "test -e *"]).success();
    project.run(["save"]).success();
    project
}

fn green(project: &WorkDir<'_>) -> Vec<u64> {
    let listed = read(&project.run(["list", "--green", "--json"]).success());
    let checkpoints = listed["checkpoints"].as_array().unwrap();
    checkpoints.iter().map(|one| one["number"].as_u64().unwrap()).collect()
}

#[test]
fn a_check_that_passed_marks_the_state_it_ran_on() {
    let env = test_env();
    let project = project(&env);
    assert_eq!(green(&project), [0_u64; 0]);
    let none = project.run(["restore", "--last-green"]).code(10);
    assert!(none.error_text().contains("no check has passed"), "{none}");
    // Another command, one that fails, and one that is more than the check.
    project.run(["run", "--", "test", "-f", "good"]).success();
    project.run(["run", "--", "test", "-e", "bad"]).code(1);
    project.run(["run", "--", "sh", "-c", "test -e good"]).success();
    assert_eq!(green(&project), [0_u64; 0]);
    project.run(["run", "--", "test", "-e", "good"]).success();
    assert_eq!(green(&project), [1]);
    let listed = project.run(["list"]).success();
    assert!(listed.text().contains("[green]"), "{listed}");
    assert!(project.run(["show", "1"]).success().text().contains("Green:    a check passed"));
    project.write("a", "2\n");
    project.run(["save"]).success();
    project.remove("good");
    project.write("a", "3\n");
    project.run(["run", "--", "test", "-e", "good"]).code(1);
    assert_eq!(green(&project), [1]);
    project.run(["restore", "--last-green", "--all"]).success();
    assert_eq!((project.read("a"), project.exists("good")), ("1\n".into(), true));
    project.run(["undo"]).success();
    assert_eq!((project.read("a"), project.exists("good")), ("3\n".into(), false));
}

/// What it passed with may be what it changed.
#[test]
fn a_check_that_changes_the_state_marks_nothing() {
    let env = test_env();
    let project = project(&env);
    project.run(["config", "set", "checks", "sh *"]).success();
    project.run(["run", "--", "sh", "-c", "echo 2 > a"]).success();
    assert_eq!(green(&project), [0_u64; 0]);
    // What checkpoints leave out may change.
    project.run(["run", "--", "sh", "-c", "echo ran >> log"]).success();
    assert_eq!(green(&project).len(), 1);
    assert_eq!(project.run(["restore", "--last-green", "--dry-run"]).success().text(), "");
}

#[test]
fn a_bisection_begins_from_the_newest_green_state() {
    let env = test_env();
    let project = project(&env);
    for change in 2..=9 {
        project.write("a", &format!("{change}\n"));
        if change == 7 {
            project.remove("good");
        }
        project.run(["save", "-q"]).success();
        if change == 5 {
            project.run(["run", "--", "test", "-e", "good"]).success();
        }
    }
    let log = env.root().join("log");
    let script = format!("cat a >> {}; test -e good", log.display());
    let found = read(&project.run(["bisect", "--json", "--", "sh", "-c", &script]).success());
    assert_eq!(found["change"]["number"], 7);
    let ran = std::fs::read_to_string(&log).unwrap();
    assert!(ran.starts_with("5\n9\n"), "{ran}");
}

/// The mark goes with its checkpoint, and travels with its row.
#[test]
fn a_mark_is_kept_with_its_row() {
    let (env, other) = (test_env(), test_env());
    let project = project(&env);
    project.run(["run", "--", "test", "-e", "good"]).success();
    project.write("a", "2\n");
    project.run(["save"]).success();
    let file = env.root().join("rows.herma").display().to_string();
    project.run(["export", "--all", &file]).success();
    let away = other.work_dir("project").files([("x", "x\n")]);
    away.run(["import", &file, "--name", "home"]).success();
    let listed = read(&away.run(["list", "--line", "home", "--green", "--json"]).success());
    assert_eq!(listed["checkpoints"][0]["number"], 1);
    assert_eq!(listed["checkpoints"][0]["green"], true);
    other.fsck();
    // Steps are forgotten before checkpoints: the mark is a ref.
    let refs = || env.git(["for-each-ref", "--format=%(refname)", "refs/herma-pins"]).success();
    assert!(refs().text().trim_end().ends_with("00000001.green"), "{}", refs());
    // It is no pin.
    let shown = read(&project.run(["show", "1", "--json"]).success());
    assert_eq!(shown["checkpoint"]["pinned"], false);
    project.run(["checkpoints", "verify"]).success();
    project.run(["drop", "1", "--yes"]).success();
    assert_eq!(refs().text(), "");
    assert_eq!(green(&project), [0_u64; 0]);
    project.run(["checkpoints", "verify"]).success();
}

/// An agent that says how its command ended.
fn tells(project: &WorkDir<'_>, call: &str, line: &str, code: Option<i32>) {
    for event in ["pre_tool", "post_tool"] {
        let mut payload = json!({
            "session_id": "s", "cwd": project.path(), "parent_session_id": null,
            "hook_event_name": event, "tool_name": "file_system.bash",
            "tool_call_id": call, "tool_input": {"command": line},
        });
        if event == "post_tool" {
            payload["tool_status"] = json!("success");
            let output =
                |code| json!({"command": line, "returncode": code, "stdout": "*** Begin Patch"});
            payload["tool_output"] = code.map_or(Value::Null, output);
        }
        let mut command = project.command();
        command.args(["hook", "vibe"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).bounded_spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        assert!(child.bounded_output().unwrap().status.success());
    }
}

#[test]
fn an_agents_check_counts_if_it_says_how_it_ended_and_ran_nothing_else() {
    let env = test_env();
    let project = project(&env);
    tells(&project, "1", "test -e good | cat", Some(0));
    tells(&project, "2", "test -e good || true", Some(0));
    tells(&project, "3", "test -e good", None);
    tells(&project, "4", "test -e good", Some(1));
    assert_eq!(green(&project), [0_u64; 0]);
    project.run(["config", "set", "checks", "./check *"]).success();
    project.write("check", "#!/bin/sh\n");
    project.run(["save"]).success();
    tells(&project, "5", "./check --all 2>&1", Some(0));
    assert_eq!(green(&project), [2]);
}
