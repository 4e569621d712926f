//! Dropping a checkpoint: its refs go, and git's `shallow` file says where history is cut.

use super::Project;
use super::open::OpenStore;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::Spec;
use crate::error::Error;
use crate::history::Entry;
use crate::history::History;
use crate::history::Labels;
use crate::history::checkpoint_ref;
use crate::history::extra_ref;
use crate::history::mirror_ref;
use crate::history::name_ref;
use crate::history::pin_ref;
use crate::store::error::StoreError;

impl Project<'_> {
    /// Forgets a checkpoint. No other checkpoint changes its id, its time or its place in the order.
    ///
    /// Its objects stay until collection finds that nothing needs them.
    pub fn drop_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.drop_where(|history, _| {
            let same = |entry: &Entry| entry.id == checkpoint.id;
            history
                .entries
                .iter()
                .position(same)
                .ok_or_else(|| Error::NotFound {
                    spec: checkpoint.id.to_hex(),
                })
        })
    }

    /// Forgets a checkpoint that need not be readable.
    pub fn drop_named(&self, spec: &Spec) -> Result<(), Error> {
        self.read_store()?;
        self.drop_where(|history, store| history.find(spec, &store.dirs, &self.id))
    }

    fn drop_where(
        &self,
        find: impl FnOnce(&History, &OpenStore) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        let refs = store.dirs.refs();
        // Looked up now: an adoption may have moved it since the caller read it.
        let index = find(&history, &store)?;
        let Entry { sequence, id, .. } = history.entries[index];
        let (journal, _) = self.records(&store)?;
        if journal.is_some_and(|journal| journal.safety == id || journal.target == id) {
            return Err(Error::NeededByInterrupted { id });
        }
        // Checkpoints only Hermes's ref holds must not vanish when history is cut.
        let foreign: Vec<&Entry> = history.entries.iter().filter(|e| !e.has_ref).collect();
        for entry in foreign {
            refs.create(&[(&checkpoint_ref(&self.id, entry.sequence), entry.id)])?;
        }
        // ORDER: children are cut off first. A crash in between leaves a checkpoint that is still
        // listed, never one whose parent is missing.
        let mut children = Vec::new();
        for entry in &history.entries[index + 1..] {
            // What cannot be read is nobody's child for git either.
            let commit = store.objects.read_commit(&entry.id);
            if commit.is_ok_and(|commit| commit.parents.contains(&id)) {
                children.push(entry.id);
            }
        }
        store.dirs.shallow().add(&children)?;
        self.move_mirror_off(&store, &history, index)?;
        let delete = |name: &str| -> Result<(), StoreError> {
            match refs.read(name)? {
                Some(id) => refs.delete(name, id),
                None => Ok(()),
            }
        };
        for name in Labels::load(&store.dirs, &self.id)?.names_of(&id) {
            delete(&name_ref(&self.id, name))?;
        }
        delete(&pin_ref(&self.id, sequence))?;
        delete(&checkpoint_ref(&self.id, sequence))?;
        delete(&extra_ref(&self.id, sequence))?;
        Ok(())
    }

    /// If the ref Hermes reads stands on the checkpoint to be dropped, or on copies that Hermes made and
    /// among which it would be found again, moves it to the newest checkpoint that stays.
    fn move_mirror_off(
        &self,
        store: &OpenStore,
        history: &History,
        index: usize,
    ) -> Result<(), Error> {
        let staying = || {
            let others = history.entries.iter().enumerate();
            others.filter(|(at, _)| *at != index).map(|(_, e)| e.id)
        };
        let Some(mirror) = history.mirror else {
            return Ok(());
        };
        if staying().any(|id| id == mirror) {
            return Ok(());
        }
        let refs = store.dirs.refs();
        match staying().next_back() {
            Some(id) => refs.update(&mirror_ref(&self.id), Some(mirror), id)?,
            None => refs.delete(&mirror_ref(&self.id), mirror)?,
        }
        Ok(())
    }
}
