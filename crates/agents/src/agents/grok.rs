//! Grok, of xAI: a command hook. Its payloads say everything twice, in the form of Claude Code and in one of its own.
//!
//! It also runs the hooks of Claude's and Cursor's settings, with the same payload. The calls of one message are all
//! announced before the first of them runs, and then run at once. Sub-agents have sessions of their own, which do not
//! name their parent. The beginning of a session may come after that of its first turn, and a session that ends says
//! once more that the turn has ended.
//!
//! It is told by a file of our own among its hooks.

use super::definition::{
    Agent, Definition, EventKind, HooksJson, OwnFile, Rules, TOP, Target, ToolClass, server_tool,
};
use crate::payload::fields::{id, path, value};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    has_nameless_sub_agents: true,
    sign: |places| places.variable_or("GROK_HOME", ".grok"),
    place_variables: &["GROK_HOME"],
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("hooks/herma.json");
        let path = scope.choose(".grok/hooks/herma.json", of_user);
        Ok(vec![Target::own(vec![path], OwnFile::Hooks(HOOKS))])
    },
    next_step: |in_project| {
        in_project
            .then_some("Grok runs hooks of a project only where you trust it: type `/hooks-trust`.")
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    more_events: &[
        (EventKind::TurnEnd, "StopCancelled"),
        (EventKind::AfterTool, "PermissionDenied"),
    ],
    turn: &[(TOP, "promptId")],
    duration: &[(TOP, "durationMs")],
    roots: &[(TOP, "workspaceRoot")],
    class_by_shape: server_tool,
    tools: &[
        (
            ToolClass::Read,
            "read_file list_dir grep todo_write get_command_or_subagent_output scheduler_list \
            search_tool enter_plan_mode exit_plan_mode ask_user_question send_feedback web_search \
            web_fetch",
        ),
        (ToolClass::Edit, "write search_replace apply_patch"),
        (ToolClass::Shell, "run_terminal_command monitor"),
        (ToolClass::Agent, "spawn_subagent workflow"),
        (ToolClass::Mcp, "use_tool CallMcpTool"),
    ],
    known_by: |payload| payload.has((TOP, "hookEventName")) && payload.has((TOP, "workspaceRoot")),
    fields: &[id("hookEventName promptId"), value("durationMs"), path("workspaceRoot")],
    ..Rules::COMMON
};

const HOOKS: HooksJson = HooksJson {
    events: "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionDenied Stop \
             StopFailure StopCancelled SessionEnd",
    ..HooksJson::like_claude(Agent::Grok)
};
