//! The tools: what each is for, which command it is, what it takes, and what it changes.
//!
//! Agents see few of them, with words that are written for them. Programs that want everything
//! (`herma mcp --all-tools`) see the others, too, and more options of the same ones, in the words of the commands.

pub(crate) mod arguments;
pub(super) mod brief;
mod words;

use serde_json::{Value, json};

use self::Effect::{MovesFiles, Notes, Reads, Removes, Saves, Steps};
use self::arguments::{Arguments, command_of, property};
use super::hook;
use crate::command_error::{CommandError, Result};

/// A tool that is a command.
pub(crate) struct Tool {
    pub(super) name: &'static str,
    /// The command, with what is always said.
    pub(crate) command: &'static str,
    effect: Effect,
    /// The lists that come in pages.
    list: &'static [&'static str],
    /// One of these has to be said, or for programs one of the others: nothing is implied.
    one_of: Option<(&'static str, &'static str)>,
    /// What programs can say: options of the command.
    options: &'static str,
    /// `None`: only programs see it.
    for_agents: Option<ForAgents>,
}

/// A tool in words for agents.
struct ForAgents {
    title: &'static str,
    description: &'static str,
    /// What they can say.
    options: &'static str,
    required: &'static [&'static str],
    /// Puts an answer into words.
    text: fn(&Value) -> String,
}

/// What a tool changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// It may add a checkpoint.
    Saves,
    /// A step begins or ends.
    Steps,
    /// Files of the project.
    MovesFiles,
    /// It notes something nobody hears of.
    Notes,
    /// Something that was kept goes.
    Removes,
}

/// Which conversations are meant.
macro_rules! filters {
    () => {
        "source older_than newer_than before after title model min_messages max_messages"
    };
}

#[rustfmt::skip]
pub(crate) static TOOLS: [Tool; 27] = [
    tool("herma_timeline", "list", Reads, "agent until").with_list(&["checkpoints", "rows"]).for_agents(ForAgents {
        title: "List what happened",
        description: "Lists what happened in the project, newest first, 20 rows at once: prompts with their tool calls folded, edits by hand, saves, restores. Numbers never change; the other tools take them (of a prompt with several calls its `steps`, such as \"15-17\").",
        options: "limit offset session since paths",
        required: &[],
        text: words::timeline,
    }),
    tool("herma_show", "show", Reads, "").for_agents(ForAgents {
        title: "Show one change",
        description: "Shows one change: the prompt, the command, what was left out, and the patch. With a range such as \"15-17\": a prompt with all its calls.",
        options: "checkpoint patch max_bytes",
        required: &[],
        text: words::shown,
    }),
    tool("herma_diff", "diff", Reads, "agent session turn steps no_renames unified").with_list(&["changes"]).for_agents(ForAgents {
        title: "Show what is different",
        description: "Shows what is different since a checkpoint, or between two, as a patch. Without arguments: since the newest checkpoint.",
        options: "from to paths patch max_bytes limit offset",
        required: &[],
        text: words::compared,
    }),
    tool("herma_find", "find", Reads, "").with_list(&["found"]).for_agents(ForAgents {
        title: "Find files of all times",
        description: "Finds files and directories by a part of their name or a glob, deleted ones too: when they were there, which change removed them, and how to get them back.",
        options: "name gone paths since until limit offset",
        required: &["name"],
        text: words::found_names,
    }),
    tool("herma_grep", "grep", Reads, "prompts fixed").with_list(&["found"]).for_agents(ForAgents {
        title: "Search lines of all times",
        description: "Searches the lines of everything that was ever saved for a regular expression, newest first: where they were, from which change to which, who removed them. With `gone` only lines that are in no file now.",
        options: "regex gone ignore_case word paths since until limit offset",
        required: &["regex"],
        text: words::found_lines,
    }),
    tool("herma_undo", "undo", MovesFiles, "only_agent turn since").with_one_of("steps paths last_prompt", "session only_agent turn since").for_agents(ForAgents {
        title: "Undo",
        description: "Undoes changes and nothing else: `steps` by their numbers, the last change of `paths`, or with `last_prompt` the last prompt or restore that is not undone (with `session` of that conversation, with `step` only its last tool call, with `count` so many prompts at once). What a person edited stays. The present state is saved first; herma_redo redoes it, or after an undo of `steps` herma_undo with `last_prompt`.",
        options: "steps paths last_prompt count session step running yes conflicts dry_run",
        required: &[],
        text: words::undone,
    }),
    tool("herma_redo", "redo", MovesFiles, "").for_agents(ForAgents {
        title: "Redo",
        description: "Redoes what herma_undo undid last, unless it was of `steps`.",
        options: "dry_run",
        required: &[],
        text: words::redone,
    }),
    tool("herma_restore", "restore", MovesFiles, "with_transcript chat").for_agents(ForAgents {
        title: "Go back to a checkpoint",
        description: "Puts files back as they were at a checkpoint. What agents did since is undone, what a person edited is kept unless `all` is true; `paths` become as they were, whoever changed them. The present state is saved first; herma_undo with `last_prompt` undoes this.",
        options: "checkpoint paths keep all conflicts dry_run",
        required: &["checkpoint"],
        text: words::restored,
    }),
    tool("herma_save", "save", Saves, "agent session turn tool rehash fast wait").for_agents(ForAgents {
        title: "Save a checkpoint",
        description: "Saves the project as a checkpoint, to which herma_restore can go back. If nothing changed since the newest one, that one is named.",
        options: "reason name",
        required: &[],
        text: words::saved,
    }),
    tool("herma_status", "", Reads, ""),
    tool("herma_steps", "steps", Reads, "agent session turn since all").with_list(&["steps"]),
    tool("herma_step_begin", "step begin", Steps, "agent session turn tool call command prompt paths within"),
    tool("herma_step_end", "step end", Steps, "handle call unknown"),
    tool("herma_turn_begin", "turn begin", Notes, "session agent turn prompt"),
    tool("herma_turn_end", "turn end", Notes, "session"),
    tool("herma_notice", "notice", Notes, "session dry_run"),
    tool("herma_continue_restore", "restore --continue", MovesFiles, ""),
    tool("herma_slash", "slash", MovesFiles, "text platform session"),
    tool("herma_store_status", "checkpoints status", Reads, ""),
    tool("herma_prune", "checkpoints prune --force", Removes, "retention_days max_size_mb max_snapshots keep_orphans dry_run"),
    tool("herma_sessions_list", "sessions list", Reads, filters!()).with_list(&["sessions"]),
    tool("herma_sessions_show", "sessions show", Reads, "session").with_list(&["messages"]),
    tool("herma_sessions_search", "sessions search", Reads, concat!("words ", filters!())).with_list(&["found"]),
    tool("herma_sessions_stats", "sessions stats", Reads, ""),
    tool("herma_sessions_rename", "sessions rename", Notes, "session title"),
    tool("herma_sessions_delete", "sessions delete --yes", Removes, "session"),
    tool("herma_sessions_prune", "sessions prune --yes", Removes, concat!("reap reap_after orphan_files dry_run ", filters!())),
];

