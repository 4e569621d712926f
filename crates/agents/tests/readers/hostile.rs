//! Payloads that nobody should send.

use std::io;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use herma_agents::incoming::MAX_PAYLOAD_BYTES;
use herma_agents::payload::{MAX_COMMAND_BYTES, MAX_ID_BYTES, MAX_PROMPT_BYTES};
use herma_agents::{Agent, Event, EventKind, PayloadProblem};
use proptest::prelude::*;

use crate::corpus;

/// What is kept of hostile texts has an end.
fn assert_bounded(event: &Event) {
    let ids = [&event.session, &event.parent_session, &event.sub_agent, &event.turn];
    for id in ids.into_iter().flatten() {
        assert!(id.len() <= MAX_ID_BYTES);
    }
    assert!(event.prompt.as_ref().is_none_or(|prompt| prompt.len() <= MAX_PROMPT_BYTES));
    let mut paths: Vec<&PathBuf> = event.roots.iter().chain(&event.directory).collect();
    if let Some(tool) = &event.tool {
        assert!(tool.name.len() <= MAX_ID_BYTES);
        assert!(tool.call.as_ref().is_none_or(|call| call.len() <= MAX_ID_BYTES));
        assert!(tool.command.as_ref().is_none_or(|command| command.len() <= MAX_COMMAND_BYTES));
        paths.extend(tool.paths.iter().chain(&tool.directory));
    }
    assert!(paths.len() <= 1002);
    for path in paths {
        assert!(path.as_os_str().len() <= 4096);
    }
}

/// With a problem the turn begins where the hook was started, whatever the agent.
fn assert_careful(agent: Agent, payload: &[u8]) -> PayloadProblem {
    let incoming = corpus::read(agent, &corpus::surroundings(Some("PostToolUse")), payload);
    assert_eq!(incoming.event.agent, agent);
    assert_eq!(incoming.event.kind, EventKind::TurnStart);
    assert_eq!(incoming.event.directory, Some(PathBuf::from("/started/here")));
    assert_eq!(incoming.event.tool, None);
    incoming.problem.expect("a problem")
}

#[test]
fn what_cannot_be_read_still_begins_a_turn() {
    for agent in Agent::ALL {
        assert!(matches!(assert_careful(agent, b""), PayloadProblem::Empty));
        assert!(matches!(assert_careful(agent, b"not json"), PayloadProblem::NotJson(_)));
        assert!(matches!(
            assert_careful(agent, b"{\"session_id\":\"s\""),
            PayloadProblem::NotJson(_)
        ));
        for value in ["[{\"session_id\":\"s\"}]", "\"{}\"", "1", "true", "null"] {
            assert!(matches!(assert_careful(agent, value.as_bytes()), PayloadProblem::NotAnObject));
        }
        let deep = format!("{{\"tool_input\":{}", "[".repeat(100_000));
        assert!(matches!(assert_careful(agent, deep.as_bytes()), PayloadProblem::TooDeep));
    }
}

#[test]
fn an_endless_payload_is_given_up() {
    let mut endless = b"{\"content\":\"".chain(io::repeat(b'x'));
    let incoming = herma_agents::read(Agent::Claude, &corpus::surroundings(None), &mut endless);
    assert!(matches!(incoming.problem, Some(PayloadProblem::TooLarge)));
    assert!(incoming.size > MAX_PAYLOAD_BYTES && incoming.size < MAX_PAYLOAD_BYTES + (1 << 20));
    assert_eq!(incoming.event.kind, EventKind::TurnStart);
}

#[test]
fn a_payload_that_breaks_off_with_an_error_says_so() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let mut broken = b"{\"session_id\":".chain(Broken);
    let incoming = herma_agents::read(Agent::Goose, &corpus::surroundings(None), &mut broken);
    assert!(matches!(incoming.problem, Some(PayloadProblem::Unreadable(_))));
    assert_eq!(incoming.size, 14);
}

