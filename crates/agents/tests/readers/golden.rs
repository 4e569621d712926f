//! Every payload and the event it becomes.

use herma_agents::Agent;

use crate::corpus;
use crate::corpus::FORMS;

fn events_of(form: &str, agent: Agent) -> String {
    let mut lines = Vec::new();
    for (file, payload) in corpus::files(form) {
        // Only Copilot's own form needs to be told.
        let named = form.starts_with("copilot").then(|| corpus::event_of(&file)).flatten();
        let event = corpus::event(agent, &corpus::surroundings(named.as_deref()), &payload);
        lines.push(format!("{file}\n  {}", corpus::line(&event)));
    }
    lines.join("\n")
}

#[test]
fn every_payload_becomes_the_event_it_tells_of() {
    for (form, agent) in FORMS {
        insta::assert_snapshot!(form, events_of(form, agent));
    }
}

#[test]
fn no_payload_is_left_out() {
    let entries = std::fs::read_dir(corpus::payloads()).expect("the payloads");
    let mut there: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name != "README.md")
        .collect();
    there.sort();
    let known: Vec<&str> = FORMS.iter().map(|(form, _)| *form).collect();
    assert_eq!(there, known);
    for (form, agent) in FORMS {
        let files = corpus::files(form).len();
        assert!(files > 0, "{form} is empty");
        assert_eq!(events_of(form, agent).lines().count(), 2 * files, "{form}");
    }
    for agent in Agent::ALL {
        assert!(FORMS.iter().any(|(_, known)| *known == agent), "{} is not tested", agent.title());
    }
}

#[test]
fn payloads_tell_nothing_about_the_machine_they_were_recorded_on() {
    for (form, _) in FORMS {
        for (file, payload) in corpus::files(form) {
            let text = String::from_utf8(payload).expect("text");
            for beginning in ["\"/work", "\"/tmp", "\"/root", "/dev/shm"] {
                assert!(!text.contains(beginning), "{form}/{file} has {beginning}");
            }
        }
    }
}

#[test]
fn codex_gives_its_old_payload_as_an_argument() {
    let payload = corpus::payload("codex", "10-notify.json");
    let mut surroundings = corpus::surroundings(None);
    surroundings.argument = Some(String::from_utf8(payload.clone()).expect("text"));
    let as_argument = corpus::read(Agent::Codex, &surroundings, b"");
    assert!(as_argument.problem.is_none());
    assert_eq!(as_argument.size, payload.len() as u64);
    assert_eq!(
        as_argument.event,
        corpus::event(Agent::Codex, &corpus::surroundings(None), &payload)
    );
    assert_eq!(as_argument.event.kind, herma_agents::EventKind::TurnEnd);
}

#[test]
fn an_event_whose_name_nobody_knows_is_not_taken_for_a_tool_call() {
    let payload = br#"{"hook_event_name":"PreSomethingNew","session_id":"s","tool_name":"Write","tool_input":{}}"#;
    for agent in [Agent::Claude, Agent::Codex, Agent::Qwen, Agent::Copilot, Agent::Hermes] {
        let event = corpus::event(agent, &corpus::surroundings(None), payload);
        assert_eq!(event.kind, herma_agents::EventKind::Other, "{}", agent.title());
        assert_eq!(event.tool, None);
    }
}

#[test]
fn failures_of_tools_and_restarts_of_sessions_are_what_they_were_without_them() {
    let kind =
        |payload: &[u8]| corpus::event(Agent::Claude, &corpus::surroundings(None), payload).kind;
    let failed = br#"{"hook_event_name":"PostToolUseFailure","tool_name":"Bash"}"#;
    assert_eq!(kind(failed), herma_agents::EventKind::AfterTool);
    for source in ["startup", "resume", "clear", "compact"] {
        let started = format!(r#"{{"hook_event_name":"SessionStart","source":"{source}"}}"#);
        assert_eq!(kind(started.as_bytes()), herma_agents::EventKind::SessionStart);
    }
}

#[test]
fn a_prompt_that_an_agent_gives_itself_is_nobodys() {
    let kind = |prompt: &str| {
        let payload = serde_json::json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let payload = payload.to_string();
        corpus::event(Agent::Claude, &corpus::surroundings(None), payload.as_bytes()).kind
    };
    let notification = |result: &str| {
        format!("<task-notification>\n<task-id>b1</task-id>\n{result}</task-notification>")
    };
    for untyped in
        [notification(""), notification(&"long ".repeat(5000)), notification("\n") + "\n"]
    {
        assert_eq!(kind(&untyped), herma_agents::EventKind::TurnResumed, "{untyped}");
    }
    let behind = notification("") + "\nWhat does this mean?";
    let about = "<task-notification> should not count";
    for typed in [&*behind, about, "</task-notification>", ""] {
        assert_eq!(kind(typed), herma_agents::EventKind::TurnStart, "{typed}");
    }
}
