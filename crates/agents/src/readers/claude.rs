//! Claude Code: a command hook with the payload on standard input.
//!
//! `cwd` follows the agent's `cd`; the project is in a variable. `PostToolBatch` repeats what `PostToolUse`
//! said, and `PermissionRequest` may come after the change, so neither says anything here. A task that goes
//! on in the background begins turns of its own, with prompt ids of their own.

use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    turn: &[(TOP, "prompt_id"), ("params.arguments", "prompt")],
    root_variables: &["CLAUDE_PROJECT_DIR"],
    tools: &[
        ("Read", ToolClass::Read),
        ("NotebookRead", ToolClass::Read),
        ("Glob", ToolClass::Read),
        ("Grep", ToolClass::Read),
        ("LS", ToolClass::Read),
        ("WebFetch", ToolClass::Read),
        ("WebSearch", ToolClass::Read),
        ("TodoRead", ToolClass::Read),
        ("TodoWrite", ToolClass::Read),
        ("TaskCreate", ToolClass::Read),
        ("TaskGet", ToolClass::Read),
        ("TaskList", ToolClass::Read),
        ("TaskUpdate", ToolClass::Read),
        ("BashOutput", ToolClass::Read),
        ("TaskOutput", ToolClass::Read),
        ("ToolSearch", ToolClass::Read),
        ("AskUserQuestion", ToolClass::Read),
        ("EnterPlanMode", ToolClass::Read),
        ("ExitPlanMode", ToolClass::Read),
        ("ListMcpResourcesTool", ToolClass::Read),
        ("ReadMcpResourceTool", ToolClass::Read),
        ("Write", ToolClass::Edit),
        ("Edit", ToolClass::Edit),
        ("MultiEdit", ToolClass::Edit),
        ("NotebookEdit", ToolClass::Edit),
        ("Bash", ToolClass::Shell),
        ("PowerShell", ToolClass::Shell),
        ("Agent", ToolClass::Agent),
        ("Task", ToolClass::Agent),
        ("Workflow", ToolClass::Agent),
        ("Skill", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
