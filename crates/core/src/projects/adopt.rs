//! Projects the store knows, and reconnecting one that was moved or renamed.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use herma_store::object::EntryMode;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, name_ref, pin_ref};
use herma_store::{ObjectId, ProjectId};

use crate::cleanup::{Doubt, Presence, presence};
use crate::directory::{Place, Places};
use crate::engine::history::{History, Labels};
use crate::engine::lock::lock_project;
use crate::engine::open::{OpenStore, project_ids};
use crate::engine::{Engine, KnownProject};
use crate::error::Result;

/// How many of a gone project's top-level names must be here for it to be taken for this one.
const RESEMBLANCE_PERCENT: usize = 50;

impl Engine {
    /// Every project the store has heard of.
    pub fn projects(&self) -> Result<Vec<KnownProject>> {
        let Some(store) = self.open_for_reading()? else { return Ok(Vec::new()) };
        project_ids(&store)?.into_iter().map(|id| known(&store, id)).collect()
    }
}

fn known(store: &OpenStore, id: ProjectId) -> Result<KnownProject> {
    let identity = store.identity(&id);
    let workdir = identity.workdir();
    Ok(KnownProject {
        checkpoints: History::load(store, &id)?.entries.len(),
        // As for cleaning: a file or a link that leads nowhere stands there because somebody put it there.
        exists: workdir
            .as_ref()
            .is_some_and(|path| matches!(herma_fs::stat_path(path), Ok(Some(_)))),
        last_touch: identity.last_touch(),
        workdir,
        id,
    })
}

impl Operation<'_> {
    pub(crate) fn adoptable(&self) -> Result<Vec<KnownProject>> {
        let root = self.open_root()?;
        let here = Place::of(&root)?;
        let (mut found, mut same) = (Vec::new(), Vec::new());
        for known in self.engine.projects()? {
            if known.exists || known.checkpoints == 0 || known.id == self.id {
                continue;
            }
            let places = self.store.identity(&known.id).places();
            let is_here = places.own.is_some_and(|own| own.may_be(&here));
            let born = places.own.and_then(|own| own.born);
            let is_certain = is_here && born.is_some() && born == here.born;
            if !is_certain && !resembles(&self.store, &root, &known.id).unwrap_or(false) {
                continue;
            }
            if is_here {
                same.push(known);
            } else if !is_elsewhere(&known, &places) {
                found.push(known);
            }
        }
        Ok(if same.is_empty() { found } else { same })
    }

    pub(crate) fn adopt(&self, from: &KnownProject) -> Result<usize> {
        // What a purge was interrupted in is finished there, before it moves.
        drop(lock_project(&self.store.dirs, &from.id, self.settings().lock_wait)?);
        let theirs = History::load(&self.store, &from.id)?;
        let labels = Labels::load(&self.store, &from.id)?;
        let ours = self.load_history()?;
        self.touch(Durability::Synced)?;
        let fresh: Vec<_> = theirs.entries.iter().filter(|e| !ours.contains(&e.id)).collect();
        let first = room_before(&self.store, &ours, fresh.len() as u64)?;
        for (sequence, entry) in (first..).zip(&fresh) {
            let extra = self.store.dirs.refs().read(&extra_ref(&from.id, entry.sequence))?;
            let checkpoint = checkpoint_ref(&self.id, sequence);
            let extra_name = extra_ref(&self.id, sequence);
            let mut refs: Vec<(&str, ObjectId)> = Vec::new();
            refs.extend(extra.map(|id| (extra_name.as_str(), id)));
            refs.push((&checkpoint, entry.id));
            self.store.dirs.refs().create(&refs)?;
            if labels.is_pinned(entry.sequence) {
                self.store.dirs.refs().create(&[(&pin_ref(&self.id, sequence), entry.id)])?;
            }
            for name in labels.names_of(&entry.id) {
                let full = name_ref(&self.id, name);
                if self.store.dirs.refs().read(&full)?.is_none() {
                    self.store.dirs.refs().create(&[(&full, entry.id)])?;
                }
            }
        }
        if let (true, Some(newest)) = (ours.entries.is_empty(), theirs.newest()) {
            // Only a view for Hermes and `git log`; the next save heals what could not be done.
            let _ = self.move_mirror(ours.mirror, newest.id);
        }
        let place_of = |sequence: u64| {
            let older = fresh.iter().filter(|entry| entry.sequence <= sequence);
            first + (older.count() as u64).saturating_sub(1)
        };
        self.carry_steps(&from.id, &place_of)?;
        // ORDER: the old project goes when nothing is left that only it has.
        forget(&self.store, &from.id)?;
        Ok(fresh.len())
    }
}

