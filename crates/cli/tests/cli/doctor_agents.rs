//! What `herma doctor` says about agents: approvals, trust, and what a project has of its own.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test prepares its files with std, and fails where something is missing"
)]

use std::fs;

use herma_testkit::TestEnv;
use serde_json::{Value, json};

use super::{json, test_env};

fn write(env: &TestEnv, path: &str, text: &str) {
    let path = env.user_home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What it says about an agent: level, text and hint of each finding.
fn said(env: &TestEnv, about: &str) -> Vec<(String, String, String)> {
    let output = env.work_dir("project").run(["doctor", "--json"]);
    let found: Value = json(&output);
    let findings = found["findings"].as_array().unwrap().iter();
    let field = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    findings
        .filter(|finding| finding["about"] == about)
        .map(|one| (field(one, "level"), field(one, "text"), field(one, "hint")))
        .collect()
}

#[track_caller]
fn only(env: &TestEnv, about: &str) -> (String, String, String) {
    let mut said = said(env, about);
    assert_eq!(said.len(), 1, "{said:?}");
    said.remove(0)
}

#[test]
fn codex_is_trusted_only_for_the_call_that_was_approved() {
    let env = test_env();
    let project = env.work_dir("project");
    let install = |program: &str| project.run(["install", "codex", "--binary", program]).success();
    install("/usr/bin/true");
    let (level, text, hint) = only(&env, "codex");
    assert!(level == "attention" && text.ends_with("but not approved"), "{text}");
    assert!(hint.contains("/hooks") && hint.contains("--trust"), "{hint}");

    let hooks = env.user_home().join(".codex/hooks.json");
    let approvals = approved_by_codex(&fs::read_to_string(&hooks).unwrap(), &hooks);
    write(&env, ".codex/config.toml", &approvals);
    let (level, text, _) = only(&env, "codex");
    assert!(level == "fine" && text.contains("approved, never heard of"), "{text}");

    install("/usr/bin/env");
    let (level, text, _) = only(&env, "codex");
    assert!(level == "attention" && text.contains("not approved any more"), "{text}");
    install("/usr/bin/true");
    assert_eq!(only(&env, "codex").0, "fine");

    let newer = approvals.replace("sha256:", "sha512:");
    write(&env, ".codex/config.toml", &newer);
    let (level, text, _) = only(&env, "codex");
    assert!(level == "attention" && text.contains("cannot tell"), "{text}");

    project.run(["uninstall", "codex"]).success();
    let left = fs::read_to_string(env.user_home().join(".codex/config.toml")).unwrap();
    assert_eq!(left, newer, "approvals are for Codex to remove");
}

/// What Codex writes on approval. The hashes depend on the home, which is in the command line, so they are made
/// here; that they are made as Codex does is tested with hashes of its own where they are compared.
fn approved_by_codex(hooks: &str, file: &std::path::Path) -> String {
    use sha2::Digest;
    let data: Value = serde_json::from_str(hooks).unwrap();
    let mut tables = Vec::new();
    for (event, groups) in data["hooks"].as_object().unwrap() {
        let mut name = String::new();
        for letter in event.chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.extend(letter.to_lowercase());
        }
        let handler = &groups[0]["hooks"][0];
        let (command, timeout) = (&handler["command"], &handler["timeout"]);
        let hashed = format!(
            r#"{{"event_name":"{name}","hooks":[{{"async":false,"command":{command},"timeout":{timeout},"type":"command"}}]}}"#
        );
        let digest = sha2::Sha256::digest(hashed.as_bytes());
        let digest: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = file.display();
        tables.push(format!(
            "[hooks.state.\"{file}:{name}:0:0\"]\ntrusted_hash = \"sha256:{}\"\n",
            digest.concat()
        ));
    }
    tables.concat()
}

#[test]
fn gemini_is_asked_about_the_folder_and_the_extension() {
    let env = test_env();
    let project = env.work_dir("project");
    project.run(["install", "gemini"]).success();
    let (level, _, hint) = only(&env, "gemini");
    assert!(level == "fine" && hint.contains("asks whether to trust"), "{hint}");
    let trust = |level: &str| {
        let rules = json!({ project.path().to_str().unwrap(): level });
        write(&env, ".gemini/trustedFolders.json", &rules.to_string());
    };
    trust("TRUST_FOLDER");
    let (level, text, hint) = only(&env, "gemini");
    assert!(level == "fine" && hint.is_empty(), "{text} {hint}");
    trust("DO_NOT_TRUST");
    let (level, text, hint) = only(&env, "gemini");
    assert!(level == "attention" && text.contains("does not trust"), "{text}");
    assert!(hint.contains("/permissions"), "{hint}");
    let rules = json!({"herma": {"overrides": ["!/*"]}});
    let path = ".gemini/extensions/extension-enablement.json";
    write(&env, path, &rules.to_string());
    let (level, text, hint) = only(&env, "gemini");
    assert!(level == "attention" && text.contains("disabled"), "{text}");
    assert!(hint.contains("gemini extensions enable herma"), "{hint}");
}

#[test]
fn what_a_project_has_of_its_own_is_named() {
    let env = test_env();
    let project = env.work_dir("project").files([("a.txt", "one")]);
    project.run(["install", "claude", "cursor", "codex", "--project"]).success();
    let (level, text, _) = only(&env, "claude");
    assert_eq!(level, "fine");
    assert!(
        text.contains("for this project") && text.contains("project/.claude/settings.local.json"),
        "{text}"
    );
    let (_, text, hint) = only(&env, "codex");
    assert!(text.contains("does not trust this project"), "{text} {hint}");
    project.run(["install", "claude"]).success();
    let both = said(&env, "claude");
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(!both[0].1.contains("this project") && both[1].1.contains("this project"));
    fs::write(project.path().join(".cursor/hooks.json"), "{").unwrap();
    let (level, text, _) = only(&env, "cursor");
    assert!(level == "attention" && text.contains("project/.cursor/hooks.json"), "{text}");
    let elsewhere = env.work_dir("elsewhere").run(["doctor"]);
    assert!(!elsewhere.text().contains("this project in"), "{elsewhere}");
}

#[test]
fn work_outside_any_project_is_named_even_after_work_in_one() {
    let env = test_env();
    let project = env.work_dir("project").files([("Makefile", "")]);
    project.run(["install", "claude"]).success();
    for directory in [env.user_home(), project.path().to_owned()] {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": directory, "cwd": directory,
            "tool_name": "Bash", "tool_input": {"command": "make"},
        });
        let mut command = super::shell(&env, &project);
        command.args(["-c", "printf %s \"$PAYLOAD\" | \"$HERMA\" -C \"$PLACE\" hook claude"]);
        command.env("HERMA", env!("CARGO_BIN_EXE_herma"));
        command.env("PAYLOAD", payload.to_string()).env("PLACE", &directory);
        env.finish(&mut command).success();
    }
    let said = said(&env, "claude");
    assert_eq!((said.len(), &*said[1].0), (2, "fine"), "{said:?}");
    assert!(said[0].1.contains("last heard of"), "{said:?}");
    assert!(said[1].1.starts_with("worked outside any project"), "{said:?}");
    assert!(said[1].1.ends_with("is your home directory, not a project"), "{said:?}");
}
