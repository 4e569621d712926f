//! `herma try` and `herma promote`: several copies at once, and the best of them comes in.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test does what a person does to files"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{json, test_env};
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, TestEnv, WorkDir};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn project(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("lines", LINES), ("old", "old\n")]);
    project.run(["save"]).success();
    project
}

fn copy(env: &TestEnv, name: &str) -> PathBuf {
    env.user_home().join(".cache/herma/open").join(name)
}

fn attempt(options: &[&str], script: &str) -> Vec<String> {
    let mut args = vec!["try".to_owned()];
    args.extend(options.iter().map(|option| (*option).to_owned()));
    args.extend(["--", "sh", "-c", script].map(str::to_owned));
    args
}

/// Four copies, a scripted agent, and the best of them kept: one change, which is undone at once.
#[test]
fn the_best_of_four_is_promoted_as_one_change() {
    let env = test_env();
    let project = project(&env);
    project.write("unsaved", "by hand\n");
    let present = project.tree();
    // In each an agent works in two calls of its own, which are part of the step.
    let script = r#"
        herma() { "$HERMA" "$@"; }
        herma run --agent scripted -- sh -c 'sed -i "s/^2$/two of $HERMA_TRY/" lines' 2>/dev/null
        herma run --agent scripted -- sh -c 'echo $HERMA_TRY > made; rm old' 2>/dev/null
        git rev-parse --show-toplevel 2>/dev/null && exit 9
        echo "done $HERMA_TRY"
        test "$HERMA_TRY" != 4
    "#;
    let script = format!("HERMA={}; {script}", env!("CARGO_BIN_EXE_herma"));
    let score = "cat made; expr 10 - $(cat made)";
    let tried = project.run(attempt(&["-k", "4", "--score", score, "--json"], &script)).success();
    assert!(tried.error_text().contains("3 | done 3\n"), "{tried}");
    let tried = json(&tried);
    assert_same(&present, &project.tree(), "the project is as it was");
    let all = tried["tries"].as_array().unwrap();
    let of = |name: &str| all.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("try"), [1, 2, 3, 4].map(serde_json::Value::from));
    assert_eq!(of("exit_code"), [0, 0, 0, 1].map(serde_json::Value::from));
    assert_eq!(of("score"), ["9", "8", "7", "6"].map(serde_json::Value::from));
    for one in all {
        assert_eq!(one["step"]["agent"], "sh", "{one}");
        assert_eq!(one["step"]["changes"]["files"], 3, "{one}");
    }
    // Meanwhile the person went on.
    project.write("lines", &LINES.replace("8\n", "eight\n"));
    let before = project.tree();
    let planned = project.run(["promote", "2", "--dry-run"]).success();
    assert!(planned.text().contains("+two of 2"), "{planned}");
    assert_same(&before, &project.tree(), "only planned");
    let promoted = project.run(["promote", "2"]).success();
    assert!(promoted.error_text().contains("Promoted try 2 as change 4"), "{promoted}");
    let both = LINES.replace("2\n", "two of 2\n").replace("8\n", "eight\n");
    assert_eq!(project.read("lines"), both);
    assert_eq!((project.read("made"), project.exists("old")), ("2\n".into(), false));
    assert_eq!(project.read("unsaved"), "by hand\n");
    let listed = project.run(["list"]).success();
    assert!(listed.text().contains("promoted try 2 of 2: "), "{listed}");
    project.run(["undo"]).success();
    assert_same(&before, &project.tree(), "undone at once");
    project.run(["redo"]).success();
    assert_eq!(project.read("lines"), both);
    env.fsck();
    assert!(project.run(["try", "--clean"]).success().error_text().contains("4 directories"));
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
    assert_eq!(project.read("lines"), both);
}

#[test]
fn a_table_compares_them() {
    let env = test_env();
    let project = project(&env);
    let script = "echo x >> lines; exit $((HERMA_TRY - 1))";
    let tried = project.run(attempt(&["-k", "2", "1"], script)).success();
    let lines: Vec<&str> = tried.text().lines().collect();
    assert_eq!(lines.len(), 3, "{tried}");
    let words = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(lines[0]), ["try", "exit", "changed", "time", "directory"]);
    for (index, name) in [(1, "project-1"), (2, "project-1-2")] {
        let row = words(lines[index]);
        assert_eq!(row[..3], [index.to_string(), (index - 1).to_string(), "1 file, +1/-0".into()]);
        assert_eq!(row[4], copy(&env, name).display().to_string());
    }
    // Where it never exits 0, neither does this.
    project.run(attempt(&["-k", "2"], "exit 7")).code(1);
    // What cannot be run is said, and the copies go with the others.
    let missing = project.run(["try", "-k", "2", "--json", "--", "no-such-program"]).code(1);
    assert_eq!(json(&missing)["tries"][1]["exit_code"], serde_json::Value::Null);
    assert!(missing.error_text().contains("there is no command `no-such-program`"), "{missing}");
    project.run(["try", "--clean"]).success();
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
}

