//! Cursor: a command hook. Read in its program, never seen running here.
//!
//! It also runs the hooks of Claude's settings, with its own payload. `beforeShellExecution` and
//! `beforeMCPExecution` repeat `preToolUse`, but older versions have nothing else. What the user completes
//! with the tab key is the user's own work.
//!
//! It is told in `hooks.json`, which needs a version. Shell commands also have an event of their own, before which
//! `preToolUse` comes anyway.

use super::definition::{
    Agent, Definition, EDITED, EventKind, HooksJson, Rules, Shape, TOP, ToolClass,
};
use crate::payload::fields::{command, id, path, value};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.home.join(".cursor"),
    targets: |places, scope| {
        Ok(AGENT.shared(places, scope, ".cursor/hooks.json", "hooks.json", &HOOKS))
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "SessionStart"),
        (EventKind::SessionEnd, "SessionEnd"),
        (EventKind::TurnStart, "beforeSubmitPrompt UserPromptSubmit"),
        (EventKind::TurnEnd, "stop"),
        (EventKind::BeforeTool, "preToolUse beforeShellExecution beforeMCPExecution"),
        (
            EventKind::AfterTool,
            "postToolUse postToolUseFailure afterShellExecution afterMCPExecution \
            afterFileEdit",
        ),
    ],
    implied_tools: &[
        ("beforeShellExecution", "Shell"),
        ("afterShellExecution", "Shell"),
        ("afterFileEdit", "Write"),
    ],
    mcp_events: &["beforeMCPExecution", "afterMCPExecution"],
    session: &[(TOP, "session_id"), (TOP, "conversation_id")],
    turn: &[(TOP, "generation_id")],
    duration: &[(TOP, "duration")],
    // The events of one kind of tool have its arguments beside everything else.
    arguments: &["tool_input", TOP],
    directory: &[(TOP, "cwd"), (TOP, "workspace_roots")],
    roots: &[(TOP, "workspace_roots")],
    root_variables: &["CURSOR_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "Read Grep Glob LS SemanticSearch CodebaseSearch WebSearch WebFetch ReadLints \
            TodoWrite AskQuestion ListMcpResources FetchMcpResource",
        ),
        (ToolClass::Edit, "Write Edit Delete StrReplace MultiEdit EditNotebook ApplyPatch"),
        (ToolClass::Shell, "Shell Bash"),
        (ToolClass::Agent, "Task Agent"),
    ],
    known_by: |payload| payload.has((TOP, "cursor_version")),
    fields: &[
        id("cursor_version conversation_id generation_id"),
        path("workspace_roots"),
        command("command"),
        path("file_path"),
        value("edits").of(&EDITED),
        value("duration"),
    ],
    ..Rules::COMMON
};

static HOOKS: HooksJson = HooksJson {
    shape: Shape::Flat { name: None },
    events: "sessionStart beforeSubmitPrompt preToolUse postToolUse postToolUseFailure stop sessionEnd",
    version: Some(1),
    ..HooksJson::like_claude(Agent::Cursor)
};