/// The first of `count` free sequence numbers before those in use; makes room if there is none.
///
/// A process killed on the way leaves the order as it was, perhaps with one checkpoint under two
/// numbers; the next call takes the older number away.
pub(crate) fn room_before(store: &OpenStore, ours: &History, count: u64) -> Result<u64> {
    let id = &ours.project;
    let Some(first) = ours.entries.first() else { return Ok(1) };
    if first.sequence > count {
        return Ok(first.sequence - count);
    }
    let mut newer = None;
    // The newest first, so that no number is in use twice at any moment.
    for entry in ours.entries.iter().rev() {
        let (old, new) = (entry.sequence, entry.sequence + count);
        let is_twice = newer.replace(entry.id) == Some(entry.id);
        let extra = store.dirs.refs().read(&extra_ref(id, old))?;
        let pin = store.dirs.refs().read(&pin_ref(id, old))?;
        let own = checkpoint_ref(id, new);
        let moves = [
            (extra_ref(id, old), extra_ref(id, new), extra),
            (pin_ref(id, old), pin_ref(id, new), pin),
            (checkpoint_ref(id, old), own.clone(), Some(entry.id)),
        ];
        for (from, to, value) in moves {
            let Some(value) = value else { continue };
            if !is_twice {
                create_over_leftover(store, &to, value, to == own)?;
            }
            if store.dirs.refs().read(&from)?.is_some() {
                store.dirs.refs().delete(&from, value)?;
            }
        }
    }
    Ok(first.sequence)
}

/// Creates a ref under a number no checkpoint has. A killed process may have left one there; if it is a
/// checkpoint's own, that checkpoint exists, and was only not listed.
fn create_over_leftover(
    store: &OpenStore,
    name: &str,
    value: ObjectId,
    is_own: bool,
) -> Result<()> {
    let refs = store.dirs.refs();
    match refs.read(name)? {
        Some(found) if found == value => return Ok(()),
        Some(found) if !is_own => refs.delete(name, found)?,
        _ => {}
    }
    Ok(refs.create(&[(name, value)])?)
}

/// Was the project renamed, and is still where that left it?
fn is_elsewhere(known: &KnownProject, places: &Places) -> bool {
    let presence = presence::presence(known.workdir.as_deref(), places);
    matches!(presence, Presence::OutOfReach(Doubt::Moved { .. }))
}

/// Are most of the top-level names of a project's newest checkpoint in this directory?
fn resembles(store: &OpenStore, root: &herma_fs::Dir, id: &ProjectId) -> Result<bool> {
    let history = History::load(store, id)?;
    let Some(newest) = history.newest() else { return Ok(false) };
    let tree = store.objects.read_commit(&newest.id)?.tree;
    let names = store.objects.read_tree(&tree)?;
    let here = names.iter().filter(|entry| {
        let stat = root.stat_opt(&entry.name[..]).ok().flatten();
        stat.is_some_and(|stat| {
            (stat.kind == herma_fs::FileKind::Directory) == (entry.mode == EntryMode::Directory)
        })
    });
    Ok(!names.is_empty() && here.count() * 100 >= names.len() * RESEMBLANCE_PERCENT)
}

/// Removes the refs of a project whose checkpoints have moved elsewhere.
fn forget(store: &OpenStore, id: &ProjectId) -> Result<()> {
    let refs = store.dirs.refs();
    let below = ["refs/herma-names", "refs/herma-pins", "refs/herma", "refs/hermes"];
    for prefix in below {
        for (name, value) in refs.list(&format!("{prefix}/{id}"))?.refs {
            refs.delete(&name, value)?;
        }
    }
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        // The file may be missing; then there is nothing to forget.
        let _ = dir.remove_file(format!("{id}.json").as_str());
    }
    Ok(())
}
