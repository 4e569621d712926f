//! Hermes, whose YAML is edited by lines.

use herma_agents::Agent;
use herma_agents::install::{InstallError, Target};
use serde_json::Value;

use super::{assert_round_trip, command, installed, target, uninstalled};

fn hermes() -> Target {
    target(Agent::Hermes)
}

const GOOD: [(&str, &str); 28] = [
    ("empty", ""),
    ("blank", "\n\n"),
    ("only comments", "# mine\n# all of it\n"),
    ("other keys", "model:\n  default: x\nterminal:\n  backend: local\n"),
    ("no line end", "model: x"),
    ("no line end but half of one", "# mine\r"),
    ("no line end in a section", "hooks:\n  pre_tool_call:\n    - command: theirs"),
    ("windows line ends", "model: x\r\nhooks:\r\n  pre_tool_call:\r\n    - command: theirs\r\n"),
    ("byte order mark", "\u{feff}model: x\n"),
    ("comments everywhere", "# a\nmodel: x # fast\n\n# b\nz: [1, 2] # c\n\n# end\n"),
    ("empty hooks", "hooks: {}\nmodel: x\n"),
    ("empty hooks with a comment", "hooks: {}   # none yet\n"),
    ("hooks of nothing", "hooks:\nmodel: x\n"),
    ("hooks of nothing at the end", "model: x\nhooks:"),
    ("an empty list", "hooks:\n  pre_tool_call: []\n"),
    ("an empty list with a comment", "hooks:\n  pre_llm_call: [] # none\n  pre_tool_call:\n"),
    (
        "hooks of others",
        "hooks:\n  pre_tool_call:\n    - matcher: terminal\n      command: theirs --x\n      timeout: 5\n",
    ),
    (
        "lists that are not indented",
        "hooks:\n  pre_tool_call:\n  - command: a\n  - command: b\n  on_session_end:\n  - command: c\nmodel: x\n",
    ),
    (
        "four spaces",
        "hooks:\n    pre_tool_call:\n        - command: a\n\n    post_tool_call:\n        -   command: b\n\nz: 1\n",
    ),
    ("flow entries in a list", "hooks:\n  pre_tool_call:\n    - {command: a, timeout: 3}\n"),
    ("events we do not want", "hooks:\n  subagent_stop:\n    - command: a\n# next\nmodel: x\n"),
    ("a block of text that looks like it", "note: |\n  hooks:\n    pre_tool_call:\nmodel: x\n"),
    ("anchors", "base: &b\n  command: a\nhooks:\n  pre_tool_call:\n    - *b\n"),
    ("a document mark", "---\nmodel: x\n"),
    ("unicode", "名前: 日本 🦀\nhooks:\n  pre_tool_call:\n    - command: \"ä 'b' \\\"c\\\"\"\n"),
    (
        "comments between entries",
        "hooks:\n  # before tools\n  pre_tool_call:\n    # first\n    - command: a # x\n    # last\n  # end of hooks\n# rest\nmodel: x\n",
    ),
    (
        "written as JSON",
        "{\"model\": {\"default\": \"x\"}, \"hooks\": {\"pre_tool_call\": [{\"command\": \"a\"}]}}",
    ),
    ("hooks turned on by themselves", "hooks_auto_accept: true\nmodel: x\n"),
];

const BAD: [(&str, &str); 9] = [
    ("a list", "- a\n- b\n"),
    ("broken", "model: [1,\n"),
    ("tabs", "hooks:\n\tpre_tool_call: []\n"),
    ("hooks on one line", "hooks: {pre_tool_call: [{command: a}]}\n"),
    ("an event on one line", "hooks:\n  pre_tool_call: [{command: a}]\n"),
    ("hooks are a list", "hooks:\n  - a\n"),
    ("hooks are a text", "hooks: none\n"),
    ("two documents", "a: 1\n---\nb: 2\n"),
    ("a document that ended", "a: 1\n...\n"),
];

#[test]
fn hermes_is_as_before_after_uninstalling() {
    assert_round_trip("no file", &hermes(), None);
    for (name, text) in GOOD {
        assert_round_trip(name, &hermes(), Some(text));
    }
}

#[test]
fn what_cannot_be_edited_for_sure_is_refused() {
    for (name, text) in BAD {
        let refused = hermes().file.install(Some(text.as_bytes()), &command());
        assert!(refused.is_err(), "{name}: {refused:?}");
    }
}

