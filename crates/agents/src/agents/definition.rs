//! What there is to say of an agent: the form that its file fills, and the words it is filled with.

use std::path::PathBuf;

pub(super) use super::command_file::{CommandFiles, Form as CommandForm};
pub(super) use crate::agent::Agent;
pub(super) use crate::event::{EventKind, ToolClass};
pub(super) use crate::install::hooks_json::{HooksJson, Shape};
pub(super) use crate::install::json::Dialect;
pub(super) use crate::install::own_file::{OwnFile, Program};
pub(super) use crate::install::switches::{Files, Question, Verdict, read_json};
pub(super) use crate::install::{FoundCommand, HookCommand, Places, Scope, Target};
pub(super) use crate::payload::fields::{ARGUMENTS, EDITED, EVENT, Field, TOP};
pub(super) use crate::reply::{Form, like_claude};
pub(super) use crate::rules::{Rules, server_tool};

/// An agent.
pub(super) struct Definition {
    /// How its payloads are read.
    pub(super) rules: Rules,
    /// How it wants a prompt answered, if it listens.
    pub(super) replies: Option<Form>,
    /// Where it looks for commands, if it lets us answer them.
    pub(super) commands: Option<CommandFiles>,
    /// Does it tell when a tool has run?
    pub(super) tells_ends: bool,
    /// Of the calls of one conversation that edit files or run commands, after which is the next one announced only when it
    /// is over? Said only where it was seen.
    pub(super) in_turn: InTurn,
    /// Do its sub-agents have sessions of their own, in the same process, that do not name their parent?
    pub(super) has_nameless_sub_agents: bool,
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

/// After which calls the next one has to wait to be announced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InTurn {
    Nothing,
    Edits,
    Everything,
}

impl Definition {
    /// Its one file, which is not ours alone: in a project, or where its sign is.
    pub(super) fn shared(
        &self,
        places: &Places,
        scope: &Scope,
        in_project: &str,
        of_user: &str,
        hooks: &'static HooksJson,
    ) -> Vec<Target> {
        let path = scope.choose(in_project, (self.sign)(places).join(of_user));
        vec![Target::shared(path, *hooks)]
    }

    /// What most of them have in common.
    pub(super) const COMMON: Self = Self {
        rules: Rules::COMMON,
        replies: None,
        commands: None,
        tells_ends: true,
        in_turn: InTurn::Nothing,
        has_nameless_sub_agents: false,
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
