//! Dropping checkpoints: their refs go, and git's `shallow` file says where history is cut.

use std::collections::BTreeSet;
use std::collections::HashSet;

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
use crate::history::stray_extras;
use crate::id::ObjectId;
use crate::id::ProjectId;
use crate::steps::log::StepLog;
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
        store.dirs.use_reserve()?;
        let _lock = self.lock(&store.dirs)?;
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        // Looked up now: an adoption may have moved it since the caller read it.
        let index = find(&history, &store)?;
        let Entry { sequence, id, .. } = history.entries[index];
        let (journal, _) = self.records(&store)?;
        if journal.is_some_and(|journal| journal.safety == id || journal.target == id) {
            return Err(Error::NeededByInterrupted { id });
        }
        if history.newest().is_some_and(|newest| newest.id == id) {
            let herma = store.dirs.for_writing()?;
            let log = StepLog::open(&self.state_dir(&store.dirs)?)?;
            // ORDER: before the ref goes, from which the next number would follow.
            log.reserve_order(&herma.tmp, history.next_sequence())?;
        }
        cut(&store, &self.id, &history, &BTreeSet::from([sequence]))
    }
}

/// Drops checkpoints of a project, by their places in its order. The caller holds the project's lock.
pub(crate) fn cut(
    store: &OpenStore,
    project: &ProjectId,
    history: &History,
    dropped: &BTreeSet<u64>,
) -> Result<(), Error> {
    let refs = store.dirs.refs();
    let (going, staying): (Vec<&Entry>, Vec<&Entry>) = history
        .entries
        .iter()
        .partition(|entry| dropped.contains(&entry.sequence));
    // Checkpoints only Hermes's ref holds must not vanish when history is cut.
    for entry in staying.iter().filter(|entry| !entry.has_ref) {
        refs.create(&[(&checkpoint_ref(project, entry.sequence), entry.id)])?;
    }
    // ORDER: children are cut off first. A crash in between leaves a checkpoint that is still
    // listed, never one whose parent is missing.
    let ids: HashSet<ObjectId> = going.iter().map(|entry| entry.id).collect();
    let mut children = Vec::new();
    for entry in &staying {
        // What cannot be read is nobody's child for git either.
        let commit = store.objects.read_commit(&entry.id);
        if commit.is_ok_and(|commit| commit.parents.iter().any(|parent| ids.contains(parent))) {
            children.push(entry.id);
        }
    }
    store.dirs.shallow().add(&children)?;
    move_mirror_off(store, project, history, &staying)?;
    let mut names = Vec::new();
    let labels = Labels::load(&store.dirs, project)?;
    for entry in &going {
        names.extend(
            labels
                .names_of(&entry.id)
                .map(|name| name_ref(project, name)),
        );
        names.push(pin_ref(project, entry.sequence));
    }
    // ORDER: a checkpoint without a name is one that can be seen and dropped again; a name without a
    // checkpoint would keep its objects for ever.
    names.extend(
        going
            .iter()
            .map(|entry| checkpoint_ref(project, entry.sequence)),
    );
    names.extend(going.iter().map(|entry| extra_ref(project, entry.sequence)));
    names.extend(stray_extras(&store.dirs, project)?);
    let mut doomed = Vec::new();
    for name in names {
        match refs.read(&name) {
            Ok(Some(id)) => doomed.push((name, id)),
            // A broken ref names nothing; doctor and repair know it.
            Ok(None) | Err(StoreError::DamagedFile { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(refs.delete_all(&doomed)?)
}

/// If the ref Hermes reads stands on a checkpoint to be dropped, or on copies that Hermes made and among
/// which it would be found again, moves it to the newest checkpoint that stays.
fn move_mirror_off(
    store: &OpenStore,
    project: &ProjectId,
    history: &History,
    staying: &[&Entry],
) -> Result<(), Error> {
    let Some(mirror) = history.mirror else {
        return Ok(());
    };
    if staying.iter().any(|entry| entry.id == mirror) {
        return Ok(());
    }
    let refs = store.dirs.refs();
    match staying.last() {
        Some(newest) => refs.update(&mirror_ref(project), Some(mirror), newest.id)?,
        None => refs.delete(&mirror_ref(project), mirror)?,
    }
    Ok(())
}
