//! Cursor: a command hook. Read in its program, never seen running here.
//!
//! It also runs the hooks of Claude's settings, with its own payload. `beforeShellExecution` and
//! `beforeMCPExecution` repeat `preToolUse`, but older versions have nothing else. What the user completes
//! with the tab key is the user's own work.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    events: &[
        ("SessionStart", EventKind::SessionStart),
        ("SessionEnd", EventKind::SessionEnd),
        ("beforeSubmitPrompt", EventKind::TurnStart),
        ("UserPromptSubmit", EventKind::TurnStart),
        ("stop", EventKind::TurnEnd),
        ("preToolUse", EventKind::BeforeTool),
        ("beforeShellExecution", EventKind::BeforeTool),
        ("beforeMCPExecution", EventKind::BeforeTool),
        ("postToolUse", EventKind::AfterTool),
        ("postToolUseFailure", EventKind::AfterTool),
        ("afterShellExecution", EventKind::AfterTool),
        ("afterMCPExecution", EventKind::AfterTool),
        ("afterFileEdit", EventKind::AfterTool),
    ],
    implied_tools: &[
        ("beforeShellExecution", "Shell"),
        ("afterShellExecution", "Shell"),
        ("afterFileEdit", "Write"),
    ],
    mcp_events: &["beforeMCPExecution", "afterMCPExecution"],
    session: &[(TOP, "session_id"), (TOP, "conversation_id")],
    turn: &[(TOP, "generation_id")],
    // The events of one kind of tool have its arguments beside everything else.
    arguments: &["tool_input", TOP],
    directory: &[(TOP, "cwd"), (TOP, "workspace_roots")],
    roots: &[(TOP, "workspace_roots")],
    root_variables: &["CURSOR_PROJECT_DIR"],
    tools: &[
        ("Read", ToolClass::Read),
        ("Grep", ToolClass::Read),
        ("Glob", ToolClass::Read),
        ("LS", ToolClass::Read),
        ("SemanticSearch", ToolClass::Read),
        ("CodebaseSearch", ToolClass::Read),
        ("WebSearch", ToolClass::Read),
        ("WebFetch", ToolClass::Read),
        ("ReadLints", ToolClass::Read),
        ("TodoWrite", ToolClass::Read),
        ("AskQuestion", ToolClass::Read),
        ("ListMcpResources", ToolClass::Read),
        ("FetchMcpResource", ToolClass::Read),
        ("Write", ToolClass::Edit),
        ("Edit", ToolClass::Edit),
        ("Delete", ToolClass::Edit),
        ("StrReplace", ToolClass::Edit),
        ("MultiEdit", ToolClass::Edit),
        ("EditNotebook", ToolClass::Edit),
        ("ApplyPatch", ToolClass::Edit),
        ("Shell", ToolClass::Shell),
        ("Bash", ToolClass::Shell),
        ("Task", ToolClass::Agent),
        ("Agent", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
