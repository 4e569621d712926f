//! Goose: a plugin directory with hooks in the form of Claude Code's.
//!
//! The start of sessions and turns comes without a directory. `PreToolUseResult`, `BeforeShellExecution`,
//! `AfterFileEdit` and `AfterShellExecution` repeat the tool event next to them, without its call id, so
//! they say nothing here.

use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;
use crate::rules::server_tool;

pub(super) const RULES: Rules = Rules {
    event: &[(TOP, "event")],
    prompt: &[(TOP, "message")],
    directory: &[(TOP, "working_dir")],
    roots: &[(TOP, "working_dir")],
    class_by_shape: server_tool,
    tools: &[
        ("tree", ToolClass::Read),
        ("read_image", ToolClass::Read),
        ("analyze", ToolClass::Read),
        ("developer__tree", ToolClass::Read),
        ("developer__read_image", ToolClass::Read),
        ("developer__analyze", ToolClass::Read),
        ("write", ToolClass::Edit),
        ("edit", ToolClass::Edit),
        ("text_editor", ToolClass::Edit),
        ("developer__write", ToolClass::Edit),
        ("developer__edit", ToolClass::Edit),
        ("developer__text_editor", ToolClass::Edit),
        ("shell", ToolClass::Shell),
        ("developer__shell", ToolClass::Shell),
        ("delegate", ToolClass::Agent),
        ("subagent", ToolClass::Agent),
        ("summon__delegate", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
