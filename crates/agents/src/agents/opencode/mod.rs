//! OpenCode: a plugin of ours that sends what the plugin interface gave it, with the name of the hook.
//!
//! The name is in `event`, or in `hook` while `event` is the event of the bus. Sub-agents have sessions of
//! their own, whose beginning names the parent. A project without a repository has `/` for its work tree.
//! `shell.env` is the only sign of a command that the user runs, and comes a second time for commands of
//! the agent.
//!
//! No hook is called when a tool failed or was refused; the bus then says so, which the plugin passes on as the end of
//! the call.

use std::path::PathBuf;

use serde_json::json;

use crate::agents::definition::{
    ARGUMENTS, Agent, CommandFiles, CommandForm, Definition, EVENT, EventKind, Field, FoundCommand,
    HookCommand, OwnFile, Places, Program, Rules, TOP, Target, ToolClass,
};
use crate::agents::plugin::{command_of, script};
use crate::payload::fields::{id, object, path, prompt};
use crate::reply::Reply;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    // The plugin makes a part of the message of it.
    replies: Some(|reply| match reply {
        Reply::Context(text) => json!({"context": text}),
        Reply::Stop(text) => json!({"stop": text}),
    }),
    commands: Some(commands(|places| (AGENT.sign)(places).join("commands"))),
    sign: |places| places.config().join("opencode"),
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("plugins/herma.js");
        let path = scope.choose(".opencode/plugins/herma.js", of_user);
        Ok(vec![Target::own(vec![path], PLUGIN)])
    },
    next_step: |_| Some("Restart OpenCode: plugins are read when it starts."),
    ..Definition::COMMON
};

pub(super) const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "session.created"),
        (EventKind::SessionEnd, "session.deleted dispose"),
        (EventKind::TurnStart, "chat.message"),
        (EventKind::TurnEnd, "session.idle"),
        (EventKind::BeforeTool, "tool.execute.before shell.env"),
        (EventKind::AfterTool, "tool.execute.after"),
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
    parent_session: &[("event.properties.info", "parentID"), (TOP, "parent_session_id")],
    turn: &[("output.message", "id"), ("input", "messageID")],
    prompt: &[("output.parts", "text")],
    call: &[("input", "callID")],
    tool: &[("input", "tool")],
    arguments: &["output.args", "input.args"],
    directory: &[(TOP, "directory")],
    roots: &[(TOP, "worktree"), (TOP, "directory")],
    tools: &[
        (
            ToolClass::Read,
            "read glob grep list webfetch websearch codesearch todowrite todoread question \
            lsp plan_enter plan_exit invalid",
        ),
        (ToolClass::Edit, "write edit multiedit patch apply_patch"),
        (ToolClass::Shell, "bash"),
        (ToolClass::Agent, "task skill"),
    ],
    known_by: |payload| {
        payload.has(("input", "sessionID")) || payload.has(("event.properties", "sessionID"))
    },
    fields: &[
        id("agent hook sessionID"),
        path("directory worktree"),
        object("input", "input", &INPUT),
        object("output", "output", &OUTPUT),
    ],
    ..Rules::COMMON
};

static INPUT: [Field; 4] = [
    id("tool sessionID callID messageID"),
    path("cwd"),
    object("args", "input.args", &ARGUMENTS),
    object("event", "event", &EVENT),
];

static OUTPUT: [Field; 3] = [
    object("args", "output.args", &ARGUMENTS),
    object("message", "output.message", &[id("id")]),
    object("parts", "output.parts", &[prompt("text")]),
];

/// The commands, of OpenCode or of a fork: `/undo`, `/redo` and `/timeline` it has itself.
pub(super) const fn commands(directory: fn(&Places) -> PathBuf) -> CommandFiles {
    CommandFiles { directory, form: CommandForm::Markdown, has_own: true, is_own: false }
}

/// The plugin, of OpenCode or of a fork.
pub(super) const fn plugin(
    body: fn(&HookCommand, &str) -> String,
    command_of: fn(&str) -> Option<FoundCommand>,
) -> OwnFile {
    OwnFile::Program(Program {
        head: "",
        comment: "//",
        mode: 0o644,
        event: "plugin",
        body,
        command_of,
    })
}

/// What the plugin does.
pub(super) const BODY: &str = include_str!("plugin.js");

const PLUGIN: OwnFile = plugin(
    |command, _| script(command, Agent::OpenCode, BODY),
    |text| command_of(text, Agent::OpenCode),
);