const fn tool(
    name: &'static str,
    command: &'static str,
    effect: Effect,
    options: &'static str,
) -> Tool {
    Tool { name, command, effect, list: &[], one_of: None, options, for_agents: None }
}

impl Tool {
    const fn with_list(mut self, names: &'static [&'static str]) -> Self {
        self.list = names;
        self
    }

    const fn with_one_of(mut self, agents: &'static str, programs: &'static str) -> Self {
        self.one_of = Some((agents, programs));
        self
    }

    const fn for_agents(mut self, words: ForAgents) -> Self {
        self.for_agents = Some(words);
        self
    }
}

/// The tool of this name, for those who may see all of them or only those for agents.
pub(super) fn find(name: &str, has_all: bool) -> Option<&'static Tool> {
    visible(has_all).find(|tool| tool.name == name)
}

/// The tools, as `tools/list` has them.
pub(super) fn list(has_all: bool) -> Vec<Value> {
    let tools = visible(has_all).map(|tool| tool.describe(has_all));
    tools.chain(std::iter::once(hook::describe())).collect()
}

fn visible(has_all: bool) -> impl Iterator<Item = &'static Tool> {
    let tools = TOOLS.iter();
    tools.filter(move |tool| has_all || tool.for_agents.is_some())
}

impl Tool {
    /// Is it about the whole store, and not about a project?
    pub(super) fn is_of_store(&self) -> bool {
        self.command.starts_with("checkpoints ") || self.command.starts_with("sessions ")
    }

    /// What it takes.
    pub(crate) fn properties(&self, has_all: bool) -> Arguments {
        let mut words = Vec::new();
        words.extend(self.for_agents.as_ref().map(|words| words.options));
        if has_all {
            words.push(self.options);
            words.extend(self.list.first().map(|_| "limit offset"));
        }
        if !self.is_of_store() {
            words.push(if has_all { "root directory" } else { "root" });
        }
        let command = command_of(self.command);
        let names = words.iter().flat_map(|words| words.split_whitespace());
        names.filter_map(|name| Some((name.to_owned(), property(command, name)?))).collect()
    }

