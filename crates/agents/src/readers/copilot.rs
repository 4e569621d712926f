//! Copilot CLI: a command hook in two forms. Events in `camelCase` have a form of their own, in which only
//! the command line names the event; events in `PascalCase`, and hooks it takes from a project's Claude
//! settings, look like Claude's but for the names of the arguments.
//!
//! It has neither turn nor call ids. `permissionRequest` repeats a tool that was announced already.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    more_events: &[
        ("userPromptSubmitted", EventKind::TurnStart),
        ("agentStop", EventKind::TurnEnd),
    ],
    event: &[(TOP, "hook_event_name"), (TOP, "hookName")],
    session: &[(TOP, "sessionId"), (TOP, "session_id")],
    tool: &[(TOP, "toolName"), (TOP, "tool_name")],
    arguments: &["toolArgs", "toolInput", "tool_input"],
    root_variables: &["COPILOT_PROJECT_DIR"],
    tools: &[
        ("view", ToolClass::Read),
        ("grep", ToolClass::Read),
        ("glob", ToolClass::Read),
        ("rg", ToolClass::Read),
        ("show_file", ToolClass::Read),
        ("web_fetch", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("report_intent", ToolClass::Read),
        ("update_todo", ToolClass::Read),
        ("ask_user", ToolClass::Read),
        ("read_bash", ToolClass::Read),
        ("list_bash", ToolClass::Read),
        ("read_powershell", ToolClass::Read),
        ("list_powershell", ToolClass::Read),
        ("read_agent", ToolClass::Read),
        ("list_agents", ToolClass::Read),
        ("fetch_copilot_cli_documentation", ToolClass::Read),
        ("exit_plan_mode", ToolClass::Read),
        ("Read", ToolClass::Read),
        ("Grep", ToolClass::Read),
        ("Glob", ToolClass::Read),
        ("LS", ToolClass::Read),
        ("WebFetch", ToolClass::Read),
        ("WebSearch", ToolClass::Read),
        ("TodoWrite", ToolClass::Read),
        ("AskUserQuestion", ToolClass::Read),
        ("create", ToolClass::Edit),
        ("edit", ToolClass::Edit),
        ("str_replace_editor", ToolClass::Edit),
        ("apply_patch", ToolClass::Edit),
        ("Write", ToolClass::Edit),
        ("Edit", ToolClass::Edit),
        ("MultiEdit", ToolClass::Edit),
        ("bash", ToolClass::Shell),
        ("powershell", ToolClass::Shell),
        ("write_bash", ToolClass::Shell),
        ("write_powershell", ToolClass::Shell),
        ("Bash", ToolClass::Shell),
        ("PowerShell", ToolClass::Shell),
        ("task", ToolClass::Agent),
        ("skill", ToolClass::Agent),
        ("write_agent", ToolClass::Agent),
        ("Task", ToolClass::Agent),
        ("Agent", ToolClass::Agent),
        ("Skill", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
