//! `herma can-undo`

use herma_testkit::env::WorkDir;

use super::{json, test_env};

/// A project that leaves two things out.
fn fill(project: WorkDir<'_>) -> WorkDir<'_> {
    project.files([
        ("a.txt", "one\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("node_modules/m.js", "x\n"),
        ("run.log", "x\n"),
    ])
}

#[test]
fn the_first_line_is_the_answer_and_the_exit_code_says_it_too() {
    let env = test_env();
    let project = fill(env.work_dir("project"));
    let exact = project.run(["can-undo", "--", "rm", "-r", "src"]).success();
    assert_eq!(exact.text(), "exact\n");
    assert_eq!(exact.error_text(), "");

    let partial = project.run(["can-undo", "--", "rm -r src node_modules"]);
    insta::assert_snapshot!(partial.code(3).text(), @r"
    partial
    node_modules: checkpoints leave it out (excluded)
    ");
    let no = project.run(["can-undo", "--shell", "git push"]);
    insta::assert_snapshot!(no.code(1).text(), @r"
    no
    `git push`: it changes something on another machine
    ");
    let unknown = project.run(["can-undo", "--", "make", "all"]);
    insta::assert_snapshot!(unknown.code(3).text(), @r"
    partial
    `make`: it may change any file, also outside the project
    node_modules: checkpoints leave it out (excluded)
    run.log: checkpoints leave it out (excluded)
    ");
    assert!(!env.home().exists(), "asking writes nothing");
}

#[test]
fn a_program_with_arguments_needs_no_shell() {
    let env = test_env();
    let project = fill(env.work_dir("project"));
    project.run(["can-undo", "--", "rm", "*"]).success();
    project.run(["can-undo", "--", "rm *"]).code(3);
    project.run(["can-undo", "--", "rm", "$X"]).success();
    project.run(["can-undo", "--", "rm $X"]).code(3);
    project.run(["can-undo"]).code(2);
    project.run(["can-undo", "--shell", "ls", "--", "ls"]).code(2);
}

#[test]
fn paths_are_meant_from_the_directory_the_user_is_in() {
    let env = test_env();
    let project = fill(env.work_dir("project"));
    project.run(["save"]).success();
    let below = ["can-undo", "-C", "src", "--json", "--", "rm", "main.rs"];
    let answer = json(&project.run(below).success());
    assert_eq!(answer["changes"][0]["path"], "src/main.rs");
    let outside = ["can-undo", "-C", "src", "--", "rm", "../../x"];
    let output = project.run(outside).code(1);
    assert!(output.text().ends_with("/x: it is not in the project\n"), "{output}");
}

#[test]
fn programs_get_the_answer_with_its_reasons() {
    let env = test_env();
    let project = fill(env.work_dir("project"));
    let output = project.run(["can-undo", "--json", "--", "rm a.txt run.log; git push"]);
    let answer = json(&output.code(3));
    assert_eq!(answer["schema"], "herma.can-undo/1");
    assert_eq!(answer["answer"], "partial");
    assert_eq!(answer["more"], 0);
    assert_eq!(answer["changes"][0]["path"], "a.txt");
    let uncovered = &answer["uncovered"];
    assert_eq!(uncovered[0]["program"], "git push");
    assert_eq!(uncovered[0]["why"], "outside-files");
    assert!(uncovered[0].get("path").is_none());
    assert_eq!(uncovered[1]["path"], "run.log");
    assert_eq!(uncovered[1]["why"], "left-out");
    assert_eq!(uncovered[1]["reason"], "excluded");
}

#[test]
fn names_cannot_act_on_the_terminal() {
    let env = test_env();
    let project = fill(env.work_dir("project"));
    let output = project.run(["can-undo", "--", "\u{1b}[2J", "x"]).code(3);
    assert!(output.text().contains("`\\u{1b}[2J`"), "{output}");
}
