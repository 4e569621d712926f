//! What an edit looks like, and what it leaves alone.

use herma_agents::Agent;
use herma_agents::install::{Note, Scope};
use serde_json::{Value, json};

use super::{command, installed, other_command, places, target, uninstalled};

/// As it was written before the redirection was put around the call.
const OLD_LINE: &str = "[ -x '/usr/local/bin/herma' ] || exit 0; '/usr/local/bin/herma' hook claude >/dev/null 2>&1 || :";

const LINE: &str = "[ -x '/usr/local/bin/herma' ] || exit 0; { '/usr/local/bin/herma' hook claude; } >/dev/null 2>&1 || :";

#[test]
fn ours_come_last_in_the_layout_of_the_file() {
    let before = "{\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": []}\n        ]\n    }\n}\n";
    let after = installed(&target(Agent::Claude), Some(before), &command());
    let stop = format!(
        "        \"Stop\": [\n            {{\"hooks\": []}},\n            {{\n                \"hooks\": [\n                    {{\n                        \"type\": \"command\",\n                        \"command\": \"{LINE}\",\n                        \"timeout\": 20\n                    }}\n                ]\n            }}\n        ],\n        \"SessionStart\": ["
    );
    assert!(after.contains(&stop), "{after}");
}

#[test]
fn a_minified_file_stays_on_one_line() {
    let after = installed(&target(Agent::Claude), Some("{\"a\":1}"), &command());
    assert!(!after.contains('\n') && after.starts_with("{\"a\":1,\"hooks\":{\"SessionStart\":[{"));
}

#[test]
fn comments_stay_with_what_they_are_about() {
    let before = "{\n  \"a\": 1 // one\n}\n";
    let after = installed(&target(Agent::Qwen), Some(before), &command());
    assert!(after.starts_with("{\n  \"a\": 1, // one\n  \"hooks\": {\n"), "{after}");
}

#[test]
fn what_others_added_after_us_stays() {
    let target = target(Agent::Claude);
    let after = installed(&target, Some("{\n  \"a\": 1\n}\n"), &command());
    let mut data: Value = serde_json::from_str(&after).unwrap();
    data["hooks"]["PreToolUse"]
        .as_array_mut()
        .unwrap()
        .push(json!({"hooks": [{"type": "command", "command": "theirs"}]}));
    data["permissions"] = json!({"allow": ["Bash"]});
    // As the agent itself writes its file.
    let theirs = serde_json::to_string_pretty(&data).unwrap();
    let left: Value = serde_json::from_str(&uninstalled(&target, &theirs).unwrap()).unwrap();
    assert_eq!(
        left,
        json!({
            "a": 1,
            "permissions": {"allow": ["Bash"]},
            "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "theirs"}]}]}
        })
    );
}

#[test]
fn ours_among_others_in_one_group_are_taken_out_alone() {
    let target = target(Agent::Claude);
    let group = |ours: &str| {
        format!(
            "{{\"hooks\": {{\"Stop\": [{{\"matcher\": \"\", \"hooks\": [{{\"type\": \"command\", \"command\": \"a\"}}{ours}]}}]}}}}\n"
        )
    };
    let ours = format!(", {{\"type\": \"command\", \"command\": \"{LINE}\"}}");
    assert_eq!(uninstalled(&target, &group(&ours)).unwrap(), group(""));
    let moved = installed(&target, Some(&group(&ours)), &other_command());
    assert_eq!(uninstalled(&target, &moved).unwrap(), group(""));
}

#[test]
fn more_than_one_of_ours_becomes_one() {
    let target = target(Agent::Claude);
    let entry = format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{LINE}\"}}]}}");
    let by_hand = entry.replace("/usr/local/bin", "/old");
    let before = format!(
        "{{\"hooks\": {{\"PreToolUse\": [{entry}, {by_hand}], \"PermissionRequest\": [{entry}]}}}}"
    );
    let after: Value =
        serde_json::from_str(&installed(&target, Some(&before), &command())).unwrap();
    assert_eq!(after["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    assert_eq!(after["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], 20);
    assert_eq!(after["hooks"].get("PermissionRequest"), None, "not an event we want");
}

#[test]
fn a_file_without_ours_is_not_touched_by_uninstalling() {
    for text in ["{}", "", "  \n", "{\"hooks\":{\"Stop\":[]}}", "{\n}\n"] {
        assert_eq!(uninstalled(&target(Agent::Claude), text).unwrap(), text);
    }
}

