//! Qwen Code: a fork of Gemini CLI with the event names of Claude Code.
//!
//! It tells of a prompt before every request to the model, each time with the same prompt id and only the
//! first time with the text: whoever counts turns must go by the id.

use crate::event::ToolClass;
use crate::payload::fields::TOP;
use crate::rules::Rules;

pub(super) const RULES: Rules = Rules {
    turn: &[(TOP, "prompt_id")],
    root_variables: &["QWEN_PROJECT_DIR"],
    tools: &[
        ("read_file", ToolClass::Read),
        ("read_many_files", ToolClass::Read),
        ("list_directory", ToolClass::Read),
        ("glob", ToolClass::Read),
        ("grep_search", ToolClass::Read),
        ("search_file_content", ToolClass::Read),
        ("web_fetch", ToolClass::Read),
        ("web_search", ToolClass::Read),
        ("todo_write", ToolClass::Read),
        ("ask_user_question", ToolClass::Read),
        ("exit_plan_mode", ToolClass::Read),
        ("lsp", ToolClass::Read),
        ("task_output", ToolClass::Read),
        ("write_file", ToolClass::Edit),
        ("edit", ToolClass::Edit),
        ("replace", ToolClass::Edit),
        ("notebook_edit", ToolClass::Edit),
        ("run_shell_command", ToolClass::Shell),
        ("task", ToolClass::Agent),
        ("agent", ToolClass::Agent),
        ("skill", ToolClass::Agent),
    ],
    ..Rules::COMMON
};
