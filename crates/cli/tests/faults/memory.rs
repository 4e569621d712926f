//! Too little memory, and too little stack: a command works or fails, the store is whole, and the next one works.

use std::os::unix::process::ExitStatusExt;

use herma_testkit::random::Random;
use herma_testkit::tree::assert_same;
use herma_testkit::{Bounded, Output, TestEnv, WorkDir, faults};

use super::surroundings::{limited, nested, read_in, write_in};
use super::{assert_sound, has_program, json, test_env};

const SIGABRT: i32 = 6;

/// Address space in MiB, from too little for the threads to plenty; in full size in small steps where work begins and
/// memory ends.
fn sizes() -> Vec<u64> {
    if faults::is_full() {
        return (32..1024).step_by(8).collect();
    }
    vec![64, 256, 296, 304, 320, 384, 512, 552, 568, 600, 768, 1024]
}

/// A project of some megabytes in many files.
fn sizeable(env: &TestEnv) -> WorkDir<'_> {
    let project = env.work_dir("project");
    let mut random = Random::new(7);
    for number in 0..60 {
        project.write_bytes(format!("d{}/f{number}", number % 7), &random.bytes(40_000));
    }
    project.write_bytes("big", &random.bytes(6 << 20));
    project
}

/// Did it work? If not, it says so, or was ended by the allocator; it never panicked and never crashed.
#[track_caller]
fn worked(output: &Output) -> bool {
    let said = output.error_text();
    assert!(!said.contains("panicked"), "{output}");
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => true,
        (Some(1), _) => {
            assert!(said.contains("Error:"), "{output}");
            false
        }
        (None, Some(SIGABRT)) => {
            assert!(said.contains("memory allocation of"), "{output}");
            false
        }
        _ => panic!("{output}"),
    }
}

#[test]
fn memory_that_is_too_little_for_a_save() {
    if !has_program("prlimit") {
        return;
    }
    let env = test_env();
    let project = sizeable(&env);
    let whole = project.tree();
    let (mut done, mut failed) = (0, 0);
    for size in sizes() {
        // Nothing is known of the project, so everything is read.
        let _ = std::fs::remove_dir_all(env.home());
        let output = limited(&env, &format!("--as={}", size << 20), &["save"]);
        *(if worked(&output) { &mut done } else { &mut failed }) += 1;
        let again = project.run(["save", "--json"]).success();
        assert_eq!(json(&again)["left_out"].as_array().map(Vec::len), Some(0));
        assert_sound(&env.repository());
        let tmp = super::scene::files_below(&env.store().join("herma/tmp"));
        assert!(tmp.is_empty(), "{size} MiB: left behind {tmp:?}");
        assert_eq!(env.archive_tree(&newest(&project)), whole.as_git());
    }
    eprintln!("save with little memory: {done} worked, {failed} failed");
    assert!(done > 0 && failed > 0, "{done} worked, {failed} failed");
}

#[track_caller]
fn newest(project: &WorkDir<'_>) -> String {
    let listed = json(&project.run(["list", "--json"]).success());
    super::scene::id_of(&listed["checkpoints"][0])
}

#[test]
fn memory_that_is_too_little_for_a_restore() {
    if !has_program("prlimit") {
        return;
    }
    let env = test_env();
    let project = sizeable(&env);
    let old = project.tree();
    project.run(["save", "--name", "old"]).success();
    let mut random = Random::new(8);
    for number in 0..60 {
        project.write_bytes(format!("d{}/f{number}", number % 7), &random.bytes(50_000));
    }
    project.write_bytes("big", &random.bytes(6 << 20));
    let new = project.tree();
    project.run(["save"]).success();
    let (mut done, mut failed) = (0, 0);
    for size in sizes() {
        let output = limited(&env, &format!("--as={}", size << 20), &["restore", "old"]);
        let listed = json(&project.run(["list", "--json"]).success());
        let is_interrupted = listed["project"]["interrupted_restore"] == true;
        if worked(&output) {
            done += 1;
            assert_same(&old, &project.tree(), "restored");
        } else {
            failed += 1;
        }
        if is_interrupted || output.status.success() {
            project.run(["undo"]).success();
        }
        assert_same(&new, &project.tree(), &format!("{size} MiB: as before"));
    }
    assert_sound(&env.repository());
    eprintln!("restore with little memory: {done} worked, {failed} failed");
    assert!(done > 0 && failed > 0, "{done} worked, {failed} failed");
}

#[test]
fn memory_for_the_stack_that_is_small_does_for_deep_trees() {
    if !has_program("prlimit") {
        return;
    }
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "up here\n")]);
    // A command that recurses needs more than this stack has at 500 levels already; 2,000 take minutes.
    let levels = if faults::is_full() { 2_000 } else { 500 };
    let bottom = nested(project.path(), "d", levels);
    let write = |text: &str| write_in(&bottom, "f", text);
    let stack = |args: &[&str]| limited(&env, "--stack=262144", args);
    write("one\n");
    stack(&["save", "--name", "old"]).success();
    write("two\n");
    for args in [
        &["diff"][..],
        &["show", "old"],
        &["restore", "old", "--dry-run"],
        &["checkpoints", "verify", "--read-data"],
        &["checkpoints", "gc"],
    ] {
        stack(args).success();
    }
    stack(&["restore", "old"]).success();
    assert_eq!(read_in(&bottom, "f"), "one\n");
    stack(&["undo"]).success();
    assert_eq!(read_in(&bottom, "f"), "two\n");
    stack(&["purge", "--yes", "a.txt"]).success();
    stack(&["checkpoints", "repair"]).success();
    // Nothing else can remove a tree whose paths are longer than the kernel takes at once.
    drop(bottom);
    let removed = std::process::Command::new("rm")
        .args(["-rf", "d"])
        .current_dir(project.path())
        .bounded_status();
    assert!(removed.unwrap().success());
}
