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

/// The page on agents says how to get the entries for a file that cannot be edited.
#[test]
fn entries_can_be_written_by_hand_as_printed_for_an_empty_home() {
    let document = include_str!("../../../../docs/AGENTS.md");
    let recipe = r#"env -i HOME="$(mktemp -d)" "$(command -v herma)" install AGENT --dry-run"#;
    assert!(document.contains(recipe));
    for (agent, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("qwen", ".qwen/settings.json"),
        ("cursor", ".cursor/hooks.json"),
        ("crush", ".config/crush/crush.json"),
        ("hermes", ".hermes/config.yaml"),
    ] {
        let env = test_env();
        let project = env.work_dir("project");
        let run = |home: &std::path::Path, args: &[&str]| {
            let mut command = env.command(project.path());
            let output = command.env_remove("HERMES_HOME").env("HOME", home).args(args);
            let output = output.bounded_output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let empty = env.work_dir("empty");
        let (code, printed) = run(empty.path(), &["install", agent, "--dry-run"]);
        assert_eq!(code, Some(0), "{agent}");
        assert!(printed.contains(&format!("\n+++ {}\n", empty.path().join(file).display())));
        let entries = printed.lines().skip_while(|line| !line.starts_with("@@")).skip(1);
        // Files that are ours altogether follow.
        let entries = entries.take_while(|line| !line.starts_with("---"));
        let entries: Vec<&str> = entries.map(|line| &line[1..]).collect();
        let settings = env.user_home().join(file);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, entries.join("\n") + "\n").unwrap();
        let (_, listed) = run(&env.user_home(), &["install", "--json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let agents = listed["agents"].as_array().unwrap();
        let listed = agents.iter().find(|listed| listed["agent"] == agent).unwrap();
        assert_eq!(listed["state"], "installed", "{listed}");
    }
}
