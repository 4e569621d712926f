//! What somebody types who has just begun, and what has to be said to that.
#![allow(clippy::disallowed_methods, reason = "a test does what a person does to files")]

use herma_testkit::{TestEnv, WorkDir};

use super::undo_steps::lines;
use super::{json, test_env};

/// A tool call of a prompt.
fn call(project: &WorkDir<'_>, prompt: &str, work: impl FnOnce(&WorkDir<'_>)) {
    let arguments = ["step", "begin", "--agent", "claude", "--tool", "Edit", "--session", "s-1"];
    let said = ["--turn", prompt, "--prompt", prompt];
    let handle = project.run(arguments.iter().chain(&said)).success().text().trim().to_owned();
    work(project);
    project.run(["step", "end", &handle]).success();
}

/// 1 is saved by hand, 2 and 3 add an option, 4 and 5 clean up.
fn shop(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("shop").files([
        ("README.md", "# Shop\n"),
        ("config.py", "port = 80\n"),
        ("docs/usage.md", "Use it.\n"),
        ("src/app.py", "run()\n"),
    ]);
    project.run(["save", "-m", "works"]).success();
    call(&project, "add an option", |p| p.write("src/app.py", "run(option)\n"));
    call(&project, "add an option", |p| p.write("config.py", "port = 81\n"));
    call(&project, "clean up", |p| {
        std::fs::remove_dir_all(p.path().join("docs")).expect("the test made it");
    });
    call(&project, "clean up", |p| p.write("README.md", "# The shop\n"));
    project
}

#[test]
fn who_asks_a_checkpoint_for_what_it_deleted_is_told_which_one_has_it() {
    let env = test_env();
    let project = shop(&env);
    for arguments in [&["restore", "4", "docs"][..], &["restore", "5", "docs", "--dry-run"]] {
        let refused = project.run(arguments).code(2);
        let said = refused.error_text();
        assert!(said.contains(&format!("docs is not in checkpoint {}", arguments[1])), "{said}");
        assert!(said.contains("`herma restore 3 docs` brings it back"), "{said}");
        assert!(said.contains("`herma undo docs` undoes the change that removed it"), "{said}");
        assert!(!said.contains("--name-only"), "{said}");
    }
    project.run(["restore", "3", "docs"]).success();
    assert_eq!(project.read("docs/usage.md"), "Use it.\n");
}

#[test]
fn a_prompt_as_the_list_prints_it_is_no_state_to_go_to() {
    let env = test_env();
    let project = shop(&env);
    let list = project.run(["list"]).success();
    assert!(list.text().contains("\n4-5  "), "{list}");
    let refused = project.run(["restore", "4-5", "docs"]).code(2);
    let said = refused.error_text();
    assert!(said.contains("`4-5` names several changes"), "{said}");
    assert!(said.contains("`herma restore 5 docs` goes to the state after them"), "{said}");
    assert!(said.contains("`herma restore 4^ docs` (checkpoint 3)"), "{said}");
    let unknown = project.run(["restore", "4-99"]).code(10);
    assert!(unknown.error_text().contains("no checkpoint of this project"), "{unknown}");
}

#[test]
fn a_prompt_as_the_list_prints_it_is_shown_with_all_its_calls() {
    let env = test_env();
    let project = shop(&env);
    let shown = project.run(["show", "2-3"]).success();
    let text = shown.text();
    assert_eq!(text.matches("Prompt:\n    add an option\n").count(), 1, "{shown}");
    assert_eq!(text.matches(" claude  Edit").count(), 2, "{shown}");
    for line in ["\n-run()\n+run(option)\n", "\n-port = 80\n+port = 81\n"] {
        assert!(text.contains(line), "{shown}");
    }
    assert!(!text.contains("docs") && !text.contains("The patch also has"), "{shown}");
    let wider = project.run(["show", "1,2"]).code(10);
    assert!(wider.error_text().contains("no checkpoint before 1"), "{wider}");
    let others = project.run(["show", "2,4"]).success();
    assert!(others.text().contains("The patch also has what changed in 3."), "{others}");
    let object = json(&project.run(["show", "2-3", "--json"]).success());
    assert_eq!(object["schema"], "herma.show-several/1");
    assert_eq!((&object["from"]["number"], &object["to"]["number"]), (&1.into(), &3.into()));
    assert_eq!(object["steps"].as_array().map(Vec::len), Some(2));

    let changed = project.run(["diff", "4-5", "--name-only"]).success();
    assert_eq!(changed.text(), "README.md\ndocs/usage.md\n");
    let within = project.run(["diff", "4-5", "README.md", "--name-only"]).success();
    assert_eq!(within.text(), "README.md\n");
    project.write("4-5", "a file\n");
    let file = project.run(["diff", "4-5", "--name-only"]).success();
    assert_eq!(file.text(), "4-5\n");
    let one = project.run(["show", "2"]).success();
    assert!(one.text().contains("\nOne of 2 calls of 2-3: `herma show 2-3`"), "{one}");
}

