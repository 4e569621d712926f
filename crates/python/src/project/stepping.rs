//! Noting what an agent does, one tool call at a time.

use herma_core::engine::Project as CoreProject;
use herma_core::error::ErrorKind;
use herma_core::steps::{Step as CoreStep, StepChoice, StepId, StepKind, StepStart, TurnChoice};
use herma_core::{Error, ListedStep, WhichStep};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Project;
use super::running_step::RunningStep;
use crate::answers::step::{Step, Turn};
use crate::arguments::{Handle, Labels, NamedStep, NamedSteps, Words, facts, said};
use crate::errors;
use crate::progress::{quietly, watched};

/// The handle of a step, or the agent's own id of the call.
enum HandleOrCall {
    Handle(StepId),
    Call(String),
}

impl<'py> FromPyObject<'_, 'py> for HandleOrCall {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(call) = object.extract::<Words>() {
            return Ok(match StepId::parse(&call.0) {
                Some(id @ StepId::Handle(_)) => Self::Handle(id),
                _ => Self::Call(call.0),
            });
        }
        Ok(Self::Handle(object.extract::<NamedStep>()?.0))
    }
}

impl From<HandleOrCall> for WhichStep {
    fn from(which: HandleOrCall) -> Self {
        match which {
            HandleOrCall::Handle(id) => Self::Id(id),
            HandleOrCall::Call(id) => Self::Call { id, session: None },
        }
    }
}

/// What came of ending a step: as what it is known now, if that is known, and what is to be raised.
pub(crate) struct Ending {
    pub(crate) step: Option<Step>,
    pub(crate) failed: Option<PyErr>,
}

/// The step that is called so, as the list has it.
fn listed(project: &CoreProject, id: StepId) -> Result<Option<ListedStep>, Error> {
    let choice = StepChoice { ids: vec![id], ..StepChoice::default() };
    Ok(project.steps(&choice)?.pop())
}

/// A step that has ended, with what the list knows of it. If that cannot be read, it has ended all the same.
fn as_listed(project: &CoreProject, step: CoreStep) -> Step {
    match listed(project, step.id()) {
        Ok(Some(listed)) => listed.into(),
        Ok(None) | Err(_) => step.into(),
    }
}

/// Refuses a step to be part of one that is not under way.
fn check_open(project: &CoreProject, outer: i64) -> Result<(), Error> {
    let outer = StepId::Handle(outer);
    match listed(project, outer)? {
        None => Err(Error::NoSuchStep(WhichStep::Id(outer))),
        Some(listed) if !listed.step.is_open() => Err(Error::StepIsOver(outer)),
        Some(_) => Ok(()),
    }
}

impl Project {
    pub(crate) fn begin(
        &self,
        py: Python<'_>,
        kind: StepKind,
        start: StepStart,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Step> {
        let outcome = watched(py, progress, |listener| {
            let begun = self.with(|project| {
                if let Some(outer) = start.within {
                    check_open(project, outer)?;
                }
                project.begin_step(kind, start, listener)
            })?;
            self.clean_if_due(Some(&begun.saved));
            Ok(begun)
        });
        if let (Ok(begun), Some(raised)) = (&outcome.done, &outcome.raised) {
            // Nobody will hear of this step, so nobody would end it.
            let id = begun.step.id();
            if let Err(failed) = self.settle(py, &WhichStep::Id(id)) {
                let text = format!("herma: step {id} is still open: {failed}");
                errors::note(raised.value(py), &text);
            }
        }
        Ok(outcome.or_raise(py, None)?.step.into())
    }

    /// Ends a step. Whatever keeps the state after it from being saved, the step does not stay open, unless
    /// not even that can be noted.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        which: &WhichStep,
        progress: Option<Py<PyAny>>,
    ) -> Ending {
        let outcome = watched(py, progress, |listener| {
            let (ended, step) = self.with(|project| {
                let ended = project.end_step(which, listener)?;
                let step = as_listed(project, ended.step.clone());
                Ok((ended, step))
            })?;
            self.clean_if_due(ended.saved.as_ref());
            Ok(step)
        });
        let step = match &outcome.done {
            Ok(step) => Some(step.clone()),
            // Who waited in vain for somebody else need not wait again.
            Err(error) if error.kind() == ErrorKind::Busy => None,
            Err(_) => self.settle(py, which).ok(),
        };
        let failed = outcome.or_raise(py, Some("step")).err();
        Ending { step, failed }
    }

    /// Notes that a step is over, though nobody can tell how; one that is over already is left as it is.
    fn settle(&self, py: Python<'_>, which: &WhichStep) -> PyResult<Step> {
        quietly(py, || {
            self.remembered(|project| match project.end_step_unknown(which) {
                Ok(ended) => Ok(as_listed(project, ended.step)),
                Err(Error::StepIsOver(id)) => {
                    let step = listed(project, id)?;
                    step.map(Step::from).ok_or(Error::StepIsOver(id))
                }
                Err(error) => Err(error),
            })
        })
    }
}

