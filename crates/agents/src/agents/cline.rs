//! Cline: an executable per event. The command line calls the events `tool_call` and the like, the editor
//! extension by the names of the files.
//!
//! A task goes on over many prompts and `iteration` counts requests to the model, so neither is a turn:
//! there is no turn id. The agent has an id always; only the agent of an agent has a parent.
//!
//! It is told by an executable file per event, named after it. A directory holds one file of each name, but the same
//! name with another ending runs as well: where the user has a `PreToolUse` of their own, ours is `PreToolUse.sh`.
//!
//! The command line reads `~/.cline/hooks` and `~/Documents/Cline/Hooks`, the editor extension only the second. The
//! second is used where there is a `~/Documents/Cline`, which the extension makes; since the command line reads it too,
//! one place is enough, and each place is looked at for what was installed before.

use super::definition::{
    ARGUMENTS, Agent, Definition, EventKind, Field, HookCommand, OwnFile, Places, Program, Rules,
    Scope, TOP, Target, ToolClass, server_tool,
};
use crate::payload::fields::{id, object, path, prompt, value};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.variable_or("CLINE_DIR", ".cline"),
    place_variables: &["CLINE_DIR"],
    targets: |places, scope| Ok(targets(places, scope)),
    next_step: |_| {
        Some(
            "In the editor extension, turn on hooks in Cline's settings; the command line needs nothing.",
        )
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "session_start"),
        (EventKind::SessionEnd, "session_end session_shutdown"),
        (
            EventKind::TurnStart,
            "agent_start agent_resume prompt_submit TaskStart TaskResume UserPromptSubmit",
        ),
        (EventKind::TurnEnd, "agent_end agent_abort agent_error TaskComplete TaskCancel TaskError"),
        (EventKind::BeforeTool, "tool_call PreToolUse"),
        (EventKind::AfterTool, "tool_result PostToolUse"),
    ],
    event: &[(TOP, "hookName")],
    session: &[("sessionContext", "rootSessionId"), (TOP, "taskId")],
    sub_agent_if: Some((TOP, "parent_agent_id")),
    prompt: &[("userPromptSubmit", "prompt"), ("taskMetadata", "task")],
    call: &[("tool_call", "id")],
    duration: &[("tool_call", "durationMs"), ("toolUse", "executionTimeMs")],
    tool: &[("tool_call", "name"), ("toolUse", "toolName"), ("toolUse", "tool")],
    arguments: &["tool_call.input", "toolUse.parameters"],
    directory: &[(TOP, "workspaceRoots")],
    roots: &[(TOP, "workspaceRoots")],
    class_by_shape: server_tool,
    tools: &[
        (
            ToolClass::Read,
            "read_files read_file list_files search_codebase search_files \
            list_code_definition_names fetch_web_content web_fetch web_search ask_question \
            ask_followup_question submit_and_exit plan_mode_respond act_mode_respond \
            access_mcp_resource load_mcp_documentation condense summarize_task",
        ),
        (ToolClass::Edit, "editor apply_patch write_to_file replace_in_file delete_file new_rule"),
        (ToolClass::Shell, "run_commands execute_command bash"),
        (ToolClass::Agent, "spawn_agent use_subagents new_task use_skill skills"),
        (ToolClass::Mcp, "use_mcp_tool"),
    ],
    known_by: |payload| payload.has((TOP, "clineVersion")),
    fields: &[
        id("hookName taskId parent_agent_id"),
        object("sessionContext", "sessionContext", &[id("rootSessionId")]),
        path("workspaceRoots"),
        object("userPromptSubmit", "userPromptSubmit", &[prompt("prompt")]),
        object("taskStart", "taskStart", &TASK),
        object("taskResume", "taskResume", &TASK),
        object("tool_call", "tool_call", &CALL),
        object("tool_result", "tool_call", &CALL),
        object("preToolUse", "toolUse", &TOOL_USE),
        object("postToolUse", "toolUse", &TOOL_USE),
        value("clineVersion"),
    ],
    ..Rules::COMMON
};

static TASK: [Field; 1] = [object("taskMetadata", "taskMetadata", &[prompt("task")])];

static CALL: [Field; 3] =
    [id("id name"), value("durationMs"), object("input", "tool_call.input", &ARGUMENTS)];

static TOOL_USE: [Field; 3] = [
    id("toolName tool"),
    value("executionTimeMs"),
    object("parameters", "toolUse.parameters", &ARGUMENTS),
];

/// `UserPromptSubmit` and the `Task` events tell of turns; none of them holds the agent up.
const EVENTS: [&str; 7] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
    // The one that counts is written last.
    "PreToolUse",
];

fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let mut directories = match scope {
        Scope::Project(root) => vec![root.join(".clinerules/hooks")],
        Scope::User => {
            vec![(AGENT.sign)(places).join("hooks"), places.home.join("Documents/Cline/Hooks")]
        }
    };
    if places.has_cline_documents {
        directories.reverse();
    }
    let target = |event: &'static str| {
        let paths = directories
            .iter()
            .flat_map(|directory| [directory.join(event), directory.join(format!("{event}.sh"))]);
        let script = Program { event, ..SCRIPT };
        Target::own(paths.collect(), OwnFile::Program(script))
    };
    EVENTS.map(target).into()
}

const SCRIPT: Program = Program {
    head: "#!/bin/sh\n",
    comment: "#",
    mode: 0o755,
    event: "",
    body: |command, event| command.line(Agent::Cline, Some(event)) + "\n",
    command_of: |text| {
        HookCommand::recognise(text.lines().nth(2).unwrap_or_default(), Agent::Cline)
    },
};
