//! The agents, one file or folder for each: how its payloads are read, how it is told to call Herma, and what else
//! is particular about it. A new one is a file here, a row in this table, and a name in [`agent`](crate::agent).

mod claude;
mod cline;
mod codex;
mod command_file;
mod copilot;
mod crush;
mod cursor;
mod definition;
mod droid;
mod gemini;
mod goose;
mod grok;
pub(crate) mod hermes;
mod kilo;
mod kimi;
mod opencode;
mod pi;
mod plugin;
mod qwen;
mod vibe;

pub use plugin::packages;

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value as Data;

use crate::agent::Agent;
use crate::agents::definition::InTurn;
use crate::event::ToolClass;
use crate::install::switches::{Files, Question, Verdict, read_json};
use crate::install::{NoProjectLevel, Places, Scope, Target};
use crate::payload::fields;
use crate::payload::fields::Field;
use crate::reply::Form;
use crate::rules::Rules;

/// Agents whose payloads are known wherever they are sent, the surest first.
pub(crate) const KNOWN_BY_PAYLOAD: [Agent; 10] = [
    Agent::Kilo,
    Agent::Pi,
    Agent::Grok,
    Agent::Cursor,
    Agent::Cline,
    Agent::Goose,
    Agent::Codex,
    Agent::Copilot,
    Agent::OpenCode,
    Agent::Qwen,
];

/// The fields that are kept of a payload: which agent it is shows only at the end.
pub(crate) static FIELDS: LazyLock<Field> = LazyLock::new(|| {
    let own = Agent::ALL.map(|agent| agent.rules().fields);
    fields::outermost(own.concat())
});

impl Agent {
    const fn definition(self) -> &'static definition::Definition {
        match self {
            Self::Claude => &claude::AGENT,
            Self::Codex => &codex::AGENT,
            Self::Gemini => &gemini::AGENT,
            Self::OpenCode => &opencode::AGENT,
            Self::Copilot => &copilot::AGENT,
            Self::Cline => &cline::AGENT,
            Self::Goose => &goose::AGENT,
            Self::Qwen => &qwen::AGENT,
            Self::Cursor => &cursor::AGENT,
            Self::Crush => &crush::AGENT,
            Self::Hermes => &hermes::AGENT,
            Self::Kilo => &kilo::AGENT,
            Self::Pi => &pi::AGENT,
            Self::Vibe => &vibe::AGENT,
            Self::Kimi => &kimi::AGENT,
            Self::Droid => &droid::AGENT,
            Self::Grok => &grok::AGENT,
        }
    }

    /// How its payloads are read.
    pub(crate) const fn rules(self) -> &'static Rules {
        &self.definition().rules
    }

    /// How it wants a prompt answered, if it listens.
    pub(crate) const fn form_of_replies(self) -> Option<Form> {
        self.definition().replies
    }

    /// What kind of tool it means by this name.
    pub fn class_of(self, tool: &str) -> ToolClass {
        self.rules().class(tool)
    }

    /// Does it tell when a tool has run?
    pub const fn tells_ends(self) -> bool {
        self.definition().tells_ends
    }

    /// Of the calls of one conversation that edit files or run commands, is the next one announced only when one of this tool
    /// is over? A sub-agent's calls are a conversation of their own, whether it has a session or only an id; calls that
    /// let another agent work may overlap, as may commands that the agent takes for harmless; and what a call left
    /// running in the background goes on.
    pub fn runs_in_turn(self, tool: &str) -> bool {
        match self.definition().in_turn {
            InTurn::Nothing => false,
            InTurn::Edits => self.class_of(tool) == ToolClass::Edit,
            InTurn::Everything => true,
        }
    }

    /// Do its sub-agents have sessions of their own, in the same process, that do not name their parent?
    pub const fn has_nameless_sub_agents(self) -> bool {
        self.definition().has_nameless_sub_agents
    }

    /// What is there if the user has it: mostly its directory of settings.
    pub fn sign(self, places: &Places) -> PathBuf {
        (self.definition().sign)(places)
    }

    /// The files by which it is told, in the order in which they are written. The last one makes the others count,
    /// and is the first to be removed.
    pub fn targets(self, places: &Places, scope: &Scope) -> Result<Vec<Target>, NoProjectLevel> {
        let targets = (self.definition().targets)(places, scope);
        targets.map_err(|why| NoProjectLevel { agent: self, why })
    }

    /// The files that make our commands known to it, which belong to the user.
    pub fn command_files(self, places: &Places, scope: &Scope) -> Vec<Target> {
        let files = self.definition().commands.as_ref().filter(|_| *scope == Scope::User);
        files.map(|files| files.targets(places)).unwrap_or_default()
    }

    /// Is its file of a project the user's own, which nobody commits?
    pub const fn is_private_in_project(self) -> bool {
        self.definition().is_private_in_project
    }

    /// What is left for the user to do after installing.
    pub fn next_step(self, in_project: bool) -> Option<&'static str> {
        (self.definition().next_step)(in_project)
    }
}

