//! The agents whose JSON file is edited.

use herma_agents::Host;

use super::assert_round_trip;
use super::command;
use super::configurations;
use super::configurations::Expected;
use super::target;

fn check(host: Host) {
    let target = target(host);
    let all = configurations::all(host);
    assert!(all.len() >= 20);
    for configuration in &all {
        let text = configuration.text.as_deref();
        match configuration.expected {
            Expected::RoundTrip => assert_round_trip(configuration.name, &target, text),
            Expected::Refused => {
                let bytes = text.map(str::as_bytes);
                assert!(
                    target.install(bytes, &command()).is_err(),
                    "{}: {text:?}",
                    configuration.name
                );
            }
        }
    }
}

#[test]
fn claude_is_as_before_after_uninstalling() {
    check(Host::Claude);
}

#[test]
fn codex_is_as_before_after_uninstalling() {
    check(Host::Codex);
}

#[test]
fn qwen_is_as_before_after_uninstalling() {
    check(Host::Qwen);
}

#[test]
fn cursor_is_as_before_after_uninstalling() {
    check(Host::Cursor);
}

#[test]
fn crush_is_as_before_after_uninstalling() {
    check(Host::Crush);
}

#[test]
fn all_hosts_with_a_json_file_are_checked() {
    assert_eq!(
        configurations::HOSTS.map(Host::word),
        ["claude", "codex", "qwen", "cursor", "crush"]
    );
    for host in configurations::HOSTS {
        assert!(target(host).is_shared());
    }
}

#[test]
fn what_is_not_text_is_refused() {
    for host in configurations::HOSTS {
        let target = target(host);
        assert!(
            target
                .install(Some(b"{\"a\": \"\xff\"}"), &command())
                .is_err()
        );
        assert!(target.uninstall(b"{\"a\": \"\xff\"}").is_err());
        let large = vec![b' '; (8 << 20) + 1];
        assert!(target.install(Some(&large), &command()).is_err());
    }
}
