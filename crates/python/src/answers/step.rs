//! What agents did, and the conversation it belongs to.

use std::ffi::OsString;

use herma_core::ListedStep;
use herma_core::steps::{Step as CoreStep, StepEnd, StepId, Turn as CoreTurn};
use pyo3::Borrowed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answers::answer;
use crate::answers::checkpoint::Changes;
use crate::answers::plan::{Kept, outside_of};
use crate::paths::name;

/// What a step is called: its number, or as long as it has none its handle, such as `"s7"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepName(pub(crate) StepId);

impl<'py> IntoPyObject<'py> for StepName {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(match self.0 {
            StepId::Number(number) => number.into_pyobject(py)?.into_any(),
            StepId::Handle(_) => self.0.to_string().into_pyobject(py)?.into_any(),
        })
    }
}

impl<'py> FromPyObject<'_, 'py> for StepName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(number) = object.extract::<u64>() {
            return Ok(Self(StepId::Number(number)));
        }
        let id = StepId::parse(&object.extract::<String>()?);
        id.map(Self).ok_or_else(|| PyValueError::new_err("a pickled answer names no step"))
    }
}

answer! {
    /// One tool call of an agent.
    pub(crate) struct Step {
        /// The number of the checkpoint it ended in; `None` until it has ended, and if nothing was noticed to change.
        pub(crate) number: Option<u64>,
        /// What it is called until it has a number, such as `s7`.
        pub(crate) handle: String,
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
        within: Option<StepName>,
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
        shared: Vec<StepName>,
        /// Are the checkpoints before and after it still there?
        undoable: bool,
        /// Is it undone?
        undone: bool,
        /// What it changed that no checkpoint holds, and so nothing brings back.
        outside: Vec<Kept>,
    }
    repr |this| {
            let tool = this.tool.as_deref().unwrap_or(&this.kind);
            format!("<Step {} {tool} {}>", this.name(), this.state)
    }
}

impl From<CoreStep> for Step {
    fn from(step: CoreStep) -> Self {
        Self {
            number: step.number,
            handle: StepId::Handle(step.handle).to_string(),
            kind: step.kind.word().to_owned(),
            state: step.end.word().to_owned(),
            agent: step.agent().to_owned(),
            before: step.before.checkpoint.to_hex(),
            after: step.after().map(|id| id.to_hex()),
            started: step.started,
            ended: step.ended,
            undoable: step.after().is_some(),
            undone: false,
            changes: None,
            files: Vec::new(),
            shared: Vec::new(),
            outside: outside_of(step.id(), &step.outside),
            session: step.start.facts.session,
            turn: step.start.facts.turn,
            tool: step.start.facts.tool,
            call: step.start.call,
            command: step.start.command,
            paths: step.start.paths,
            prompt: step.start.prompt,
            within: step.start.within.map(|outer| StepName(StepId::Handle(outer))),
        }
    }
}

impl From<ListedStep> for Step {
    fn from(listed: ListedStep) -> Self {
        Self {
            changes: listed.changes.map(Changes::from),
            files: listed.files.iter().map(name).collect(),
            shared: listed.shared.into_iter().map(StepName).collect(),
            within: listed.outer.map(StepName),
            undoable: listed.undoable,
            undone: listed.undone,
            ..Self::from(listed.step)
        }
    }
}

impl Step {
    /// What it is called.
    pub(crate) fn name(&self) -> String {
        self.number.map_or_else(|| self.handle.clone(), |number| number.to_string())
    }

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
