//! Gemini CLI: a command hook. It has neither turn nor call ids.
//!
//! The model and compression events come with every request and say nothing here. Sub-agents are tools with
//! any name, so they count as unknown.
//!
//! It is told by an extension of our own, so that the user's settings need no edit. Its matchers are JavaScript
//! expressions on the tool's name, so tools that are known to look only are left out; everything else, also what is
//! unknown or new, is told. Timeouts are in milliseconds.

mod trust;

use crate::agents::definition::{
    Agent, CommandFiles, CommandForm, Definition, EventKind, HooksJson, InTurn, Rules, Scope,
    Target, ToolClass, like_claude,
};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    in_turn: InTurn::Everything,
    commands: Some(CommandFiles {
        directory: |places| (AGENT.sign)(places).join("extensions/herma/commands"),
        form: CommandForm::Toml,
        has_own: false,
        is_own: true,
    }),
    replies: Some(|reply| like_claude("BeforeAgent", reply)),
    sign: |places| {
        let home = places.variable_or("GEMINI_CLI_HOME", "");
        home.join(".gemini")
    },
    place_variables: &["GEMINI_CLI_HOME", trust::MOVED_FOLDERS],
    targets: |places, scope| {
        if *scope != Scope::User {
            return Err(
                "its extensions belong to the user, and it asks about hooks of a project at every change",
            );
        }
        let extension = (AGENT.sign)(places).join("extensions/herma");
        let manifest = extension.join("gemini-extension.json");
        Ok(Target::plugin(&extension, HOOKS, manifest, MANIFEST))
    },
    next_step: |_| {
        Some(
            "Restart Gemini CLI. In folders that are not trusted it may ignore hooks: `/permissions` trusts one.",
        )
    },
    user_settings: &["settings.json"],
    project_settings: &[".gemini/settings.json"],
    judge: |question, files| trust::judge(&(AGENT.sign)(question.places), question, files),
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    events: &[
        (EventKind::SessionStart, "SessionStart"),
        (EventKind::SessionEnd, "SessionEnd"),
        (EventKind::TurnStart, "BeforeAgent"),
        (EventKind::TurnEnd, "AfterAgent"),
        (EventKind::BeforeTool, "BeforeTool"),
        (EventKind::AfterTool, "AfterTool"),
    ],
    session_variable: Some("GEMINI_SESSION_ID"),
    root_variables: &["GEMINI_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "read_file read_many_files list_directory glob search_file_content grep_search \
            google_web_search web_fetch ask_user get_internal_docs write_todos \
            enter_plan_mode exit_plan_mode list_mcp_resources read_mcp_resource",
        ),
        (ToolClass::Edit, "write_file replace"),
        (ToolClass::Shell, "run_shell_command"),
        (
            ToolClass::Agent,
            "invoke_agent delegate_to_agent codebase_investigator generalist cli_help \
            browser_agent activate_skill",
        ),
    ],
    ..Rules::COMMON
};

const CHANGES_FILES: Option<&str> = Some(
    "^(?!(?:read_file|read_many_files|list_directory|glob|grep_search|search_file_content|google_web_search|web_fetch|get_internal_docs)$)",
);

const HOOKS: HooksJson = HooksJson {
    events: "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd",
    timeout: |_| 20_000,
    matcher: |event| CHANGES_FILES.filter(|_| event.ends_with("Tool")),
    ..HooksJson::like_claude(Agent::Gemini)
};

const MANIFEST: &str = "{\n  \"name\": \"herma\",\n  \"version\": \"1.0.0\"\n}\n";