#[test]
fn what_an_agent_writes_after_its_payload_means_nothing_and_is_not_waited_for() {
    let mut payload = corpus::payload("claude", "02-PreToolUse.Write.json");
    let event = corpus::event(Agent::Claude, &corpus::surroundings(None), &payload);
    payload.extend(b"\n\n{\"hook_event_name\":\"Stop\"}".repeat(10_000));
    let incoming = corpus::read(Agent::Claude, &corpus::surroundings(None), &payload);
    assert!(incoming.size < payload.len() as u64);
    assert_eq!(incoming.event, event);
}

#[test]
fn fields_of_the_wrong_type_are_absent_and_cost_nothing_else() {
    for wrong in ["null", "7", "-1.5", "true", "[]", "[[\"x\"]]", "{}", "{\"a\":[{}]}"] {
        let payload = format!(
            "{{\"session_id\":{wrong},\"hook_event_name\":\"PreToolUse\",\"prompt_id\":{wrong},\
             \"tool_name\":\"Bash\",\"tool_use_id\":{wrong},\"cwd\":{wrong},\
             \"tool_input\":{{\"command\":{wrong},\"file_path\":{wrong},\"edits\":{wrong},\"cwd\":{wrong}}},\"extra\":{wrong}}}"
        );
        let event = corpus::event(Agent::Claude, &corpus::surroundings(None), payload.as_bytes());
        assert_eq!(event.kind, EventKind::BeforeTool, "{wrong}");
        assert_eq!((event.session, event.turn), (None, None), "{wrong}");
        let tool = event.tool.expect("a tool");
        assert_eq!((tool.call, tool.command, tool.directory), (None, None, None), "{wrong}");
        assert!(tool.paths.is_empty(), "{wrong}");
        assert_eq!(event.directory, Some(PathBuf::from("/started/here")));
    }
}

#[test]
fn of_two_fields_with_one_name_the_last_counts() {
    let payload = br#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse","session_id":"a","session_id":"b",
        "tool_name":"Write","tool_input":{"file_path":"/a","file_path":"/b","run_in_background":true},
        "tool_input":{"file_path":"/c","file_path":"/d"},"prompt_id":"p","prompt_id":null}"#;
    let event = corpus::event(Agent::Claude, &corpus::surroundings(None), payload);
    assert_eq!(event.kind, EventKind::BeforeTool);
    assert_eq!((event.session.as_deref(), event.turn), (Some("b"), None));
    let tool = event.tool.expect("a tool");
    assert_eq!(tool.paths, [PathBuf::from("/d")]);
    assert!(!tool.in_background);
}

#[test]
fn a_duration_that_nothing_can_have_is_none() {
    let ran = |number: &str| {
        let payload = format!(
            r#"{{"hook_event_name":"PostToolUse","tool_name":"Bash","duration_ms":{number}}}"#
        );
        let event = corpus::event(Agent::Claude, &corpus::surroundings(None), payload.as_bytes());
        event.tool.expect("a tool").duration
    };
    let month = 30 * 24 * 60 * 60 * 1000;
    for (number, milliseconds) in [("0", 0), ("14", 14), ("13.2", 14), ("2592000000", month)] {
        assert_eq!(ran(number), Some(Duration::from_millis(milliseconds)), "{number}");
    }
    for number in
        ["-1", "-0.5", "2592000001", "1e300", "18446744073709551615", "\"14\"", "null", "[14]"]
    {
        assert_eq!(ran(number), None, "{number}");
    }
}

#[test]
fn bytes_that_are_not_text_cost_only_themselves() {
    let payload =
        b"{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"s\",\"\xFF\":\"\xFE\",\
        \"prompt\":\"caf\xE9 \\ud83d\",\"transcript\":\"\\udc00\xC3\"}";
    let event = corpus::event(Agent::Claude, &corpus::surroundings(None), payload);
    assert_eq!(event.kind, EventKind::TurnStart);
    assert_eq!(event.session.as_deref(), Some("s"));
    assert_eq!(event.prompt.as_deref(), Some("caf\u{FFFD} \u{FFFD}"));
}

