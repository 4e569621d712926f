//! What there is to say of an agent: the form that its file fills.

use std::path::PathBuf;

use crate::install::switches::{Files, Question, Verdict};
use crate::install::{Places, Scope, Target};
use crate::rules::Rules;

/// An agent.
pub(super) struct Definition {
    /// How its payloads are read.
    pub(super) rules: Rules,
    /// Does it tell when a tool has run?
    pub(super) tells_ends: bool,
    /// What is there if the user has it: mostly its directory of settings.
    pub(super) sign: fn(&Places) -> PathBuf,
    /// The variables by which users move it.
    pub(super) place_variables: &'static [&'static str],
    /// The files by which it is told, or why it cannot be told per project.
    pub(super) targets: fn(&Places, &Scope) -> Result<Vec<Target>, &'static str>,
    /// Is its file of a project the user's own, which nobody commits?
    pub(super) is_private_in_project: bool,
    /// What is left for the user to do after installing, in a project or not.
    pub(super) next_step: fn(bool) -> Option<&'static str>,
    /// JSON files with switches that turn hooks off, in the directory that is its sign.
    pub(super) user_settings: &'static [&'static str],
    /// The same in a project.
    pub(super) project_settings: &'static [&'static str],
    /// What else its files say about our hooks.
    pub(super) judge: fn(&Question<'_>, &dyn Files) -> Verdict,
}

impl Definition {
    /// What most of them have in common.
    pub(super) const COMMON: Self = Self {
        rules: Rules::COMMON,
        tells_ends: true,
        sign: |places| places.home.clone(),
        place_variables: &[],
        targets: |_, _| Ok(Vec::new()),
        is_private_in_project: false,
        next_step: |_| None,
        user_settings: &[],
        project_settings: &[],
        judge: |_, _| Verdict::Fine,
    };
}
