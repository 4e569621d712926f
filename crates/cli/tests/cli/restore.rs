//! `herma restore`, `undo` and `redo`.

use super::{json, test_env};

#[test]
fn restore_undo_and_redo_go_there_and_back() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.write("new.txt", "new\n");
    let changed = project.tree();

    let plan = project.run(["restore", "@", "--dry-run"]).success();
    let patch = plan.text();
    assert!(patch.contains("\n-two\n+one\n") && patch.contains("--- a/new.txt\n"), "{patch}");
    assert_eq!(project.tree(), changed, "a dry run changes nothing");

    let restored = project.run(["rollback", "1"]).success();
    assert_eq!(restored.text(), "write  a.txt\nremove new.txt\n");
    assert!(
        restored.error_text().ends_with("`herma undo` brings back the state from before.\n"),
        "{restored}"
    );
    assert_eq!(project.read("a.txt"), "one\n");
    assert!(!project.exists("new.txt"));

    project.run(["undo"]).success();
    assert_eq!(project.tree(), changed);
    project.run(["redo"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn only_the_named_paths_are_restored_and_kept_ones_stay() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("sub/b.txt", "one\n"), ("sub/c.txt", "one\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).success();
    for (path, _) in files {
        project.write(path, "two\n");
    }
    project.run(["restore", "@", "sub", "--keep", "sub/c.txt"]).success();
    let contents = files.map(|(path, _)| project.read(path));
    assert_eq!(contents, ["two\n", "one\n", "two\n"]);
}

#[test]
fn a_restore_tells_programs_what_it_did() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    let json = json(&project.run(["restore", "@", "--json"]).success());
    assert_eq!(json["schema"], "herma.restore/2");
    assert_eq!(json["dry_run"], false);
    assert_eq!(json["actions"][0]["action"], "write");
    assert_eq!(json["actions"][0]["path"], "a.txt");
    assert_eq!(json["safety_is_new"], true);
}

#[test]
fn without_an_interrupted_restore_there_is_nothing_to_continue() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let output = project.run(["restore", "--continue"]).success();
    assert_eq!(output.error_text(), "No restore of this project was interrupted.\n");
}

#[test]
fn nothing_to_undo_is_said_with_what_to_type_instead() {
    let env = test_env();
    let project = env.work_dir("project");
    let output = project.run(["redo"]);
    assert!(!output.status.success());
    assert!(output.error_text().contains("Hint: "), "{output}");
}

#[test]
fn a_file_no_checkpoint_holds_is_named_with_its_reason_and_not_called_restored() {
    let env = test_env();
    let files = [("a.txt", "one\n"), ("secrets.yaml", "key: 1\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save", "--name", "first"]).code(3);
    let words = "secrets.yaml cannot be brought back: the checkpoint left it out (secret)";
    for arguments in [
        &["restore", "first", "secrets.yaml"][..],
        &["restore", "first", "secrets.yaml", "--dry-run"],
        &["restore", "first", "secrets.yaml", "--all"],
    ] {
        let refused = project.run(arguments).code(10);
        assert!(refused.error_text().contains(words), "{refused}");
        assert!(refused.error_text().contains("Nothing was changed."), "{refused}");
    }
    let refused = json(&project.run(["restore", "first", "secrets.yaml", "--json"]).code(10));
    assert_eq!(refused["error"]["message"], words);
    let refused = project.run(["slash", "/rollback first secrets.yaml"]);
    assert!(refused.to_string().contains("left it out (secret)"), "{refused}");
    assert!(!refused.to_string().contains('✅'), "{refused}");

    project.write("a.txt", "two\n");
    let both = project.run(["restore", "first", "a.txt", "secrets.yaml"]).code(3);
    assert_eq!(
        both.text(),
        "write  a.txt\nmiss   secrets.yaml (the checkpoint left it out (secret))\n"
    );
    let again = project.run(["restore", "first", "a.txt", "secrets.yaml"]).code(3);
    assert!(
        again
            .error_text()
            .contains("Nothing was changed: 1 entry not in it, the rest is as in checkpoint"),
        "{again}"
    );
    project.write("a.txt", "two\n");
    let shown = project.run(["slash", "/rollback first a.txt secrets.yaml"]).code(3);
    assert!(shown.text().contains("✅ Restored a.txt from"), "{shown}");
    assert!(shown.text().contains("Not restored: secrets.yaml"), "{shown}");
}

