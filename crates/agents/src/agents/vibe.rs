//! Mistral Vibe: a command hook before and after tools, and after a turn. None tells where a turn begins.
//!
//! The calls of one message run at once. A duration is there, but always 0. Sub-agents have sessions of their own,
//! which name their parent.
//!
//! It is told in the `hooks.toml` beside its configuration. Names of hooks must not occur twice.

use super::definition::{Agent, Definition, EventKind, Rules, TOP, Target, ToolClass};
use crate::install::hooks_toml::HooksToml;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.variable_or("VIBE_HOME", ".vibe"),
    place_variables: &["VIBE_HOME"],
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("hooks.toml");
        Ok(vec![Target::shared(scope.choose(".vibe/hooks.toml", of_user), HOOKS)])
    },
    next_step: |in_project| {
        in_project.then_some("Vibe runs hooks of a project only where you trust the folder.")
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::TurnEnd, "post_agent"),
        (EventKind::BeforeTool, "pre_tool"),
        (EventKind::AfterTool, "post_tool"),
    ],
    // It has no `cd`.
    roots: &[(TOP, "cwd")],
    class_by_shape: |name| name.starts_with("mcp").then_some(ToolClass::Mcp),
    tools: &[
        (
            ToolClass::Read,
            "file_system.read_file file_system.grep process.list process.output subagent.list \
            subagent.wait wait skill todo ask_user_question search_tool_functions web_search \
            web_fetch read_file grep",
        ),
        (
            ToolClass::Edit,
            "file_system.write_file file_system.search_replace write_file search_replace edit",
        ),
        (ToolClass::Shell, "file_system.bash bash process.start process.write"),
        (ToolClass::Agent, "subagent.spawn subagent.send_message task"),
    ],
    ..Rules::COMMON
};

const HOOKS: HooksToml = HooksToml {
    agent: Agent::Vibe,
    event: "type",
    events: "pre_tool post_tool post_agent",
    has_names: true,
};
