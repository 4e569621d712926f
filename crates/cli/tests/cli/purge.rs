//! `herma purge`

use herma_testkit::Output;
use herma_testkit::TestEnv;
use herma_testkit::WorkDir;

use super::json;
use super::test_env;

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
    let lines = lines
        .lines()
        .map(|line| match line.split_once("any more; ") {
            Some((before, _)) => format!("{before}any more; [SIZE] freed."),
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
    Dry run: something would be removed from 2 checkpoints. Nothing was changed.
    ");
    insta::assert_snapshot!(project.run(["purge", "key.txt"]).code(2), @"
    ------- stderr -------
    Error: something would be removed from 2 checkpoints for good
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
    Checked: 1 version cannot be read from the store any more; [SIZE] freed.
    Warning: still in the store: 1 version
      refs/herma/[ID]/[ID]
      Purge the other paths named above as well to be rid of it.
    [exit status: 3]
    ");
    project.remove("key.txt");
    insta::assert_snapshot!(without_sizes(&project.run(["purge", "--yes", "--copies", "old"]).success()), @"
    old: in 1 checkpoint, 1 version
    ------- stderr -------
    Warning: old is still in the project and will be saved again
      Delete it, or name it in `.hermaignore`, before the next save.
    Removed from 1 checkpoint; 1 checkpoint got a new id.
    Checked: 1 version cannot be read from the store any more; [SIZE] freed.
    ");
    insta::assert_snapshot!(project.run(["purge", "--yes", "key.txt"]).success(), @"
    ------- stderr -------
    Nothing was found. Nothing was changed.
    ");
    insta::assert_snapshot!(project.run(["show", "2"]).success(), @"
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
    insta::assert_snapshot!(project.run(["restore", "--all", "2"]).code(3), @"
    remove-directory old
    remove old/key.bak
    keep   key.txt (no checkpoint holds it (purged))
    ------- stderr -------
    Restored checkpoint 3 ([ID]): 0 files written, 2 deleted, 1 kept.
    `herma undo` brings back the state from before.
    [exit status: 3]
    ");
}

#[test]
fn programs_hear_the_same() {
    let env = test_env();
    let project = leaky(&env);
    let old = json(&project.run(["list", "--json"]).success());
    let plan = json(
        &project
            .run(["purge", "--dry-run", "--json", "key.txt"])
            .success(),
    );
    assert_eq!(
        (&plan["schema"], &plan["dry_run"]),
        (&"herma.purge/1".into(), &true.into())
    );
    assert_eq!(plan["paths"][0]["versions"], 2);
    assert!(plan.get("rewritten").is_none());
    let output = project
        .run(["purge", "--yes", "--copies", "--json", "key.txt"])
        .success();
    let done = json(&output);
    assert_eq!(
        (&done["gone"], &done["checkpoints"]),
        (&2.into(), &2.into())
    );
    assert_eq!(done["copies"][0]["path"], "old/key.bak");
    assert_eq!(done["copies"][0]["removed"], true);
    assert_eq!(done["rewritten"].as_array().map(Vec::len), Some(2));
    assert_eq!(done["rewritten"][1]["old"], old["checkpoints"][0]["id"]);
    let gone = done["rewritten"][1]["old"].as_str().unwrap();
    let error = project.run(["show", gone]).code(10);
    assert!(
        error
            .error_text()
            .contains("was rewritten by `herma purge`"),
        "{error}"
    );
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
    project.run(["purge", "--yes", "../elsewhere"]).code(1);
}
