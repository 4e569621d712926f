//! One project: saving it, finding its checkpoints, and labelling them. `comparing`, `restoring` and `stepping` are the rest of
//! its methods, `running_step` is a step as a block of Python.

mod comparing;
mod restoring;
pub(crate) mod running_step;
mod stepping;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use herma_core::directory::RootRefused;
use herma_core::engine::{NoProgress, Project as CoreProject};
use herma_core::{Error, SaveOptions};
use pyo3::prelude::*;

use crate::answers::checkpoint::{Checkpoint, Receipt, Saved};
use crate::arguments::{Text, Which, Words, facts, said};
use crate::paths::shown;
use crate::progress::{finishing, quietly};

/// One directory whose states are kept.
#[pyclass(frozen, module = "herma")]
#[derive(Clone)]
pub(crate) struct Project {
    engine: Arc<herma_core::Engine>,
    root: PathBuf,
    id: String,
    background: bool,
}

impl Project {
    /// Opens a directory.
    pub(crate) fn open(
        engine: &Arc<herma_core::Engine>,
        root: &Path,
        background: bool,
    ) -> Result<Self, Error> {
        let project = engine.project(root)?;
        Ok(Self {
            root: project.root().to_owned(),
            id: project.id().to_string(),
            engine: Arc::clone(engine),
            background,
        })
    }

    /// Hands the engine's project to `work`.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&CoreProject) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let project = self.engine.project(&self.root)?;
        if project.root() != self.root {
            return Err(RootRefused::LeadsElsewhere(self.root.clone()).into());
        }
        work(&project)
    }

    /// The same where only the store is needed: the directory may be gone.
    pub(crate) fn remembered<T>(
        &self,
        work: impl FnOnce(&CoreProject) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(&self.engine.former_project(&self.root))
    }

    /// Starts cleaning up if it is time to.
    pub(crate) fn clean_if_due(&self, saved: Option<&herma_core::Saved>) {
        if self.background && saved.is_some_and(|saved| saved.due.is_some()) {
            maintain_in_background(&self.engine);
        }
    }

    /// Looks up a checkpoint, without the interpreter.
    fn at(
        &self,
        py: Python<'_>,
        which: &Which,
        work: impl FnOnce(&CoreProject, &herma_core::Checkpoint) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        quietly(py, || self.with(|project| work(project, &which.find(project)?)))
    }
}

#[pymethods]
impl Project {
    /// Its directory.
    #[getter]
    fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Its id: the first 16 digits of the SHA-256 of its path.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Saves the project, unless nothing changed since the newest checkpoint.
    ///
    /// `progress` is called in another thread while this one waits, with a copy of its context variables: do not
    /// fork in it. What it raises, and Ctrl-C, stop the save with nothing saved, unless the checkpoint is being written
    /// already: then the exception comes afterwards, with a note that says so.
    #[pyo3(
        signature = (
            reason=Text::default(), *, name=None, agent=None, session=None, turn=None, tool=None,
            rehash=false, progress=None
        ),
        text_signature = "($self, reason='', *, name=None, agent=None, session=None, turn=None, tool=None, rehash=False, progress=None)"
    )]
    fn save(
        &self,
        py: Python<'_>,
        reason: Text,
        name: Option<Words>,
        agent: Option<Words>,
        session: Option<Words>,
        turn: Option<Words>,
        tool: Option<Words>,
        rehash: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Saved> {
        let options = SaveOptions {
            reason: reason.0.into(),
            name: said(name),
            facts: facts(agent, session, turn, tool),
            rehash,
        };
        let saved = finishing(py, progress, "save", |listener| {
            let saved = self.with(|project| project.save_with(&options, listener))?;
            self.clean_if_due(Some(&saved));
            Ok(saved)
        })?;
        Ok(saved.into())
    }

    /// The checkpoints, the newest first.
    fn list(&self, py: Python<'_>) -> PyResult<Vec<Checkpoint>> {
        let list = quietly(py, || self.with(|project| project.timeline()))?;
        Ok(list.into_iter().map(Checkpoint::from).collect())
    }

    /// The checkpoint with a number, an id prefix or a name; `@-2` is the third newest.
    fn find(&self, py: Python<'_>, which: Which) -> PyResult<Checkpoint> {
        let found = quietly(py, || self.with(|project| which.find(project)))?;
        Ok(found.into())
    }

    /// What a checkpoint captured, and by name and reason what it did not.
    fn receipt(&self, py: Python<'_>, which: Which) -> PyResult<Receipt> {
        let receipt = quietly(py, || self.with(|project| project.receipt(&which.find(project)?)))?;
        Ok(Receipt::from(&receipt))
    }

    /// Gives a checkpoint a name. A named checkpoint stays whatever cleaning does.
    fn name(&self, py: Python<'_>, which: Which, name: Words) -> PyResult<()> {
        self.at(py, &which, |project, found| project.name(found, &name.0))
    }

    /// Takes a name away.
    fn unname(&self, py: Python<'_>, name: Words) -> PyResult<()> {
        quietly(py, || self.with(|project| project.unname(&name.0)))
    }

    /// Keeps a checkpoint, whatever cleaning does.
    fn pin(&self, py: Python<'_>, which: Which) -> PyResult<()> {
        self.at(py, &which, |project, found| project.pin(found))
    }

    /// Lets cleaning decide about a checkpoint again.
    fn unpin(&self, py: Python<'_>, which: Which) -> PyResult<()> {
        self.at(py, &which, |project, found| project.unpin(found))
    }

    /// Drops a checkpoint. No other one changes.
    fn drop(&self, py: Python<'_>, which: Which) -> PyResult<()> {
        self.at(py, &which, |project, found| project.drop_checkpoint(found))
    }

    fn __repr__(&self) -> String {
        format!("<Project {}>", shown(&self.root))
    }
}

/// Is a thread of this process cleaning up?
static CLEANING: AtomicBool = AtomicBool::new(false);

/// Cleans up in a thread that Python does not know of: no save waits for it, and when the process ends in
/// the middle of it, the store is whole and the next save starts it again.
fn maintain_in_background(engine: &Arc<herma_core::Engine>) {
    if CLEANING.swap(true, Ordering::AcqRel) {
        return;
    }
    let engine = Arc::clone(engine);
    let work = move || {
        // What went wrong is written where `herma checkpoints status` looks.
        let _ = engine.maintain(&NoProgress);
        CLEANING.store(false, Ordering::Release);
    };
    let name = "herma-cleaning".to_owned();
    if std::thread::Builder::new().name(name).spawn(work).is_err() {
        CLEANING.store(false, Ordering::Release);
    }
}
