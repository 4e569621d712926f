//! `herma save`, `list`, `show`, and the marks.

use super::json;
use super::test_env;

#[test]
fn a_save_is_listed_with_its_reason_and_can_be_named() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    let saved = project
        .run(["save", "-m", "first", "--agent", "tester"])
        .success();
    assert!(saved.stdout.is_empty(), "words belong on stderr");
    assert!(
        saved.error_text().starts_with("Saved checkpoint 1 ("),
        "{saved}"
    );

    let list = json(&project.run(["list", "--json"]).success());
    assert_eq!(list["schema"], "herma.list/1");
    let checkpoint = &list["checkpoints"][0];
    assert_eq!(checkpoint["number"], 1);
    assert_eq!(checkpoint["reason"], "first");
    assert_eq!(checkpoint["facts"]["agent"], "tester");

    project.run(["name", "1", "before-refactor"]).success();
    project.run(["pin", "before-refactor"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("[pinned] [before-refactor]"), "{list}");
    project.run(["unname", "before-refactor"]).success();
    project.run(["show", "before-refactor"]).code(10);
}

#[test]
fn saving_twice_without_a_change_makes_one_checkpoint() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let again = project.run(["save"]).success();
    assert!(
        again
            .error_text()
            .starts_with("Nothing changed since checkpoint 1 ("),
        "{again}"
    );
    assert_eq!(
        json(&project.run(["save", "--json"]).success())["is_new"],
        false
    );
}

#[test]
fn what_a_save_leaves_out_is_named_and_the_exit_code_says_so() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.write("big.dat", &"x".repeat(11 << 20));
    let saved = project.run(["save"]).code(3);
    assert!(
        saved.error_text().contains("  big.dat (too-large)\n"),
        "{saved}"
    );
    let records = project.run(["show", "1", "-z"]).success();
    assert!(records.text().contains("too-large\tbig.dat\0"), "{records}");
}

#[test]
fn reasons_cannot_act_on_the_terminal_but_reach_programs_exactly() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "\u{1b}[2Jgone"]).success();
    let list = project.run(["list"]).success();
    assert!(list.text().contains("\\u{1b}[2Jgone"), "{list}");
    let records = project.run(["list", "-z"]).success();
    assert!(records.text().ends_with("\t\u{1b}[2Jgone\0"), "{records}");
}

#[test]
fn a_project_without_checkpoints_says_what_to_type() {
    let env = test_env();
    let project = env.work_dir("project");
    let status = project.run([""; 0]).success();
    assert!(
        status.error_text().contains("makes the first checkpoint"),
        "{status}"
    );
    let restore = project.run(["restore", "1"]).code(10);
    assert!(restore.error_text().contains("Hint: "), "{restore}");
}

#[test]
fn dropping_without_a_terminal_needs_yes() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let refused = project.run(["drop", "1"]).code(2);
    assert!(
        refused.error_text().contains("Nothing was removed"),
        "{refused}"
    );
    project.run(["drop", "1", "--yes"]).success();
    project.run(["show", "1"]).code(10);
}

#[test]
#[allow(clippy::disallowed_methods)]
fn one_damaged_checkpoint_is_named_and_the_others_stay_usable() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save", "-m", "first"]).success();
    project.write("a.txt", "two\n");
    project.run(["save", "-m", "second"]).success();
    let refs = env.store().join("refs/herma");
    let of_project = std::fs::read_dir(refs).unwrap().next().unwrap().unwrap();
    let newest = of_project.path().join("00000002");
    std::fs::write(newest, "0123456789012345678901234567890123456789\n").unwrap();

    let listed = project.run(["list"]).code(12);
    assert!(listed.text().contains("first"), "{listed}");
    assert!(
        listed.error_text().contains("00000002 is damaged"),
        "{listed}"
    );
    let doctor = project.run(["doctor"]).code(1);
    assert!(doctor.text().contains("00000002 is damaged"), "{doctor}");
    project.run(["restore", "2"]).code(12);
    project.run(["restore", "3"]).success();
    assert_eq!(project.read("a.txt"), "one\n");
}
