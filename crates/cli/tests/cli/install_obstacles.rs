//! `herma install` where something else is in the file's place, or in it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fs;

use super::test_env;
use herma_testkit::Bounded;

#[test]
fn what_is_in_the_place_of_a_file_is_named() {
    for (what, words) in [
        ("directory", "it is a directory, not a file"),
        ("pipe", "it is a named pipe, not a file"),
        ("large", "it is larger than 8 MiB"),
    ] {
        let env = test_env();
        let settings = env.user_home().join(".claude/settings.json");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        match what {
            "directory" => fs::create_dir(&settings).unwrap(),
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&settings).bounded_status();
                assert!(made.unwrap().success());
            }
            _ => fs::write(&settings, vec![b' '; (8 << 20) + 1]).unwrap(),
        }
        for command in ["install", "uninstall"] {
            let output = env.work_dir("project").run([command, "claude"]).code(1);
            let said = output.error_text();
            assert!(said.contains(words), "{command}: {said}");
            assert!(!said.contains("os error"), "{command}: {said}");
        }
        let beside = fs::read_dir(settings.parent().unwrap()).unwrap();
        assert_eq!(beside.count(), 1, "{what}: nothing was put beside it");
    }
}

#[test]
fn hooks_of_the_user_that_call_herma_themselves_stay() {
    let env = test_env();
    let settings = env.user_home().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let theirs = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \
                  \"command\": \"echo before; herma hook claude; echo after\"}]}]}, \"n\": 1e400}\n";
    fs::write(&settings, theirs).unwrap();
    let project = env.work_dir("project");
    project.run(["install", "claude"]).success();
    let after = fs::read_to_string(&settings).unwrap();
    assert!(after.contains("echo before; herma hook claude; echo after"));
    project.run(["uninstall", "claude"]).success();
    assert_eq!(fs::read_to_string(&settings).unwrap(), theirs);
}
