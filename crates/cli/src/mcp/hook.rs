//! `herma_hook`: what agents' hooks of the type `mcp_tool` call, instead of starting `herma hook`.
//!
//! The hook's configuration fills in the arguments, with names the agent replaces: `"session_id":
//! "${session_id}"`. What an agent does not know it leaves out, empty, or as it stands. Whatever happens, the
//! answer is one the agent goes on with: a save that failed must not keep it from working.

use std::cell::RefCell;

use herma_agents::{Agent, Reply, Surroundings};
use herma_fs::process::BootMoment;
use serde_json::{Map, Value, json};

use super::session::{Session, text};
use crate::hook::{HookCall, HookLog, work};

/// The tool's name.
pub(super) const NAME: &str = "herma_hook";

/// What a payload calls things, and what else a configuration may call them.
const NAMES: [(&str, &[&str]); 7] = [
    ("hook_event_name", &["event", "hook_event_name"]),
    ("session_id", &["session_id", "session"]),
    ("tool_use_id", &["tool_use_id", "call_id", "id"]),
    ("tool_name", &["tool_name", "tool"]),
    ("cwd", &["cwd", "root"]),
    ("prompt", &["prompt"]),
    ("agent_id", &["agent_id"]),
];

/// The tool, as an agent sees it.
pub(super) fn describe() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "name": NAME,
        "title": "Save from a hook",
        "description": "For hooks of the type mcp_tool, not for the agent itself: saves the project before a prompt or a tool call, and notes what the call changed.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "host": text("The agent: claude, codex, ..."),
                "event": text("The hook's event, such as PreToolUse"),
                "session_id": text("The conversation"),
                "turn_id": text("The prompt within it; also as prompt_id"),
                "tool_use_id": text("The id of the tool call"),
                "tool_name": text("The tool"),
                "cwd": text("Where the agent is"),
                "command": text("The command line the tool runs"),
                "file_path": text("The file the tool names"),
                "prompt": text("The prompt"),
            },
            "required": ["event"],
            "additionalProperties": true,
        },
        "annotations": {
            "title": "Save from a hook",
            "readOnlyHint": false,
            "destructiveHint": false,
            "idempotentHint": false,
            "openWorldHint": false,
        },
    })
}

/// Calls the tool: the agent reads an empty object, or one with a message for its user.
pub(super) fn call(session: &Session, arguments: &Map<String, Value>) -> Value {
    let answer = match read_call(arguments).map(|call| note(session, &call)) {
        None => json!({}),
        Some(Ok(said)) => said.unwrap_or_else(|| json!({})),
        Some(Err(what)) => json!({"systemMessage": format!("Herma could not save: {what}")}),
    };
    json!({"content": [text(&answer.to_string())], "isError": false})
}

/// Does what `herma hook` does, without a process of its own. Returns what that would print.
fn note(session: &Session, call: &HookCall) -> Result<Option<Value>, String> {
    if !call.matters() {
        return Ok(None);
    }
    let directory = call.event.directory.as_deref();
    let env = session.env(directory);
    let env = env.map_err(|error| error.message)?;
    let log = HookLog::at(Some(env.home.clone()));
    let said = RefCell::new(None);
    let answer = |reply: &Reply| {
        let line = call.event.agent.reply(reply);
        let line = line.and_then(|line| serde_json::from_str(&line).ok());
        line.map(|line| said.replace(Some(line))).is_some()
    };
    work::work(&env, call, &log, &answer)?;
    Ok(said.into_inner())
}

/// What the hook says, as the payload of a command hook would say it. `None` if it says nothing.
fn read_call(arguments: &Map<String, Value>) -> Option<HookCall> {
    let said = |name: &str| {
        let text = arguments.get(name)?.as_str()?;
        (!text.is_empty() && !text.starts_with("${")).then(|| Value::from(text))
    };
    let first = |names: &[&str]| names.iter().find_map(|name| said(name));
    first(&["event", "hook_event_name"])?;
    let mut payload = Map::new();
    for (name, names) in NAMES {
        payload.extend(first(names).map(|value| (name.to_owned(), value)));
    }
    let named = first(&["host", "agent"]);
    let agent = named.as_ref().and_then(Value::as_str);
    let agent = agent.and_then(Agent::from_word).unwrap_or(Agent::Claude);
    let turn = first(&["turn_id", "prompt_id", "turn"]);
    let turn_name = if agent == Agent::Codex { "turn_id" } else { "prompt_id" };
    payload.extend(turn.map(|value| (turn_name.to_owned(), value)));
    let mut input = Map::new();
    input.extend(first(&["command"]).map(|value| ("command".to_owned(), value)));
    input.extend(first(&["file_path", "path"]).map(|value| ("file_path".to_owned(), value)));
    payload.insert("tool_input".to_owned(), input.into());
    let payload = Value::from(payload).to_string();
    let surroundings = Surroundings::default();
    let incoming = herma_agents::read(agent, &surroundings, &mut payload.as_bytes());
    Some(HookCall {
        event: incoming.event,
        caller: None,
        received: BootMoment::now(),
        problem: incoming.problem.map(|problem| problem.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use herma_agents::EventKind;

    use super::*;

    fn read(value: &Value) -> Option<HookCall> {
        read_call(value.as_object().unwrap())
    }

    #[test]
    fn agents_names_for_the_same_thing_are_the_same() {
        let claude = read(&json!({
            "event": "PreToolUse", "tool": "Write", "session": "s", "prompt_id": "p",
            "cwd": "/home/user/project", "id": "toolu_1",
        }));
        let other = read(&json!({
            "hook_event_name": "PreToolUse", "tool_name": "Write", "session_id": "s", "turn_id": "p",
            "cwd": "/home/user/project", "tool_use_id": "toolu_1", "host": "${host}", "command": "",
        }));
        assert_eq!(claude.unwrap().event, other.unwrap().event);
    }

    #[test]
    fn each_agent_is_understood_in_its_own_words() {
        let call = read(&json!({
            "event": "BeforeTool", "host": "gemini", "tool": "run_shell_command", "command": "make",
            "session": "s", "cwd": "/home/user/project",
        }));
        let event = call.unwrap().event;
        let tool = event.tool.unwrap();
        assert_eq!((event.agent, event.kind), (Agent::Gemini, EventKind::BeforeTool));
        assert_eq!(tool.command.as_deref(), Some("make"));
    }

    #[test]
    fn who_says_nothing_is_not_heard() {
        assert!(read(&json!({})).is_none());
        assert!(read(&json!({"event": "${hook_event_name}"})).is_none());
    }
}
