//! The agents whose JSON file is edited.

use herma_agents::Agent;

use super::configurations::Expected;
use super::{assert_round_trip, command, configurations, target};

fn check(agent: Agent) {
    let target = target(agent);
    let all = configurations::all(agent);
    assert!(all.len() >= 20);
    for configuration in &all {
        let text = configuration.text.as_deref();
        match configuration.expected {
            Expected::RoundTrip => assert_round_trip(configuration.name, &target, text),
            Expected::Refused => {
                let bytes = text.map(str::as_bytes);
                assert!(
                    target.file.install(bytes, &command()).is_err(),
                    "{}: {text:?}",
                    configuration.name
                );
            }
        }
    }
}

#[test]
fn claude_is_as_before_after_uninstalling() {
    check(Agent::Claude);
}

#[test]
fn codex_is_as_before_after_uninstalling() {
    check(Agent::Codex);
}

#[test]
fn qwen_is_as_before_after_uninstalling() {
    check(Agent::Qwen);
}

#[test]
fn cursor_is_as_before_after_uninstalling() {
    check(Agent::Cursor);
}

#[test]
fn crush_is_as_before_after_uninstalling() {
    check(Agent::Crush);
}

#[test]
fn droid_is_as_before_after_uninstalling() {
    check(Agent::Droid);
}

#[test]
fn all_hosts_with_a_json_file_are_checked() {
    assert_eq!(
        configurations::AGENTS.map(Agent::word),
        ["claude", "codex", "qwen", "cursor", "crush", "droid"]
    );
    for agent in configurations::AGENTS {
        assert!(target(agent).is_shared);
    }
}

#[test]
fn what_is_not_text_is_refused() {
    for agent in configurations::AGENTS {
        let target = target(agent);
        assert!(target.file.install(Some(b"{\"a\": \"\xff\"}"), &command()).is_err());
        assert!(target.file.uninstall(b"{\"a\": \"\xff\"}").is_err());
        let large = vec![b' '; (8 << 20) + 1];
        assert!(target.file.install(Some(&large), &command()).is_err());
    }
}
