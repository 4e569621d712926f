//! `herma resume`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "helpers of tests are tests: they prepare files and run git"
)]

use std::path::PathBuf;

use herma_testkit::env::WorkDir;
use herma_testkit::{Bounded, TestEnv};
use serde_json::json as value;

use super::{json, test_env};

fn base(env: &TestEnv) -> PathBuf {
    env.home().join("checkpoints")
}

/// Puts a file among the records.
fn put(env: &TestEnv, name: &str, bytes: &[u8]) {
    std::fs::create_dir_all(base(env)).unwrap();
    std::fs::write(base(env).join(name), bytes).unwrap();
}

fn git(project: &WorkDir<'_>, args: &[&str]) -> String {
    let mut command = herma_testkit::git::command();
    let output = command.current_dir(project.path()).args(args).bounded_output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_record_is_saved_updated_shown_and_deleted() {
    let env = test_env();
    let project = env.work_dir("project");
    let args = [
        "resume",
        "save",
        "s-1",
        "--no-facts",
        "--task",
        "port the parser",
        "--progress",
        "read=completed:12 files",
        "--progress",
        "write=in_progress",
        "--state",
        "tests_status=3 failing",
        "--decision",
        "no regex",
        "--blocked",
        "waiting for review",
        "--unresolved",
        "yes",
    ];
    let saved = project.run(args).success();
    assert_eq!(saved.error_text(), "Checkpoint saved for session s-1\n");
    insta::assert_snapshot!(project.run(["resume", "show", "s-1"]).success(), @r"
    session_id: s-1
    task: port the parser
    status: in_progress
    created: '[TIME]'
    updated: '[TIME]'
    progress:
    - step: read
      status: completed
      result: '12 files'
    - step: write
      status: in_progress
    state:
      tests_status: '3 failing'
    decisions:
    - no regex
    blocked:
    - waiting for review
    unresolved:
    - 'yes'
    ");

    let update = [
        "resume",
        "update",
        "s-1",
        "--no-facts",
        "--status",
        "completed",
        "--progress",
        "write=completed",
        "--state",
        "pushed=yes",
        "--blocked",
        "",
        "--json",
    ];
    let updated = json(&project.run(update).success());
    assert_eq!(updated["schema"], "herma.resume/1");
    assert_eq!(updated["action"], "updated");
    let record = &updated["record"];
    assert_eq!(record["status"], "completed");
    assert_eq!(record["progress"].as_array().unwrap().len(), 3);
    assert_eq!(record["state"], value!({"tests_status": "3 failing", "pushed": "yes"}));
    assert_eq!(record["blocked"], value!([]));
    assert_eq!(record["unresolved"], value!(["yes"]));
    assert_eq!(
        json(&project.run(["resume", "show", "s-1", "--json"]).success())["record"],
        *record
    );

    project.run(["resume", "delete", "s-1"]).code(2);
    let deleted = project.run(["resume", "delete", "--yes", "s-1"]).success();
    assert_eq!(deleted.error_text(), "Checkpoint cleared for session s-1\n");
    project.run(["resume", "delete", "--yes", "s-1"]).code(10);
}

#[test]
fn what_is_not_there_exits_with_ten_and_says_what_hermes_says() {
    let env = test_env();
    let project = env.work_dir("project");
    for _ in 0..2 {
        let show = project.run(["resume", "show", "s1"]).code(10);
        assert!(
            show.error_text().starts_with("Error: No checkpoint exists for session s1\n"),
            "{show}"
        );
        let update = project.run(["resume", "update", "s1", "--task", "x"]).code(10);
        let text = "Error: No checkpoint exists for session s1. Use 'write' first.\n";
        assert!(update.error_text().starts_with(text), "{update}");
        let empty = project.run(["resume", "list"]).success();
        assert_eq!(empty.error_text(), "No session has a resume record.\n");
        project.run(["resume", "gc"]).success();
        assert_eq!(project.run(["resume", "inject", "s1"]).success().text(), "");
        if env.home().exists() {
            break;
        }
        std::fs::create_dir_all(base(&env)).unwrap();
    }
    project.run(["resume", "save", "s1"]).code(2);
    for bad in ["../x", "a b", "abc\n", ""] {
        project.run(["resume", "save", bad, "--task", "x"]).code(2);
    }
}

#[test]
fn facts_about_the_project_are_added() {
    if !herma_testkit::git::available() {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
    git(&project, &["init", "-q", "-b", "topic/x"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "first"]);
    let commit = git(&project, &["rev-parse", "HEAD"]);
    project.run(["save", "--session", "s1"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "--session", "s1"]).success();
    project.write("b.txt", "two\n");
    project.write("new.txt", "x\n");
    let args = ["resume", "save", "s1", "--task", "t", "--state", "last_commit=mine", "--json"];
    let state = json(&project.run(args).success())["record"]["state"].clone();
    let newest = json(&project.run(["list", "--json"]).success());
    assert_eq!(state["active_branch"], "topic/x");
    assert_eq!(state["last_commit"], "mine", "what the caller says wins");
    assert_eq!(state["files_changed"], value!(["a.txt", "b.txt", "new.txt"]));
    assert_eq!(state["newest_checkpoint"], newest["checkpoints"][0]["id"]);
    assert_eq!(state["working_directory"], project.path().to_str().unwrap());

    git(&project, &["pack-refs", "--all"]);
    let update = ["resume", "update", "s1", "--json"];
    let state = json(&project.run(update).success())["record"]["state"].clone();
    assert_eq!(state["last_commit"], commit);

    git(&project, &["worktree", "add", "-q", "-b", "other", "../tree"]);
    let tree = env.work_dir("tree");
    let state = json(&tree.run(update).success())["record"]["state"].clone();
    assert_eq!(
        (&state["active_branch"], &state["last_commit"]),
        (&value!("other"), &value!(commit))
    );

    project.write(".git/HEAD", "ref: ../../x\n");
    let output = project.run(update).success();
    assert!(output.error_text().contains("is not in the record"), "{output}");
}

#[test]
fn a_record_can_come_from_json_with_keys_nobody_knows() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write(
        "r.json",
        r#"{"z": [1, {"k": null}], "task": "t", "state": {"rate": 1.5}, "decisions": ["2026-04-22"], "created": "x"}"#,
    );
    let args = ["resume", "save", "s1", "--no-facts", "--from-json", "r.json", "--decision", "on"];
    project.run(args).success();
    let text = std::fs::read_to_string(base(&env).join("s1.yaml")).unwrap();
    assert!(text.contains("decisions:\n- '2026-04-22'\n- 'on'\n"), "{text}");
    assert!(text.contains("state:\n  rate: 1.5\n"), "{text}");
    assert!(text.ends_with("z:\n- 1\n- k: null\n"), "{text}");
    for bad in ["[]", "{", r#"{"task": 3}"#] {
        project.write("bad.json", bad);
        project.run(["resume", "save", "s2", "--from-json", "bad.json"]).code(2);
    }
    project.run(["resume", "save", "s2", "--from-json", "none.json"]).code(1);
}

#[test]
fn records_are_listed_newest_first_and_what_is_none_is_named() {
    let env = test_env();
    let project = env.work_dir("project");
    put(&env, "old.yaml", b"task: \"old\\e[2J\\nline\"\nupdated: 2020-01-01\n");
    put(&env, "torn.yaml", b"task: 'half");
    project.run(["resume", "save", "new", "--task", "t", "--no-facts"]).success();
    let output = project.run(["resume", "list"]).code(3);
    insta::assert_snapshot!(output, @r"
    new  in_progress  [AGE]  t
    old  in_progress  [AGE]  old[2J line
    ------- stderr -------
    Warning: torn.yaml cannot be used: it is damaged: line 1: unclosed quote
    [exit status: 3]
    ");
    let listed = json(&project.run(["resume", "list", "--json"]).code(3));
    assert_eq!(listed["records"][0]["session"], "new");
    assert_eq!(listed["records"][1]["updated_seconds"], 1_577_836_800);
    assert_eq!(listed["problems"][0]["file"], "torn.yaml");
    let null = project.run(["resume", "list", "-z"]).code(3);
    assert!(null.text().ends_with("\0old\tin_progress\t0\t0\t1577836800\told[2J line\0"), "{null}");
    project.run(["resume", "show", "torn"]).code(12);
    project.run(["resume", "update", "torn", "--task", "x"]).code(12);
    let replaced = project.run(["resume", "save", "torn", "--task", "x", "--no-facts"]).success();
    assert!(replaced.error_text().contains("set-aside/"), "{replaced}");
}

#[test]
fn defect_60_collecting_goes_on_past_foreign_files_and_names_them() {
    let env = test_env();
    let project = env.work_dir("project");
    put(&env, "a.yaml", b"\xff\xfe");
    put(&env, "b.yaml", b"updated: 2020-01-01T00:00:00+02:00\n");
    put(&env, "c.yaml", b"updated: 1577836800\nstatus: completed\n");
    put(&env, "d e.yaml", b"x");
    put(&env, "f.yaml", b"task: no time\n");
    let dry = project.run(["resume", "gc", "--dry-run"]).success();
    insta::assert_snapshot!(dry, @r"
    b  not written for long
    c  completed
    ------- stderr -------
    Warning: a.yaml would be set aside: it is damaged: it is not UTF-8
    d e.yaml: it is left alone: no session has such a name
    2 records would be removed, 1 kept.
    ");
    assert_eq!(std::fs::read_dir(base(&env)).unwrap().count(), 5);
    let done = json(&project.run(["resume", "gc", "--json"]).success());
    assert_eq!(
        done["removed"],
        value!([{"session": "b", "rule": "stale"}, {"session": "c", "rule": "completed"}])
    );
    let place = base(&env).join(done["set_aside"][0]["to"].as_str().unwrap());
    assert_eq!(std::fs::read(place).unwrap(), b"\xff\xfe");
    assert_eq!(done["left_alone"][0]["file"], "d e.yaml");
    assert_eq!(done["kept"], 1);
}

#[test]
fn the_next_session_is_told_what_the_one_before_was_doing() {
    let env = test_env();
    let project = env.work_dir("project");
    project
        .run(["resume", "save", "s1", "--task", "t", "--no-facts", "--progress", "a=pending"])
        .success();
    let output = project.run(["resume", "inject", "s3", "--parent", "s2", "--parent", "s1"]);
    insta::assert_snapshot!(output.success(), @r"
    ══════════════════════════════════════════════
    CHECKPOINT: RESUME FROM HERE (saved before compaction, injected on session start)
    ══════════════════════════════════════════════
    Task: t
    Status: in_progress

    Progress:
      [ ] a
    ");
    project.run(["resume", "save", "s4", "--task", "t", "--no-facts", "--parent", "s1"]).success();
    let told = json(&project.run(["resume", "inject", "s4", "--json"]).success());
    assert_eq!(told["from"], "s1");
    project.run(["resume", "update", "s1", "--status", "completed", "--no-facts"]).success();
    assert_eq!(project.run(["resume", "inject", "s4"]).success().text(), "");
}

#[test]
fn defect_22_records_survive_the_first_store_cleaning_and_clearing() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["resume", "save", "s1", "--task", "t", "--no-facts"]).success();
    put(&env, "torn.yaml", b"- x\n");
    let record = std::fs::read(base(&env).join("s1.yaml")).unwrap();
    project.run(["save"]).success();
    project.run(["resume", "gc"]).success();
    project.run(["checkpoints", "prune", "--force"]).success();
    project.run(["checkpoints", "gc"]).success();
    project.run(["checkpoints", "clear-legacy", "--yes"]).success();
    let cleared = project.run(["checkpoints", "clear", "--yes"]).success();
    assert!(cleared.text().ends_with("\n  s1.yaml\n  set-aside\n"), "{cleared}");
    assert_eq!(std::fs::read(base(&env).join("s1.yaml")).unwrap(), record);
    assert_eq!(std::fs::read_dir(base(&env).join("set-aside")).unwrap().count(), 1);
}

#[test]
fn deleting_asks_on_a_terminal() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["resume", "save", "s1", "--task", "t", "--no-facts"]).success();
    let mut terminal = project.in_terminal(["resume", "delete", "s1"]);
    terminal.wait_for("Remove the resume record of session s1? [y/N] ");
    terminal.answer("n");
    terminal.finish().code(130);
    project.run(["resume", "show", "s1"]).success();
}

#[test]
fn a_status_nobody_knows_is_refused_with_those_that_are_known() {
    let env = test_env();
    let project = env.work_dir("project");
    for (bad, known) in [
        (r#"{"task": "t", "status": "done"}"#, "in_progress, completed, blocked, cancelled"),
        (
            r#"{"task": "t", "progress": [{"step": "a", "status": "done"}]}"#,
            "pending, in_progress, completed, cancelled",
        ),
    ] {
        project.write("bad.json", bad);
        let refused = project.run(["resume", "save", "s1", "--from-json", "bad.json"]).code(2);
        assert!(refused.error_text().contains(known), "{refused}");
        assert!(!base(&env).join("s1.yaml").exists());
    }
}

#[test]
fn maintenance_removes_records_that_have_served_their_time_once_a_day() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["resume", "save", "fresh", "--task", "t"]).success();
    let stale = base(&env).join("stale.yaml");
    let removed = |record: &str| {
        std::fs::write(&stale, record).unwrap();
        json(&project.run(["maintain", "--json"]).success())["resume_removed"].clone()
    };
    let old = "task: t\nupdated: 2020-01-01\n";
    assert_eq!(removed(old), 0, "nobody knows when the last run was");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let yesterday = now.as_secs() - 2 * 86_400;
    let mark = base(&env).join(".last_resume_gc");
    std::fs::write(&mark, yesterday.to_string()).unwrap();
    assert_eq!(removed(old), 1);
    assert_eq!(removed(old), 0, "once a day");
    assert!(base(&env).join("fresh.yaml").exists() && stale.exists());
}
