//! Going back, and forth again.

use herma_core::engine::Project as CoreProject;
use herma_core::restore::RestoreOptions;
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, UndoLast, UndoSteps, Undone};
use herma_reversal::Conflicts;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Project;
use crate::answers::plan::{Plan, Restored, Way};
use crate::arguments::{NamedSteps, Paths, Scope, Which, Words, chosen, said};
use crate::errors::{BadRequest, NotRecent};
use crate::progress::{Listener, finishing, with_progress};

/// What is finished whoever wants it stopped, once it has begun to write.
const RESTORE: &str = "restore";

/// A plan, or what to make one of.
#[derive(FromPyObject)]
enum Target<'py> {
    Plan(Bound<'py, Plan>),
    Which(Which),
}

/// What is asked for.
struct Asked {
    paths: Paths,
    keep: Paths,
    all: bool,
    conflicts: Conflicts,
}

fn conflicts(word: &str) -> PyResult<Conflicts> {
    match word {
        "leave" => Ok(Conflicts::Leave),
        "ours" => Ok(Conflicts::Ours),
        "theirs" => Ok(Conflicts::Theirs),
        "markers" => Ok(Conflicts::Markers),
        _ => Err(BadRequest::new_err("conflicts is 'leave', 'ours', 'theirs' or 'markers'")),
    }
}

impl Asked {
    fn new(
        paths: Option<Scope>,
        keep: Option<Paths>,
        all: bool,
        conflicts: &str,
    ) -> PyResult<Self> {
        Ok(Self {
            paths: chosen(paths),
            keep: keep.unwrap_or_default(),
            all,
            conflicts: self::conflicts(conflicts)?,
        })
    }

    /// Works out what a restore will do: what agents did is undone and edits by hand are kept, if
    /// steps of agents are known and not everything is asked for.
    fn plan(
        &self,
        project: &CoreProject,
        which: &Which,
        listener: &Listener,
    ) -> Result<Plan, herma_core::Error> {
        let target = which.find(project)?;
        if self.is_exact(project)? {
            let options = self.part(project)?;
            let plan = project.plan_restore(&target, &options, listener)?;
            return Ok(Plan::exact(plan, options));
        }
        let asked = self.undo_steps(project, StepChoice::default(), Some(target))?;
        Ok(project.plan_undo_steps(&asked, listener)?.into())
    }

    /// Is all of it, or of what is named, to be as it was, whoever changed it?
    fn is_exact(&self, project: &CoreProject) -> Result<bool, herma_core::Error> {
        Ok(self.all || !self.paths.is_empty() || !project.has_work()?)
    }

    /// The part of the project that is meant.
    fn part(&self, project: &CoreProject) -> Result<RestoreOptions, herma_core::Error> {
        let (paths, keep) = (self.paths.inside(project)?, self.keep.inside(project)?);
        Ok(RestoreOptions { paths, keep })
    }

    /// Undoing steps, or what agents did since a checkpoint.
    fn undo_steps(
        &self,
        project: &CoreProject,
        steps: StepChoice,
        since: Option<Checkpoint>,
    ) -> Result<UndoSteps, herma_core::Error> {
        let RestoreOptions { paths, keep } = self.part(project)?;
        let conflicts = self.conflicts;
        Ok(UndoSteps { steps, since, paths, keep, conflicts, ..UndoSteps::default() })
    }

    /// Is anything said besides the target?
    fn is_said(&self) -> bool {
        self.all || !self.paths.is_empty() || !self.keep.is_empty()
    }

    /// Restores.
    fn restore(
        &self,
        project: &CoreProject,
        which: &Which,
        listener: &Listener,
    ) -> Result<Restored, herma_core::Error> {
        let target = which.find(project)?;
        if self.is_exact(project)? {
            let options = self.part(project)?;
            return Ok(project.restore_with(&target, &options, listener)?.into());
        }
        let asked = self.undo_steps(project, StepChoice::default(), Some(target))?;
        Ok(project.undo_steps(&asked, listener)?.into())
    }
}

/// Carries out a plan, if everything is still as it was when it was made.
fn carry_out(
    project: &CoreProject,
    plan: &Plan,
    listener: &Listener,
) -> Result<Restored, herma_core::Error> {
    match &plan.way {
        Way::UndoSteps(plan) => {
            Ok(project.undo_as_planned(plan.as_ref().clone(), listener)?.into())
        }
        Way::Exact { plan, options } => {
            let now = project.plan_restore(&plan.target, options, listener)?;
            if now != **plan {
                return Err(herma_core::Error::ChangedSincePlan);
            }
            Ok(project.restore_with(&plan.target, options, listener)?.into())
        }
    }
}

