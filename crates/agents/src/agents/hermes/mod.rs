//! Hermes Agent: a shell hook or a plugin.
//!
//! Before a request to the model it sends the whole conversation. `on_session_end` comes at the end of
//! every turn; `on_session_finalize` is the end of the session. `cwd` is the directory of the process,
//! which behind a gateway is not the project.
//!
//! It is told in the `hooks` of `config.yaml`, and people type [`slash`] commands in its chats.

mod config;
mod lines;
pub mod slash;

use std::path::PathBuf;

use serde_json::Value as Data;

use self::config::{Config, HOOKS};
use crate::agents::definition::{
    Agent, Definition, EventKind, Files, Places, Question, Rules, Scope, Target, ToolClass, Verdict,
};
use crate::payload::fields::{ENDED, Field, RESULT, id, object, prompt, value};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| file(places, "state.db"),
    place_variables: &["HERMES_HOME"],
    targets: |places, scope| {
        if *scope != Scope::User {
            return Err("it has one configuration, in its home");
        }
        Ok(vec![Target::shared(file(places, "config.yaml"), Config)])
    },
    next_step: |_| {
        Some(
            "Hermes asks about each hook when it starts next; without a terminal start it with `--accept-hooks`.",
        )
    },
    judge,
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "on_session_start"),
        (EventKind::SessionEnd, "on_session_finalize"),
        (EventKind::TurnStart, "pre_llm_call"),
        (EventKind::TurnEnd, "on_session_end"),
        (EventKind::BeforeTool, "pre_tool_call"),
        (EventKind::AfterTool, "post_tool_call"),
    ],
    parent_session: &[("extra", "parent_session_id")],
    sub_agent: &[("extra", "subagent_id")],
    turn: &[("extra", "turn_id")],
    prompt: &[("extra", "user_message")],
    call: &[("extra", "tool_call_id")],
    duration: &[("extra", "duration_ms")],
    tools: &[
        (
            ToolClass::Read,
            "read_file search_files list_files web_search web_extract vision_analyze \
            session_search todo clarify skills_list skill_view",
        ),
        (ToolClass::Edit, "write_file patch"),
        (ToolClass::Shell, "terminal execute_code process"),
        (ToolClass::Agent, "delegate_task"),
    ],
    fields: &[object("extra", "extra", &EXTRA)],
    ..Rules::COMMON
};

static EXTRA: [Field; 4] = [
    id("turn_id tool_call_id parent_session_id subagent_id"),
    prompt("user_message"),
    value("duration_ms"),
    // What came of a call, as JSON in a string.
    object("result", RESULT, &ENDED),
];

fn file(places: &Places, name: &str) -> PathBuf {
    places.variable_or("HERMES_HOME", ".hermes").join(name)
}

/// Hermes keeps the pairs of event and command line that were approved.
fn judge(question: &Question<'_>, files: &dyn Files) -> Verdict {
    let line = question.command.line(Agent::Hermes, None);
    let file = file(question.places, "shell-hooks-allowlist.json");
    let data = files.read(&file).ok().flatten();
    let data: Option<Data> = data.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let approvals = data.as_ref().and_then(|data| data.get("approvals")?.as_array());
    let is_approved = |event: &str| {
        approvals.is_some_and(|approvals| {
            approvals.iter().any(|approval| {
                approval.get("event").and_then(Data::as_str) == Some(event)
                    && approval.get("command").and_then(Data::as_str) == Some(&line)
            })
        })
    };
    if HOOKS.events().all(is_approved) { Verdict::Fine } else { Verdict::NotApproved }
}
