//! Kilo CLI: a fork of OpenCode, with its plugins, in directories of its own. It runs none of OpenCode's.

use super::definition::{Agent, Definition, Rules, TOP, Target};
use super::opencode;
use super::plugin::{command_of, script};
use crate::install::own_file::OwnFile;

pub(super) static AGENT: Definition = Definition {
    rules: RULES,
    replies: opencode::AGENT.replies,
    commands: Some(opencode::commands(|places| (AGENT.sign)(places).join("commands"))),
    sign: |places| places.config().join("kilo"),
    targets: |places, scope| {
        let of_user = (AGENT.sign)(places).join("plugins/herma.js");
        let path = scope.choose(".kilo/plugins/herma.js", of_user);
        Ok(vec![Target::own(vec![path], PLUGIN)])
    },
    next_step: |_| Some("Restart Kilo: plugins are read when it starts."),
    ..Definition::COMMON
};

const RULES: Rules = Rules {
    known_by: |payload| payload.text((TOP, "agent")) == Some("kilo"),
    fields: &[],
    ..opencode::RULES
};

const PLUGIN: OwnFile = opencode::plugin(
    |command, _| script(command, Agent::Kilo, opencode::BODY),
    |text| command_of(text, Agent::Kilo),
);