#[test]
fn codex_entries_behind_ours_keep_their_place() {
    let target = target(Agent::Codex);
    let fresh = installed(&target, None, &command());
    let theirs =
        "{\n        \"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]\n      }";
    let with_theirs = fresh.replacen(
        "\n    ],\n    \"PostToolUse\"",
        &format!(",\n      {theirs}\n    ],\n    \"PostToolUse\""),
        1,
    );
    let edited = target.file.uninstall(with_theirs.as_bytes()).unwrap();
    assert_eq!(edited.notes, [Note::PlaceKept("PreToolUse".to_owned())]);
    let left: Value = serde_json::from_slice(&edited.after.unwrap()).unwrap();
    assert_eq!(
        left,
        json!({"hooks": {"PreToolUse": [
            {"hooks": []},
            {"hooks": [{"type": "command", "command": "theirs"}]}
        ]}})
    );
}

#[test]
fn codex_handlers_in_a_group_with_ours_keep_their_place() {
    let target = target(Agent::Codex);
    let line = command().line(Agent::Codex, None);
    let handler = |line: &str| json!({"type": "command", "command": line});
    for (before, after, notes) in [
        (vec![handler("a"), handler(&line), handler("b")], vec!["a", ":", "b"], 1),
        (vec![handler("a"), handler("b"), handler(&line)], vec!["a", "b"], 0),
    ] {
        let before = json!({"hooks": {"PreToolUse": [{"hooks": before}]}}).to_string();
        let edited = target.file.uninstall(before.as_bytes()).unwrap();
        let left: Value = serde_json::from_slice(&edited.after.unwrap()).unwrap();
        let after: Vec<Value> = after.into_iter().map(handler).collect();
        assert_eq!(left, json!({"hooks": {"PreToolUse": [{"hooks": after}]}}));
        assert_eq!(edited.notes.len(), notes);
    }
}

#[test]
fn cursor_gets_the_version_it_needs() {
    let target = target(Agent::Cursor);
    for before in [None, Some("{}"), Some("{ }\n")] {
        let after: Value = serde_json::from_str(&installed(&target, before, &command())).unwrap();
        assert_eq!(after["version"], 1);
    }
    for bad in ["{\"hooks\": {}}", "{\"version\": \"1\", \"hooks\": {}}"] {
        assert!(target.file.install(Some(bad.as_bytes()), &command()).is_err());
    }
}

/// All of them hold what we write, and none of them is it.
#[test]
fn hooks_of_the_user_that_mention_ours_stay() {
    let target = target(Agent::Claude);
    let around = format!("echo before; {LINE}");
    for theirs in [
        "echo run herma hook claude someday >> /tmp/x",
        "echo before; herma hook claude; echo after",
        "herma hook claude",
        &around,
    ] {
        let before = format!(
            "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{theirs}\"}}]}}]}}}}\n"
        );
        assert_eq!(uninstalled(&target, &before).unwrap(), before);
        let after = installed(&target, Some(&before), &command());
        assert!(after.contains(theirs), "{after}");
        assert_eq!(uninstalled(&target, &after).unwrap(), before);
    }
}

#[test]
fn lines_of_an_older_version_are_replaced_and_removed() {
    let silent = |text: &str| text.replace("; } 2>/dev/null", "; } >/dev/null 2>&1");
    let older = |text: &str| silent(text).replace(LINE, OLD_LINE);
    let target = target(Agent::Claude);
    for before in [None, Some("{}"), Some("{\n  \"a\": 1\n}\n")] {
        let new = installed(&target, before, &command());
        for old in [silent(&new), older(&new)] {
            assert_ne!(old, new);
            assert_eq!(installed(&target, Some(&old), &command()), new);
            assert_eq!(uninstalled(&target, &old).as_deref(), before);
        }
    }
}

/// A file of ours altogether is told by what would be written for the command in it.
#[test]
fn files_of_an_older_version_are_ours() {
    for agent in [Agent::Copilot, Agent::Gemini, Agent::Goose] {
        let targets = agent.targets(&places(), &Scope::User).unwrap();
        for target in targets {
            let new = installed(&target, None, &command());
            let silent = new.replace("; } 2>/dev/null", "; } >/dev/null 2>&1");
            let older = silent.replace("; { '", "; '").replace("; } >/dev/null", " >/dev/null");
            for old in [silent, older] {
                let again = target.file.install(Some(old.as_bytes()), &command()).unwrap();
                assert_eq!(again.after.as_deref(), Some(new.as_bytes()), "{agent:?}");
                assert_eq!(target.file.uninstall(old.as_bytes()).unwrap().after, None);
            }
        }
    }
}
