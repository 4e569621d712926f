//! What agents did, and the conversation it belongs to.

use std::ffi::OsString;
use std::sync::Mutex;
use std::sync::PoisonError;

use herma_core::engine::ListedStep;
use herma_core::engine::WhichStep;
use herma_core::steps::Step as CoreStep;
use herma_core::steps::StepKind;
use herma_core::steps::StepStart;
use herma_core::steps::Turn as CoreTurn;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::arguments::name;
use crate::checkpoint::Changes;
use crate::project::Project;

/// One tool call of an agent.
#[pyclass(frozen, get_all, module = "herma")]
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its number in this project, which no other step ever gets.
    pub(crate) number: u64,
    /// `tool`, `run`, `restore`, `undo` or `redo`.
    kind: &'static str,
    /// `open`, `unchanged`, `changed` or `unknown`.
    state: &'static str,
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
}

impl From<CoreStep> for Step {
    fn from(step: CoreStep) -> Self {
        Self {
            number: step.number,
            kind: step.kind.word(),
            state: step.end.word(),
            agent: step.agent().to_owned(),
            before: step.before.checkpoint.to_hex(),
            after: step.after().map(|id| id.to_hex()),
            started: step.started,
            ended: step.ended,
            undoable: step.after().is_some(),
            changes: None,
            files: Vec::new(),
            shared: Vec::new(),
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

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or(self.kind);
        format!("<Step {} {tool} {}>", self.number, self.state)
    }
}

/// One user prompt of a conversation.
#[pyclass(frozen, get_all, module = "herma")]
#[derive(Clone, Debug)]
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

#[pymethods]
impl Turn {
    fn __repr__(&self) -> String {
        format!("<Turn {:?} of {:?}>", self.name, self.session)
    }
}

/// A step as a context manager: it begins with the block and ends with it, whatever happens inside.
#[pyclass(frozen, module = "herma")]
pub(crate) struct RunningStep {
    project: Project,
    start: StepStart,
    progress: Option<Py<PyAny>>,
    /// The step as it is known by now.
    known: Mutex<Option<Step>>,
}

impl RunningStep {
    pub(crate) fn new(project: Project, start: StepStart, progress: Option<Py<PyAny>>) -> Self {
        Self {
            project,
            start,
            progress,
            known: Mutex::new(None),
        }
    }

    /// Begins the step, which can be done once.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Step> {
        if self.known().is_some() {
            return Err(PyRuntimeError::new_err("this step has begun already"));
        }
        let start = self.start.clone();
        let step = self
            .project
            .begin(py, StepKind::Tool, start, self.callback(py))?;
        self.set(step.clone());
        Ok(step)
    }

    fn known(&self) -> Option<Step> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn set(&self, step: Step) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(step);
    }

    fn callback(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.progress
            .as_ref()
            .map(|callback| callback.clone_ref(py))
    }
}

#[pymethods]
impl RunningStep {
    /// The step: as it began, and after the block as it ended. `None` before the block.
    #[getter]
    fn step(&self) -> Option<Step> {
        self.known()
    }

    /// Its number; `None` before the block.
    #[getter]
    fn number(&self) -> Option<u64> {
        self.known().map(|step| step.number)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.begin(slf.py())?;
        Ok(slf)
    }

    #[pyo3(signature = (_kind=None, _value=None, _traceback=None))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: Option<Bound<'_, PyType>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let Some(begun) = self.known() else {
            return Err(PyRuntimeError::new_err("this step has not begun"));
        };
        let which = WhichStep::Number(begun.number);
        let ended = self.project.end(py, which, self.callback(py))?;
        self.set(ended);
        Ok(false)
    }

    fn __repr__(&self) -> String {
        match self.known() {
            Some(step) => step.__repr__(),
            None => "<Step not begun>".to_owned(),
        }
    }
}
