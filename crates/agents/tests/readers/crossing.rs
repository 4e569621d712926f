//! Agents that run each other's hooks.

use std::ffi::OsString;
use std::path::PathBuf;

use herma_agents::{Agent, EventKind, Surroundings, ToolClass};

use crate::corpus;

fn with_variables(variables: &[(&'static str, &str)]) -> Surroundings {
    let mut surroundings = corpus::surroundings(None);
    let variables = variables.iter().map(|(name, value)| (*name, OsString::from(value)));
    surroundings.variables = variables.collect();
    surroundings
}

#[test]
fn copilot_running_claudes_hook_is_copilot() {
    let copilot =
        with_variables(&[("COPILOT_CLI", "1"), ("COPILOT_PROJECT_DIR", "/home/user/project")]);
    for (file, payload) in corpus::files("copilot-pascal") {
        for surroundings in [&copilot, &corpus::surroundings(None)] {
            let event = corpus::event(Agent::Claude, surroundings, &payload);
            assert_eq!(event.agent, Agent::Copilot, "{file}");
        }
    }
    let payload = corpus::payload("copilot-pascal", "02-PreToolUse.Write.json");
    let event = corpus::event(Agent::Claude, &copilot, &payload);
    let tool = event.tool.expect("a tool");
    assert_eq!((event.kind, tool.class), (EventKind::BeforeTool, ToolClass::Edit));
    assert_eq!(tool.paths, [PathBuf::from("/home/user/project/new.txt")]);
    assert_eq!(event.roots, [PathBuf::from("/home/user/project")]);
}

#[test]
fn cursor_running_claudes_hook_is_cursor() {
    let surroundings = with_variables(&[
        ("CLAUDE_PROJECT_DIR", "/home/user/elsewhere"),
        ("CURSOR_PROJECT_DIR", "/home/user/project"),
    ]);
    for (file, payload) in corpus::files("cursor") {
        let by_claude = corpus::event(Agent::Claude, &surroundings, &payload);
        assert_eq!(by_claude.agent, Agent::Cursor, "{file}");
        assert_eq!(by_claude.roots, [PathBuf::from("/home/user/project")], "{file}");
        assert_eq!(by_claude, corpus::event(Agent::Cursor, &surroundings, &payload), "{file}");
    }
}

#[test]
fn every_payload_that_tells_is_recognised_whoevers_hook_gets_it() {
    for form in ["cline", "cline-vscode", "copilot", "cursor", "goose", "grok", "kilo", "pi"] {
        let agent = Agent::from_word(form.split('-').next().expect("a word")).expect("an agent");
        for (file, payload) in corpus::files(form) {
            for named in Agent::ALL {
                let event = corpus::event(named, &corpus::surroundings(None), &payload);
                assert_eq!(event.agent, agent, "{form}/{file} at the hook of {}", named.title());
            }
        }
    }
}

#[test]
fn claudes_own_payloads_are_claudes_even_in_the_terminal_of_another_agent() {
    let inherited = with_variables(&[
        ("COPILOT_CLI", "1"),
        ("GEMINI_PROJECT_DIR", "/home/user/elsewhere"),
        ("CURSOR_VERSION", "2.4.0"),
        ("CLAUDE_PROJECT_DIR", "/home/user/project"),
    ]);
    for (file, payload) in corpus::files("claude") {
        let event = corpus::event(Agent::Claude, &inherited, &payload);
        assert_eq!(event.agent, Agent::Claude, "{file}");
        assert_eq!(event.roots, [PathBuf::from("/home/user/project")], "{file}");
    }
}

#[test]
fn the_variable_of_the_agent_itself_is_the_surest_root_even_without_a_payload() {
    let variables = [
        (Agent::Claude, "CLAUDE_PROJECT_DIR"),
        (Agent::Gemini, "GEMINI_PROJECT_DIR"),
        (Agent::Qwen, "QWEN_PROJECT_DIR"),
        (Agent::Copilot, "COPILOT_PROJECT_DIR"),
        (Agent::Cursor, "CURSOR_PROJECT_DIR"),
        (Agent::Crush, "CRUSH_PROJECT_DIR"),
        (Agent::Droid, "FACTORY_PROJECT_DIR"),
    ];
    let all: Vec<_> = variables.map(|(agent, name)| (name, format!("/{}", agent.word()))).to_vec();
    let all: Vec<_> = all.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for (agent, name) in variables {
        for payload in [&b"{\"workspace_roots\":[\"/other\"]}"[..], b"", b"{"] {
            let incoming = corpus::read(agent, &with_variables(&all), payload);
            let own = PathBuf::from("/").join(agent.word());
            assert_eq!(incoming.event.roots.first(), Some(&own));
        }
        for nowhere in ["/", "relative", ""] {
            let event = corpus::event(agent, &with_variables(&[(name, nowhere)]), b"{}");
            assert!(event.roots.is_empty(), "{nowhere}");
        }
    }
}

#[test]
fn sessions_that_only_a_variable_names_are_known() {
    for (agent, name) in [(Agent::Gemini, "GEMINI_SESSION_ID"), (Agent::Crush, "CRUSH_SESSION_ID")]
    {
        let long = "s".repeat(1000);
        let incoming = corpus::read(agent, &with_variables(&[(name, &long)]), b"");
        assert_eq!(incoming.event.session.as_deref(), Some(&long[..256]));
    }
}

#[test]
fn a_call_that_comes_by_two_hooks_has_one_key() {
    let pairs = [
        ("02-preToolUse.create.json", "02-PreToolUse.Write.json"),
        ("07-preToolUse.edit.json", "07-PreToolUse.Edit.json"),
        ("10-preToolUse.bash.json", "10-PreToolUse.Bash.json"),
    ];
    for (own, foreign) in pairs {
        let named = corpus::event_of(own);
        let surroundings = corpus::surroundings(named.as_deref());
        let mut own =
            corpus::event(Agent::Copilot, &surroundings, &corpus::payload("copilot", own));
        let foreign_payload = corpus::payload("copilot-pascal", foreign);
        let foreign = corpus::event(Agent::Claude, &corpus::surroundings(None), &foreign_payload);
        assert_ne!(own.call_key(), foreign.call_key(), "two sessions");
        own.session.clone_from(&foreign.session);
        assert_eq!(own.call_key(), foreign.call_key());
    }
}

#[test]
fn the_end_of_a_call_has_the_key_of_its_beginning() {
    let recorded = [
        "claude",
        "codex",
        "gemini",
        "opencode",
        "copilot",
        "copilot-pascal",
        "cline",
        "goose",
        "qwen",
        "hermes",
        "droid",
        "grok",
        "kilo",
        "kimi",
        "pi",
        "vibe",
    ];
    let recorded = |form: &str| recorded.contains(&form);
    for (form, agent) in corpus::FORMS.into_iter().filter(|(form, _)| recorded(form)) {
        let mut keys = std::collections::BTreeMap::new();
        for (file, payload) in corpus::files(form) {
            let named = form.starts_with("copilot").then(|| corpus::event_of(&file)).flatten();
            let event = corpus::event(agent, &corpus::surroundings(named.as_deref()), &payload);
            assert_eq!(event.call_key().is_some(), event.tool.is_some());
            match (event.kind, event.call_key()) {
                (EventKind::BeforeTool, Some(key)) => drop(keys.insert(key, file)),
                (EventKind::AfterTool, Some(key)) => {
                    assert!(keys.contains_key(&key), "{form}: {file} ends nothing");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn codex_is_known_by_its_thread_and_by_its_turn_and_model() {
    for (file, is_codex) in [
        ("10-notify.json", true),
        ("02-PreToolUse.apply_patch.json", true),
        // Claude's payloads have the same form, but say no turn.
        ("00-SessionStart.json", false),
    ] {
        let payload = corpus::payload("codex", file);
        let event = corpus::event(Agent::Claude, &corpus::surroundings(None), &payload);
        assert_eq!(event.agent == Agent::Codex, is_codex, "{file}");
    }
}

#[test]
fn just_the_variables_in_which_agents_tell_something_are_read() {
    let told: Vec<&str> = herma_agents::variables().collect();
    let expected = "CLAUDE_PROJECT_DIR GEMINI_PROJECT_DIR GEMINI_SESSION_ID COPILOT_PROJECT_DIR COPILOT_CLI \
         QWEN_PROJECT_DIR CURSOR_PROJECT_DIR CRUSH_PROJECT_DIR CRUSH_SESSION_ID FACTORY_PROJECT_DIR";
    assert_eq!(told.join(" "), expected);
    let places: Vec<&str> = herma_agents::place_variables().collect();
    let expected = "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME GEMINI_CLI_TRUSTED_FOLDERS_PATH COPILOT_HOME \
         CLINE_DIR HERMES_HOME PI_CODING_AGENT_DIR VIBE_HOME KIMI_CODE_HOME FACTORY_HOME_OVERRIDE GROK_HOME XDG_CONFIG_HOME";
    assert_eq!(places.join(" "), expected);
}

#[test]
fn only_claudes_file_in_a_project_is_the_users_own() {
    let private = Agent::ALL.into_iter().filter(|agent| agent.is_private_in_project());
    assert_eq!(private.collect::<Vec<_>>(), [Agent::Claude]);
}
