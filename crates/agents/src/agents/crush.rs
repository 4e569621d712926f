//! Crush: a command hook before tools, and nothing else. Read in its documentation, never seen running
//! here.
//!
//! Only the agent that talks to the user is hooked; its sub-agents are not, but the tool that starts them
//! is. There are neither turn nor call ids.
//!
//! It is told in the `hooks` of `crush.json`.

use super::definition::{
    Agent, Definition, Dialect, EventKind, HooksJson, Rules, Shape, TOP, ToolClass,
};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    tells_ends: false,
    sign: |places| places.config().join("crush"),
    targets: |places, scope| Ok(AGENT.shared(places, scope, "crush.json", "crush.json", &HOOKS)),
    next_step: |_| {
        Some(
            "Crush does not tell of what its sub-agents do; `herma run -- crush` covers a whole run.",
        )
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[(EventKind::BeforeTool, "PreToolUse")],
    event: &[(TOP, "event")],
    session_variable: Some("CRUSH_SESSION_ID"),
    root_variables: &["CRUSH_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "view ls grep glob rg fetch web_fetch web_search sourcegraph diagnostics \
            references lsp_diagnostics lsp_references lsp_definition lsp_hover lsp_symbols \
            todos job_output crush_info crush_logs list_mcp_resources read_mcp_resource",
        ),
        (ToolClass::Edit, "edit multiedit write download lsp_rename lsp_replace_symbol"),
        (ToolClass::Shell, "bash"),
        (ToolClass::Agent, "agent agentic_fetch"),
    ],
    ..Rules::COMMON
};

static HOOKS: HooksJson = HooksJson {
    dialect: Dialect::Relaxed,
    shape: Shape::Flat { name: Some("herma") },
    events: "PreToolUse",
    ..HooksJson::like_claude(Agent::Crush)
};
