//! Hermes Agent: a shell hook or a plugin.
//!
//! Before a request to the model it sends the whole conversation. `on_session_end` comes at the end of
//! every turn; `on_session_finalize` is the end of the session. `cwd` is the directory of the process,
//! which behind a gateway is not the project.

use crate::event::EventKind;
use crate::event::ToolClass;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    events: &[
        ("on_session_start", EventKind::SessionStart),
        ("on_session_finalize", EventKind::SessionEnd),
        ("pre_llm_call", EventKind::TurnStart),
        ("on_session_end", EventKind::TurnEnd),
        ("pre_tool_call", EventKind::BeforeTool),
        ("post_tool_call", EventKind::AfterTool),
    ],
    parent_session: &[("extra", "parent_session_id")],
    sub_agent: &[("extra", "subagent_id")],
    turn: &[("extra", "turn_id")],
    prompt: &[("extra", "user_message")],
    call: &[("extra", "tool_call_id")],
    tools: &[
        ("read_file", ToolClass::Read),
        ("search_files", ToolClass::Read),
        ("list_files", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("web_extract", ToolClass::Read),
        ("vision_analyze", ToolClass::Read),
        ("session_search", ToolClass::Read),
        ("todo", ToolClass::Read),
        ("clarify", ToolClass::Read),
        ("skills_list", ToolClass::Read),
        ("skill_view", ToolClass::Read),
        ("write_file", ToolClass::Edit),
        ("patch", ToolClass::Edit),
        ("terminal", ToolClass::Shell),
        ("execute_code", ToolClass::Shell),
        ("process", ToolClass::Shell),
        ("delegate_task", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
