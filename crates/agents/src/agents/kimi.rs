//! Kimi Code: a command hook.
//!
//! The calls of one message are all announced before the first of them runs. It does not wait for what comes after a
//! tool. What sub-agents do carries the session of the conversation and nothing of their own; turns have numbers,
//! which sub-agents count anew, so they are no ids.
//!
//! It is told in the `hooks` of `config.toml`, which it refuses if a hook has a field it does not know.

use super::definition::{Agent, Definition, EventKind, Rules, Scope, TOP, Target, ToolClass};
use crate::install::hooks_toml::HooksToml;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.variable_or("KIMI_CODE_HOME", ".kimi-code"),
    place_variables: &["KIMI_CODE_HOME"],
    targets: |places, scope| {
        if *scope != Scope::User {
            return Err("it has one configuration, in its home");
        }
        Ok(vec![Target::shared((AGENT.sign)(places).join("config.toml"), HOOKS)])
    },
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "SessionStart"),
        (EventKind::SessionEnd, "SessionEnd"),
        (EventKind::TurnStart, "UserPromptSubmit"),
        (EventKind::TurnEnd, "Stop StopFailure Interrupt"),
        (EventKind::BeforeTool, "PreToolUse"),
        (EventKind::AfterTool, "PostToolUse PostToolUseFailure"),
    ],
    // It has no `cd`.
    roots: &[(TOP, "cwd")],
    tools: &[
        (
            ToolClass::Read,
            "Read ReadMediaFile Glob Grep FetchURL WebSearch TodoList TaskList TaskOutput WaitFor \
            AskUserQuestion CronList GetGoal SetGoalBudget UpdateGoal EnterPlanMode ExitPlanMode",
        ),
        (ToolClass::Edit, "Write Edit"),
        (ToolClass::Shell, "Bash"),
        (ToolClass::Agent, "Agent AgentSwarm Skill CreateGoal"),
    ],
    ..Rules::COMMON
};

const HOOKS: HooksToml = HooksToml {
    agent: Agent::Kimi,
    event: "event",
    events: "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop StopFailure \
             Interrupt SessionEnd",
    has_names: false,
};