#[pymethods]
impl Project {
    /// What restoring a checkpoint will do. Nothing is changed.
    #[pyo3(signature = (which, *, paths=None, keep=None, all=false, conflicts="leave", progress=None))]
    fn plan_restore(
        &self,
        py: Python<'_>,
        which: Which,
        paths: Option<Scope>,
        keep: Option<Paths>,
        all: bool,
        conflicts: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Plan> {
        let asked = Asked::new(paths, keep, all, conflicts)?;
        with_progress(py, progress, |listener| {
            self.with(|project| asked.plan(project, &which, listener))
        })
    }

    /// Brings a checkpoint back, or carries out a plan. The present state is saved first.
    ///
    /// What `progress` raises, and Ctrl-C, stop it with nothing changed while it waits or looks at the files.
    /// Once the present state is being saved it goes on to the end, so that no file is left half restored;
    /// the exception comes afterwards, with a note that says so.
    #[pyo3(signature = (target, *, paths=None, keep=None, all=false, conflicts="leave", progress=None))]
    fn restore(
        &self,
        py: Python<'_>,
        target: Target<'_>,
        paths: Option<Scope>,
        keep: Option<Paths>,
        all: bool,
        conflicts: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Restored> {
        let asked = Asked::new(paths, keep, all, conflicts)?;
        match target {
            Target::Which(which) => finishing(py, progress, RESTORE, |listener| {
                self.with(|project| asked.restore(project, &which, listener))
            }),
            Target::Plan(_) if asked.is_said() => {
                Err(PyTypeError::new_err("a plan says already which paths it is about"))
            }
            Target::Plan(plan) => {
                let plan = plan.get();
                finishing(py, progress, RESTORE, |listener| {
                    self.with(|project| carry_out(project, plan, listener))
                })
            }
        }
    }

    /// What undoing steps will do, out of the present and keeping what came after.
    #[pyo3(signature = (steps, *, paths=None, keep=None, conflicts="leave", progress=None))]
    fn plan_undo_steps(
        &self,
        py: Python<'_>,
        steps: NamedSteps,
        paths: Option<Scope>,
        keep: Option<Paths>,
        conflicts: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Plan> {
        let said = Asked::new(paths, keep, false, conflicts)?;
        with_progress(py, progress, |listener| {
            self.with(|project| {
                let steps = StepChoice { ids: steps.0, ..StepChoice::default() };
                let asked = said.undo_steps(project, steps, None)?;
                Ok(project.plan_undo_steps(&asked, listener)?.into())
            })
        })
    }

    /// Undoes what was newest and is not undone: the last prompt with all it changed, or a restore. What was edited by hand stays.
    /// Again: the one before. Where no steps are known, it goes to the state before.
    ///
    /// With `paths` it is about the last prompt that changed these, and only these; with `step` only about its last tool call; with
    /// `session` about what this session did; with `count` about so many prompts at once. A prompt still under way is refused unless
    /// `running`, and what is older than a save by hand, or than a day, unless `yes`.
    ///
    /// It is stopped, or finished first, as `restore` is.
    #[pyo3(signature = (
        *, paths=None, count=1, step=false, session=None, running=false, yes=false, conflicts="leave", progress=None
    ))]
    fn undo(
        &self,
        py: Python<'_>,
        paths: Option<Scope>,
        count: usize,
        step: bool,
        session: Option<Words>,
        running: bool,
        yes: bool,
        conflicts: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Restored> {
        let Asked { paths, conflicts, .. } = Asked::new(paths, None, false, conflicts)?;
        let session = said(session);
        if count == 0 || count > 1 && step {
            return Err(BadRequest::new_err("`count` is at least 1, and with `step` only 1"));
        }
        let undone = finishing(py, progress, RESTORE, |listener| {
            self.with(|project| {
                let paths = paths.inside(project)?;
                if let Some(path) = project.first_unknown(&paths)? {
                    return Err(herma_core::Error::PathUnknown { path });
                }
                let asked = UndoLast {
                    more: count - 1,
                    paths,
                    only_step: step,
                    session: session.clone(),
                    running,
                    conflicts,
                    ..UndoLast::default()
                };
                let next = project.plan_undo(&asked, listener)?;
                if let Some((unit, doubt)) = next.doubt().filter(|_| !yes) {
                    return Ok(Err(format!("step {} {doubt}", unit.id)));
                }
                project.carry_out(next, listener, false).map(Ok)
            })
        })?;
        undone.map(done).map_err(|why| NotRecent::new_err(format!("{why}; `yes=True` undoes it")))
    }

    /// Repeats what was undone.
    ///
    /// It is stopped, or finished first, as `restore` is.
    #[pyo3(signature = (*, progress=None))]
    fn redo(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Restored> {
        let redone = finishing(py, progress, RESTORE, |listener| {
            self.with(|project| project.redo_with(listener, false))
        })?;
        Ok(done(redone))
    }

    /// Finishes a restore that was interrupted.
    ///
    /// It is stopped, or finished first, as `restore` is.
    #[pyo3(signature = (*, progress=None))]
    fn continue_restore(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Restored> {
        let restored = finishing(py, progress, RESTORE, |listener| {
            self.with(|project| project.continue_restore(listener))
        })?;
        Ok(restored.into())
    }
}

fn done(undone: Undone) -> Restored {
    match undone {
        Undone::Done(restored) => (*restored).into(),
        Undone::Steps(_, Some(taken)) => (*taken).into(),
        // Only for dry runs, which nobody here asks for.
        Undone::Steps(_, None) | Undone::Planned(_) => Restored::nothing(Vec::new()),
    }
}