#[test]
fn who_names_the_newest_is_told_what_it_does_not_have() {
    let env = test_env();
    let project = shop(&env);
    let whole = project.run(["name", "@", "whole"]).success();
    assert!(!whole.error_text().contains("changed since"), "{whole}");
    project.write("config.py", "port = 82\n");
    let named = project.run(["name", "@", "good"]).success();
    let said = named.error_text();
    assert!(said.contains("config.py changed since and is not in it."), "{said}");
    assert!(said.contains("`herma unname good && herma save --name good` names"), "{said}");
    project.run(["unname", "good"]).success();
    project.run(["save", "--name", "good"]).success();
    let saved = project.run(["diff", "good"]).success();
    assert!(saved.text().is_empty(), "{saved}");
    project.write("config.py", "port = 83\n");
    let older = project.run(["name", "3", "older"]).success();
    assert!(!older.error_text().contains("changed since"), "{older}");
}

#[test]
fn an_undo_names_each_file_once_as_what_became_of_it() {
    let env = test_env();
    let project = env.work_dir("shop").files([("README.md", &*lines(&[])), ("b.txt", "b\n")]);
    project.run(["save"]).success();
    call(&project, "reword", |p| p.write("README.md", &lines(&[(3, "three")])));
    call(&project, "reword", |p| p.write("b.txt", "B\n"));
    project.write("README.md", &lines(&[(3, "three"), (17, "mine")]));
    project.write("b.txt", "mine\n");
    for dry in [true, false] {
        let arguments: &[&str] = if dry { &["undo", "--dry-run"] } else { &["undo"] };
        let output = project.run(arguments).code(3);
        let said = output.error_text();
        assert!(said.contains("Your edits stay in:\n  README.md\n"), "{output}");
        assert!(said.contains("Warning: 1 conflict left as it is:\n  b.txt: "), "{output}");
        assert!(!said.contains("Kept") && !said.contains("Left alone"), "{output}");
        assert_eq!(said.matches("README.md").count(), 1, "{output}");
    }
    assert_eq!(project.read("README.md"), lines(&[(17, "mine")]));
    assert_eq!(project.read("b.txt"), "mine\n");
}

#[test]
fn an_undo_of_some_files_names_only_the_steps_that_changed_them() {
    let env = test_env();
    let project = shop(&env);
    let planned = project.run(["undo", "docs", "--dry-run"]).success();
    assert!(planned.error_text().contains("\"clean up\" (step 4) in docs would"), "{planned}");
    let undone = project.run(["undo", "docs"]).success();
    let said = undone.error_text();
    assert!(said.contains("Undid \"clean up\" (step 4) in docs: 1 file written"), "{said}");
    project.run(["redo"]).success();
    let undone = project.run(["undo", "2-5", "--", "config.py"]).success();
    let said = undone.error_text();
    assert!(
        said.contains("Undid step 3 of \"add an option\" in config.py: 1 file written"),
        "{said}"
    );
}

