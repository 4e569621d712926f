//! Claude Code: a command hook with the payload on standard input.
//!
//! `cwd` follows the agent's `cd`; the project is in a variable. `PostToolBatch` repeats what `PostToolUse`
//! said, and `PermissionRequest` may come after the change, so neither says anything here. When a
//! task in the background is over, Claude Code prompts itself, mostly with a prompt id of its own; the last turn that
//! somebody began goes on with that.
//!
//! It is told in the `hooks` of `settings.json`. There is no matcher: Claude Code compares some patterns with names
//! and others as expressions, adds older names of tools to both, and treats negations in a way of its own. A hook that
//! sees every tool misses none.
//!
//! Per project it is `settings.local.json`, which is the user's own and not shared: the command line holds a path of
//! this machine. Copilot CLI also runs the hooks of a project's `settings.json`, Cursor those of the user's; both call
//! with their own payloads, which are told apart.

use serde_json::json;

use super::definition::{
    Agent, CommandFiles, CommandForm, Definition, HooksJson, InTurn, Rules, TOP, ToolClass,
    like_claude,
};
use crate::payload::MAX_PROMPT_BYTES;
use crate::reply::Reply;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    in_turn: InTurn::Everything,
    commands: Some(CommandFiles {
        directory: |places| (AGENT.sign)(places).join("commands"),
        form: CommandForm::Markdown,
        // `/undo` is another name of `/rewind`.
        has_own: true,
        is_own: false,
    }),
    replies: Some(|reply| {
        let mut said = like_claude("UserPromptSubmit", reply);
        if let Reply::Stop(_) = reply {
            // Who typed it need not read it again.
            said["hookSpecificOutput"] =
                json!({"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": true});
        }
        said
    }),
    sign: |places| places.variable_or("CLAUDE_CONFIG_DIR", ".claude"),
    place_variables: &["CLAUDE_CONFIG_DIR"],
    targets: |places, scope| {
        Ok(AGENT.shared(places, scope, ".claude/settings.local.json", "settings.json", &HOOKS))
    },
    is_private_in_project: true,
    user_settings: &["settings.json"],
    project_settings: &[".claude/settings.json", ".claude/settings.local.json"],
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    is_untyped: is_notification,
    turn: &[(TOP, "prompt_id"), ("params.arguments", "prompt")],
    duration: &[(TOP, "duration_ms")],
    root_variables: &["CLAUDE_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "Read NotebookRead Glob Grep LS WebFetch WebSearch TodoRead TodoWrite TaskCreate \
            TaskGet TaskList TaskUpdate BashOutput TaskOutput ToolSearch AskUserQuestion \
            EnterPlanMode ExitPlanMode ListMcpResourcesTool ReadMcpResourceTool",
        ),
        (ToolClass::Edit, "Write Edit MultiEdit NotebookEdit"),
        (ToolClass::Shell, "Bash PowerShell"),
        (ToolClass::Agent, "Agent Task Workflow Skill"),
    ],
    ..Rules::COMMON
};

/// What Claude Code tells itself when a task in the background is over: nothing but that. What somebody typed behind it is
/// a prompt, unless it is so long that its end is not kept.
fn is_notification(prompt: &str) -> bool {
    let is_cut = prompt.len() > MAX_PROMPT_BYTES - 4;
    prompt.starts_with("<task-notification>\n<task-id>")
        && (is_cut || prompt.trim_end().ends_with("</task-notification>"))
}

pub(super) static HOOKS: HooksJson = HooksJson::like_claude(Agent::Claude);