/// What is between our marks there is the user's text.
#[test]
fn marks_within_a_text_of_the_users_are_not_edited() {
    let before = "note: |\n  # >>> herma\n  mine\n  # <<< herma\nmodel: x\n";
    assert!(matches!(hermes().file.uninstall(before.as_bytes()), Err(InstallError::Unsure)));
    let installed = hermes().file.install(Some(before.as_bytes()), &command());
    assert!(matches!(installed, Err(InstallError::Unsure)));
}

#[test]
fn a_refusal_says_what_to_write_instead_and_nothing_of_our_libraries() {
    for (text, reason) in [
        ("a: 1\n...\n", "a line `...`"),
        ("a: 1\n---\nb: 2\n", "line 2: a second document"),
        ("a: 1\na: 2\n", "line 2: the key `a` stands there twice"),
        ("\"hooks\":\n  pre_tool_call: []\n", "without quotes"),
        ("'hooks': {}\n", "without quotes"),
        (
            "hooks:\n  'pre_tool_call':\n    - command: a\n",
            "a line `pre_tool_call:`, without quotes",
        ),
    ] {
        let refused = hermes().file.install(Some(text.as_bytes()), &command());
        let words = refused.unwrap_err().to_string();
        assert!(words.contains(reason), "{text}: {words}");
        for advice in ["from_str", "Options", "Policy"] {
            assert!(!words.contains(advice), "{text}: {words}");
        }
    }
    let with_dots = "a: 1\ntext: |\n  ...\n...b: 2\n";
    assert_round_trip("dots elsewhere", &hermes(), Some(with_dots));
}

#[test]
fn ours_come_behind_those_of_others_and_between_marks() {
    let before = "hooks:\n  pre_tool_call:\n    - command: theirs\nmodel: x\n";
    let after = installed(&hermes(), Some(before), &command());
    let ours = "      timeout: 20\n    # <<< herma\n  # >>> herma\n  on_session_start:\n";
    assert!(
        after.starts_with("hooks:\n  pre_tool_call:\n    - command: theirs\n    # >>> herma\n"),
        "{after}"
    );
    assert!(after.contains(ours), "{after}");
    assert!(after.ends_with("  # <<< herma\nmodel: x\n"), "{after}");
}

/// Hermes writes its file anew when a setting is changed: comments are gone, the order may be another.
#[test]
fn ours_are_found_without_their_marks() {
    for before in ["", "model: x\n", "hooks:\n  pre_tool_call:\n  - command: theirs\n"] {
        let after = installed(&hermes(), Some(before), &command());
        let unmarked: String = after
            .split_inclusive('\n')
            .filter(|line| !line.trim_start().starts_with('#'))
            .collect();
        assert_eq!(installed(&hermes(), Some(&unmarked), &command()), unmarked);
        assert_eq!(uninstalled(&hermes(), &unmarked).unwrap(), before);
    }
}

/// As Python's YAML writes it: sorted, lists not indented, long texts folded.
#[test]
fn ours_are_found_in_a_file_that_was_written_anew() {
    let line = "/bin/sh -c '[ -x '\\''/usr/local/bin/herma'\\'' ] || exit 0; '\\''/usr/local/bin/herma'\\''\n      hook hermes >/dev/null 2>&1 || :'";
    let item = format!("  - command: {line}\n    timeout: 20\n");
    let events = [
        "on_session_end",
        "on_session_finalize",
        "on_session_start",
        "post_tool_call",
        "pre_llm_call",
    ];
    let ours: String = events.map(|event| format!("  {event}:\n{item}")).concat();
    let text = format!("hooks:\n{ours}  pre_tool_call:\n  - command: theirs\n{item}model: x\n");
    let found = hermes().file.look(text.as_bytes()).unwrap();
    assert!(found.missing.is_empty(), "{found:?}");
    let left = "hooks:\n  pre_tool_call:\n  - command: theirs\nmodel: x\n";
    assert_eq!(uninstalled(&hermes(), &text).unwrap(), left);
}

#[test]
fn the_text_says_what_hermes_must_read() {
    let after = installed(&hermes(), Some("model: x\n"), &command());
    let data: Value = serde_json::to_value(herma_yaml::read(&after).unwrap()).unwrap();
    let entry = &data["hooks"]["pre_tool_call"][0];
    assert_eq!(entry["timeout"], 20);
    assert_eq!(
        entry["command"],
        r"/bin/sh -c '[ -x '\''/usr/local/bin/herma'\'' ] || exit 0; { '\''/usr/local/bin/herma'\'' hook hermes; } >/dev/null 2>&1 || :'"
    );
    assert_eq!(data["hooks"].as_object().unwrap().len(), 6);
}
