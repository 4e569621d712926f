//! `herma diff`

use herma_testkit::{TestEnv, WorkDir};

use super::{json, test_env};

fn edited(env: &TestEnv) -> WorkDir<'_> {
    let project =
        env.work_dir("project").files([("a.txt", "one\n"), ("1", "x\n"), ("gone", "y\n")]);
    project.run(["save"]).success();
    project.write("a.txt", "two\n");
    project.write("new.txt", "new\n");
    project.remove("gone");
    project
}

#[test]
fn the_default_is_from_the_newest_checkpoint_to_the_present() {
    let env = test_env();
    let project = edited(&env);
    let output = project.run(["diff"]).success();
    assert!(output.text().contains("\n-one\n+two\n"), "{output}");
    let names = project.run(["diff", "--name-status", "--no-renames"]).success();
    assert_eq!(names.text(), "M\ta.txt\nD\tgone\nA\tnew.txt\n");
    let names = project.run(["diff", "--name-only", "-z"]).success();
    assert_eq!(names.text(), "a.txt\0gone\0new.txt\0");
}

#[test]
fn an_argument_is_a_checkpoint_first_and_a_path_after_two_dashes() {
    let env = test_env();
    let project = edited(&env);
    project.write("1", "changed\n");
    let all = project.run(["diff", "1", "--name-only"]).success();
    assert_eq!(all.text().lines().count(), 4, "{all}");
    let one = project.run(["diff", "--name-only", "--", "1"]).success();
    assert_eq!(one.text(), "1\n");
    let gone = project.run(["diff", "gone", "--name-only"]).success();
    assert_eq!(gone.text(), "gone\n", "a file that is gone is still a path");
}

#[test]
fn an_argument_that_is_nothing_at_all_is_reported() {
    let env = test_env();
    let project = edited(&env);
    let output = project.run(["diff", "naem"]).code(10);
    assert!(output.error_text().contains("neither a checkpoint nor a file"), "{output}");
    project.run(["diff", "7"]).code(10);
}

#[test]
fn a_piped_patch_is_exact() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one\n")]);
    project.run(["save"]).success();
    project.write_bytes("a.txt", b"\x1b[31m\xff\n");
    let output = project.run(["diff"]).success();
    let wanted = b"\n-one\n+\x1b[31m\xff\n";
    assert!(output.stdout.windows(wanted.len()).any(|part| part == wanted), "{output}");
}

#[test]
fn changes_reach_programs_with_their_counts() {
    let env = test_env();
    let project = edited(&env);
    let json = json(&project.run(["diff", "--json", "a.txt"]).success());
    assert_eq!(json["schema"], "herma.diff/2");
    assert_eq!(json["changes"][0]["path"], "a.txt");
    assert_eq!(json["changes"][0]["status"], "M");
    assert_eq!(json["changes"][0]["insertions"], 1);
    assert_eq!(json["to"], serde_json::Value::Null);
}
