//! Qwen Code: a fork of Gemini CLI with the event names of Claude Code.
//!
//! It tells of a prompt before every request to the model, each time with the same prompt id and only the
//! first time with the text: whoever counts turns must go by the id.
//!
//! It is told in the `hooks` of `settings.json`, which may hold comments. Timeouts: the code of Qwen 0.24.4 reads
//! numbers below 1000 as seconds and others as milliseconds, "their old meaning". When it was run, `1` and `1000` were
//! both cut at one second, and with `20000` a slow hook was cut after twenty (docs/AGENTS.md, "When Herma itself
//! fails"). How other versions read it was not tried. One that knows milliseconds only would cut `20` at once, and then
//! nothing is saved; one that knows seconds only would wait too long with `20000`, but Herma answers within five. So it
//! is `20000`.

use super::definition::{
    Agent, CommandFiles, CommandForm, Definition, Dialect, HooksJson, InTurn, Rules, TOP,
    ToolClass, like_claude,
};

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    in_turn: InTurn::Everything,
    commands: Some(CommandFiles {
        directory: |places| (AGENT.sign)(places).join("commands"),
        form: CommandForm::Toml,
        // `/rollback` is another name of `/rewind`.
        has_own: true,
        is_own: false,
    }),
    replies: Some(|reply| like_claude("UserPromptSubmit", reply)),
    sign: |places| places.home.join(".qwen"),
    targets: |places, scope| {
        Ok(AGENT.shared(places, scope, ".qwen/settings.json", "settings.json", &HOOKS))
    },
    user_settings: &["settings.json"],
    project_settings: &[".qwen/settings.json"],
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    turn: &[(TOP, "prompt_id")],
    duration: &[(TOP, "duration_ms")],
    root_variables: &["QWEN_PROJECT_DIR"],
    tools: &[
        (
            ToolClass::Read,
            "read_file read_many_files list_directory glob grep_search search_file_content \
            web_fetch web_search todo_write ask_user_question exit_plan_mode lsp task_output",
        ),
        (ToolClass::Edit, "write_file edit replace notebook_edit"),
        (ToolClass::Shell, "run_shell_command"),
        (ToolClass::Agent, "task agent skill"),
    ],
    known_by: |payload| {
        let id = payload.text((TOP, "prompt_id"));
        id.is_some_and(|id| id.contains("########"))
    },
    ..Rules::COMMON
};

static HOOKS: HooksJson = HooksJson {
    dialect: Dialect::Comments,
    timeout: |_| 20_000,
    ..HooksJson::like_claude(Agent::Qwen)
};
