//! `herma undo STEP` and `herma restore` where agents' steps are known.

use herma_testkit::env::WorkDir;
use serde_json::json;

use super::{json, test_env};

/// Twenty numbered lines, some of them replaced.
pub(super) fn lines(replaced: &[(usize, &str)]) -> String {
    (1..=20)
        .map(|number| {
            let found = replaced.iter().find(|(line, _)| *line == number);
            found.map_or(format!("line {number}\n"), |(_, text)| format!("{text}\n"))
        })
        .collect()
}

/// A step of an agent that writes these files.
pub(super) fn step(project: &WorkDir<'_>, arguments: &[&str], files: &[(&str, &str)]) {
    let begin = ["step", "begin", "--tool", "Edit"].iter().chain(arguments);
    let number = project.run(begin).success().text().trim().to_owned();
    for (path, text) in files {
        project.write(path, text);
    }
    project.run(["step", "end", &number]).success();
}

/// Claude changes line 3, codex line 10 and makes a file; then a person changes line 17.
fn three_authors(env: &herma_testkit::TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("other.txt", "other\n")]);
    project.write("code.txt", &lines(&[]));
    project.run(["save", "-m", "start"]).success();
    let claude = lines(&[(3, "CLAUDE")]);
    step(
        &project,
        &["--agent", "claude", "--session", "s-1", "--turn", "1"],
        &[("code.txt", &claude)],
    );
    let codex = lines(&[(3, "CLAUDE"), (10, "CODEX")]);
    step(
        &project,
        &["--agent", "codex", "--session", "s-2", "--turn", "1"],
        &[("code.txt", &codex), ("made.txt", "made\n")],
    );
    project.write("code.txt", &lines(&[(3, "CLAUDE"), (10, "CODEX"), (17, "PERSON")]));
    project
}

