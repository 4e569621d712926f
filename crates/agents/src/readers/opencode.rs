//! OpenCode: a plugin of ours that sends what the plugin interface gave it, with the name of the hook.
//!
//! The name is in `event`, or in `hook` while `event` is the event of the bus. Sub-agents have sessions of
//! their own, whose beginning names the parent. A project without a repository has `/` for its work tree.
//! `shell.env` is the only sign of a command that the user runs, and comes a second time for commands of
//! the agent.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    events: &[
        ("session.created", EventKind::SessionStart),
        ("session.deleted", EventKind::SessionEnd),
        ("dispose", EventKind::SessionEnd),
        ("chat.message", EventKind::TurnStart),
        ("session.idle", EventKind::TurnEnd),
        ("tool.execute.before", EventKind::BeforeTool),
        ("shell.env", EventKind::BeforeTool),
        ("tool.execute.after", EventKind::AfterTool),
    ],
    implied_tools: &[("shell.env", "bash")],
    // A hook that passes an event of the bus on is named last: the event says more.
    event: &[("event", "type"), (TOP, "event"), (TOP, "hook")],
    session: &[
        ("input", "sessionID"),
        ("event.properties", "sessionID"),
        ("event.properties.info", "id"),
        (TOP, "sessionID"),
    ],
    parent_session: &[
        ("event.properties.info", "parentID"),
        (TOP, "parent_session_id"),
    ],
    turn: &[("output.message", "id"), ("input", "messageID")],
    prompt: &[("output.parts", "text")],
    call: &[("input", "callID")],
    tool: &[("input", "tool")],
    arguments: &["output.args", "input.args"],
    directory: &[(TOP, "directory")],
    roots: &[(TOP, "worktree"), (TOP, "directory")],
    tools: &[
        ("read", ToolClass::Read),
        ("glob", ToolClass::Read),
        ("grep", ToolClass::Read),
        ("list", ToolClass::Read),
        ("webfetch", ToolClass::Read),
        ("websearch", ToolClass::Read),
        ("codesearch", ToolClass::Read),
        ("todowrite", ToolClass::Read),
        ("todoread", ToolClass::Read),
        ("question", ToolClass::Read),
        ("lsp", ToolClass::Read),
        ("plan_enter", ToolClass::Read),
        ("plan_exit", ToolClass::Read),
        ("invalid", ToolClass::Read),
        ("write", ToolClass::Edit),
        ("edit", ToolClass::Edit),
        ("multiedit", ToolClass::Edit),
        ("patch", ToolClass::Edit),
        ("apply_patch", ToolClass::Edit),
        ("bash", ToolClass::Shell),
        ("task", ToolClass::Agent),
        ("skill", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
