//! Command lines that make no sense, and what is said about them.

use super::{json, test_env};

#[test]
fn an_unknown_command_is_a_usage_error() {
    let env = test_env();
    let output = env.work_dir("project").run(["frobnicate"]).code(2);
    assert!(output.stdout.is_empty(), "words belong on stderr");
    assert!(output.error_text().contains("there is no command `frobnicate`"));
}

#[test]
fn with_json_an_error_is_one_object_and_no_words() {
    let env = test_env();
    let project = env.work_dir("project");
    for args in [&["--json", "frobnicate"][..], &["restore", "--json"], &["show", "--json", "@-x"]]
    {
        let output = project.run(args).code(2);
        assert_eq!(output.error_text(), "", "{args:?}");
        let json = json(&output);
        assert_eq!(json["schema"], "herma.error/1");
        assert_eq!(json["error"]["kind"], "usage");
        assert!(json["error"]["hints"].is_array());
    }
}

#[test]
fn a_checkpoint_that_looks_like_an_option_is_refused() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["restore", "--", "--patch"]).code(2);
    project.run(["restore", "-p"]).code(2);
    project.run(["restore", ""]).code(2);
}

#[test]
fn continuing_takes_no_checkpoint() {
    let env = test_env();
    project_run(&env, &["restore", "--continue", "1"]);
    project_run(&env, &["restore"]);
    project_run(&env, &["diff", "-z"]);
    project_run(&env, &["diff", "--stat", "--name-only"]);
    project_run(&env, &["list", "-z", "--json"]);
}

#[track_caller]
fn project_run(env: &herma_testkit::TestEnv, args: &[&str]) {
    env.work_dir("project").run(args).code(2);
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let env = test_env();
    let output = env.work_dir("project").run(["-C", "missing", "list"]).code(2);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    Error: there is no directory $ROOT/work/project/missing
    [exit status: 2]
    ");
}

#[test]
fn without_a_home_the_user_is_told_how_to_name_one() {
    let env = test_env();
    let project = env.work_dir("project");
    let mut command = env.command(project.path());
    command.env_remove("HOME").env_remove("HERMES_HOME").arg("list");
    insta::assert_snapshot!(env.finish(&mut command).code(2), @r"
    ------- stderr -------
    Error: cannot tell where checkpoints are kept: `HOME` is not set
    Hint: Set `HERMES_HOME`, or use `--home DIR`.
    [exit status: 2]
    ");
}

#[test]
fn a_path_outside_the_project_is_refused() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    let output = project.run(["restore", "1", "../elsewhere"]).code(2);
    assert!(output.error_text().starts_with("Error: "), "{output}");
    assert!(output.error_text().contains("Hint: "), "{output}");
}

#[test]
fn a_usage_error_never_sends_what_was_typed_to_the_terminal_as_it_is() {
    let env = test_env();
    let output = env.work_dir("project").run(["list", "-n", "\x1b]0;title\x07"]).code(2);
    assert!(!output.error_text().contains('\x1b'), "{output}");
    assert!(!output.error_text().contains('\x07'), "{output}");
    assert!(output.error_text().contains("--limit"), "{output}");
}
