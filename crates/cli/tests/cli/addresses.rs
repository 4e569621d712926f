//! Naming a checkpoint: by a number that never changes, by what was before it, by time.

use super::test_env;

#[test]
fn a_number_is_the_same_after_saves_drops_and_restores() {
    let env = test_env();
    let project = env.work_dir("project");
    for text in ["one", "two", "three", "four"] {
        project.write("a.txt", &format!("{text}\n"));
        project.run(["save", "-m", text]).success();
    }
    project.run(["drop", "--yes", "3"]).success();
    project.run(["restore", "2"]).success();
    assert_eq!(project.read("a.txt"), "two\n");
    let gone = project.run(["restore", "3"]).code(10);
    let said = gone.error_text();
    assert!(said.contains("checkpoint 3 is gone: it was dropped or cleaned up"), "{said}");
    assert!(said.contains("the nearest: 2, 4"), "{said}");
    let never = project.run(["show", "77"]).code(10);
    assert!(never.error_text().contains("there is no checkpoint 77"), "{never}");
    project.run(["restore", "4^"]).success();
    assert_eq!(project.read("a.txt"), "two\n", "the one before 4, as 3 is gone");
    let oldest = project.run(["restore", "1^"]).code(10);
    assert!(oldest.error_text().contains("no checkpoint before 1"), "{oldest}");
}

#[test]
fn several_checkpoints_are_dropped_by_their_numbers_at_once() {
    let env = test_env();
    let project = env.work_dir("project");
    for number in 1..=6 {
        project.write("a.txt", &format!("{number}\n"));
        project.run(["save"]).success();
    }
    let refused = project.run(["drop", "--yes", "2-4", "9"]).code(10);
    assert!(refused.error_text().contains("no checkpoint 9"), "{refused}");
    project.run(["show", "2"]).success();
    let dropped = project.run(["drop", "--yes", "2-4", "6"]).success();
    assert_eq!(dropped.error_text().lines().count(), 4, "{dropped}");
    let left = project.run(["list", "-z"]).success();
    let numbers = left.text().split('\0').filter_map(|line| line.split('\t').next());
    let numbers: Vec<&str> = numbers.filter(|number| !number.is_empty()).collect();
    assert_eq!(numbers, ["5", "1"]);
}

#[test]
fn a_time_is_the_state_the_project_was_in_then() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let old = project.run(["restore", "1h"]).code(10);
    assert!(old.error_text().contains("no checkpoint as old as `1h`"), "{old}");
    project.write("a.txt", "two\n");
    for now in ["0s", "today", "today 23:59:59"] {
        let shown = project.run(["diff", now, "--name-only"]).success();
        assert_eq!(shown.text(), "a.txt\n", "{now}");
    }
    for taken in ["1h", "yesterday", "2026-11-02", "1-3", "now", "noon", "2026-02-30"] {
        let refused = project.run(["name", "1", taken]).code(2);
        let said = refused.error_text();
        assert!(said.contains("taken for a number, an id or a time"), "{said}");
    }
    for command in [&["diff", "0s"][..], &["restore", "0s", "--dry-run"], &["pin", "0s"]] {
        let done = project.run(command).success();
        let said = done.error_text();
        assert!(
            said.starts_with("`0s` is checkpoint 1, the last one saved by then: 20"),
            "{command:?}: {said}"
        );
        assert!(said.contains(" ago).\n") || said.contains("(just now).\n"), "{said}");
    }
    let named = project.run(["diff", "1"]).success();
    assert!(!named.error_text().contains("is checkpoint"), "{named}");
    project.run(["name", "1", "release-1h"]).success();
    project.run(["restore", "@release-1h"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn every_list_is_filtered_by_the_same_options() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("sub/b.txt", "one\n")]);
    project.run(["save", "-m", "first", "--agent", "claude", "--session", "s-1"]).success();
    for (agent, file) in [("claude", "a.txt"), ("codex", "sub/b.txt")] {
        let begin = ["step", "begin", "--agent", agent, "--session", agent, "--tool", "Edit"];
        let step = project.run(begin).success();
        project.write(file, agent);
        project.run(["step", "end", step.text().trim()]).success();
    }
    let numbers = |args: &[&str]| {
        let listed = project.run(args).success();
        let first = |line: &str| line.split_whitespace().next().map(|n| n.replace('#', ""));
        listed.text().lines().filter_map(first).collect::<Vec<_>>()
    };
    for (filter, checkpoints, steps) in [
        (&["--agent", "codex"][..], &["3"][..], &["3"][..]),
        (&["--session", "claude"], &["2"], &["2"]),
        (&["--path", "sub"], &["3", "1"], &["3"]),
        (&["--path", "a.txt", "--path", "sub"], &["3", "2", "1"], &["3", "2"]),
        (&["--since", "1h"], &["3", "2", "1"], &["3", "2"]),
        (&["--until", "yesterday"], &[], &[]),
        (&["--since", "yesterday", "--agent", "claude", "-n", "1"], &["2"], &["2"]),
    ] {
        assert_eq!(numbers(&[&["list"], filter].concat()), checkpoints, "{filter:?}");
        assert_eq!(numbers(&[&["steps"], filter].concat()), steps, "{filter:?}");
    }
    let refused = project.run(["list", "--since", "10"]).code(2);
    assert!(refused.error_text().contains("yesterday 18:00"), "{refused}");
}

