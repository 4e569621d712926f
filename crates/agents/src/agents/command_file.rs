//! Files that make commands of ours known to an agent: `/undo` and the like.
//!
//! An agent sends a command to its model as a prompt, and the hook of the prompt catches it there. So such a file says nothing
//! but the command; what follows is for a model that reads it all the same, where hooks are turned off.

use std::path::PathBuf;

use super::hermes::slash::grammar::{ASIDE, PREFIX};
use crate::install::own_file::{OwnFile, Program};
use crate::install::{Places, Target};

/// The commands: what they are called, what where the agent has one of them itself, and what they do.
const COMMANDS: [[&str; 3]; 4] = [
    [
        "undo",
        "herma-undo",
        "Undo the last prompt of this session that changed files, or change N (Herma)",
    ],
    ["redo", "herma-redo", "Bring back what was undone last (Herma)"],
    ["timeline", "herma-timeline", "List what this session changed, with numbers (Herma)"],
    ["rollback", "herma-rollback", "List the checkpoints, or go back to one (Herma)"],
];

/// Where an agent looks for commands.
pub(crate) struct CommandFiles {
    pub(crate) directory: fn(&Places) -> PathBuf,
    pub(crate) form: Form,
    /// Has the agent a command of its own with one of the short names?
    pub(crate) has_own: bool,
    /// May the directory go when it is empty?
    pub(crate) is_own: bool,
}

/// How such a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Markdown behind a few lines of YAML.
    Markdown,
    /// TOML with a `prompt`.
    Toml,
}

impl CommandFiles {
    pub(crate) fn targets(&self, places: &Places) -> Vec<Target> {
        let directory = (self.directory)(places);
        let end = if self.form == Form::Markdown { "md" } else { "toml" };
        let target = |[short, long, _]: &[&'static str; 3]| {
            let name = if self.has_own { long } else { short };
            // The user may have one of the short name.
            let names = [short, long].into_iter().skip(usize::from(self.has_own));
            let paths = names.map(|name| directory.join(format!("{name}.{end}")));
            let file = OwnFile::Program(self.form.program(name));
            let target = Target::own(paths.collect(), file);
            Target { own_directory: self.is_own.then(|| directory.clone()), ..target }
        };
        COMMANDS.iter().map(target).collect()
    }
}

/// The commands as files of a plugin, whose name the agent puts before theirs: a name and a text each.
pub(super) fn of_plugin() -> impl Iterator<Item = (String, String)> {
    COMMANDS.iter().map(|[name, ..]| (format!("{name}.md"), format!("---\n{}", markdown(name))))
}

impl Form {
    const fn program(self, name: &'static str) -> Program {
        let (head, body): (_, fn(&_, &str) -> String) = match self {
            Self::Markdown => ("---\n", |_, name| markdown(name)),
            Self::Toml => ("", |_, name| toml(name)),
        };
        Program { head, comment: "#", mode: 0o644, event: name, body, command_of: |_| None }
    }
}

fn markdown(name: &str) -> String {
    format!("description: {}\n---\n{}", about(name), prompt(name, "$ARGUMENTS"))
}

fn toml(name: &str) -> String {
    format!(
        "description = \"{}\"\nprompt = \"\"\"\n{}\"\"\"\n",
        about(name),
        prompt(name, "{{args}}")
    )
}

fn about(name: &str) -> &'static str {
    let found = COMMANDS.iter().find(|[short, long, _]| [short, long].contains(&&name));
    found.map_or("", |[.., about]| about)
}

fn prompt(name: &str, arguments: &str) -> String {
    let command = match name.strip_prefix(PREFIX).unwrap_or(name) {
        "timeline" => "list",
        "rollback" => "restore",
        command => command,
    };
    format!(
        "/{name} {arguments}\n\n{ASIDE}, without a model. If you read this, it did not: tell the user to run \
         `herma {command}` in a terminal, and do nothing else.)\n"
    )
}
