//! Gemini CLI: a command hook. It has neither turn nor call ids.
//!
//! The model and compression events come with every request and say nothing here. Sub-agents are tools with
//! any name, so they count as unknown.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    events: &[
        ("SessionStart", EventKind::SessionStart),
        ("SessionEnd", EventKind::SessionEnd),
        ("BeforeAgent", EventKind::TurnStart),
        ("AfterAgent", EventKind::TurnEnd),
        ("BeforeTool", EventKind::BeforeTool),
        ("AfterTool", EventKind::AfterTool),
    ],
    session_variable: Some("GEMINI_SESSION_ID"),
    root_variables: &["GEMINI_PROJECT_DIR"],
    tools: &[
        ("read_file", ToolClass::Read),
        ("read_many_files", ToolClass::Read),
        ("list_directory", ToolClass::Read),
        ("glob", ToolClass::Read),
        ("search_file_content", ToolClass::Read),
        ("grep_search", ToolClass::Read),
        ("google_web_search", ToolClass::Read),
        ("web_fetch", ToolClass::Read),
        ("ask_user", ToolClass::Read),
        ("get_internal_docs", ToolClass::Read),
        ("write_todos", ToolClass::Read),
        ("enter_plan_mode", ToolClass::Read),
        ("exit_plan_mode", ToolClass::Read),
        ("list_mcp_resources", ToolClass::Read),
        ("read_mcp_resource", ToolClass::Read),
        ("write_file", ToolClass::Edit),
        ("replace", ToolClass::Edit),
        ("run_shell_command", ToolClass::Shell),
        ("invoke_agent", ToolClass::Agent),
        ("delegate_to_agent", ToolClass::Agent),
        ("codebase_investigator", ToolClass::Agent),
        ("generalist", ToolClass::Agent),
        ("cli_help", ToolClass::Agent),
        ("browser_agent", ToolClass::Agent),
        ("activate_skill", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
