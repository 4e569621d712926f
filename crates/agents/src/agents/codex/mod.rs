//! Codex CLI: a command hook, and the older `notify` program that gets its payload as the last argument.
//!
//! Before a tool, `cwd` is where that command will run, which may be anywhere; at the start of sessions and
//! turns it is the project. A patch comes as the `command` of `apply_patch`. Models that write programs
//! instead of calling tools still cause an event per call, with ids of another form.
//!
//! It is told in `hooks.json` in its home. Codex runs only hooks that the user has approved, and remembers them by
//! their place in the file. So ours are appended, and when others have come behind them, an empty group stays in their
//! place. Its matchers know no negation, so there is none. The end of a session may take three seconds at most.

mod approvals;

use crate::agents::definition::{
    Agent, Definition, EventKind, HooksJson, InTurn, Rules, TOP, ToolClass, like_claude,
};
use crate::payload::fields::{id, prompt};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    // Commands run side by side. A patch that fails has no end that is told.
    in_turn: InTurn::Edits,
    replies: Some(|reply| like_claude("UserPromptSubmit", reply)),
    sign: |places| places.variable_or("CODEX_HOME", ".codex"),
    place_variables: &["CODEX_HOME"],
    targets: |places, scope| {
        Ok(AGENT.shared(places, scope, ".codex/hooks.json", "hooks.json", &HOOKS))
    },
    next_step: |in_project| {
        Some(if in_project {
            "Codex runs hooks of a project only if it trusts the project and you approved them: open `codex` here, and type `/hooks`; or `herma install codex --project --trust`."
        } else {
            "Codex runs hooks only after you approved them: open `codex`, type `/hooks`, and approve Herma's; or `herma install codex --trust`."
        })
    },
    judge: |question, files| approvals::judge(&(AGENT.sign)(question.places), question, files),
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    more_events: &[(EventKind::TurnEnd, "agent-turn-complete")],
    event: &[(TOP, "hook_event_name"), (TOP, "type"), ("params.arguments", "event")],
    session: &[(TOP, "session_id"), (TOP, "thread-id"), ("params.arguments", "session")],
    turn: &[(TOP, "turn_id"), (TOP, "turn-id"), ("params.arguments", "turn")],
    prompt: &[(TOP, "prompt"), (TOP, "input-messages")],
    starts_in_root: true,
    tools: &[
        (
            ToolClass::Read,
            "view_image list_dir read_file grep_files update_plan web_search tool_search \
            request_user_input list_mcp_resources list_mcp_resource_templates \
            read_mcp_resource",
        ),
        (ToolClass::Edit, "apply_patch"),
        (
            ToolClass::Shell,
            "Bash shell local_shell shell_command exec_command unified_exec write_stdin",
        ),
        (ToolClass::Agent, "spawn_agent send_input send_message resume_agent"),
    ],
    known_by: |payload| {
        let text = |name| payload.text((TOP, name)).is_some();
        payload.has((TOP, "thread-id")) || (text("turn_id") && text("model"))
    },
    fields: &[id("type thread-id turn_id turn-id model"), prompt("input-messages")],
    ..Rules::COMMON
};

static HOOKS: HooksJson = HooksJson {
    events: "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd",
    timeout: |event| if event == "SessionEnd" { 3 } else { 20 },
    keeps_positions: true,
    ..HooksJson::like_claude(Agent::Codex)
};
