//! `herma step`, `turn` and `steps`: told by separate processes, listed together.

use super::{json, test_env};
use serde_json::json;

#[test]
fn one_process_begins_a_step_and_another_ends_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let arguments = [
        "step",
        "begin",
        "--agent",
        "claude",
        "--session",
        "s-1",
        "--tool",
        "Edit",
        "--call",
        "toolu_1",
        "--path",
        "a.txt",
    ];
    let begun = project.run(arguments).success();
    assert_eq!((begun.text(), begun.error_text()), ("s1\n", ""));
    project.write("a.txt", "one\ntwo\n");
    project.write("b/c.txt", "new\n");
    insta::assert_snapshot!(project.run(["step", "end", "--call", "toolu_1"]).success(), @"
    ------- stderr -------
    Step 2 changed 2 files, +2/-0:
      a.txt
      b/c.txt
    `herma undo 2` undoes only this and keeps later edits.
    ");
    insta::assert_snapshot!(project.run(["step", "end", "s1"]).code(1), @"
    ------- stderr -------
    Error: step s1 has ended already
    Hint: `herma steps --all` shows the steps of this project.
    [exit status: 1]
    ");
    insta::assert_snapshot!(project.run(["step", "end", "--call", "toolu_1"]).code(10), @"
    ------- stderr -------
    Error: no step with the call id `toolu_1` is under way
    Hint: `herma steps --all` shows the steps of this project.
    [exit status: 10]
    ");
    project.run(["step", "end"]).code(2);
    insta::assert_snapshot!(project.run(["steps"]).success(), @"2  [TIME]  [AGE]        claude  Edit  a.txt  (2 files, +2/-0)");
}

#[test]
fn a_step_nobody_ended_is_open_until_the_next_turn() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let turn = ["turn", "begin", "--session", "s-1", "--agent", "claude", "--prompt", "fix it"];
    insta::assert_snapshot!(project.run(turn).success(), @"
    ------- stderr -------
    Turn 1 of session s-1 has begun.
    ");
    project
        .run(["step", "begin", "--session", "s-1", "--tool", "Bash", "--command", "make"])
        .success();
    project.write("a.txt", "two\n");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"s1  [TIME]  [AGE]        claude  Bash  make  [open]");
    let step = &json(&project.run(["steps", "--json"]).success())["steps"][0];
    assert_eq!((&step["turn"], &step["prompt"]), (&json!("1"), &json!("fix it")));
    project.run(["turn", "begin", "--session", "s-1"]).success();
    insta::assert_snapshot!(project.run(["steps"]).success(), @"s1  [TIME]  [AGE]        claude  Bash  make  [end unknown]");
    insta::assert_snapshot!(project.run(["turn", "end", "--session", "s-1"]).success(), @"
    ------- stderr -------
    Turn 2 of session s-1 is over.
    ");
    insta::assert_snapshot!(project.run(["turn", "end", "--session", "other"]).success(), @"
    ------- stderr -------
    No turn of this session has begun.
    ");
    let ended = json(&project.run(["turn", "end", "--session", "s-1", "--json"]).success());
    assert_eq!(ended["schema"], "herma.turn/1");
    assert_eq!((&ended["turn"]["count"], &ended["turn"]["over"]), (&json!(2), &json!(true)));
}

#[test]
fn what_overlaps_says_so_at_both_ends_and_in_the_list() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["step", "begin", "--agent", "one"]).success();
    insta::assert_snapshot!(project.run(["step", "begin", "--agent", "two", "--prompt", "do\nit"]).success(), @"
    s2
    ------- stderr -------
    Under way at the same time: s1. What changes meanwhile cannot be attributed to one of them.
    ");
    project.write("a.txt", "two\n");
    insta::assert_snapshot!(project.run(["step", "end", "s2"]).success(), @"
    ------- stderr -------
    Step 2 changed 1 file, +1/-1:
      a.txt
    Under way at the same time: s1. Some of this may not be step 2's.
    `herma undo 2` undoes only this and keeps later edits.
    ");
    project.chmod("a.txt", 0o600);
    project.run(["step", "end", "s1"]).success();
    project.run(["step", "begin", "--within", "s1"]).success();
    project.chmod("a.txt", 0o640);
    project.run(["step", "end", "s3"]).success();
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
    4  [TIME]  [AGE]        unnamed  (permissions or empty directories)
    2  [TIME]  [AGE]        two      do  (1 file, +1/-1) [overlaps 3]
    3  [TIME]  [AGE]        one      (1 file, +1/-1) [overlaps 2]
    ");
}

#[test]
fn steps_are_chosen_by_agent_session_turn_and_time() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    for (round, (agent, session, turn)) in
        [("claude", "s-1", "1"), ("claude", "s-1", "2"), ("codex", "s-2", "1")]
            .into_iter()
            .enumerate()
    {
        let arguments = ["step", "begin", "--agent", agent, "--session", session, "--turn", turn];
        let begun = project.run(arguments).success();
        project.write("a.txt", &format!("{round}\n"));
        project.run(["step", "end", begun.line()]).success();
    }
    project.run(["restore", "@", "--all"]).success();
    let numbers = |args: &[&str]| {
        let all = [&["steps", "--json"], args].concat();
        let listed = json(&project.run(all).success());
        let steps = listed["steps"].as_array().unwrap().clone();
        let numbers = steps.iter().map(|step| step["number"].as_u64().unwrap());
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers(&[]), [4, 3, 2]);
    assert_eq!(numbers(&["-n", "2"]), [4, 3]);
    assert_eq!(numbers(&["--agent", "claude"]), [3, 2]);
    assert_eq!(numbers(&["--session", "s-2"]), [4]);
    assert_eq!(numbers(&["--session", "s-1", "--turn"]), [3]);
    assert_eq!(numbers(&["--turn", "1"]), [4, 2]);
    assert_eq!(numbers(&["--since", "1h"]), [4, 3, 2]);
    assert_eq!(numbers(&["--since", "0s", "--agent", "nobody"]), [0; 0]);
    project.run(["steps", "--since", "tomorrow"]).code(2);
}

#[test]
fn restores_are_listed_as_herma_s_own_steps() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.write("b.txt", "two\n");
    project.run(["restore", "@", "a.txt"]).success();
    insta::assert_snapshot!(project.run(["steps"]).success(), @"3  [TIME]  [AGE]        herma  restore  restored a.txt to 1  (1 file, +1/-1)");
}

#[test]
fn records_and_json_hold_everything_exactly() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let command = "printf '\u{1b}[2J'\nsecond line";
    project
        .run(["step", "begin", "--agent", "a\tb", "--tool", "Bash", "--command", command])
        .success();
    project.write("a.txt", "two\n");
    let ended = json(&project.run(["step", "end", "s1", "--json"]).success());
    assert_eq!(ended["schema"], "herma.step-end/3");
    assert_eq!(ended["is_new"], true);
    let step = &ended["step"];
    assert_eq!((&step["kind"], &step["state"]), (&json!("tool"), &json!("changed")));
    assert_eq!(step["command"], command);
    assert_eq!(step["after"], ended["checkpoint"]["id"]);
    assert_eq!(step["changes"], json!({"files": 1, "insertions": 1, "deletions": 1}));
    assert_eq!(step["undoable"], true);

    let records = project.run(["steps", "-z"]).success();
    let fields: Vec<&str> = records.text().trim_end_matches('\0').split('\t').collect();
    assert_eq!(fields[..3], ["2", "tool", "changed"]);
    assert_eq!(fields[4..8], ["1", "1", "1", "1"]);
    assert_eq!(fields[8..], ["", "a\\tb", "Bash", command]);
    let line = project.run(["steps"]).success();
    assert!(!line.text().contains('\u{1b}') && !line.text().contains("second"), "{line}");

    let begun = json(&project.run(["step", "begin", "--json"]).success());
    assert_eq!(begun["schema"], "herma.step-begin/3");
    assert_eq!(begun["step"]["state"], "open");
    assert_eq!((&begun["is_new"], &begun["beside"]), (&json!(false), &json!([])));
    let unknown = json(&project.run(["step", "end", "s2", "--unknown", "--json"]).success());
    assert_eq!(unknown["step"]["state"], "unknown");
    assert_eq!(unknown["checkpoint"], json!(null));
}

#[test]
fn a_project_without_steps_says_what_to_type() {
    let env = test_env();
    let project = env.work_dir("project");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
    ------- stderr -------
    No steps of this project are known.
    Hint: `herma run -- COMMAND` runs a command as a step.
    ");
    let listed = json(&project.run(["steps", "--json"]).success());
    assert_eq!((&listed["schema"], &listed["steps"]), (&json!("herma.steps/2"), &json!([])));
}
