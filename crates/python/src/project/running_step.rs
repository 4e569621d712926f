//! A step as a block of Python: it begins with it and ends with it, whatever happens inside.

use std::sync::{Mutex, MutexGuard, PoisonError};

use herma_core::WhichStep;
use herma_core::steps::{StepId, StepKind, StepStart};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;

use super::Project;
use super::stepping::Ending;
use crate::answers::step::Step;
use crate::errors;

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
    fn end(&self, py: Python<'_>, handle: &str, process: u32) -> Option<PyErr> {
        let which = WhichStep::Id(StepId::parse(handle)?);
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
            Some(step) if step.is_open() => format!("step {} is still open", step.name()),
            Some(step) => format!("step {} has ended as {}", step.name(), step.state),
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

    /// What it is called until it has a number, such as `s7`; `None` before the block.
    #[getter]
    fn handle(&self) -> Option<String> {
        self.known().map(|step| step.handle)
    }

    /// Its number; `None` until it has ended, and if nothing was noticed to change.
    #[getter]
    fn number(&self) -> Option<u64> {
        self.known().and_then(|step| step.number)
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
        match (self.end(py, &step.handle, process), value) {
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