/// Its own session has work there that nobody saved in the project around it.
#[test]
fn a_worktree_in_the_project_is_named_once_and_never_reset() {
    let env = test_env();
    let project =
        env.work_dir("project").files([("a.txt", "one\n"), ("wt/x.txt", "in the project\n")]);
    project.run(["save", "--name", "before"]).success();
    project.write("wt/.git", "gitdir: /p/.git/worktrees/wt\n");
    project.write("wt/x.txt", "another session's\n");
    project.write("a.txt", "two\n");
    // It is no gap: it is somebody else's.
    project.run(["save"]).success();
    let shown = project.run(["show", "@"]).success();
    let text = shown.text();
    assert!(text.contains("Left out, worktree: 1\n    wt\n"), "{shown}");
    assert!(text.contains("1 file, +1/-1"), "{shown}");
    let compared = project.run(["diff", "before"]).success();
    let text = compared.text();
    assert!(!text.contains("x.txt"), "{compared}");
    assert!(compared.error_text().contains("wt is not compared"));
    let restored = project.run(["restore", "before"]).code(3);
    let kept = "keep   wt (it is not part of this project (worktree))";
    assert!(restored.text().contains(kept), "{restored}");
    assert_eq!(project.read("a.txt"), "one\n");
    project.run(["undo"]).success();
    assert_eq!(project.read("a.txt"), "two\n");
    assert_eq!(project.read("wt/x.txt"), "another session's\n");
}

/// What somebody named becomes as it was, whoever changed it; what they wrote themselves is named, and where it is.
#[test]
fn whoever_names_a_directory_is_told_which_of_their_edits_are_overwritten() {
    let env = test_env();
    let files = [("d/a", "1\n2\n3\n"), ("d/b", "1\n"), ("d/c", "1\n"), ("e", "1\n")];
    let project = env.work_dir("project").files(files);
    project.run(["save"]).success();
    project.run(["run", "--agent", "claude", "--", "sh", "-c", "echo 2 > d/b"]).success();
    project.write("d/a", "mine\n");
    project.write("e", "mine\n");
    project.run(["save"]).success();
    project.write("d/c", "not saved\n");
    insta::assert_snapshot!(project.run(["restore", "1", "d", "--dry-run"]).success(), @"
    diff --git a/d/a b/d/a
    index [ID]..01e79c3 100644
    --- a/d/a
    +++ b/d/a
    @@ -1 +1,3 @@
    -mine
    +1
    +2
    +3
    diff --git a/d/b b/d/b
    index [ID]..d00491f 100644
    --- a/d/b
    +++ b/d/b
    @@ -1 +1 @@
    -2
    +1
    diff --git a/d/c b/d/c
    index [ID]..d00491f 100644
    --- a/d/c
    +++ b/d/c
    @@ -1 +1 @@
    -not saved
    +1
    ------- stderr -------
    Would be overwritten, though edited by hand since:
      d/a
      d/c
    3 changes would restore d to checkpoint 1 ([ID]). Nothing was changed.
    ");
    insta::assert_snapshot!(project.run(["restore", "1", "d"]).success(), @"
    write  d/a
    write  d/b
    write  d/c
    ------- stderr -------
    Overwritten, though edited by hand since:
      d/a
      d/c
    Hint: `herma restore 4 d` brings your edits back.
    Restored d to checkpoint 1 ([ID]): 3 files written, 0 deleted, 0 kept.
    `herma undo` brings back the state from before.
    ");
    let list = project.run(["list"]).success();
    assert!(list.text().contains("restored d to 1"), "{list}");
    project.run(["restore", "4", "d"]).success();
    assert_eq!(project.read("d/a") + &project.read("d/c"), "mine\nnot saved\n");
    project.run(["undo", "2", "d/b"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("undid 2"), "all that 2 changed: {list}");
    let undone = project.run(["undo", "3", "--dry-run"]).success();
    assert!(undone.error_text().contains("Undoing your edit 3 would change"), "{undone}");
    let json = super::json(&project.run(["restore", "1", "d", "--json"]).success());
    assert_eq!(json["overwritten"][0]["path"], "d/a");
}
