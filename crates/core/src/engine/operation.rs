//! A project while something is done with it.

use std::ops::Deref;

use herma_store::lock::Guard;

use super::open::OpenStore;
use super::{NoProgress, Progress, Project, Stage};
use crate::engine::history::History;
use crate::error::{Error, Result};

/// A project whose store is open, and whoever is told how far it is. All that is done with one project is done here; the
/// door for callers is `project.rs`.
pub(crate) struct Operation<'p> {
    pub(crate) project: &'p Project,
    pub(crate) store: OpenStore,
    pub(crate) progress: &'p dyn Progress,
    /// While it is held nobody else changes the project.
    pub(crate) lock: Option<Guard>,
}

impl Deref for Operation<'_> {
    type Target = Project;

    fn deref(&self) -> &Project {
        self.project
    }
}

impl Project {
    fn operation<'p>(&'p self, store: OpenStore, progress: &'p dyn Progress) -> Operation<'p> {
        Operation { project: self, store, progress, lock: None }
    }

    /// To read what there is. There must be a store.
    pub(crate) fn reading<'p>(&'p self, progress: &'p dyn Progress) -> Result<Operation<'p>> {
        let store = self.engine.open_for_reading()?;
        let store = store.ok_or_else(|| Error::NoStore(self.engine.store_dir()))?;
        Ok(self.operation(store, progress))
    }

    /// What there is to read, and nothing if there is no store.
    pub(crate) fn if_stored<'p, T: Default>(
        &'p self,
        read: impl FnOnce(&Operation<'p>) -> Result<T>,
    ) -> Result<T> {
        let store = self.engine.open_for_reading()?;
        store.map_or_else(|| Ok(T::default()), |store| read(&self.operation(store, &NoProgress)))
    }

    /// To write objects. The store is made if there is none.
    pub(crate) fn writing<'p>(&'p self, progress: &'p dyn Progress) -> Result<Operation<'p>> {
        if let Some(line) = &self.line {
            return Err(Error::ReadOnlyLine { line: line.clone() });
        }
        Ok(self.operation(self.engine.open_for_writing()?, progress))
    }

    /// To change the project or what is known of it, which one does at a time.
    pub(crate) fn locked<'p>(&'p self, progress: &'p dyn Progress) -> Result<Operation<'p>> {
        progress.stage(Stage::Waiting);
        let mut operation = self.writing(progress)?;
        operation.lock = Some(self.lock(&operation.store.dirs)?);
        // What could not be done now is done by the next one: until then old steps are called by their handles.
        let _ = operation.number_old_steps();
        Ok(operation)
    }
}

impl Operation<'_> {
    /// Its checkpoints in their order.
    pub(crate) fn load_history(&self) -> Result<History> {
        History::load(&self.store, &self.id)
    }

    /// The history, which must have something in it.
    pub(crate) fn some_history(&self) -> Result<History> {
        let history = self.load_history()?;
        if history.entries.is_empty() {
            return Err(Error::NoCheckpoints { root: self.root.clone() });
        }
        Ok(history)
    }
}
