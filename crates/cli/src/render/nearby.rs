//! Where the checkpoints are that somebody may have looked for in a directory without any, and what to type to see them.

use std::path::{Path, PathBuf};

use herma_core::engine::KnownProject;
use herma_core::{Nearby, Project};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError};
use crate::command_error::FIRST_SAVE;
use crate::terminal::{quote, shown};

/// A history of so few checkpoints may be the end of one that is elsewhere.
const SHORT: usize = 10;

/// Says in a failure for lack of checkpoints where there are some: more likely they are wanted than a new beginning.
pub(crate) fn with_projects_nearby(env: &CommandEnv, mut error: CommandError) -> CommandError {
    if let Some(directory) = error.without_checkpoints.take() {
        let nearby = projects_nearby(env, &directory);
        error.hints.retain(|hint| nearby.is_empty() || hint != FIRST_SAVE);
        error.hints.splice(..0, nearby);
    }
    error
}

/// What to type to get at the checkpoints of the projects near a directory. What cannot be found out is not told: it is
/// an extra.
pub(crate) fn projects_nearby(env: &CommandEnv, directory: &Path) -> Vec<String> {
    let Ok(Nearby { around, within, moved }) = env.engine.nearby(directory) else {
        return Vec::new();
    };
    let mut told = moved_here(&moved);
    let around = around.iter().map(|one| (one, ", the project around this one"));
    for (one, what) in around.chain(within.iter().map(|one| (one, ""))) {
        let (count, place) = described(one);
        if let Some(there) = &one.workdir {
            let there = from_here(env, there);
            // Here already, and another directory was named.
            let is_here = there.as_os_str().is_empty();
            let way = if is_here { String::new() } else { format!("-C {} ", quote(&shown(there))) };
            told.push(format!("`herma {way}list` shows the {count} of {place}{what}."));
        }
    }
    told
}

/// Tells in a project without checkpoints where some are; else how to make the first.
pub(crate) fn tell_how_to_begin(env: &CommandEnv, project: &Project) {
    let mut hints = projects_nearby(env, project.root());
    if hints.is_empty() {
        hints.push(FIRST_SAVE.to_owned());
    }
    for hint in hints {
        env.ui.hint(hint);
    }
}

/// Tells of the history that a moved project has under its old name, where the one it has here is short.
pub(crate) fn tell_of_moved(env: &CommandEnv, project: &Project, checkpoints: usize) {
    if env.ui.json || !(1..=SHORT).contains(&checkpoints) {
        return;
    }
    for hint in moved_here(&project.adoptable().unwrap_or_default()) {
        env.ui.hint(hint);
    }
}

/// What to type to reconnect the projects that were moved to where somebody is.
pub(crate) fn moved_here(moved: &[KnownProject]) -> Vec<String> {
    let is_only = moved.len() == 1;
    let told = moved.iter().map(|one| {
        let which = if is_only { String::new() } else { format!(" {}", one.id) };
        let (count, place) = described(one);
        format!(
            "`herma doctor --adopt{which}` reconnects the {count} of {place}, which was probably moved here."
        )
    });
    told.collect()
}

/// How many checkpoints it has, and where it is or was.
fn described(one: &KnownProject) -> (String, String) {
    let place = one.workdir.as_ref().map_or_else(|| format!("project {}", one.id), shown);
    let count = match one.checkpoints {
        1 => "checkpoint".to_owned(),
        many => counted(many, "checkpoint"),
    };
    (count, place)
}

/// The path as one would type it: relative where that is short, and the present directory is what it is relative to.
fn from_here(env: &CommandEnv, there: &Path) -> PathBuf {
    let here = herma_fs::dir::canonicalize(&env.directory);
    let Some(here) = here.ok().filter(|_| !env.is_directory_given) else { return there.to_owned() };
    if let Ok(below) = there.strip_prefix(&here) {
        return below.to_owned();
    }
    match here.strip_prefix(there) {
        Ok(way) => way.components().map(|_| "..").collect(),
        Err(_) => there.to_owned(),
    }
}
