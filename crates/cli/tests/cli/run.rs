//! `herma run`: the command's streams and exit code, and what is told of it.

use std::io::Write;
use std::process::Stdio;

use super::{json, test_env};
use herma_testkit::Bounded;

#[test]
fn a_command_is_a_step_that_says_what_it_changed_and_how_to_undo_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let script = "echo two >> a.txt; echo new > b.txt; echo said";
    let run = project.run(["run", "--", "sh", "-c", script]).success();
    insta::assert_snapshot!(run, @"
    said
    ------- stderr -------
    Step 2 changed 2 files, +2/-0:
      a.txt
      b.txt
    `herma undo 2` undoes only this and keeps later edits.
    ");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
    2  [TIME]  [AGE]        sh  run  sh -c 'echo two >> a.txt; echo new > b.txt; echo said'  (2 files, +2/-0)
    ");
    insta::assert_snapshot!(project.run(["list"]).success(), @"
    now                 no unsaved changes
    2    [AGE]  sh   sh -c 'echo two >> a.txt; echo new > b.txt; echo said'  2 files  +2
    1    [AGE]  you  the first checkpoint
    ------- stderr -------
    Oldest: checkpoint 1, [TIME] today.
    ");
}

#[test]
fn a_command_that_changes_nothing_says_so_and_is_not_listed() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    insta::assert_snapshot!(project.run(["run", "--", "true"]).success(), @"
    ------- stderr -------
    The command changed nothing.
    ");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
    ------- stderr -------
    1 step that changed nothing not shown: `--all` shows them.
    ");
    insta::assert_snapshot!(project.run(["steps", "--all"]).success(), @"s1  [TIME]  [AGE]        true  run  true  (nothing)");
}

#[test]
fn the_exit_code_is_the_command_s() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let run = |script: &str| project.run(["run", "-q", "--", "sh", "-c", script]);
    assert!(run("exit 0").success().stderr.is_empty());
    run("echo changed > a.txt; exit 3").code(3);
    run("exit 255").code(255);
    run("kill -KILL $$").code(128 + 9);
    run("kill -TERM $$").code(128 + 15);
    let states = project.run(["steps", "--all", "-z"]).success();
    assert_eq!(states.text().matches("\tunchanged\t").count(), 4, "{states}");
    assert_eq!(states.text().matches("\tchanged\t").count(), 1, "{states}");
}

