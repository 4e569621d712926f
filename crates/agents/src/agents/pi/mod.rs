//! Pi: an extension of ours that sends what the extension interface gave it, in a form of ours.
//!
//! The calls of one message are all announced before the first of them runs, and then run at once. Pi has no
//! sub-agents; extensions that bring some start it anew, with a session of its own.

use crate::agents::definition::{
    Agent, Definition, EventKind, OwnFile, Program, Rules, TOP, Target, ToolClass,
};
use crate::agents::plugin::{command_of, script};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.variable_or("PI_CODING_AGENT_DIR", ".pi/agent"),
    place_variables: &["PI_CODING_AGENT_DIR"],
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("extensions/herma.js");
        let path = scope.choose(".pi/extensions/herma.js", of_user);
        Ok(vec![Target::own(vec![path], OwnFile::Program(EXTENSION))])
    },
    next_step: |in_project| {
        Some(if in_project {
            "Restart Pi, and trust the project there: extensions are read when it starts."
        } else {
            "Restart Pi: extensions are read when it starts."
        })
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "session_start"),
        (EventKind::SessionEnd, "session_shutdown"),
        (EventKind::TurnStart, "before_agent_start"),
        (EventKind::TurnEnd, "agent_settled"),
        (EventKind::BeforeTool, "tool_call"),
        (EventKind::AfterTool, "tool_execution_end"),
    ],
    event: &[(TOP, "event")],
    // Pi has no `cd`: it is the project, always.
    roots: &[(TOP, "cwd")],
    tools: &[
        (ToolClass::Read, "read grep find ls"),
        (ToolClass::Edit, "write edit"),
        (ToolClass::Shell, "bash powershell"),
    ],
    known_by: |payload| payload.text((TOP, "agent")) == Some("pi"),
    ..Rules::COMMON
};

const EXTENSION: Program = Program {
    head: "",
    comment: "//",
    mode: 0o644,
    event: "extension",
    body: |command, _| script(command, Agent::Pi, include_str!("extension.js")),
    command_of: |text| command_of(text, Agent::Pi),
};
