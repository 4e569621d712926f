//! Any JSON in any layout: installing and uninstalling leaves every byte where it was.

use herma_agents::Agent;
use proptest::prelude::*;

use super::configurations::AGENTS;
use super::{command, other_command, target};

/// White space as an editor leaves it, or nobody would.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        4 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[ \t\n\r]{0,6}",
    ]
}

/// Space, or a comment where those are allowed.
fn trivia(comments: bool) -> BoxedStrategy<String> {
    if !comments {
        return space().boxed();
    }
    prop_oneof![
        6 => space(),
        1 => Just(" // a \"b\" , }\n".to_owned()),
        1 => Just("/* { , */".to_owned()),
    ]
    .boxed()
}

fn text() -> impl Strategy<Value = String> {
    let quoted = |text: String| serde_json::Value::from(text).to_string();
    prop_oneof!["[a-z]{0,6}", "[ -~]{0,12}", "\\PC{0,6}"].prop_map(quoted)
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        text(),
        any::<i32>().prop_map(|number| number.to_string()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("-1.5e-3".to_owned()),
    ]
}

/// Joins items with random space around everything.
fn wrapped(
    open: &'static str,
    items: Vec<(String, String, String)>,
    inner: &str,
    close: &'static str,
) -> String {
    if items.is_empty() {
        return format!("{open}{inner}{close}");
    }
    let items: Vec<String> =
        items.into_iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
    format!("{open}{}{close}", items.join(","))
}

fn value(comments: bool) -> BoxedStrategy<String> {
    let leaf = scalar().boxed();
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let item = (trivia(comments), inner.clone(), trivia(comments));
        let array = (proptest::collection::vec(item, 0..4), trivia(comments))
            .prop_map(|(items, inner)| wrapped("[", items, &inner, "]"));
        let member = member(text().boxed(), inner, comments);
        let object = (proptest::collection::vec(member, 0..4), trivia(comments))
            .prop_map(|(items, inner)| wrapped("{", items, &inner, "}"));
        prop_oneof![array, object]
    })
    .boxed()
}

fn member(
    key: BoxedStrategy<String>,
    value: impl Strategy<Value = String> + 'static,
    comments: bool,
) -> BoxedStrategy<(String, String, String)> {
    let around = (trivia(comments), trivia(comments), trivia(comments), trivia(comments));
    (around, key, value)
        .prop_map(|((before, behind_key, before_value, after), key, value)| {
            (before, format!("{key}{behind_key}:{before_value}{value}"), after)
        })
        .boxed()
}

/// A list of entries of others, in the shape of the agent or not.
fn entries(comments: bool) -> BoxedStrategy<String> {
    let entry = prop_oneof![
        Just(r#"{"command": "theirs"}"#.to_owned()),
        Just(r#"{"hooks":[{"type":"command","command":"theirs"}]}"#.to_owned()),
        Just("{\n  \"matcher\": \"x\",\n  \"hooks\": []\n}".to_owned()),
        value(comments),
    ];
    let item = (trivia(comments), entry, trivia(comments));
    (proptest::collection::vec(item, 0..3), trivia(comments))
        .prop_map(|(items, inner)| wrapped("[", items, &inner, "]"))
        .boxed()
}

/// A whole file, with hooks or without.
fn file(agent: Agent) -> BoxedStrategy<String> {
    let comments = matches!(agent, Agent::Qwen | Agent::Crush | Agent::Droid);
    let version = agent == Agent::Cursor;
    let names = ["PreToolUse", "Stop", "preToolUse", "stop", "Other", "SessionStart"];
    let events = proptest::sample::subsequence(names.to_vec(), 0..4).prop_flat_map(move |names| {
        let members: Vec<_> = names
            .into_iter()
            .map(|name| member(Just(format!("\"{name}\"")).boxed(), entries(comments), comments))
            .collect();
        (members, trivia(comments)).prop_map(|(items, inner)| wrapped("{", items, &inner, "}"))
    });
    let hooks = member(Just("\"hooks\"".to_owned()).boxed(), events, comments);
    let key = "[a-f]{1,4}".prop_map(|key| format!("\"{key}\"")).boxed();
    let others = proptest::collection::vec(member(key, value(comments), comments), 0..4);
    let place = any::<proptest::sample::Index>();
    let inner = trivia(comments);
    let ends = (trivia(comments), trivia(comments), any::<bool>());
    (others, proptest::option::of(hooks), place, inner, ends)
        .prop_map(move |(mut members, hooks, place, inner, (before, after, mark))| {
            if let Some(hooks) = hooks {
                members.insert(place.index(members.len() + 1), hooks);
            }
            if version && !members.is_empty() {
                let version = (String::new(), "\"version\": 1".to_owned(), String::new());
                members.insert(place.index(members.len() + 1), version);
            }
            let mark = if mark { "\u{feff}" } else { "" };
            format!("{mark}{before}{}{after}", wrapped("{", members, &inner, "}"))
        })
        .boxed()
}

fn host_and_file() -> impl Strategy<Value = (Agent, String)> {
    proptest::sample::select(AGENTS.to_vec()).prop_flat_map(|agent| (Just(agent), file(agent)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_layout_is_as_before_after_uninstalling((agent, before) in host_and_file()) {
        let target = target(agent);
        let after = target.file.install(Some(before.as_bytes()), &command());
        let after = after.map_err(|error| TestCaseError::fail(format!("{error}\n{before}")))?;
        let after = after.after.unwrap();
        let again = target.file.install(Some(&after), &command()).unwrap().after.unwrap();
        prop_assert_eq!(&again, &after);
        let moved = target.file.install(Some(&after), &other_command()).unwrap().after.unwrap();
        for installed in [&after, &moved] {
            let back = target.file.uninstall(installed).unwrap().after.unwrap();
            let back = String::from_utf8(back).unwrap();
            prop_assert_eq!(&back, &before, "{}", String::from_utf8_lossy(installed));
        }
    }

    #[test]
    fn no_bytes_make_an_edit_panic(
        agent in proptest::sample::select(Agent::ALL.to_vec()),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        check_any(agent, &bytes);
    }

    #[test]
    fn no_damaged_file_makes_an_edit_panic(
        (agent, text) in host_and_file(),
        cut in any::<proptest::sample::Index>(),
        place in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let installed = target(agent).file.install(Some(text.as_bytes()), &command());
        let mut bytes = installed.unwrap().after.unwrap();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        check_any(agent, &bytes);
        check_any(Agent::Hermes, &bytes);
        bytes.truncate(cut.index(bytes.len()));
        check_any(agent, &bytes);
    }
}

fn check_any(agent: Agent, bytes: &[u8]) {
    let scope = herma_agents::install::Scope::User;
    for target in agent.targets(&super::places(), &scope).expect("every agent has a user level") {
        // Refusing is fine; what matters is that it comes back.
        let _ = target.file.look(bytes);
        if let Ok(edited) = target.file.install(Some(bytes), &command()) {
            let after = edited.after.expect("installing removes nothing");
            let _ = target.file.uninstall(&after);
        }
        let _ = target.file.uninstall(bytes);
    }
}