#[test]
fn a_command_that_cannot_be_run_is_told_apart_as_a_shell_does() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    insta::assert_snapshot!(project.run(["run", "--", "no-such-command"]).code(127), @"
    ------- stderr -------
    Error: there is no command `no-such-command`
    Nothing was run.
    [exit status: 127]
    ");
    insta::assert_snapshot!(project.run(["run", "--", "./a.txt"]).code(126), @"
    ------- stderr -------
    Error: `./a.txt` cannot be run: Permission denied (os error 13)
    Nothing was run.
    [exit status: 126]
    ");
    let states = project.run(["steps", "--all", "-z"]).success();
    assert_eq!(states.text().matches("\tunchanged\t").count(), 2, "{states}");
}

#[test]
fn streams_directory_and_environment_reach_the_command() {
    let env = test_env();
    let project = env.work_dir("project").files([("sub/a.txt", "one\n")]);
    project.run(["save"]).success();
    let mut command = env.command(project.path());
    let script =
        "read line; pwd; echo got $line; echo step $HERMA_STEP >&2; echo $HERMA_STEP_PROJECT";
    command
        .args(["-C", "sub", "run", "-q", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.bounded_spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = child.bounded_output().unwrap();
    let status = json(&project.run(["--json"]).success());
    let id = status["project"]["id"].as_str().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let directory = project.join("sub");
    assert_eq!(printed, format!("{}\ngot hello\n{id}\n", directory.display()));
    assert_eq!(output.stderr, b"step 1\n");
}

#[test]
#[allow(clippy::disallowed_methods)]
fn without_a_save_before_it_the_command_is_not_run() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    // Where the store would be is a file.
    std::fs::create_dir_all(env.home()).unwrap();
    std::os::unix::fs::symlink("/dev/null", env.home().join("checkpoints")).unwrap();
    let refused = project.run(["run", "--", "touch", "ran"]).code(1);
    assert!(!project.exists("ran"), "{refused}");
    let words = refused.error_text();
    assert!(words.contains("The command was not run.\n"), "{refused}");
    assert!(words.contains("--anyway"), "{refused}");

    let anyway = project.run(["run", "--anyway", "--", "touch", "ran"]).success();
    assert!(project.exists("ran"));
    assert!(anyway.error_text().contains("cannot be undone"), "{anyway}");
}

#[test]
fn the_checkpoint_before_it_can_be_named() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let run = ["run", "--name", "before", "--", "sh", "-c", "echo 2 > a.txt"];
    project.run(run).success();
    project.run(["restore", "before"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
    project.write("a.txt", "three\n");
    let taken = project.run(["run", "--name", "before", "--", "touch", "ran"]).code(1);
    assert!(!project.exists("ran"), "{taken}");
    assert!(taken.error_text().contains("belongs to checkpoint"), "{taken}");
    let open = project.run(["steps", "--all", "-z"]).success();
    assert!(!open.text().contains("\topen\t"), "{open}");
}

#[test]
fn a_command_under_a_command_is_part_of_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let herma = env!("CARGO_BIN_EXE_herma");
    let script = format!("{herma} run -q --agent inner -- sh -c 'echo 2 > a.txt'; echo 3 > b.txt");
    let run = ["run", "-q", "--agent", "outer", "--", "sh", "-c", &script];
    project.run(run).success();
    let listed = json(&project.run(["steps", "--json"]).success());
    let steps = listed["steps"].as_array().unwrap();
    assert_eq!(steps[0]["within"], steps[1]["number"]);
    assert_eq!(steps[0]["changes"]["files"], 1);
    assert_eq!(steps[1]["changes"]["files"], 2);
    assert_eq!(steps[0]["overlaps"], serde_json::json!([]));

    // Somewhere else it is part of nothing, and nonsense is noticed.
    let mut other = test_env();
    let id = json(&project.run(["--json"]).success())["project"]["id"].clone();
    other.set("HERMA_STEP", "1");
    other.set("HERMA_STEP_PROJECT", id.as_str().unwrap());
    let elsewhere = other.work_dir("elsewhere").files([("a.txt", "one\n")]);
    let begun = json(&elsewhere.run(["step", "begin", "--json"]).success());
    assert_eq!(begun["step"]["within"], serde_json::Value::Null);
    let own = begun["project"]["id"].as_str().unwrap().to_owned();
    other.set("HERMA_STEP", "first");
    other.set("HERMA_STEP_PROJECT", own);
    let elsewhere = other.work_dir("elsewhere");
    let begun = elsewhere.run(["step", "begin"]).success();
    assert!(begun.error_text().contains("`HERMA_STEP` is no step's number"), "{begun}");
}

#[test]
fn programs_read_the_end_from_the_last_line() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let run = ["run", "--json", "--", "sh", "-c", "echo said; echo 2 > a.txt; kill -HUP $$"];
    let run = project.run(run).code(129);
    let (said, last) = run.line().rsplit_once('\n').unwrap();
    assert_eq!(said, "said");
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["schema"], "herma.run/2");
    assert_eq!((&last["exit_code"], &last["signal"]), (&129.into(), &1.into()));
    assert_eq!(last["step"]["state"], "changed");
    assert_eq!(last["step"]["files"][0]["path"], "a.txt");
}

#[test]
fn a_save_that_fails_afterwards_leaves_the_exit_code_alone() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    // A store that others may write to is not used.
    let script = "echo 2 > a.txt; chmod 0777 $HERMES_HOME/checkpoints/store; exit 4";
    let run = project.run(["run", "--", "sh", "-c", script]).code(4);
    let words = run.error_text();
    assert!(words.starts_with("Error: "), "{run}");
    assert!(words.contains("what it changed was not saved"), "{run}");
}

#[test]
fn a_run_that_was_killed_is_open_until_the_next_step_begins() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let script = "echo 2 > a.txt; kill -KILL $PPID";
    let run = project.run(["run", "--", "sh", "-c", script]);
    assert_eq!(run.status.code(), None, "{run}");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"s1  [TIME]  [AGE]        sh  run  sh -c 'echo 2 > a.txt; kill -KILL $PPID'  [open]");
    let later = project.run(["run", "--", "sh", "-c", "echo 3 > a.txt"]).success();
    assert!(!later.error_text().contains("at the same time"), "{later}");
    insta::assert_snapshot!(project.run(["steps"]).success(), @"
     3  [TIME]  [AGE]        sh  run  sh -c 'echo 3 > a.txt'  (1 file, +1/-1)
    s1  [TIME]  [AGE]        sh  run  sh -c 'echo 2 > a.txt; kill -KILL $PPID'  [end unknown]
    ");
    // Nothing of what it may have done reaches over the next one.
    project.run(["undo", "3"]).success();
    assert_eq!(project.read("a.txt"), "2\n");
}