/// Each waits for the others, with a bound.
#[test]
fn they_run_at_once_and_one_after_the_other_if_that_is_asked_for() {
    let env = test_env();
    let project = project(&env);
    let meeting = env.root().join("meeting");
    std::fs::create_dir(&meeting).unwrap();
    let at = meeting.display();
    let script = format!(
        "touch {at}/$HERMA_TRY; for i in $(seq 600); do test $(ls {at} | wc -l) = 3 && exit 0; sleep 0.1; done; exit 1"
    );
    let tried = json(&project.run(attempt(&["--json"], &script)).success());
    let codes = tried["tries"].as_array().unwrap().iter().map(|one| one["exit_code"].clone());
    assert_eq!(codes.collect::<Vec<_>>(), [0, 0, 0]);
    let script = format!(
        "test $(ls {at} | wc -l) = 3 && rm {at}/$HERMA_TRY && sleep 0.2 && touch {at}/$HERMA_TRY"
    );
    let tried = json(&project.run(attempt(&["--jobs", "1", "--json"], &script)).success());
    let codes = tried["tries"].as_array().unwrap().iter().map(|one| one["exit_code"].clone());
    assert_eq!(codes.collect::<Vec<_>>(), [0, 0, 0], "nobody else was at it");
}

#[test]
fn a_conflict_is_named_and_decided() {
    let env = test_env();
    let project = project(&env);
    project.run(attempt(&["-k", "1"], "sed -i s/2/there/ lines; echo new > new")).success();
    project.write("lines", &LINES.replace("2\n", "here\n"));
    let promoted = project.run(["promote", "1"]).code(3);
    let said = promoted.error_text();
    assert!(said.contains("1 conflict left as it is:"), "{said}");
    assert!(
        said.contains("lines: the same or adjacent lines were changed here, too (line 2)"),
        "{said}"
    );
    assert!(said.contains("--conflicts=markers"), "{said}");
    assert_eq!(project.read("lines"), LINES.replace("2\n", "here\n"));
    assert_eq!(project.read("new"), "new\n");
    let decided = json(&project.run(["promote", "1", "--conflicts=theirs", "--json"]).success());
    assert_eq!(decided["conflicts"][0]["decided"], "theirs");
    assert_eq!(project.read("lines"), LINES.replace("2\n", "there\n"));
    let refused = project.run(["promote", "2"]).code(2);
    assert!(refused.error_text().contains("there is no try 2 of this project"), "{refused}");
}

/// What `herma open` made is promoted, too, from wherever somebody is.
#[test]
fn a_directory_that_was_opened_is_promoted_by_its_path() {
    let env = test_env();
    let project = project(&env);
    let place = env.root().join("work/mine");
    project.run(["open", "1", &place.display().to_string()]).success();
    std::fs::write(place.join("new"), "new\n").unwrap();
    std::fs::remove_file(place.join("old")).unwrap();
    let promoted = json(&env.work_dir("mine").run(["promote", ".", "--json"]).success());
    assert_eq!(promoted["project"]["path"], project.path().display().to_string());
    assert_eq!((project.read("new"), project.exists("old")), ("new\n".into(), false));
    let again = project.run(["promote", &place.display().to_string()]).success();
    assert!(again.error_text().contains("is here already"), "{again}");
    let elsewhere = project.run(["promote", "src"]).code(2);
    assert!(elsewhere.error_text().contains("was not opened by `herma open`"), "{elsewhere}");
}

/// A try that is killed leaves copies that cleaning removes, once their commands are over, and nothing else.
#[test]
fn a_killed_try_leaves_copies_that_cleaning_removes() {
    let env = test_env();
    let project = project(&env);
    let present = project.tree();
    let started = env.root().join("started");
    std::fs::create_dir(&started).unwrap();
    let stop = env.root().join("stop");
    let script = format!(
        "touch {}/$HERMA_TRY; for i in $(seq 600); do test -e {} && exit; sleep 0.1; done",
        started.display(),
        stop.display()
    );
    let mut command = project.command();
    command.args(attempt(&["-k", "2"], &script));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut running = command.bounded_spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::read_dir(&started).unwrap().count() < 2 {
        assert!(Instant::now() < until, "they never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Somebody is at work in them.
    let busy = project.run(["try", "--clean"]).code(3);
    assert!(busy.error_text().contains("somebody is at work in it"), "{busy}");
    running.kill().unwrap();
    running.wait().unwrap();
    std::fs::write(&stop, "").unwrap();
    assert_same(&present, &project.tree(), "the project is as it was");
    let listed = json(&project.run(["open", "--list", "--json"]).success());
    assert_eq!(listed["copies"].as_array().unwrap().len(), 2);
    project.run(["try", "--clean"]).success();
    assert_eq!(project.run(["open", "--list"]).success().text(), "");
    assert_eq!(std::fs::read_dir(copy(&env, "")).unwrap().count(), 0);
    assert_same(&present, &project.tree(), "the project is as it was");
    env.fsck();
}