#[test]
fn one_step_goes_and_later_ones_and_hand_edits_stay() {
    let env = test_env();
    let project = three_authors(&env);
    let before = project.tree();
    insta::assert_snapshot!(project.run(["undo", "2", "--dry-run"]).success(), @"
    diff --git a/code.txt b/code.txt
    index [ID]..67a519e 100644
    --- a/code.txt
    +++ b/code.txt
    @@ -1,6 +1,6 @@
     line 1
     line 2
    -CLAUDE
    +line 3
     line 4
     line 5
     line 6
    ------- stderr -------
    Your edits stay in:
      code.txt
    Undoing step 2 would change 1 path. Nothing was changed.
    ");
    herma_testkit::tree::assert_same(&before, &project.tree(), "a dry run changes nothing");
    insta::assert_snapshot!(project.run(["undo", "2"]).success(), @"
    write  code.txt
    ------- stderr -------
    Your edits stay in:
      code.txt
    Undid step 2: 1 file written, 0 deleted.
    `herma undo` brings it back.
    ");
    assert_eq!(project.read("code.txt"), lines(&[(10, "CODEX"), (17, "PERSON")]));
    project.run(["undo"]).success();
    herma_testkit::tree::assert_same(&before, &project.tree(), "undone itself");
    project.run(["redo"]).success();
    insta::assert_snapshot!(project.run(["undo", "2"]).success(), @"
    ------- stderr -------
    Nothing to undo.
    ");
    env.fsck();
}

#[test]
fn steps_are_chosen_by_agent_session_turn_time_and_number() {
    let without_codex = lines(&[(3, "CLAUDE"), (17, "PERSON")]);
    let only_person = lines(&[(17, "PERSON")]);
    let cases: [(&[&str], &str); 7] = [
        (&["undo", "3"], &without_codex),
        (&["undo", "--session", "s-2"], &without_codex),
        (&["undo", "--only-agent", "codex"], &without_codex),
        (&["undo", "--turn"], &without_codex),
        (&["undo", "2-3"], &only_person),
        (&["undo", "--since", "1h"], &only_person),
        (&["restore", "start"], &only_person),
    ];
    for (arguments, expected) in cases {
        let env = test_env();
        let project = three_authors(&env);
        project.run(["name", "@-2", "start"]).success();
        project.run(arguments).success();
        assert_eq!(project.read("code.txt"), expected, "{arguments:?}");
        assert!(!project.exists("made.txt"), "{arguments:?}");
    }
}

#[test]
fn a_restore_keeps_what_was_edited_by_hand_unless_all_is_said() {
    let env = test_env();
    let project = three_authors(&env);
    insta::assert_snapshot!(project.run(["restore", "@-2", "--dry-run"]).success(), @"
    diff --git a/code.txt b/code.txt
    index [ID]..2cda75c 100644
    --- a/code.txt
    +++ b/code.txt
    @@ -1,13 +1,13 @@
     line 1
     line 2
    -CLAUDE
    +line 3
     line 4
     line 5
     line 6
     line 7
     line 8
     line 9
    -CODEX
    +line 10
     line 11
     line 12
     line 13
    diff --git a/made.txt b/made.txt
    deleted file mode 100644
    index [ID]..0000000
    --- a/made.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -made
    ------- stderr -------
    Your edits stay in:
      code.txt
    Restoring checkpoint 1 would change 2 paths. Nothing was changed.
    ");
    insta::assert_snapshot!(project.run(["restore", "@-2"]).success(), @"
    write  code.txt
    remove made.txt
    ------- stderr -------
    Your edits stay in:
      code.txt
    Restored checkpoint 1: 1 file written, 1 deleted.
    `herma undo` brings it back.
    Hint: `herma restore 1 --all` undoes hand edits, too.
    ");
    assert_eq!(project.read("code.txt"), lines(&[(17, "PERSON")]));
    assert!(!project.exists("made.txt"));
    project.run(["undo"]).success();
    project.run(["restore", "1", "--all"]).success();
    assert_eq!(project.read("code.txt"), lines(&[]));
}

#[test]
fn a_conflict_leaves_the_file_alone_and_is_named() {
    let env = test_env();
    let project = env.work_dir("project");
    project.write("code.txt", &lines(&[]));
    step(
        &project,
        &["--agent", "claude"],
        &[("code.txt", &lines(&[(3, "CLAUDE"), (12, "TWELVE")]))],
    );
    let mixed = lines(&[(3, "CLAUDE AND ME"), (12, "TWELVE")]);
    project.write("code.txt", &mixed);
    insta::assert_snapshot!(project.run(["undo", "2"]).code(3), @"
    ------- stderr -------
    Warning: 1 conflict left as it is:
      code.txt: the same or adjacent lines were changed since (line 3)
    Hint: The same command with `--conflicts=markers` undoes the rest of the file and writes both versions of these lines into it; `=ours` leaves these lines as they are; `=theirs` brings back the old ones, and what came later in them is lost.
    Step 2 was not undone: code.txt stays as it is.
    [exit status: 3]
    ");
    assert_eq!(project.read("code.txt"), mixed);
    let [planned, done] = [&["undo", "2", "--dry-run"][..], &["undo", "2"]].map(|args| {
        let output = project.run(args).code(3);
        output.error_text().replace("would not be", "was not")
    });
    assert_eq!(planned, done, "what is predicted is what happens");
    let answer = json(&project.run(["undo", "2", "--dry-run", "--json"]).code(3));
    assert_eq!(
        answer["conflicts"][0]["text"],
        "the same or adjacent lines were changed since (line 3)"
    );
    assert_eq!(answer["schema"], "herma.undo/3");
    assert_eq!(answer["conflicts"][0]["why"], "text");
    assert_eq!(answer["conflicts"][0]["decided"], "left");
    assert_eq!(answer["changes"], json!([]));
    assert_eq!(answer["by_hand"][0]["path"], "code.txt");
    let decide = |how: &str| {
        project.write("code.txt", &mixed);
        project.run(["undo", "2", &format!("--conflicts={how}")]).success();
        project.read("code.txt")
    };
    assert_eq!(decide("ours"), lines(&[(3, "CLAUDE AND ME")]));
    assert_eq!(decide("theirs"), lines(&[]));
    assert_eq!(
        decide("markers"),
        lines(&[(3, "<<<<<<< now\nCLAUDE AND ME\n=======\nline 3\n>>>>>>> undone")])
    );
}

#[test]
fn steps_of_which_one_is_in_conflict_are_not_called_undone_and_no_file_is_half_reverted() {
    let env = test_env();
    let project = env.work_dir("project").files([("other.txt", "1\n")]);
    project.write("config.py", &lines(&[]));
    let claude = ["--agent", "claude"];
    step(&project, &claude, &[("config.py", &lines(&[(3, "ONE")]))]);
    project.write("config.py", &lines(&[(3, "MINE")]));
    step(&project, &claude, &[("other.txt", "2\n")]);
    let now = lines(&[(3, "MINE"), (12, "THREE")]);
    let third = [("config.py", now.as_str()), ("other.txt", "3\n")];
    step(&project, &claude, &third);
    insta::assert_snapshot!(project.run(["undo", "2", "5"]).code(3), @"
    write  other.txt
    ------- stderr -------
    Warning: 1 conflict left as it is:
      config.py: the same or adjacent lines were changed since (line 3)
    Hint: The same command with `--conflicts=markers` undoes the rest of the file and writes both versions of these lines into it; `=ours` leaves these lines as they are; `=theirs` brings back the old ones, and what came later in them is lost.
    Undid a part of step 5: 1 file written, 0 deleted.
    Step 2 was not undone: config.py stays as it is.
    Step 5 was undone in part: config.py stays as it is.
    `herma undo` brings it back.
    [exit status: 3]
    ");
    assert_eq!(project.read("config.py"), now);
    assert_eq!(project.read("other.txt"), "2\n");
    project.run(["undo"]).success();
    let answer = json(&project.run(["undo", "2", "5", "--json"]).code(3));
    assert_eq!(answer["outcomes"][0]["outcome"], "not-undone");
    assert_eq!(answer["outcomes"][0]["left"][0]["path"], "config.py");
    assert_eq!(answer["outcomes"][1]["outcome"], "partly");
    project.run(["undo"]).success();
    project.run(["undo", "2", "5", "--conflicts=ours"]).success();
    assert_eq!(project.read("config.py"), lines(&[(3, "MINE")]));
}

#[test]
fn what_is_no_step_is_refused_and_nothing_changes() {
    let env = test_env();
    let project = three_authors(&env);
    let before = project.tree();
    insta::assert_snapshot!(project.run(["undo", "9"]).code(10), @"
    ------- stderr -------
    Error: there is no checkpoint 9; the nearest: 3
    Nothing was changed.
    Hint: `herma list` shows the checkpoints of this project.
    [exit status: 10]
    ");
    insta::assert_snapshot!(project.run(["undo", "1"]).code(2), @"
    ------- stderr -------
    Error: checkpoint 1 is the first: nobody knows what was there before it
    Nothing was changed.
    Hint: `herma show 1` shows it; `herma restore 1` goes back to it.
    [exit status: 2]
    ");
    insta::assert_snapshot!(project.run(["undo", "--session", "s-9"]).code(10), @"
    ------- stderr -------
    Error: no step of session `s-9` is known
    Nothing was changed.
    Hint: There are steps of `s-2`, `s-1`.
    [exit status: 10]
    ");
    for bad in ["0x1", "-", "1-", "2-1", "1-99999999", "ü"] {
        project.run(["undo", "--", bad]).code(2);
        project.run(["undo", bad]).code(2);
    }
    project.run(["undo", "--since", "tomorrow"]).code(2);
    project.run(["undo", "2", "--conflicts=maybe"]).code(2);
    let restore = project.run(["restore", "--session", "s-1"]).code(2);
    assert!(restore.error_text().contains("`herma undo --session` undoes that"), "{restore}");
    herma_testkit::tree::assert_same(&before, &project.tree(), "nothing was changed");
}

#[test]
fn paths_limit_what_is_undone() {
    let env = test_env();
    let project = three_authors(&env);
    project.run(["name", "@-2", "start"]).success();
    project.run(["undo", "3", "--", "made.txt"]).success();
    assert!(!project.exists("made.txt"));
    assert!(project.read("code.txt").contains("CODEX"));
    project.run(["undo"]).success();
    project.run(["restore", "start", "--keep", "made.txt"]).success();
    assert!(project.exists("made.txt"));
    assert_eq!(project.read("code.txt"), lines(&[(17, "PERSON")]));
}

#[test]
fn what_is_undone_of_a_prompt_is_said_and_nothing_more() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
    project.run(["save", "-m", "start"]).success();
    let prompt = ["turn", "begin", "--session", "s-1", "--agent", "claude", "--prompt", "tidy up"];
    project.run(prompt).success();
    for path in ["a.txt", "b.txt"] {
        step(&project, &["--agent", "claude", "--session", "s-1"], &[(path, "two\n")]);
    }
    project.run(["turn", "end", "--session", "s-1"]).success();
    let said = |arguments: &[&str]| project.run(arguments).success().error_text().to_owned();
    let cases: [(&[&str], &str); 7] = [
        (&["undo", "--dry-run"], "Undoing \"tidy up\" (steps 2 and 3) would change 2 paths."),
        (&["undo", "--step"], "Undid step 3 of \"tidy up\": 1 file written"),
        (&["redo"], "Redid \"tidy up\" (step 3): 1 file written"),
        (&["undo", "a.txt"], "Undid \"tidy up\" (step 2) in a.txt: 1 file written"),
        (&["redo"], "Redid"),
        (&["undo"], "Undid \"tidy up\" (steps 2 and 3): 2 files written"),
        (&["undo", "2"], "Nothing to undo."),
    ];
    for (arguments, expected) in cases {
        let said = said(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let nothing = project.run(["undo", "a.txt"]).code(1);
    assert!(nothing.error_text().contains("nothing to undo in a.txt"), "{nothing}");
    // A restore is named by what was named, and the checkpoint it went to.
    let restored = said(&["restore", "3", "a.txt"]);
    assert!(restored.contains("Restored a.txt to checkpoint 3"), "{restored}");
}