#[test]
fn a_command_that_destroys_what_checkpoints_leave_out_is_listed_and_undo_names_it() {
    let env = test_env();
    let files = [
        ("a.txt", "one\n"),
        (".gitignore", "*.sqlite\n"),
        (".env", "KEY=1\n"),
        ("app.sqlite", "rows\n"),
        ("secrets.yaml", "key: 1\n"),
    ];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).code(3);
    let script = "rm .env app.sqlite secrets.yaml";
    let said = "3 files outside checkpoints changed: .env removed, app.sqlite removed, secrets.yaml removed";
    let run = project.run(["run", "--", "sh", "-c", script]).success();
    let words = run.error_text();
    assert!(words.contains("Step 2 changed nothing that checkpoints hold."), "{run}");
    assert!(words.contains(said), "{run}");
    let steps = project.run(["steps"]).success();
    assert!(steps.text().contains(said), "{steps}");
    let listed = json(&project.run(["steps", "--json"]).success());
    assert_eq!(listed["steps"][0]["outside"][0]["what"], "removed");
    assert_eq!(listed["steps"][0]["outside"][0]["path"], ".env");

    for arguments in [
        &["undo", "2"][..],
        &["undo", "2", "--dry-run"],
        &["undo"],
        &["undo", "--dry-run"],
        &["restore", "1"],
        &["restore", "1", "--all", "--dry-run"],
    ] {
        let undone = project.run(arguments).code(3);
        assert!(undone.error_text().contains(said), "{arguments:?}: {undone}");
    }
    let undone = json(&project.run(["undo", "--json"]).code(3));
    assert_eq!(undone["outside"].as_array().unwrap().len(), 3);
    let chat = project.run(["slash", "/rollback undo"]).code(3);
    assert!(chat.text().contains("app.sqlite removed"), "{chat}");
}

#[test]
fn an_undo_says_that_it_is_older_than_a_command_that_nobody_looked_at_everywhere() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("node_modules/x/index.js", "x\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.run(["save"]).success();
    let script = "echo broken > node_modules/x/index.js";
    let run = project.run(["run", "--", "sh", "-c", script]).success();
    let said = "The command changed nothing that checkpoints hold; 1 left-out directory was not looked into.";
    assert!(run.error_text().contains(said), "{run}");
    let planned = json(&project.run(["undo", "--dry-run", "--json"]).success());
    assert_eq!(planned["passed"]["step"], "s1");
    let undone = project.run(["undo"]).success();
    let said = "The last step changed nothing that checkpoints hold (1 left-out directory was not looked into): this undoes what came before it.";
    assert!(undone.error_text().contains(said), "{undone}");
    let again = project.run(["redo"]).success();
    assert!(!again.error_text().contains("The last step"), "{again}");
}

#[test]
fn an_undo_says_that_it_is_older_than_a_command_that_only_made_a_left_out_file() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.run(["save"]).success();
    let script = "echo K > .env";
    project.run(["run", "--", "sh", "-c", script]).success();
    let undone = project.run(["undo"]).success();
    let said =
        "The last step changed nothing that checkpoints hold: this undoes what came before it.";
    assert!(undone.error_text().contains(said), "{undone}");
}

#[test]
fn a_command_that_deletes_a_branch_says_so_at_once() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let git = |script: &str| {
        let who = "git -c user.name=a -c user.email=a@example.org";
        let script = script.replace("git", who);
        project.run(["run", "--", "sh", "-c", &script]).success()
    };
    git("git init -q -b main && git add -A && git commit -q -m one && git branch f");
    let deleted = git("git branch -q -D f");
    let words = deleted.error_text();
    assert!(words.contains("git: branch f deleted, not covered"), "{deleted}");
    let undone = project.run(["undo"]).code(3);
    assert!(undone.error_text().contains("git: branch f deleted, not covered"), "{undone}");
}
