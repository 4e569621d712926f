//! What people and agents wrote beside the files. A purge does not look into it, and says so.

use herma_core::Project;
use herma_sessions::resume::ResumeStore;

use crate::command_env::{CommandEnv, Result};

/// A kind of text that may hold the same secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Why checkpoints were saved, and what they are called.
    Reasons,
    /// Prompts and command lines.
    Steps,
    /// What sessions were at.
    ResumeRecords,
}

impl Text {
    /// The word JSON uses.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Reasons => "reasons",
            Self::Steps => "steps",
            Self::ResumeRecords => "resume-records",
        }
    }

    /// What it is, and what to type to look.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Reasons => "reasons and names of checkpoints (`herma list`)",
            Self::Steps => "prompts and command lines (`herma steps`)",
            Self::ResumeRecords => "resume records (`herma resume list`)",
        }
    }
}

/// The kinds there are; all of them where that cannot be found out.
pub(super) fn present(env: &CommandEnv, project: &Project) -> Vec<Text> {
    let all = vec![Text::Reasons, Text::Steps, Text::ResumeRecords];
    look(env, project).unwrap_or(all)
}

fn look(env: &CommandEnv, project: &Project) -> Result<Vec<Text>> {
    let has_records = match ResumeStore::open(&env.home)? {
        Some(store) => !store.list()?.is_empty(),
        None => false,
    };
    let kinds = [
        (Text::Reasons, !project.timeline()?.is_empty()),
        (Text::Steps, project.has_steps()?),
        (Text::ResumeRecords, has_records),
    ];
    let there = kinds.into_iter().filter(|(_, is_there)| *is_there);
    Ok(there.map(|(text, _)| text).collect())
}

/// Says what was not searched.
pub(super) fn tell(env: &CommandEnv, project: &Project) {
    let there = present(env, project);
    if !there.is_empty() {
        let words: Vec<_> = there.into_iter().map(Text::in_words).collect();
        env.ui.status(format_args!("Not searched: {}.", words.join(", ")));
    }
}