#[test]
fn long_texts_and_lists_are_cut_and_a_path_is_never_cut() {
    let long = "é".repeat(100_000);
    let files: Vec<String> = (0..3000).map(|number| format!("\"/f{number}\"")).collect();
    let payload = format!(
        "{{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"{long}\",\"prompt_id\":\"{long}\",\"cwd\":\"/{long}\",\
         \"tool_name\":\"Bash\",\"tool_use_id\":\"{long}\",\
         \"tool_input\":{{\"command\":\"{long}\",\"file_path\":\"/{long}\",\"files\":[{}]}}}}",
        files.join(",")
    );
    let event = corpus::event(Agent::Claude, &corpus::surroundings(None), payload.as_bytes());
    assert_bounded(&event);
    assert_eq!(event.session.map(|session| session.len()), Some(MAX_ID_BYTES));
    assert_eq!(event.directory, Some(PathBuf::from("/started/here")));
    let tool = event.tool.expect("a tool");
    assert_eq!(tool.command.map(|command| command.len()), Some(MAX_COMMAND_BYTES));
    assert_eq!(tool.paths.len(), 1000);
    assert_eq!(tool.paths[0], PathBuf::from("/f0"));

    let twice = payload
        .replace("\"tool_input\":", "\"tool_input\":{\"paths\":[\"/first\"]},\"tool_input\":");
    let again = twice.trim_end_matches('}').to_owned() + "},\"tool_input\":{\"path\":\"/last\"}}";
    let event = corpus::event(Agent::Claude, &corpus::surroundings(None), again.as_bytes());
    assert_eq!(event.tool.expect("a tool").paths, [PathBuf::from("/last")]);
}

/// A recorded payload, and whose it is.
fn recorded() -> impl Strategy<Value = (Agent, Vec<u8>)> {
    let mut all = Vec::new();
    for (form, agent) in corpus::FORMS {
        all.extend(corpus::files(form).into_iter().map(|(_, payload)| (agent, payload)));
    }
    proptest::sample::select(all)
}

fn any_host() -> impl Strategy<Value = Agent> {
    proptest::sample::select(Agent::ALL.to_vec())
}

proptest! {
    #[test]
    fn any_bytes_become_an_event(agent in any_host(), bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let incoming = corpus::read(agent, &corpus::surroundings(None), &bytes);
        prop_assert_eq!(incoming.size, bytes.len() as u64);
        assert_bounded(&incoming.event);
    }

    #[test]
    fn a_payload_that_breaks_off_begins_a_turn((agent, payload) in recorded(), at in any::<proptest::sample::Index>()) {
        let whole = payload.iter().rposition(|byte| *byte == b'}').expect("an object");
        let problem = assert_careful(agent, &payload[..at.index(whole + 1)]);
        prop_assert!(matches!(problem, PayloadProblem::NotJson(_) | PayloadProblem::Empty));
    }

    #[test]
    fn a_damaged_payload_becomes_an_event(
        (agent, mut payload) in recorded(),
        named in any_host(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for (at, byte) in damage {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        for named in [agent, named] {
            let incoming = corpus::read(named, &corpus::surroundings(None), &payload);
            assert_bounded(&incoming.event);
            if incoming.problem.is_some() {
                prop_assert_eq!(incoming.event.kind, EventKind::TurnStart);
                prop_assert_eq!(incoming.event.agent, named);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn strings_in_the_place_of_any_value_stay_within_bounds(
        (agent, payload) in recorded(),
        letter in "[a/é\"\\\\{*]",
        length in 0usize..70_000,
    ) {
        let text = serde_json::to_string(&letter.repeat(length)).expect("a string");
        let json = String::from_utf8(payload).expect("recorded as text");
        let longer = json.replace("\": \"", &format!("\": {}", text.trim_end_matches('"')));
        let incoming = corpus::read(agent, &corpus::surroundings(None), longer.as_bytes());
        assert_bounded(&incoming.event);
    }
}