/// What an agent's other files say about our hooks.
pub fn judge(question: &Question<'_>, files: &dyn Files) -> Verdict {
    let definition = question.agent.definition();
    let sign = question.agent.sign(question.places);
    let of_user = definition.user_settings.iter().map(|name| sign.join(name));
    let of_project = definition.project_settings.iter();
    let of_project = of_project.map(|name| question.directory.join(name));
    for path in of_user.chain(of_project) {
        // A broken file of settings keeps the agent itself from starting, and says nothing about us.
        let data = read_json(files, &path).ok().flatten();
        if let Some(setting) = data.and_then(|data| turned_off(&data)) {
            return Verdict::Off(setting.to_owned());
        }
    }
    (definition.judge)(question, files)
}

/// The setting that turns all hooks off.
fn turned_off(data: &Data) -> Option<&'static str> {
    let is = |path: &str, value: bool| data.pointer(path).and_then(Data::as_bool) == Some(value);
    if is("/disableAllHooks", true) {
        Some("disableAllHooks")
    } else if is("/hooksConfig/enabled", false) {
        Some("hooksConfig.enabled")
    } else {
        None
    }
}

/// The variables that agents tell things in. No others are looked at: the environment of an agent holds secrets.
pub fn variables() -> impl Iterator<Item = &'static str> {
    Agent::ALL.into_iter().flat_map(|agent| {
        let rules = agent.rules();
        let own = rules.root_variables.iter().chain(&rules.session_variable);
        own.chain(rules.variables).copied()
    })
}

/// The variables by which users move where agents keep their settings. The caller reads them.
pub fn place_variables() -> impl Iterator<Item = &'static str> {
    let own = |agent: Agent| agent.definition().place_variables;
    let own = Agent::ALL.into_iter().flat_map(own).copied();
    own.chain(["XDG_CONFIG_HOME"])
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::rules;

    #[test]
    fn calls_run_in_turn_only_where_that_was_seen() {
        let in_turn = |tool: &str| -> Vec<_> {
            Agent::ALL.into_iter().filter(|agent| agent.runs_in_turn(tool)).collect()
        };
        let seen = [Agent::Claude, Agent::Gemini, Agent::Qwen, Agent::Droid];
        assert_eq!(in_turn("Bash"), seen);
        assert_eq!(
            in_turn("apply_patch"),
            [&[Agent::Claude, Agent::Codex][..], &seen[1..]].concat()
        );
    }

    #[test]
    fn what_is_left_to_do_is_said_only_of_agents_that_leave_something() {
        assert_eq!(Agent::Claude.next_step(false), None);
        let left = Agent::Goose.next_step(false).unwrap();
        assert!(left.starts_with("Restart Goose"), "{left}");
    }

    #[test]
    fn every_table_looks_only_at_fields_that_are_kept() {
        let kept: HashSet<_> = FIELDS.all_inside().into_iter().collect();
        for agent in Agent::ALL {
            let rules = agent.rules();
            let spots = [
                rules.event,
                rules.session,
                rules.parent_session,
                rules.sub_agent,
                rules.turn,
                rules.prompt,
                rules.call,
                rules.tool,
                rules.duration,
                rules.directory,
                rules.roots,
            ];
            for spot in spots.into_iter().flatten().chain(&rules.sub_agent_if) {
                assert!(kept.contains(spot), "{} looks at {spot:?}", agent.title());
            }
            for place in rules.arguments {
                assert!(kept.iter().any(|(known, _)| known == place), "{place}");
            }
        }
        for name in rules::argument_names() {
            assert!(kept.contains(&("tool_input", name)), "{name}");
        }
    }

    #[test]
    fn no_two_agents_mean_different_things_by_a_field() {
        let (_, fields) = FIELDS.inside.expect("an object");
        let mut known = HashMap::new();
        for field in fields {
            for key in field.keys() {
                let other = known.insert(key, (field.text, field.inside));
                assert!(other.is_none_or(|other| other == (field.text, field.inside)), "{key}");
            }
        }
    }

    #[test]
    fn no_table_says_two_things_of_one_name() {
        for agent in Agent::ALL {
            let rules = agent.rules();
            let mut seen = HashSet::new();
            for name in rules.tools.iter().flat_map(|(_, names)| names.split(' ')) {
                assert!(seen.insert(name), "{} has the tool {name} twice", agent.title());
            }
            for (kind, names) in rules.events.iter().chain(rules.more_events) {
                for name in names.split(' ') {
                    assert_eq!(
                        rules.kind(name),
                        *kind,
                        "{} has the event {name} twice",
                        agent.title()
                    );
                }
            }
        }
    }

    #[test]
    fn tools_that_nobody_knows_may_change_files() {
        for agent in Agent::ALL {
            for tool in ["", "brand_new_tool", "mcp__files__read_file"] {
                let class = agent.class_of(tool);
                assert!(class.may_change_files(), "{} {tool}", agent.title());
            }
        }
    }
}