#[test]
fn a_quiet_undo_names_no_files_without_saying_why() {
    let env = test_env();
    let project = shop(&env);
    project.write("config.py", "port = 81\n# mine\n");
    let quiet = project.run(["undo", "5", "-q"]).success();
    assert_eq!(quiet.error_text(), "", "{quiet}");
    let quiet = project.run(["restore", "1", "-q"]).code(3);
    let said = quiet.error_text();
    assert!(said.starts_with("Warning: 1 conflict left as it is:\n  config.py: "), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
    let again = project.run(["restore", "1", "config.py", "-q"]).success();
    assert_eq!(again.error_text(), "", "{again}");
}

#[test]
fn undoing_a_restore_names_the_restore() {
    let env = test_env();
    let project = shop(&env);
    let said = |arguments: &[&str]| project.run(arguments).success().error_text().to_owned();
    project.write("config.py", "mine\n");
    said(&["restore", "1", "config.py"]);
    let list = project.run(["list"]).success();
    assert!(list.text().contains("\n7    just now  you     restored config.py to 1"), "{list}");
    let cases: [(&[&str], &str); 5] = [
        (&["undo", "--dry-run"], "Undoing restore 7 would make 1 change."),
        (&["undo"], "Undid restore 7: 1 file written, 0 deleted, 0 kept."),
        (&["redo", "--dry-run"], "Redoing restore 7 would make 1 change."),
        (&["redo"], "Redid restore 7: 1 file written"),
        (&["undo"], "Undid restore 7: 1 file written"),
    ];
    for (arguments, expected) in cases {
        let said = said(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    said(&["undo", "5"]);
    let undone = said(&["undo"]);
    assert!(undone.contains("Undid undo 11: 1 file written"), "{undone}");
    said(&["restore", "1", "config.py"]);
    project.write("src/app.py", "mine\n");
    let undone = said(&["undo"]);
    assert!(undone.contains("Undid restore 13: 1 file written"), "{undone}");
    let redone = said(&["redo"]);
    assert!(redone.contains("Redid restore 13: 1 file written"), "{redone}");
    let undone = said(&["undo", "13"]);
    assert!(undone.contains("Undid restore 13: 1 file written"), "{undone}");
}

#[test]
fn redoing_an_undo_of_a_file_names_the_file() {
    let env = test_env();
    let project = env.work_dir("shop").files([("a.txt", "one\n"), ("b.txt", "one\n")]);
    project.run(["save"]).success();
    call(&project, "both", |p| {
        p.write("a.txt", "two\n");
        p.write("b.txt", "two\n");
    });
    project.run(["undo", "a.txt"]).success();
    let redone = project.run(["redo"]).success();
    let said = redone.error_text();
    assert!(said.contains("Redid what was undone in a.txt: 1 file written"), "{said}");
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn a_moved_project_is_missed_as_long_as_its_new_history_is_short() {
    let env = test_env();
    let old = shop(&env);
    let new = old.path().with_file_name("newname");
    std::fs::rename(old.path(), &new).expect("the test made it");
    let project = env.work_dir("newname");
    let hint = "`herma doctor --adopt` reconnects the 5 checkpoints of ";
    for arguments in [&["save"][..], &["list"], &[], &["list", "-n", "1"]] {
        let output = project.run(arguments).success();
        assert!(output.error_text().contains(hint), "{arguments:?}: {output}");
    }
    let quiet: [&[&str]; 3] = [&["save"], &["list", "-z"], &["list", "--json"]];
    for arguments in quiet {
        let output = project.run(arguments).success();
        assert!(!output.error_text().contains(hint), "{arguments:?}: {output}");
    }
    for number in 2..=11 {
        project.write("config.py", &format!("port = {number}\n"));
        let saved = project.run(["save"]).success();
        assert_eq!(saved.error_text().contains(hint), number <= 3, "{saved}");
    }
    for arguments in [&["list"][..], &[]] {
        let output = project.run(arguments).success();
        assert!(!output.error_text().contains(hint), "{arguments:?}: {output}");
    }
    project.run(["doctor", "--adopt"]).success();
}

#[test]
fn who_changed_a_file_is_told_by_numbers_that_can_be_typed() {
    let env = test_env();
    let project = shop(&env);
    let prompt = "1";
    call(&project, prompt, |p| p.write("config.py", "port = 81\nhost = \"a\"\n"));
    let blame = project.run(["blame", "config.py"]).success();
    let first = blame.text().lines().next().expect("a line").to_owned();
    let words: Vec<&str> = first.split_whitespace().collect();
    assert_eq!((words[0], words[1]), ("3", "claude"), "{first}");
    assert!(!first.contains("add an option"), "{first}");
    let shown = project.run(["show", words[0]]).success();
    assert!(shown.text().contains("+port = 81"), "{shown}");
    project.write("config.py", "port = 99\n");
    project.run(["restore", "3", "config.py"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("\n8    just now  you     restored config.py to 3"), "{list}");
    let history = project.run(["history", "config.py"]).success();
    let said = history.error_text();
    assert!(said.contains("Step 8: restored config.py to 3\n"), "{history}");
    assert!(!said.contains("herma"), "{history}");
}

#[test]
fn what_the_store_holds_fits_the_terminal() {
    let env = test_env();
    let long =
        "a-directory-with-a-name-that-is-longer-than-any-terminal-has-room-for-beside-others";
    let project = env.work_dir(long).files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let mut shell = project.shell_in_terminal();
    shell.answer("stty cols 80 rows 50; HERMA_PAGER=cat \"$PROGRAM\" checkpoints; exit");
    let output = shell.finish();
    let shown = output.text();
    assert!(
        shown.contains("\n                 day for 30 days and one a week for 26 weeks"),
        "{shown}"
    );
    let start = shown.find("Kept: ").expect("what is kept");
    for line in shown[start..].lines().filter(|line| !line.contains("Checkpoint base:")) {
        let width = unicode_width::UnicodeWidthStr::width(line.trim_end());
        assert!(width <= 80, "{width}: {line}");
    }
    let topic = project.run(["help", "retention"]).success();
    let sentence = topic.text().split("\n\n").nth(1).expect("below the title").to_owned();
    assert!(sentence.starts_with("Everything of the last 30 days of work is kept"), "{topic}");
}

#[test]
fn what_a_person_did_before_a_session_began_is_theirs() {
    let env = test_env();
    let project = shop(&env);
    project.write("notes.txt", "mine\n");
    let by_hook = ["--agent", "claude", "--session", "s-2", "-m", "a session begins"];
    project.run(["save"].iter().chain(&by_hook)).success();
    let list = project.run(["list"]).success();
    let text = list.text();
    let row = text.lines().find(|line| line.starts_with('6')).unwrap();
    assert!(row.contains("you") && row.contains("notes.txt"), "{list}");
}

#[test]
fn an_undo_of_files_says_what_brings_them_back() {
    let env = test_env();
    let project = shop(&env);
    let undone = project.run(["undo", "docs"]).success();
    assert!(undone.error_text().ends_with("`herma redo` brings it back.\n"), "{undone}");
}

#[test]
fn undoing_what_happened_to_a_file_removes_no_other() {
    let env = test_env();
    let project = shop(&env);
    call(&project, "make a package", |p| {
        p.write("src/pkg/app.py", "run(option)\n");
        p.remove("src/app.py");
    });
    let undone = project.run(["undo", "src/app.py"]).success();
    assert_eq!(undone.text(), "create src/app.py\n");
    assert_eq!(project.read("src/pkg/app.py"), "run(option)\n");
    project.run(["redo"]).success();
    // What it moved to is worth keeping.
    project.run(["undo", "src/pkg/app.py"]).success();
    assert_eq!(project.read("src/app.py"), "run(option)\n");
    assert!(!project.exists("src/pkg/app.py"));
}

#[test]
fn a_redo_says_what_the_next_undo_undoes() {
    let env = test_env();
    let project = shop(&env);
    let more =
        "`herma undo` does not undo just that: `herma undo --dry-run` shows what it would.\n";
    for arguments in [&["undo", "docs"][..], &["undo", "--step"], &["undo", "-n", "2"]] {
        project.run(arguments).success();
        let redone = project.run(["redo"]).success();
        assert!(redone.error_text().ends_with(more), "{redone}");
    }
    project.run(["undo"]).success();
    let redone = project.run(["redo"]).success();
    assert!(redone.error_text().ends_with("`herma undo` undoes it again.\n"), "{redone}");
}

#[test]
fn what_a_redo_could_not_bring_back_stays_marked() {
    let env = test_env();
    let project = shop(&env);
    project.run(["undo"]).success();
    project.write("README.md", "# My shop\n");
    let redone = project.run(["redo"]).code(3);
    let said = redone.error_text();
    assert!(said.contains("Redid a part of \"clean up\" (steps 4 and 5): 0 files"), "{said}");
    assert!(said.contains("README.md: the same or adjacent lines were changed since"), "{said}");
    assert!(!said.contains("was undone in part"), "{said}");
    let list = project.run(["list", "--json"]).success();
    let marks: Vec<(String, String)> = json(&list)["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["text"].to_string(), row["undone"].as_str().unwrap().to_owned()))
        .collect();
    assert!(marks.contains(&("\"\\\"clean up\\\"\"".to_owned(), "partly".to_owned())), "{list}");
}

#[test]
fn the_history_of_a_directory_says_how_to_get_back_what_was_deleted() {
    let env = test_env();
    let project = shop(&env);
    call(&project, "tidy up", |p| p.remove("src/app.py"));
    call(&project, "tidy up", |p| p.write("src/new.py", "new()\n"));
    for (directory, hint) in [
        ("docs", "`herma restore 4^ docs` brings back what 4 deleted."),
        ("src", "`herma restore 6^ src/app.py` brings back what 6 deleted."),
    ] {
        let history = project.run(["history", directory]).success();
        assert!(history.error_text().contains(hint), "{history}");
    }
    project.run(["restore", "4^", "docs"]).success();
    project.run(["restore", "6^", "src/app.py"]).success();
    assert_eq!(project.read("src/new.py"), "new()\n");
    let history = project.run(["history", "docs"]).success();
    assert!(!history.error_text().contains("brings back"), "{history}");
    let list = project.run(["list", "--path", "docs"]).success();
    assert!(list.text().contains("\n4  just now  claude  \"clean up\"  −1  1 deleted\n"), "{list}");
}

#[test]
fn own_edits_stay_after_the_last_prompt_too() {
    let env = test_env();
    let project = shop(&env);
    project.write("config.py", "port = 8080\n");
    project.write("mine.txt", "mine\n");
    let kept = project.run(["restore", "5"]).success();
    let said = kept.error_text();
    assert!(said.contains("`herma restore 5 --all` undoes hand edits, too."), "{said}");
    assert_eq!(project.read("config.py"), "port = 8080\n");
    assert_eq!(project.read("mine.txt"), "mine\n");
    let patch = project.run(["restore", "5", "--all", "--dry-run"]).success();
    assert!(patch.text().contains("\n-port = 8080\n+port = 81\n"), "{patch}");
    project.run(["restore", "5", "--all"]).success();
    assert_eq!(project.read("config.py"), "port = 81\n");
    assert!(!project.exists("mine.txt"));
}

#[test]
fn who_wants_to_choose_is_asked_whatever_was_newest() {
    let env = test_env();
    let project = shop(&env);
    project.run(["undo", "4"]).success();
    project.run(["undo", "--patch"]).success();
    assert!(project.exists("docs/usage.md"), "nobody said yes");
    let again = project.run(["undo", "--since", "1h"]);
    assert!(!again.error_text().contains("Step 4 was not undone"), "{again}");
}

#[test]
fn a_message_or_a_path_in_the_wrong_place_is_understood() {
    let env = test_env();
    let project = shop(&env);
    for (arguments, hint) in [
        (&["restore", "Works"][..], "That is the message of checkpoint 1: write `1`."),
        (&["list", "docs"], "`herma list --path docs` lists what changed there"),
        (&["list", "5"], "`herma list -n 5` lists the newest 5."),
    ] {
        let refused = project.run(arguments);
        assert!(refused.error_text().contains(hint), "{refused}");
    }
    project.write(".env", "SECRET=1\n");
    let nothing = project.run(["undo", "nowhere"]).code(2);
    assert!(!nothing.error_text().contains("brings a version back"), "{nothing}");
    let saved = project.run(["save", "--name", "before-deploy"]);
    assert!(saved.error_text().contains("cleaning will not remove it"), "{saved}");
}

#[test]
fn an_own_edit_of_the_next_line_stays_and_one_of_the_same_line_is_told_of() {
    let env = test_env();
    let project = shop(&env);
    project.write("config.py", "port = 81\nhost = \"mine\"\n");
    let refused = project.run(["undo", "3"]).code(3);
    assert!(
        refused.error_text().contains("config.py: the same or adjacent lines were changed since"),
        "{refused}"
    );
    let chosen = project.run(["undo", "3", "-p"]).code(3);
    let said = chosen.error_text();
    assert!(said.contains("config.py: the same or adjacent lines were changed since"), "{said}");
    assert!(said.contains("`--conflicts=markers`"), "{said}");
    call(&project, "add hosts", |p| p.write("config.py", "port = 81\nhost = \"h\"\nmore = 1\n"));
    let listed = json(&project.run(["list", "--json"]).success());
    let newest = listed["rows"][0]["number"].to_string();
    project.write("config.py", "port = 81\nhost = \"h\"\nmore = 2\n");
    call(&project, "other hosts", |p| p.write("config.py", "port = 81\nhost = \"i\"\nmore = 2\n"));
    assert_ne!(newest, "null");
    project.write("config.py", "port = 82\nhost = \"i\"\nmore = 3\n");
    project.run(["undo"]).success();
    assert_eq!(project.read("config.py"), "port = 82\nhost = \"h\"\nmore = 3\n");
}

#[test]
fn an_undo_of_everything_or_of_what_is_not_there_undoes_nothing() {
    let env = test_env();
    let project = shop(&env);
    let before = project.tree();
    for (arguments, hint) in [
        (&["undo", "--all"][..], "`herma restore 1` undoes all"),
        (&["undo", "claude"], "`herma undo --only-agent claude` undoes all that claude did"),
        (&["undo", "4-99"], "`herma list` shows"),
    ] {
        let refused = project.run(arguments).code(if arguments[1] == "4-99" { 10 } else { 2 });
        assert!(refused.error_text().contains(hint), "{refused}");
    }
    assert_eq!(before, project.tree());
    let refused = project.run(["diff", "docs"]).code(10);
    assert!(refused.error_text().contains("`herma history docs` says who deleted it"), "{refused}");
    project.run(["undo", "--agent", "claude"]).success();
    assert!(project.exists("docs/usage.md"));
}

#[test]
fn a_prompt_of_which_one_file_is_undone_is_marked() {
    let env = test_env();
    let project = shop(&env);
    project.run(["undo", "2-3", "config.py"]).success();
    project.run(["undo", "docs"]).success();
    let rows = json(&project.run(["list", "--json"]).success())["rows"].clone();
    let undone = |number: u64| {
        let of = |row: &&serde_json::Value| {
            row["steps"].as_array().is_some_and(|all| all.contains(&number.into()))
        };
        rows.as_array().unwrap().iter().find(of).unwrap()["undone"].clone()
    };
    assert_eq!((undone(2), undone(4)), ("partly".into(), "partly".into()), "{rows:#}");
}

#[test]
fn a_save_for_an_agent_is_not_shown_as_its_work() {
    let env = test_env();
    let project = shop(&env);
    project.write("config.py", "mine\n");
    call(&project, "next", |p| p.write("new.py", "agent\n"));
    let shown = project.run(["show", "6"]).success();
    let text = shown.text();
    assert!(
        !text.contains("Agent:") && text.contains("For:      agent claude, session s-1"),
        "{text}"
    );
    let shown = project.run(["show", "7"]).success();
    assert!(shown.text().contains("Agent:    claude"), "{shown}");
}

/// Like [`call`], by another agent.
fn call_of(project: &WorkDir<'_>, agent: &str, work: impl FnOnce(&WorkDir<'_>)) {
    let arguments = ["step", "begin", "--tool", "Edit", "--agent", agent, "--session", agent];
    let handle = project.run(arguments).success().text().trim().to_owned();
    work(project);
    project.run(["step", "end", &handle]).success();
}

#[test]
fn what_others_replaced_is_neither_named_nor_marked_by_an_undo_of_an_agent() {
    let env = test_env();
    let project = shop(&env);
    call_of(&project, "codex", |p| p.write("config.py", "port = 81\ndebug = 1\n"));
    call_of(&project, "codex", |p| p.write("src/app.py", "stop()\n"));
    call_of(&project, "claude", |p| p.write("config.py", "port = 81\n"));
    let undone = project.run(["undo", "--only-agent", "codex"]).success();
    let said = undone.error_text();
    assert!(said.contains("Undid step 7: 1 file written"), "{said}");
    assert!(!said.contains("config.py"), "{said}");
    let list = project.run(["list"]).success();
    let codex: Vec<&str> = list.text().lines().filter(|line| line.contains("codex")).collect();
    assert!(codex[0].ends_with("undone") && !codex[1].contains("undone"), "{list}");
}

#[test]
fn an_undo_in_conflict_names_the_command_that_decides() {
    let env = test_env();
    let project = shop(&env);
    project.write("README.md", "# Mine\n");
    let undone = project.run(["undo"]).code(3);
    assert!(undone.error_text().contains("`herma undo 5 --conflicts=markers`"), "{undone}");
    project.run(["redo"]).success();
    project.run(["undo", "4"]).success();
    let nothing = project.run(["undo", "README.md"]).code(3);
    let said = nothing.error_text();
    assert!(said.contains("`herma undo 5 README.md --conflicts=markers`"), "{said}");
    project.run(["undo", "5", "README.md", "--conflicts=markers"]).success();
    assert!(project.read("README.md").contains("<<<<<<<"));
}

#[test]
fn what_a_redo_left_as_it_is_is_undone_with_the_rest() {
    let env = test_env();
    let project = shop(&env);
    project.run(["undo"]).success();
    project.write("README.md", "# My shop\n");
    project.run(["redo"]).code(3);
    assert!(!project.exists("docs/usage.md"));
    project.run(["undo"]).success();
    assert_eq!(project.read("docs/usage.md"), "Use it.\n");
    assert_eq!(project.read("README.md"), "# My shop\n");
}

#[test]
fn a_session_is_named_by_its_beginning_or_is_the_last_one() {
    let env = test_env();
    let project = env.work_dir("shop").files([("a.txt", "1\n")]);
    project.run(["save"]).success();
    for (session, text) in [("5fe9979a-eb0e", "2\n"), ("b550f93d-1a2b", "3\n")] {
        let begun = project.run(["step", "begin", "--agent", "claude", "--session", session]);
        project.write("a.txt", text);
        project.run(["step", "end", begun.success().text().trim()]).success();
    }
    let rows = |arguments: &[&str]| {
        let listed = project.run([&["list", "--json"], arguments].concat()).success();
        json(&listed)["rows"].as_array().expect("rows").len()
    };
    assert_eq!([rows(&["--session", "5fe9"]), rows(&["--session"])], [1, 1]);
    project.run(["undo", "--session", "5fe", "--yes"]).code(10);
    project.run(["undo", "--session", "--dry-run"]).success();
    project.run(["undo", "--session"]).success();
    assert_eq!(project.read("a.txt"), "2\n");
    project.run(["undo", "--session", "5fe9"]).success();
    assert_eq!(project.read("a.txt"), "1\n");
}

#[test]
fn in_a_directory_of_the_project_the_list_says_that_it_is_about_all_of_it() {
    let env = test_env();
    let project = env.work_dir("shop").files([("docs/a.txt", "1\n")]);
    project.run(["save"]).success();
    let hint = "`herma list --path .` is what changed here";
    assert!(!project.run(["list"]).success().error_text().contains(hint));
    let below = project.run(["-C", "docs", "list"]).success();
    assert!(below.error_text().contains(hint), "{below}");
    let here = project.run(["-C", "docs", "list", "--path", "."]).success();
    assert!(!here.error_text().contains(hint), "{here}");
}

#[test]
fn what_is_not_saved_is_in_the_list_of_its_paths_and_in_the_history_of_its_directory() {
    let env = test_env();
    let project = shop(&env);
    project.write("src/app.py", "mine()\n");
    for arguments in [&["list", "--path", "src"][..], &["history", "src"]] {
        let listed = project.run(arguments).success();
        assert!(listed.text().starts_with("now  "), "{listed}");
        assert!(listed.text().contains("src/app.py"), "{listed}");
    }
    for arguments in [&["list", "--path", "docs"][..], &["history", "docs"]] {
        let listed = project.run(arguments).success();
        assert!(!listed.text().contains("src/app.py"), "{listed}");
    }
    let status = project.run([""; 0]).success();
    let said = status.error_text();
    assert!(said.contains("`herma restore 5 --all` drops it."), "{said}");
    project.run(["restore", "5", "--all"]).success();
    assert_eq!(project.read("src/app.py"), "run(option)\n");
    let status = project.run([""; 0]).success();
    assert!(!status.error_text().contains("drops it"), "{status}");
}

/// Three prompts change a file; the second is in conflict with an edit by hand.
fn in_conflict(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project").files([("a", &*lines(&[])), ("b", &*lines(&[]))]);
    project.run(["save"]).success();
    call(&project, "one", |p| p.write("a", &lines(&[(3, "ONE")])));
    call(&project, "two", |p| {
        p.write("a", &lines(&[(3, "ONE"), (10, "TWO")]));
        p.write("b", &lines(&[(5, "TWO")]));
    });
    call(&project, "three", |p| p.write("a", &lines(&[(3, "ONE"), (10, "TWO"), (17, "THREE")])));
    project.write("a", &lines(&[(3, "ONE"), (10, "MINE"), (17, "THREE")]));
    project
}

#[test]
fn a_prompt_of_which_nothing_was_undone_is_not_marked_and_is_next() {
    let env = test_env();
    let project = in_conflict(&env);
    let undone = project.run(["undo", "-n", "2"]).code(3);
    assert!(undone.error_text().contains("Step 4 was not undone: a stays as it is."), "{undone}");
    assert_eq!(project.read("b"), lines(&[]), "of the second prompt");
    let list = project.run(["list"]).success();
    assert_eq!(list.text().matches("undone").count(), 1, "only the second, in part: {list}");
    let next = project.run(["undo"]).success();
    assert!(next.error_text().contains("Undid \"three\""), "{next}");
    assert_eq!(project.read("a"), lines(&[(3, "ONE"), (10, "MINE")]));
    let next = project.run(["undo"]).success();
    assert!(next.error_text().contains("Undid \"one\""), "{next}");
}

#[test]
fn fewer_prompts_than_asked_for_are_told_without_another_command() {
    let env = test_env();
    let project = shop(&env);
    let refused = project.run(["undo", "-n", "3", "config.py"]).code(1);
    let said = refused.error_text();
    assert!(said.contains("The same command with `-n 1` undoes what there is"), "{said}");
}

#[test]
fn what_is_kept_is_no_conflict() {
    let env = test_env();
    let project = in_conflict(&env);
    let restored = project.run(["restore", "1", "--keep", "a"]).success();
    let said = restored.error_text();
    assert!(!said.contains("conflict") && !said.contains("--conflicts"), "{said}");
    assert!(said.contains("`herma restore 1 --keep a --all`"), "{said}");
    assert_eq!(project.read("b"), lines(&[]));
    assert!(project.read("a").contains("MINE") && project.read("a").contains("THREE"));
}

#[test]
fn the_beginning_of_several_sessions_is_none_of_them() {
    let env = test_env();
    let project = env.work_dir("project").files([("a", "0")]);
    project.run(["save"]).success();
    for (session, text) in [("work-1", "1"), ("work-2", "2"), ("work", "3")] {
        let begin = ["step", "begin", "--agent", "claude", "--session", session];
        let handle = project.run(begin).success().text().trim().to_owned();
        project.write("a", text);
        project.run(["step", "end", &handle]).success();
    }
    for command in [&["undo"][..], &["list"], &["steps"], &["diff"], &["report"]] {
        let refused = project.run([command, &["--session", "work-"]].concat()).code(2);
        let said = refused.error_text();
        assert!(said.contains("2 sessions begin with `work-`"), "{command:?}: {said}");
        assert!(said.contains("`--session=work-1`, `--session=work-2`"), "{command:?}: {said}");
    }
    let report = project.run(["report", "--session", "work"]).success();
    assert_eq!(report.text().matches("###").count(), 1, "exactly that one: {report}");
    project.run(["undo", "--session"]).success();
    assert_eq!(project.read("a"), "2");
}

#[test]
fn what_brings_a_file_back_can_be_typed() {
    let env = test_env();
    let project = env.work_dir("project").files([("-rf", "x"), ("new\nline", "x"), ("keep", "x")]);
    project.run(["save"]).success();
    project.remove("-rf");
    project.remove("new\nline");
    let found = project.run(["find", "line"]).success();
    assert!(!found.error_text().contains("--last"), "no shell takes it as it is shown: {found}");
    let found = project.run(["find", "rf"]).success();
    assert!(found.error_text().contains("`herma restore --last ./-rf`"), "{found}");
    project.run(["restore", "--last", "./-rf"]).success();
    assert_eq!(project.read("-rf"), "x");
}
