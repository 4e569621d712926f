//! Noting what an agent does, one tool call at a time.

use herma_core::engine::WhichStep;
use herma_core::steps::StepChoice;
use herma_core::steps::StepKind;
use herma_core::steps::StepStart;
use herma_core::steps::TurnChoice;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::facts;
use crate::progress::listening;
use crate::progress::quietly;
use crate::project::Project;
use crate::step::RunningStep;
use crate::step::Step;
use crate::step::Turn;

/// The number of a step, or the agent's own id of the call.
#[derive(FromPyObject)]
enum NumberOrCall {
    Number(u64),
    Call(String),
}

impl From<NumberOrCall> for WhichStep {
    fn from(which: NumberOrCall) -> Self {
        match which {
            NumberOrCall::Number(number) => Self::Number(number),
            NumberOrCall::Call(call) => Self::Call(call),
        }
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
        let begun = listening(py, progress, |listener| {
            let begun = self.with(|project| project.begin_step(kind, start, listener))?;
            self.clean_if_due(Some(&begun.saved));
            Ok(begun)
        })?;
        Ok(begun.step.into())
    }

    pub(crate) fn end(
        &self,
        py: Python<'_>,
        which: WhichStep,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Step> {
        let ended = listening(py, progress, |listener| {
            let ended = self.with(|project| project.end_step(&which, listener))?;
            self.clean_if_due(ended.saved.as_ref());
            Ok(ended)
        })?;
        Ok(ended.step.into())
    }
}

#[pymethods]
impl Project {
    /// A step as a context manager: `with project.step(tool="bash"): …`
    #[pyo3(signature = (
        *, tool=None, agent=None, session=None, turn=None, call=None, command=None, paths=Vec::new(),
        prompt=None, within=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn step(
        &self,
        tool: Option<String>,
        agent: Option<String>,
        session: Option<String>,
        turn: Option<String>,
        call: Option<String>,
        command: Option<String>,
        paths: Vec<String>,
        prompt: Option<String>,
        within: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> RunningStep {
        let start = StepStart {
            facts: facts(agent, session, turn, tool),
            call,
            command,
            paths,
            prompt,
            within,
            sub_agent: None,
        };
        RunningStep::new(self.clone(), start, progress)
    }

    /// Saves the project before a tool call and notes that the call has begun. Takes what `step` takes.
    #[pyo3(signature = (**start))]
    fn begin_step(slf: &Bound<'_, Self>, start: Option<&Bound<'_, PyDict>>) -> PyResult<Step> {
        let step = slf.call_method("step", (), start)?;
        step.cast::<RunningStep>()?.get().begin(slf.py())
    }

    /// Saves the project after a tool call and notes that the call has ended.
    #[pyo3(signature = (which, *, progress=None))]
    fn end_step(
        &self,
        py: Python<'_>,
        which: NumberOrCall,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Step> {
        self.end(py, which.into(), progress)
    }

    /// Notes that a tool call has ended in a way nobody can tell. Nothing is saved.
    fn end_step_unknown(&self, py: Python<'_>, which: NumberOrCall) -> PyResult<Step> {
        let which = which.into();
        let ended = quietly(py, || self.with(|project| project.end_step_unknown(&which)))?;
        Ok(ended.step.into())
    }

    /// The steps that fit everything that is said, newest first. `turn=""` means the last turn.
    #[pyo3(signature = (*, numbers=Vec::new(), agent=None, session=None, turn=None, since=None))]
    fn steps(
        &self,
        py: Python<'_>,
        numbers: Vec<u64>,
        agent: Option<String>,
        session: Option<String>,
        turn: Option<String>,
        since: Option<f64>,
    ) -> PyResult<Vec<Step>> {
        let choice = StepChoice {
            numbers,
            agent,
            session,
            turn: turn.map(|turn| match turn.as_str() {
                "" => TurnChoice::Last,
                _ => TurnChoice::Named(turn),
            }),
            since: since.map(|since| since as i64),
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
        session: &str,
        agent: Option<String>,
        turn: Option<String>,
        prompt: Option<&str>,
    ) -> PyResult<Turn> {
        let facts = facts(agent, None, turn, None);
        let turn = quietly(py, || {
            self.with(|project| project.begin_turn(session, &facts, prompt))
        })?;
        Ok(turn.into())
    }

    /// Notes that the turn of a session is over.
    fn end_turn(&self, py: Python<'_>, session: &str) -> PyResult<Option<Turn>> {
        let turn = quietly(py, || self.with(|project| project.end_turn(session)))?;
        Ok(turn.map(Turn::from))
    }

    /// The turn of a session that was noted last.
    fn turn(&self, py: Python<'_>, session: &str) -> PyResult<Option<Turn>> {
        let turn = quietly(py, || self.with(|project| project.turn(session)))?;
        Ok(turn.map(Turn::from))
    }
}
