//! Names, pins and green marks: refs beside the checkpoint's own.

use crate::engine::operation::Operation;
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::address::{check_checkpoint_name, check_name_form};
use herma_store::ObjectId;
use herma_store::refs::scheme::{checkpoint_ref, green_ref, name_ref, pin_ref};

use crate::error::{Error, Result};

/// Can a checkpoint be called so?
pub(crate) fn check(name: &str) -> Result<()> {
    check_checkpoint_name(name).map_err(|source| Error::BadName { name: name.to_owned(), source })
}

impl Operation<'_> {
    pub(crate) fn name(&self, checkpoint: &Checkpoint, name: &str) -> Result<()> {
        check(name)?;
        if self.store.dirs.refs().read(&name_ref(&self.id, name))? == Some(checkpoint.id) {
            return Ok(());
        }
        self.check_name_free(name)?;
        self.ensure_ref(checkpoint)?;
        self.give_name(&checkpoint.id, name)
    }

    pub(crate) fn unname(&self, name: &str) -> Result<()> {
        let full = name_ref(&self.id, name);
        let id = match check_name_form(name) {
            Ok(()) => self.store.dirs.refs().read(&full)?,
            Err(_) => None,
        };
        let id = id.ok_or_else(|| Error::NotFound { spec: name.to_owned() })?;
        Ok(self.store.dirs.refs().delete(&full, id)?)
    }

    pub(crate) fn pin(&self, checkpoint: &Checkpoint) -> Result<()> {
        let pin = pin_ref(&self.id, self.ensure_ref(checkpoint)?);
        if self.store.dirs.refs().read(&pin)?.is_some() {
            return Ok(());
        }
        Ok(self.store.dirs.refs().create(&[(&pin, checkpoint.id)])?)
    }

    pub(crate) fn unpin(&self, checkpoint: &Checkpoint) -> Result<()> {
        let pin = pin_ref(&self.id, self.ensure_ref(checkpoint)?);
        if let Some(id) = self.store.dirs.refs().read(&pin)? {
            self.store.dirs.refs().delete(&pin, id)?;
        }
        Ok(())
    }

    /// Notes that a check passed in the state of a checkpoint.
    pub(crate) fn mark_green(&self, checkpoint: &Checkpoint) -> Result<()> {
        let green = green_ref(&self.id, self.ensure_ref(checkpoint)?);
        if self.store.dirs.refs().read(&green)?.is_some() {
            return Ok(());
        }
        Ok(self.store.dirs.refs().create(&[(&green, checkpoint.id)])?)
    }

    pub(crate) fn check_name_free(&self, name: &str) -> Result<()> {
        let Some(id) = self.store.dirs.refs().read(&name_ref(&self.id, name))? else {
            return Ok(());
        };
        let history = self.load_history()?;
        if history.contains(&id) {
            return Err(Error::NameTaken { name: name.to_owned(), id });
        }
        // The checkpoint it named is gone: the name is free.
        Ok(self.store.dirs.refs().delete(&name_ref(&self.id, name), id)?)
    }

    pub(crate) fn give_name(&self, id: &ObjectId, name: &str) -> Result<()> {
        Ok(self.store.dirs.refs().create(&[(&name_ref(&self.id, name), *id)])?)
    }

    /// Gives a checkpoint that only Hermes's ref holds a ref of its own. Returns its place in the order,
    /// which an adoption may have changed since the caller read it.
    fn ensure_ref(&self, checkpoint: &Checkpoint) -> Result<u64> {
        let history = self.load_history()?;
        let entry = history.entry(&checkpoint.id)?;
        if !entry.has_ref {
            let name = checkpoint_ref(&self.id, entry.number);
            self.store.dirs.refs().create(&[(&name, entry.id)])?;
        }
        Ok(entry.number)
    }
}
