//! Codex CLI: a command hook, and the older `notify` program that gets its payload as the last argument.
//!
//! Before a tool, `cwd` is where that command will run, which may be anywhere; at the start of sessions and
//! turns it is the project. A patch comes as the `command` of `apply_patch`. Models that write programs
//! instead of calling tools still cause an event per call, with ids of another form.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    more_events: &[("agent-turn-complete", EventKind::TurnEnd)],
    event: &[
        (TOP, "hook_event_name"),
        (TOP, "type"),
        ("params.arguments", "event"),
    ],
    session: &[
        (TOP, "session_id"),
        (TOP, "thread-id"),
        ("params.arguments", "session"),
    ],
    turn: &[
        (TOP, "turn_id"),
        (TOP, "turn-id"),
        ("params.arguments", "turn"),
    ],
    prompt: &[(TOP, "prompt"), (TOP, "input-messages")],
    starts_in_root: true,
    tools: &[
        ("view_image", ToolClass::Read),
        ("list_dir", ToolClass::Read),
        ("read_file", ToolClass::Read),
        ("grep_files", ToolClass::Read),
        ("update_plan", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("tool_search", ToolClass::Read),
        ("request_user_input", ToolClass::Read),
        ("list_mcp_resources", ToolClass::Read),
        ("list_mcp_resource_templates", ToolClass::Read),
        ("read_mcp_resource", ToolClass::Read),
        ("apply_patch", ToolClass::Edit),
        ("Bash", ToolClass::Shell),
        ("shell", ToolClass::Shell),
        ("local_shell", ToolClass::Shell),
        ("shell_command", ToolClass::Shell),
        ("exec_command", ToolClass::Shell),
        ("unified_exec", ToolClass::Shell),
        ("write_stdin", ToolClass::Shell),
        ("spawn_agent", ToolClass::Agent),
        ("send_input", ToolClass::Agent),
        ("send_message", ToolClass::Agent),
        ("resume_agent", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
