//! Cline: an executable file per event, named after it.
//!
//! A directory holds one file of each name, but the same name with another ending runs as well: where the user
//! has a `PreToolUse` of their own, ours is `PreToolUse.sh`.
//!
//! The command line reads `~/.cline/hooks` and `~/Documents/Cline/Hooks`, the editor extension only the second.
//! The second is used where there is a `~/Documents/Cline`, which the extension makes; since the command line
//! reads it too, one place is enough, and each place is looked at for what was installed before.

use std::path::PathBuf;

use super::own_file::OwnFile;
use super::places::Places;
use super::places::Scope;
use super::target::Target;

/// `UserPromptSubmit` and the `Task` events tell of turns; none of them holds the agent up.
const EVENTS: [&str; 7] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PostToolUse",
    "TaskComplete",
    "TaskCancel",
    // The one that counts is written last.
    "PreToolUse",
];

pub(super) fn directory(places: &Places) -> PathBuf {
    places.variable_or("CLINE_DIR", ".cline")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let mut directories = match scope {
        Scope::Project(root) => vec![root.join(".clinerules/hooks")],
        Scope::User => vec![
            directory(places).join("hooks"),
            places.home.join("Documents/Cline/Hooks"),
        ],
    };
    if places.has_cline_documents {
        directories.reverse();
    }
    let target = |event: &'static str| {
        let paths = directories
            .iter()
            .flat_map(|directory| [directory.join(event), directory.join(format!("{event}.sh"))]);
        Target::own(paths.collect(), OwnFile::Script { event })
    };
    EVENTS.map(target).into()
}