#[test]
fn show_without_a_checkpoint_shows_the_newest() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "-m", "second"]).success();
    let shown = project.run(["show"]).success();
    assert!(shown.text().starts_with("Checkpoint 2 "), "{shown}");
}

#[test]
fn what_is_named_is_brought_back_whoever_changed_it_and_the_rest_stays() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).success();
    let step = project.run(["step", "begin", "--agent", "claude"]).success();
    project.write("b.txt", "two\n");
    project.run(["step", "end", step.text().trim()]).success();
    project.write("a.txt", "spoilt\n");
    project.remove("c.txt");
    project.run(["restore", "1", "a.txt", "c.txt"]).success();
    let now = ["a.txt", "b.txt", "c.txt"].map(|name| project.read(name));
    assert_eq!(now, ["one\n", "two\n", "one\n"]);
    project.run(["restore", "1", "c.txt"]).success();
    assert_eq!(project.read("c.txt"), "one\n", "it is as it was");
    project.run(["undo"]).success();
    assert_eq!(project.read("a.txt"), "spoilt\n", "the state before was saved");
}

#[test]
fn dropping_says_which_steps_can_no_longer_be_undone() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let step = project.run(["step", "begin", "--agent", "claude"]).success();
    project.write("a.txt", "two\n");
    project.run(["step", "end", step.text().trim()]).success();
    project.write("a.txt", "three\n");
    project.run(["save"]).success();
    let warning = "what 2 did can no longer be undone exactly";
    assert!(!project.run(["drop", "3", "--yes"]).success().error_text().contains(warning));
    let refused = project.run(["drop", "2"]).code(2);
    assert!(refused.error_text().contains(warning), "{refused}");
    let dropped = project.run(["drop", "1", "--yes"]).success();
    assert!(dropped.error_text().contains(warning), "{dropped}");
}

#[test]
fn a_list_of_a_path_passes_over_checkpoints_without_it() {
    let env = test_env();
    let project = env.work_dir("project").files([("lib/u", "u\n"), ("x", "x\n")]);
    project.run(["save"]).success();
    project.remove("lib/u");
    project.run(["save"]).success();
    for text in ["more\n", "and more\n"] {
        project.write("x", text);
        project.run(["save"]).success();
    }
    let listed = project.run(["list", "--path", "lib", "-z"]).success();
    assert!(listed.text().starts_with("2\t"), "{listed}");
    assert_eq!(
        listed.text().matches('\0').count(),
        2,
        "the one it went with, and the oldest, which had it: {listed}"
    );
    project.write("late", "x\n");
    project.run(["save"]).success();
    let listed = project.run(["list", "--path", "late", "-z"]).success();
    assert_eq!(listed.text().matches('\0').count(), 1, "the oldest does not have it: {listed}");
    project.run(["list", "--path", "nobody-had-it"]).code(2);
}