#[pymethods]
impl Project {
    /// A step as a context manager: `with project.step(tool="bash"): …`
    ///
    /// What the block raises goes on, with a note if the step could not be ended; a block that raised nothing
    /// raises that failure. A child that was forked inside the block does not end the step.
    #[pyo3(signature = (
        *, tool=None, agent=None, session=None, turn=None, call=None, command=None, paths=None,
        prompt=None, within=None, progress=None
    ))]
    fn step(
        &self,
        tool: Option<Words>,
        agent: Option<Words>,
        session: Option<Words>,
        turn: Option<Words>,
        call: Option<Words>,
        command: Option<Words>,
        paths: Option<Labels>,
        prompt: Option<Words>,
        within: Option<Handle>,
        progress: Option<Py<PyAny>>,
    ) -> RunningStep {
        let start = StepStart {
            facts: facts(agent, session, turn, tool),
            call: said(call),
            command: said(command),
            paths: paths.unwrap_or_default().0,
            prompt: said(prompt),
            within: within.map(|outer| outer.0),
            ..StepStart::default()
        };
        RunningStep::new(self.clone(), start, progress)
    }

    /// Saves the project before a tool call and notes that the call has begun. Takes what `step` takes.
    #[pyo3(
        signature = (**start),
        text_signature = "($self, *, tool=None, agent=None, session=None, turn=None, call=None, command=None, paths=None, prompt=None, within=None, progress=None)"
    )]
    fn begin_step(slf: &Bound<'_, Self>, start: Option<&Bound<'_, PyDict>>) -> PyResult<Step> {
        let step = slf.call_method("step", (), start)?;
        step.cast::<RunningStep>()?.get().begin(slf.py())
    }

    /// Saves the project after a tool call and notes that the call has ended.
    #[pyo3(signature = (which, *, progress=None))]
    fn end_step(
        &self,
        py: Python<'_>,
        which: HandleOrCall,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Step> {
        let Ending { step, failed } = self.end(py, &which.into(), progress);
        match (failed, step) {
            (None, Some(step)) => Ok(step),
            (Some(failed), _) => Err(failed),
            (None, None) => Err(errors::Error::new_err("the step did not end")),
        }
    }

    /// Notes that a tool call has ended in a way nobody can tell. Nothing is saved, and the project's directory
    /// may be gone.
    fn end_step_unknown(&self, py: Python<'_>, which: HandleOrCall) -> PyResult<Step> {
        let which = which.into();
        let ended = quietly(py, || {
            self.remembered(|project| {
                let ended = project.end_step_unknown(&which)?;
                Ok(as_listed(project, ended.step))
            })
        })?;
        Ok(ended)
    }

    /// The steps that fit everything that is said, newest first. `turn=""` means the last turn.
    #[pyo3(signature = (*, numbers=None, agent=None, session=None, turn=None, since=None))]
    fn steps(
        &self,
        py: Python<'_>,
        numbers: Option<NamedSteps>,
        agent: Option<Words>,
        session: Option<Words>,
        turn: Option<Words>,
        since: Option<f64>,
    ) -> PyResult<Vec<Step>> {
        let choice = StepChoice {
            ids: numbers.map(|names| names.0).unwrap_or_default(),
            agent: said(agent),
            session: said(session),
            turn: said(turn).map(|turn| match turn.as_str() {
                "" => TurnChoice::Last,
                _ => TurnChoice::Named(turn),
            }),
            since: since.map(|since| since as i64),
            ..StepChoice::default()
        };
        let steps = quietly(py, || self.with(|project| project.steps(&choice)))?;
        Ok(steps.into_iter().map(Step::from).collect())
    }

    /// The steps that are under way, oldest first.
    fn open_steps(&self, py: Python<'_>) -> PyResult<Vec<Step>> {
        let steps = quietly(py, || self.with(|project| project.open_steps()))?;
        Ok(steps.into_iter().map(Step::from).collect())
    }

    /// Notes that a user prompt begins a turn of a session.
    #[pyo3(signature = (session, *, agent=None, turn=None, prompt=None))]
    fn begin_turn(
        &self,
        py: Python<'_>,
        session: Words,
        agent: Option<Words>,
        turn: Option<Words>,
        prompt: Option<Words>,
    ) -> PyResult<Turn> {
        let (facts, prompt) = (facts(agent, None, turn, None), said(prompt));
        let turn = quietly(py, || {
            self.with(|project| project.begin_turn(&session.0, &facts, prompt.as_deref()))
        })?;
        Ok(turn.into())
    }

    /// Notes that the turn of a session is over.
    fn end_turn(&self, py: Python<'_>, session: Words) -> PyResult<Option<Turn>> {
        let turn = quietly(py, || self.with(|project| project.end_turn(&session.0)))?;
        Ok(turn.map(Turn::from))
    }

    /// The turn of a session that was noted last.
    fn turn(&self, py: Python<'_>, session: Words) -> PyResult<Option<Turn>> {
        let turn = quietly(py, || self.with(|project| project.turn(&session.0)))?;
        Ok(turn.map(Turn::from))
    }
}
