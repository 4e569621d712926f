//! What agents did, and the conversation it belongs to.

use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use herma_core::steps::{Step as CoreStep, StepEnd, StepKind, StepStart, Turn as CoreTurn};
use herma_core::{ListedStep, WhichStep};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;

use crate::answer::answer;
use crate::arguments::name;
use crate::checkpoint::Changes;
use crate::errors;
use crate::plan::{Kept, outside_of};
use crate::project::Project;
use crate::stepping::Ending;

/// One tool call of an agent.
#[pyclass(frozen, get_all, from_py_object, module = "herma")]
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its number in this project, which no other step ever gets.
    pub(crate) number: u64,
    /// `tool`, `run`, `restore`, `undo` or `redo`.
    kind: String,
    /// `open`, `unchanged`, `changed` or `unknown`.
    state: String,
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
    fn is_open(&self) -> bool {
        self.state == StepEnd::Open.word()
    }
}

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or(&self.kind);
        format!("<Step {} {tool} {}>", self.number, self.state)
    }
}

answer!(Step {
    number,
    kind,
    state,
    agent,
    session,
    turn,
    tool,
    call,
    command,
    paths,
    prompt,
    within,
    before,
    after,
    started,
    ended,
    changes,
    files,
    shared,
    undoable,
    outside
});

/// One user prompt of a conversation.
#[pyclass(frozen, get_all, from_py_object, module = "herma")]
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

answer!(Turn { session, agent, name, count, prompt, started, over });

/// A step as a context manager: it begins with the block and ends with it, whatever happens inside.
#[pyclass(frozen, module = "herma")]
pub(crate) struct RunningStep {
    project: Project,
    start: StepStart,
    progress: Option<Py<PyAny>>,
    life: Mutex<Life>,
}

#[derive(Clone)]
enum Life {
    /// It can begin.
    New,
    /// A thread is beginning it.
    Beginning,
    /// It has begun.
    Begun {
        /// As it is known by now.
        step: Box<Step>,
        /// The process it belongs to. A child has the object as well, but not the step.
        process: u32,
    },
}

impl RunningStep {
    pub(crate) fn new(project: Project, start: StepStart, progress: Option<Py<PyAny>>) -> Self {
        Self { project, start, progress, life: Mutex::new(Life::New) }
    }

    /// Begins the step, which can be done once.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Step> {
        {
            let mut life = self.lock();
            if !matches!(*life, Life::New) {
                return Err(PyRuntimeError::new_err("this step has begun already"));
            }
            *life = Life::Beginning;
        }
        let start = self.start.clone();
        let begun = self.project.begin(py, StepKind::Tool, start, self.callback(py));
        *self.lock() = match &begun {
            Ok(step) => Life::Begun { step: Box::new(step.clone()), process: std::process::id() },
            Err(_) => Life::New,
        };
        begun
    }

    /// Never held while the interpreter is let go, or two threads would wait for each other.
    fn lock(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> Option<Step> {
        match &*self.lock() {
            Life::Begun { step, .. } => Some(step.as_ref().clone()),
            Life::New | Life::Beginning => None,
        }
    }

    fn callback(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.progress.as_ref().map(|callback| callback.clone_ref(py))
    }

    /// Ends the step, and answers what kept it from ending as it should.
    fn end(&self, py: Python<'_>, number: u64, process: u32) -> Option<PyErr> {
        let which = WhichStep::Number(number);
        let Ending { step, failed } = self.project.end(py, &which, self.callback(py));
        if let Some(step) = step.map(Box::new) {
            *self.lock() = Life::Begun { step, process };
        }
        failed
    }

    /// What is raised although the block raised `body`: nothing that could have failed here, so as not to
    /// hide what the block has to say. Ctrl-C is no failure, and must not be lost.
    fn beside(&self, body: &Bound<'_, PyAny>, failed: PyErr) -> PyResult<bool> {
        let py = body.py();
        if failed.value(py).is(body) {
            return Ok(false);
        }
        if !failed.is_instance_of::<PyException>(py) {
            failed.value(py).setattr("__context__", body)?;
            return Err(failed);
        }
        let state = match self.known() {
            Some(step) if step.is_open() => format!("step {} is still open", step.number),
            Some(step) => format!("step {} has ended as {}", step.number, step.state),
            None => "the step is gone".to_owned(),
        };
        errors::note(body, &format!("herma: {state}: {failed}"));
        Ok(false)
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

    /// Ends the step. Once it has ended, nothing is done; what could not be ended is tried again.
    #[pyo3(signature = (kind=None, value=None, traceback=None, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        value: Option<Bound<'_, PyAny>>,
        traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        // The exception itself says all of it.
        let _ = (kind, traceback);
        let life = self.lock().clone();
        let Life::Begun { step, process } = life else {
            return Err(PyRuntimeError::new_err("this step has not begun"));
        };
        if process != std::process::id() || !step.is_open() {
            return Ok(false);
        }
        match (self.end(py, step.number, process), value) {
            (None, _) => Ok(false),
            (Some(failed), Some(body)) => self.beside(&body, failed),
            (Some(failed), None) => Err(failed),
        }
    }

    fn __repr__(&self) -> String {
        match self.known() {
            Some(step) => step.__repr__(),
            None => "<Step not begun>".to_owned(),
        }
    }
}
