//! Copilot CLI: a command hook in two forms. Events in `camelCase` have a form of their own, in which only
//! the command line names the event; events in `PascalCase`, and hooks it takes from a project's Claude
//! settings, look like Claude's but for the names of the arguments.
//!
//! It has neither turn nor call ids. `permissionRequest` repeats a tool that was announced already.
//!
//! It is told by a file of our own among its hooks. Its payloads do not name the event, so the command line does. Any
//! failure of a hook denies the tool there, which is what the guard of the command line is for.

use serde_json::json;

use super::definition::{
    ARGUMENTS, Agent, Definition, EventKind, HooksJson, OwnFile, Rules, Shape, TOP, Target,
    ToolClass,
};
use crate::payload::fields::{id, object};
use crate::reply::Reply;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    replies: Some(|reply| match reply {
        Reply::Context(text) => json!({"additionalContext": text}),
        Reply::Stop(text) => json!({"decision": "block", "reason": text}),
    }),
    sign: |places| places.variable_or("COPILOT_HOME", ".copilot"),
    place_variables: &["COPILOT_HOME"],
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("hooks/herma.json");
        let path = scope.choose(".github/hooks/herma.json", of_user);
        Ok(vec![Target::own(vec![path], OwnFile::Hooks(HOOKS))])
    },
    user_settings: &["settings.json", "config.json"],
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    more_events: &[
        (EventKind::TurnStart, "userPromptSubmitted"),
        (EventKind::TurnEnd, "agentStop"),
    ],
    event: &[(TOP, "hook_event_name"), (TOP, "hookName")],
    session: &[(TOP, "sessionId"), (TOP, "session_id")],
    tool: &[(TOP, "toolName"), (TOP, "tool_name")],
    arguments: &["toolArgs", "toolInput", "tool_input"],
    root_variables: &["COPILOT_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "view grep glob rg show_file web_fetch web_search report_intent update_todo \
            ask_user read_bash list_bash read_powershell list_powershell read_agent \
            list_agents fetch_copilot_cli_documentation exit_plan_mode Read Grep Glob LS \
            WebFetch WebSearch TodoWrite AskUserQuestion",
        ),
        (ToolClass::Edit, "create edit str_replace_editor apply_patch Write Edit MultiEdit"),
        (ToolClass::Shell, "bash powershell write_bash write_powershell Bash PowerShell"),
        (ToolClass::Agent, "task skill write_agent Task Agent Skill"),
    ],
    variables: &["COPILOT_CLI"],
    known_by: |payload| payload.text((TOP, "sessionId")).is_some(),
    fields: &[
        id("hookName sessionId toolName"),
        object("toolArgs", "toolArgs", &ARGUMENTS),
        object("toolInput", "toolInput", &ARGUMENTS),
    ],
    ..Rules::COMMON
};

const HOOKS: HooksJson = HooksJson {
    shape: Shape::Copilot,
    events: "sessionStart userPromptSubmitted preToolUse postToolUse postToolUseFailure agentStop \
             sessionEnd",
    version: Some(1),
    ..HooksJson::like_claude(Agent::Copilot)
};
