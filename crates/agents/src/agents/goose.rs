//! Goose: a plugin directory with hooks in the form of Claude Code's.
//!
//! The start of sessions and turns comes without a directory. `PreToolUseResult`, `BeforeShellExecution`,
//! `AfterFileEdit` and `AfterShellExecution` repeat the tool event next to them, without its call id, so
//! they say nothing here.
//!
//! It is told by a plugin directory of our own.

use serde_json::Value as Data;

use super::definition::{
    Agent, Definition, Files, HooksJson, Question, Rules, Scope, TOP, Target, ToolClass, Verdict,
    read_json, server_tool,
};
use crate::payload::fields::{path, prompt, value};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    sign: |places| places.config().join("goose"),
    targets: |places, scope| {
        if *scope != Scope::User {
            return Err("its plugins are read from the user's home");
        }
        let plugin = places.home.join(".agents/plugins/herma");
        let manifest = plugin.join("plugin.json");
        Ok(Target::plugin(&plugin, HOOKS, manifest, MANIFEST))
    },
    next_step: |_| Some("Restart Goose: plugins are read when it starts."),
    user_settings: &[SETTINGS],
    judge,
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    event: &[(TOP, "event")],
    prompt: &[(TOP, "message")],
    directory: &[(TOP, "working_dir")],
    roots: &[(TOP, "working_dir")],
    class_by_shape: server_tool,
    tools: &[
        (
            ToolClass::Read,
            "tree read_image analyze developer__tree developer__read_image developer__analyze",
        ),
        (
            ToolClass::Edit,
            "write edit text_editor developer__write developer__edit developer__text_editor",
        ),
        (ToolClass::Shell, "shell developer__shell"),
        (ToolClass::Agent, "delegate subagent summon__delegate"),
    ],
    known_by: |payload| payload.has((TOP, "matcher_context")),
    fields: &[prompt("message"), path("working_dir"), value("matcher_context")],
    ..Rules::COMMON
};

const SETTINGS: &str = "settings.json";

const HOOKS: HooksJson = HooksJson::like_claude(Agent::Goose);

const MANIFEST: &str = "{\n  \"name\": \"herma\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Instant undo for AI agents\"\n}\n";

/// A plugin can be turned off by its name.
fn judge(question: &Question<'_>, files: &dyn Files) -> Verdict {
    let file = (AGENT.sign)(question.places).join(SETTINGS);
    let data = read_json(files, &file).ok().flatten();
    let names = data.as_ref().and_then(|data| data.get("disabledPlugins"));
    let mut names = names.and_then(Data::as_array).into_iter().flatten();
    if names.any(|name| name == "herma") {
        return Verdict::Off("disabledPlugins".to_owned());
    }
    Verdict::Fine
}
