//! Names and pins: refs beside the checkpoint's own.

use herma_store::ObjectId;
use herma_store::refs::scheme::{checkpoint_ref, name_ref, pin_ref};

use crate::engine::Project;
use crate::engine::open::OpenStore;
use crate::error::Error;
use crate::history::History;
use crate::types::checkpoint::{Checkpoint, check_checkpoint_name};

impl Project {
    /// Gives a checkpoint a name.
    pub fn name(&self, checkpoint: &Checkpoint, name: &str) -> Result<(), Error> {
        check_checkpoint_name(name)
            .map_err(|source| Error::BadName { name: name.to_owned(), source })?;
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        if store.dirs.refs().read(&name_ref(&self.id, name))? == Some(checkpoint.id) {
            return Ok(());
        }
        self.check_name_free(&store, name)?;
        self.ensure_ref(&store, checkpoint)?;
        self.give_name(&store, &checkpoint.id, name)
    }

    /// Takes a name away.
    pub fn unname(&self, name: &str) -> Result<(), Error> {
        self.read_store()?;
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let full = name_ref(&self.id, name);
        let id = match check_checkpoint_name(name) {
            Ok(()) => store.dirs.refs().read(&full)?,
            Err(_) => None,
        };
        let id = id.ok_or_else(|| Error::NotFound { spec: name.to_owned() })?;
        Ok(store.dirs.refs().delete(&full, id)?)
    }

    /// Keeps a checkpoint, whatever cleaning does.
    pub fn pin(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let pin = pin_ref(&self.id, self.ensure_ref(&store, checkpoint)?);
        if store.dirs.refs().read(&pin)?.is_some() {
            return Ok(());
        }
        Ok(store.dirs.refs().create(&[(&pin, checkpoint.id)])?)
    }

    /// Lets cleaning decide about a checkpoint again.
    pub fn unpin(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let pin = pin_ref(&self.id, self.ensure_ref(&store, checkpoint)?);
        if let Some(id) = store.dirs.refs().read(&pin)? {
            store.dirs.refs().delete(&pin, id)?;
        }
        Ok(())
    }

    pub(crate) fn check_name_free(&self, store: &OpenStore, name: &str) -> Result<(), Error> {
        let Some(id) = store.dirs.refs().read(&name_ref(&self.id, name))? else { return Ok(()) };
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        if history.contains(&id) {
            return Err(Error::NameTaken { name: name.to_owned(), id });
        }
        // The checkpoint it named is gone: the name is free.
        Ok(store.dirs.refs().delete(&name_ref(&self.id, name), id)?)
    }

    pub(crate) fn give_name(
        &self,
        store: &OpenStore,
        id: &ObjectId,
        name: &str,
    ) -> Result<(), Error> {
        Ok(store.dirs.refs().create(&[(&name_ref(&self.id, name), *id)])?)
    }

    /// Gives a checkpoint that only Hermes's ref holds a ref of its own. Returns its place in the order,
    /// which an adoption may have changed since the caller read it.
    fn ensure_ref(&self, store: &OpenStore, checkpoint: &Checkpoint) -> Result<u64, Error> {
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        let entry = history.entry(&checkpoint.id)?;
        if !entry.has_ref {
            let name = checkpoint_ref(&self.id, entry.sequence);
            store.dirs.refs().create(&[(&name, entry.id)])?;
        }
        Ok(entry.sequence)
    }
}
