//! `herma purge`

use herma_testkit::{Bounded, Output, TestEnv, WorkDir};

use super::{json, test_env};

/// A key in two of three checkpoints, and a copy of it in one.
fn leaky(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "before"]).success();
    project.write("key.txt", "secret\n");
    project.run(["save", "-m", "leaked"]).success();
    project.write("key.txt", "another secret\n");
    project.write("old/key.bak", "secret\n");
    project.run(["save", "-m", "copied"]).success();
    project
}

/// What was printed, without how many bytes were freed: times are in what is compressed.
fn without_sizes(output: &Output) -> String {
    let lines = output.to_string();
    let lines = lines.lines().map(|line| match line.split_once(" any more") {
        Some((before, _)) => format!("{before} any more[SIZE]."),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_goes_and_what_stays_is_shown_first() {
    let env = test_env();
    let project = leaky(&env);
    let before = project.run(["list", "--json"]).success();
    insta::assert_snapshot!(project.run(["purge", "--dry-run", "key.txt", "no-such"]).success(), @"
    key.txt: in 2 checkpoints, 2 versions
    no-such: in no checkpoint
    The same content, which stays without `--copies`:
      old/key.bak: in 1 checkpoint
    ------- stderr -------
    Warning: key.txt is still in the project and will be saved again
      Delete it, or name it in `.hermaignore`, before the next save.
    Dry run: 2 versions would be removed from 2 checkpoints. Nothing was changed.
    ");
    insta::assert_snapshot!(project.run(["purge", "key.txt"]).code(2), @"
    ------- stderr -------
    Error: 2 versions would be removed from 2 checkpoints for good
    Nothing was removed: there is no terminal to ask on.
    Hint: `herma purge --yes PATH` does it; `--dry-run` shows what it would do.
    [exit status: 2]
    ");
    let after = project.run(["list", "--json"]).success();
    assert_eq!(before.text(), after.text(), "nothing was changed");
}

#[test]
fn a_purge_says_what_is_gone_and_what_is_not() {
    let env = test_env();
    let project = leaky(&env);
    insta::assert_snapshot!(without_sizes(&project.run(["purge", "--yes", "key.txt"]).code(3)), @"
    key.txt: in 2 checkpoints, 2 versions
    The same content, which stays without `--copies`:
      old/key.bak: in 1 checkpoint
    ------- stderr -------
    Warning: key.txt is still in the project and will be saved again
      Delete it, or name it in `.hermaignore`, before the next save.
    Removed from 2 checkpoints; 2 checkpoints got a new id.
    Checked: 1 version cannot be read from the store any more[SIZE].
    Not searched: reasons and names of checkpoints (`herma list`).
    Warning: still in the store: 1 version
      $ROOT/work/project: checkpoint 3 ([ID])
      To be rid of it:
      herma --root $ROOT/work/project purge $ROOT/work/project/old/key.bak
    [exit status: 3]
    ");
    project.remove("key.txt");
    insta::assert_snapshot!(without_sizes(&project.run(["purge", "--yes", "--copies", "old"]).success()), @"
    old: in 1 checkpoint, 1 version
    ------- stderr -------
    Warning: old is still in the project and will be saved again
      Delete it, or name it in `.hermaignore`, before the next save.
    Removed from 1 checkpoint; 1 checkpoint got a new id.
    Checked: 1 version cannot be read from the store any more[SIZE].
    Not searched: reasons and names of checkpoints (`herma list`).
    ");
    insta::assert_snapshot!(project.run(["purge", "--yes", "key.txt"]).code(10), @"
    ------- stderr -------
    Not searched: reasons and names of checkpoints (`herma list`).
    Error: nothing was found: key.txt is in no checkpoint of this project
    Nothing was changed.
    Hint: Look with `herma list` and `herma diff NUMBER` where it is; for a file of another project, run this there.
    [exit status: 10]
    ");
    insta::assert_snapshot!(project.run(["show", "@-1"]).success(), @"
    Checkpoint 2  [ID]
    Saved:    [TIME] ([AGE])
    Origin:   saved
    Changed:  1 file, +1/-0

        leaked

    Holds 1 file, 4 bytes.
    Left out, purged: 1
        key.txt
    ");
    project.write("key.txt", "a new one\n");
    insta::assert_snapshot!(project.run(["restore", "--all", "@-1"]).code(3), @"
    remove-directory old
    remove old/key.bak
    keep   key.txt (no checkpoint holds it (purged))
    ------- stderr -------
    Restored checkpoint 2 ([ID]): 0 files written, 1 deleted with 1 directory, 1 kept.
    `herma undo` brings back the state from before.
    [exit status: 3]
    ");
}

#[test]
fn programs_hear_the_same() {
    let env = test_env();
    let project = leaky(&env);
    let old = json(&project.run(["list", "--json"]).success());
    let plan = json(&project.run(["purge", "--dry-run", "--json", "key.txt"]).success());
    assert_eq!((&plan["schema"], &plan["dry_run"]), (&"herma.purge/1".into(), &true.into()));
    assert_eq!(plan["paths"][0]["versions"], 2);
    assert!(plan.get("rewritten").is_none());
    let output = project.run(["purge", "--yes", "--copies", "--json", "key.txt"]).success();
    let done = json(&output);
    assert_eq!((&done["gone"], &done["checkpoints"]), (&2.into(), &2.into()));
    assert_eq!(done["copies"][0]["path"], "old/key.bak");
    assert_eq!(done["copies"][0]["removed"], true);
    assert_eq!(done["rewritten"].as_array().map(Vec::len), Some(2));
    assert_eq!(done["rewritten"][1]["old"], old["checkpoints"][0]["id"]);
    let gone = done["rewritten"][1]["old"].as_str().unwrap();
    let error = project.run(["show", gone]).code(10);
    assert!(error.error_text().contains("was rewritten by `herma purge`"), "{error}");
}

#[test]
fn the_whole_project_and_paths_outside_are_refused() {
    let env = test_env();
    let project = leaky(&env);
    insta::assert_snapshot!(project.run(["purge", "--yes", "."]).code(2), @"
    ------- stderr -------
    Error: the whole project cannot be purged from its checkpoints
    Nothing was changed.
    Hint: Name files or directories in it; `herma drop` removes whole checkpoints.
    [exit status: 2]
    ");
    project.run(["purge", "--yes", "../elsewhere"]).code(2);
}

#[test]
fn a_purge_that_finds_nothing_exits_with_10_for_programs_too() {
    let env = test_env();
    let project = leaky(&env);
    for dry_run in [true, false] {
        let flag = if dry_run { "--dry-run" } else { "--yes" };
        project.run(["purge", flag, "no-such"]).code(10);
        let answer = json(&project.run(["purge", flag, "--json", "no-such"]).code(10));
        assert_eq!(answer["schema"], "herma.purge/1", "one answer, not an error");
        assert_eq!(answer["paths"][0]["checkpoints"], 0);
    }
}

#[test]
#[allow(clippy::disallowed_methods)]
fn an_interrupted_purge_is_announced_until_it_is_finished() {
    let env = test_env();
    let project = leaky(&env);
    let list = env.store().join("herma/purging");
    std::fs::write(&list, "0123456789012345678901234567890123456789\n").unwrap();
    let found = json(&project.run(["doctor", "--json"]).code(3));
    let found = found["findings"].as_array().unwrap();
    let purge = found.iter().find(|finding| finding["about"] == "purge");
    assert_eq!(purge.expect("it is named")["level"], "attention");
    for command in [&["list"][..], &["checkpoints", "verify"]] {
        let said = project.run(command).success();
        assert!(said.error_text().contains("a purge was not finished"), "{said}");
        assert!(said.error_text().contains("`herma checkpoints gc`"), "{said}");
    }
    project.run(["checkpoints", "gc"]).success();
    let said = project.run(["list"]).success();
    assert!(!said.error_text().contains("purge"), "{said}");
}

#[test]
fn what_people_wrote_is_named_as_not_searched() {
    let env = test_env();
    let project = leaky(&env);
    let texts = |args: &[&str]| {
        let answer = json(&project.run(args));
        answer["texts_not_searched"].clone()
    };
    let plan = ["purge", "--dry-run", "--json", "key.txt"];
    assert_eq!(texts(&plan), serde_json::json!(["reasons"]));
    project.run(["run", "--", "true"]).success();
    project.run(["resume", "save", "s1", "--task", "x"]).success();
    let all = serde_json::json!(["reasons", "steps", "resume-records"]);
    assert_eq!(texts(&plan), all);
    let said = project.run(["purge", "--yes", "key.txt"]).code(3);
    let note = "Not searched: reasons and names of checkpoints (`herma list`), prompts and command lines (`herma steps`), resume records (`herma resume list`).";
    assert!(said.error_text().contains(note), "{said}");
}

#[test]
#[allow(clippy::disallowed_methods)]
fn the_advice_for_a_copy_in_another_project_works_when_typed() {
    let env = test_env();
    let project = leaky(&env);
    let other = env.work_dir("the other").files([("it's mine", "secret\n")]);
    other.run(["save"]).success();
    let said = project.run(["purge", "--yes", "--copies", "key.txt"]).code(3);
    let advice = said.error_text();
    let advice = advice.lines().find_map(|line| line.trim().strip_prefix("herma --root "));
    let words = std::process::Command::new("sh")
        .args(["-c", &format!("printf '%s\\n' --root {} --yes", advice.expect("a command"))])
        .bounded_output()
        .unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    project.run(words.lines().collect::<Vec<_>>()).success();
    let held = herma_testkit::raw::files_holding(&env.store(), b"secret\n");
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn files_still_on_disk_in_other_projects_are_named() {
    let env = test_env();
    let project = leaky(&env);
    let other = env.work_dir("other").files([("theirs", "secret\n")]);
    other.run(["save"]).success();
    let said = project.run(["purge", "--yes", "--everywhere", "key.txt"]).success();
    let place = format!("theirs of {}", other.path().display());
    let warning =
        format!("Warning: {place} is still on disk, and the next save there may save it again");
    assert!(said.error_text().contains(&warning), "{warning}\n{said}");
}

#[test]
#[allow(clippy::disallowed_methods)]
fn a_damaged_checkpoint_of_another_project_is_named_with_its_project() {
    let env = test_env();
    let project = leaky(&env);
    let packs = env.store().join("objects/pack");
    let files = || -> Vec<_> {
        let entries = std::fs::read_dir(&packs).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let before = files();
    let other = env.work_dir("other").files([("theirs", "theirs\n")]);
    other.run(["save"]).success();
    for file in files().into_iter().filter(|file| !before.contains(file)) {
        std::fs::remove_file(file).unwrap();
    }
    let said = project.run(["purge", "--yes", "--copies", "key.txt"]).code(12);
    let place = other.path().display().to_string();
    let text = said.error_text();
    let named = text.split("cannot all be read:").nth(1);
    assert!(named.expect("a list").contains(&place), "{said}");
}