    fn describe(&self, has_all: bool) -> Value {
        let help = command_of(self.command).get_about();
        let help = help.map(ToString::to_string).unwrap_or_default();
        let words = self.for_agents.as_ref();
        let title = words.map_or(self.name, |words| words.title);
        // Programs may choose by other things than a checkpoint.
        let required = words.filter(|_| !has_all).map(|words| words.required);
        let mut described = json!({
            "name": self.name,
            "title": title,
            "description": words.map_or(&*help, |words| words.description),
            "inputSchema": {
                "type": "object",
                "properties": self.properties(has_all),
                "required": required.unwrap_or_default(),
                "additionalProperties": false,
            },
            "annotations": {
                "title": title,
                "readOnlyHint": self.effect == Reads,
                "destructiveHint": matches!(self.effect, MovesFiles | Removes),
                "idempotentHint": self.effect == Reads,
                "openWorldHint": false,
            },
        });
        if has_all {
            described["outputSchema"] = json!({
                "type": "object",
                "properties": {"schema": {"type": "string"}},
                "required": ["schema"],
            });
        }
        described
    }

    /// Refuses arguments that leave open what is meant.
    pub(super) fn check_said(&self, arguments: &Arguments, has_all: bool) -> Result<()> {
        let Some((one_of, more)) = self.one_of else { return Ok(()) };
        let is_said = |name: &str| {
            arguments
                .get(name)
                .is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
        };
        let more = if has_all { more } else { "" };
        if one_of.split_whitespace().chain(more.split_whitespace()).any(is_said) {
            return Ok(());
        }
        let names: Vec<&str> = one_of.split_whitespace().collect();
        Err(CommandError::usage(format!(
            "nothing says what is meant: give `{}`",
            names.join("`, `")
        ))
        .with_state("Nothing was changed.")
        .with_hint("`last_prompt: true` is the last prompt that is not undone."))
    }

    /// Was what was asked for not done, or not all of it? What only looks has looked, whatever it found.
    pub(super) fn is_refused(&self, answer: &Value) -> bool {
        let changes = matches!(self.effect, Saves | MovesFiles);
        changes && answer["dry_run"] != true && answer["outcome"] != "done"
    }

    /// The lists that come in pages: an agent gets no checkpoints beside the rows they are folded into.
    pub(super) fn lists(&self, has_all: bool) -> &'static [&'static str] {
        match self.list {
            [.., "rows"] if !has_all => &["rows"],
            list => list,
        }
    }

    /// Does the patch come with the answer unless it is declined?
    pub(super) fn has_patch(&self, has_all: bool) -> bool {
        self.command == "diff" || self.command == "show" && !has_all
    }

    /// An answer in words, for tools that agents see.
    pub(super) fn text(&self, answer: &Value) -> Option<String> {
        let words = self.for_agents.as_ref();
        words.map(|words| (words.text)(answer))
    }

    /// The kinds of resources that have changed, now that this was answered.
    pub(super) fn changed(&self, answer: &Value) -> &'static [&'static str] {
        let is_new = answer["is_new"] == true && answer["checkpoint"].is_object();
        match self.effect {
            Saves if is_new => &["checkpoints", "status"],
            Steps if !is_new => &["steps", "status"],
            MovesFiles if !answer["written"].is_u64() => &[],
            Removes if answer["dry_run"] == true => &[],
            Steps | MovesFiles | Removes => &["checkpoints", "steps", "status"],
            Saves | Reads | Notes => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_change_files_are_called_destructive() {
        for tool in list(false) {
            let name = tool["name"].as_str().unwrap();
            let hints = &tool["annotations"];
            let changes = matches!(name, "herma_restore" | "herma_undo" | "herma_redo");
            assert_eq!(hints["destructiveHint"], changes, "{name}");
            let reads = matches!(
                name,
                "herma_timeline" | "herma_diff" | "herma_show" | "herma_find" | "herma_grep"
            );
            assert_eq!(hints["readOnlyHint"], reads, "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        }
    }

    #[test]
    fn every_tool_is_a_command_with_the_options_it_says() {
        for tool in &TOOLS {
            let mut words = tool.command.split(' ');
            let name = words.rfind(|word| !word.starts_with('-'));
            let (name, command) = (name.unwrap(), command_of(tool.command));
            assert!(name.is_empty() || command.get_name() == name, "{}", tool.name);
            let for_agents = tool.for_agents.as_ref().map(|words| words.options);
            let all = [tool.options, for_agents.unwrap_or_default()];
            for option in all.iter().flat_map(|words| words.split_whitespace()) {
                let schema = property(command, option);
                let schema = schema.unwrap_or_else(|| panic!("{}: {option}", tool.name));
                assert_ne!(schema["description"], "", "{}: {option}", tool.name);
            }
        }
    }
}
