//! Crush: a command hook before tools, and nothing else. Read in its documentation, never seen running
//! here.
//!
//! Only the agent that talks to the user is hooked; its sub-agents are not, but the tool that starts them
//! is. There are neither turn nor call ids.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    events: &[("PreToolUse", EventKind::BeforeTool)],
    event: &[(TOP, "event")],
    session_variable: Some("CRUSH_SESSION_ID"),
    root_variables: &["CRUSH_PROJECT_DIR"],
    tools: &[
        ("view", ToolClass::Read),
        ("ls", ToolClass::Read),
        ("grep", ToolClass::Read),
        ("glob", ToolClass::Read),
        ("rg", ToolClass::Read),
        ("fetch", ToolClass::Read),
        ("web_fetch", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("sourcegraph", ToolClass::Read),
        ("diagnostics", ToolClass::Read),
        ("references", ToolClass::Read),
        ("lsp_diagnostics", ToolClass::Read),
        ("lsp_references", ToolClass::Read),
        ("lsp_definition", ToolClass::Read),
        ("lsp_hover", ToolClass::Read),
        ("lsp_symbols", ToolClass::Read),
        ("todos", ToolClass::Read),
        ("job_output", ToolClass::Read),
        ("crush_info", ToolClass::Read),
        ("crush_logs", ToolClass::Read),
        ("list_mcp_resources", ToolClass::Read),
        ("read_mcp_resource", ToolClass::Read),
        ("edit", ToolClass::Edit),
        ("multiedit", ToolClass::Edit),
        ("write", ToolClass::Edit),
        ("download", ToolClass::Edit),
        ("lsp_rename", ToolClass::Edit),
        ("lsp_replace_symbol", ToolClass::Edit),
        ("bash", ToolClass::Shell),
        ("agent", ToolClass::Agent),
        ("agentic_fetch", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
