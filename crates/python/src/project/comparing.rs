//! Looking at the difference between two states.

use herma_core::steps::StepChoice;
use herma_core::{Error, State};
use herma_diff::PatchOptions;
use pyo3::prelude::*;

use super::Project;
use crate::answers::change::{Change, Diff};
use crate::arguments::{Paths, Scope, Which, Words, chosen};
use crate::progress::{Listener, with_progress};

impl Project {
    fn compare(
        &self,
        sides: (&Which, Option<&Which>),
        paths: &Paths,
        renames: bool,
        options: Option<&PatchOptions>,
        listener: &Listener,
    ) -> Result<Diff, Error> {
        self.with(|project| {
            let from = State::Checkpoint(Box::new(sides.0.find(project)?));
            let to = match sides.1 {
                Some(which) => State::Checkpoint(Box::new(which.find(project)?)),
                None => State::Present,
            };
            let scope = paths.inside(project)?;
            let comparison = project.changes(&from, &to, &scope, renames, listener)?;
            Diff::new(&comparison, options)
        })
    }
}

#[pymethods]
impl Project {
    /// What changed since a checkpoint, or between two, with the patch.
    #[pyo3(
        signature = (which=Which::newest(), to=None, *, paths=None, context=3, binary=false, renames=true, progress=None),
        text_signature = "($self, which='@', to=None, *, paths=None, context=3, binary=False, renames=True, progress=None)"
    )]
    fn diff(
        &self,
        py: Python<'_>,
        which: Which,
        to: Option<Which>,
        paths: Option<Scope>,
        context: usize,
        binary: bool,
        renames: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Diff> {
        let paths = chosen(paths);
        let options = PatchOptions { context, binary, ..PatchOptions::default() };
        with_progress(py, progress, |listener| {
            self.compare((&which, to.as_ref()), &paths, renames, Some(&options), listener)
        })
    }

    /// The files that changed since a checkpoint, or between two.
    #[pyo3(
        signature = (which=Which::newest(), to=None, *, paths=None, renames=true, progress=None),
        text_signature = "($self, which='@', to=None, *, paths=None, renames=True, progress=None)"
    )]
    fn changes(
        &self,
        py: Python<'_>,
        which: Which,
        to: Option<Which>,
        paths: Option<Scope>,
        renames: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Change>> {
        let paths = chosen(paths);
        let diff = with_progress(py, progress, |listener| {
            self.compare((&which, to.as_ref()), &paths, renames, None, listener)
        })?;
        Ok(diff.changes)
    }

    /// What the steps of a session changed, and nothing else.
    #[pyo3(signature = (session, *, paths=None, renames=true, progress=None))]
    fn session_diff(
        &self,
        py: Python<'_>,
        session: Words,
        paths: Option<Scope>,
        renames: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Diff> {
        let paths = chosen(paths);
        let choice = StepChoice { session: Some(session.0), ..StepChoice::default() };
        with_progress(py, progress, |listener| {
            self.with(|project| {
                let scope = paths.inside(project)?;
                let found = project.session_changes(&choice, &scope, renames, listener)?;
                Diff::new(&found.comparison, Some(&PatchOptions::default()))
            })
        })
    }
}
