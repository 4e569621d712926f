//! What people and agents wrote beside the files. A purge does not look into it, and says so.

use herma_core::Project;
use herma_sessions::resume::ResumeStore;

use crate::command_env::{CommandEnv, Result};

/// The kinds of text that may hold the same secret: the word JSON uses, what it is, and what to type to look.
const KINDS: [(&str, &str); 3] = [
    ("reasons", "reasons and names of checkpoints (`herma list`)"),
    ("steps", "prompts and command lines (`herma steps`)"),
    ("resume-records", "resume records (`herma resume list`)"),
];

/// The kinds there are; all of them where that cannot be found out.
pub(super) fn present(env: &CommandEnv, project: &Project) -> Vec<(&'static str, &'static str)> {
    let are_there = look(env, project).unwrap_or([true; 3]);
    let kinds = KINDS.into_iter().zip(are_there);
    kinds.filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
}

fn look(env: &CommandEnv, project: &Project) -> Result<[bool; 3]> {
    let has_records = match ResumeStore::open(&env.home)? {
        Some(store) => !store.list()?.is_empty(),
        None => false,
    };
    Ok([!project.timeline()?.is_empty(), project.has_steps()?, has_records])
}

/// Says what was not searched.
pub(super) fn tell(env: &CommandEnv, project: &Project) {
    let words: Vec<_> = present(env, project).into_iter().map(|(_, words)| words).collect();
    if !words.is_empty() {
        env.ui.status(format_args!("Not searched: {}.", words.join(", ")));
    }
}
