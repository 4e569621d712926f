//! What agents did, and the conversation it belongs to.

use std::ffi::OsString;

use herma_core::ListedStep;
use herma_core::steps::{Step as CoreStep, StepEnd, Turn as CoreTurn};
use pyo3::prelude::*;

use crate::answers::answer;
use crate::answers::checkpoint::Changes;
use crate::answers::plan::{Kept, outside_of};
use crate::paths::name;

answer! {
    /// One tool call of an agent.
    pub(crate) struct Step {
        /// Its number in this project, which no other step ever gets.
        pub(crate) number: u64,
        /// `tool`, `run`, `restore`, `undo` or `redo`.
        kind: String,
        /// `open`, `unchanged`, `changed` or `unknown`.
        pub(crate) state: String,
        /// Who did it.
        agent: String,
        /// The conversation.
        session: Option<String>,
        /// The user prompt.
        turn: Option<String>,
        /// The tool.
        tool: Option<String>,
        /// The agent's own id of the call.
        call: Option<String>,
        /// The command line, for tools that run one.
        command: Option<String>,
        /// The files the tool named.
        paths: Vec<String>,
        /// The beginning of the prompt that led to it.
        prompt: Option<String>,
        /// The step it is part of.
        within: Option<u64>,
        /// The id of the checkpoint before it.
        before: String,
        /// The id of the checkpoint after it, if there is one.
        after: Option<String>,
        /// When it began, in seconds since 1970.
        started: i64,
        /// When it ended.
        ended: Option<i64>,
        /// What changed, if that is known.
        changes: Option<Changes>,
        /// The first files that changed.
        files: Vec<OsString>,
        /// Other steps that were under way at the same time.
        shared: Vec<u64>,
        /// Are the checkpoints before and after it still there?
        undoable: bool,
        /// What it changed that no checkpoint holds, and so nothing brings back.
        outside: Vec<Kept>,
    }
    repr |this| {
            let tool = this.tool.as_deref().unwrap_or(&this.kind);
            format!("<Step {} {tool} {}>", this.number, this.state)
    }
}

impl From<CoreStep> for Step {
    fn from(step: CoreStep) -> Self {
        Self {
            number: step.number,
            kind: step.kind.word().to_owned(),
            state: step.end.word().to_owned(),
            agent: step.agent().to_owned(),
            before: step.before.checkpoint.to_hex(),
            after: step.after().map(|id| id.to_hex()),
            started: step.started,
            ended: step.ended,
            undoable: step.after().is_some(),
            changes: None,
            files: Vec::new(),
            shared: Vec::new(),
            outside: outside_of(step.number, &step.outside),
            session: step.start.facts.session,
            turn: step.start.facts.turn,
            tool: step.start.facts.tool,
            call: step.start.call,
            command: step.start.command,
            paths: step.start.paths,
            prompt: step.start.prompt,
            within: step.start.within,
        }
    }
}

impl From<ListedStep> for Step {
    fn from(listed: ListedStep) -> Self {
        Self {
            changes: listed.changes.map(Changes::from),
            files: listed.files.iter().map(name).collect(),
            shared: listed.shared,
            undoable: listed.undoable,
            ..Self::from(listed.step)
        }
    }
}

impl Step {
    /// Is it under way?
    pub(crate) fn is_open(&self) -> bool {
        self.state == StepEnd::Open.word()
    }
}

answer! {
    /// One user prompt of a conversation.
    pub(crate) struct Turn {
        /// The conversation.
        session: String,
        /// Whose it is.
        agent: Option<String>,
        /// The turn's name: what the agent calls it, or its number.
        name: String,
        /// How many turns of this session were marked.
        count: u64,
        /// The beginning of the prompt.
        prompt: Option<String>,
        /// When it began, in seconds since 1970.
        started: i64,
        /// Is it over?
        over: bool,
    }
    repr |this| format!("<Turn {:?} of {:?}>", this.name, this.session)
}

impl From<CoreTurn> for Turn {
    fn from(turn: CoreTurn) -> Self {
        Self {
            session: turn.session,
            agent: turn.agent,
            name: turn.turn,
            count: turn.count,
            prompt: turn.prompt,
            started: turn.started,
            over: turn.over,
        }
    }
}
