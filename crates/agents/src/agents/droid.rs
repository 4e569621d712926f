//! Droid: a command hook in the form of Claude Code's.
//!
//! Calls have no ids, and nothing is told of the end of one that failed, a command's exit status included. One call
//! runs after the other. Sub-agents have sessions of their own, whose beginning names the session that called them,
//! and go on in the background. Without a terminal nothing is told of the beginning of a turn.
//!
//! It is told in the `hooks` of `settings.json`. Once the user has edited hooks within Droid, they are in `hooks.json`,
//! and of an event that is in both only what is there counts.

use serde_json::Value as Data;

use super::definition::{
    Agent, Definition, Dialect, Files, HooksJson, InTurn, Question, Rules, TOP, ToolClass, Verdict,
    read_json, server_tool,
};
use crate::install::HookCommand;
use crate::payload::fields::id;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    in_turn: InTurn::Everything,
    sign: |places| places.variable_or("FACTORY_HOME_OVERRIDE", "").join(".factory"),
    place_variables: &["FACTORY_HOME_OVERRIDE"],
    targets: |places, scope| {
        Ok(AGENT.shared(places, scope, ".factory/settings.json", SETTINGS, &HOOKS))
    },
    user_settings: &[SETTINGS, MOVED],
    judge,
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    parent_session: &[(TOP, "calling_session_id")],
    root_variables: &["FACTORY_PROJECT_DIR"],
    class_by_shape: server_tool,
    tools: &[
        (
            ToolClass::Read,
            "Read LS Grep Glob FetchUrl WebSearch TodoWrite TaskOutput ToolSearch AskUser \
            ExitSpecMode ViewImage",
        ),
        (ToolClass::Edit, "Create Edit MultiEdit ApplyPatch"),
        (ToolClass::Shell, "Execute"),
        (ToolClass::Agent, "Task Skill"),
    ],
    fields: &[id("calling_session_id")],
    ..Rules::COMMON
};

const SETTINGS: &str = "settings.json";
const MOVED: &str = "hooks.json";

static HOOKS: HooksJson = HooksJson {
    dialect: Dialect::Comments,
    events: "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd",
    ..HooksJson::like_claude(Agent::Droid)
};

/// Hooks that were moved count before those of the settings.
fn judge(question: &Question<'_>, files: &dyn Files) -> Verdict {
    let file = (AGENT.sign)(question.places).join(MOVED);
    let moved = read_json(files, &file).ok().flatten();
    let before_tools =
        moved.as_ref().and_then(|data| data.get("hooks").unwrap_or(data).get("PreToolUse"));
    match before_tools {
        Some(hooks) if !has_ours(hooks) => Verdict::Off(MOVED.to_owned()),
        _ => Verdict::Fine,
    }
}

fn has_ours(hooks: &Data) -> bool {
    let mut groups = hooks.as_array().into_iter().flatten();
    groups.any(|group| {
        let mut hooks = group.get("hooks").and_then(Data::as_array).into_iter().flatten();
        hooks.any(|hook| {
            let line = hook.get("command").and_then(Data::as_str);
            line.is_some_and(|line| HookCommand::recognise(line, Agent::Droid).is_some())
        })
    })
}
