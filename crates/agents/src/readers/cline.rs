//! Cline: an executable per event. The command line calls the events `tool_call` and the like, the editor
//! extension by the names of the files.
//!
//! A task goes on over many prompts and `iteration` counts requests to the model, so neither is a turn:
//! there is no turn id. The agent has an id always; only the agent of an agent has a parent.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;
use crate::rules::server_tool;

pub(super) const RULES: Rules = Rules {
    events: &[
        ("session_start", EventKind::SessionStart),
        ("session_end", EventKind::SessionEnd),
        ("session_shutdown", EventKind::SessionEnd),
        ("agent_start", EventKind::TurnStart),
        ("agent_resume", EventKind::TurnStart),
        ("prompt_submit", EventKind::TurnStart),
        ("TaskStart", EventKind::TurnStart),
        ("TaskResume", EventKind::TurnStart),
        ("UserPromptSubmit", EventKind::TurnStart),
        ("agent_end", EventKind::TurnEnd),
        ("agent_abort", EventKind::TurnEnd),
        ("agent_error", EventKind::TurnEnd),
        ("TaskComplete", EventKind::TurnEnd),
        ("TaskCancel", EventKind::TurnEnd),
        ("TaskError", EventKind::TurnEnd),
        ("tool_call", EventKind::BeforeTool),
        ("PreToolUse", EventKind::BeforeTool),
        ("tool_result", EventKind::AfterTool),
        ("PostToolUse", EventKind::AfterTool),
    ],
    event: &[(TOP, "hookName")],
    session: &[("sessionContext", "rootSessionId"), (TOP, "taskId")],
    sub_agent_if: Some((TOP, "parent_agent_id")),
    prompt: &[("userPromptSubmit", "prompt"), ("taskMetadata", "task")],
    call: &[("tool_call", "id")],
    tool: &[
        ("tool_call", "name"),
        ("toolUse", "toolName"),
        ("toolUse", "tool"),
    ],
    arguments: &["tool_call.input", "toolUse.parameters"],
    directory: &[(TOP, "workspaceRoots")],
    roots: &[(TOP, "workspaceRoots")],
    class_by_shape: server_tool,
    tools: &[
        ("read_files", ToolClass::Read),
        ("read_file", ToolClass::Read),
        ("list_files", ToolClass::Read),
        ("search_codebase", ToolClass::Read),
        ("search_files", ToolClass::Read),
        ("list_code_definition_names", ToolClass::Read),
        ("fetch_web_content", ToolClass::Read),
        ("web_fetch", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("ask_question", ToolClass::Read),
        ("ask_followup_question", ToolClass::Read),
        ("submit_and_exit", ToolClass::Read),
        ("plan_mode_respond", ToolClass::Read),
        ("act_mode_respond", ToolClass::Read),
        ("access_mcp_resource", ToolClass::Read),
        ("load_mcp_documentation", ToolClass::Read),
        ("condense", ToolClass::Read),
        ("summarize_task", ToolClass::Read),
        ("editor", ToolClass::Edit),
        ("apply_patch", ToolClass::Edit),
        ("write_to_file", ToolClass::Edit),
        ("replace_in_file", ToolClass::Edit),
        ("delete_file", ToolClass::Edit),
        ("new_rule", ToolClass::Edit),
        ("run_commands", ToolClass::Shell),
        ("execute_command", ToolClass::Shell),
        ("bash", ToolClass::Shell),
        ("spawn_agent", ToolClass::Agent),
        ("use_subagents", ToolClass::Agent),
        ("new_task", ToolClass::Agent),
        ("use_skill", ToolClass::Agent),
        ("skills", ToolClass::Agent),
        ("use_mcp_tool", ToolClass::Mcp),
    ],
    ..Rules::COMMON
};
