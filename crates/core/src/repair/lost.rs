//! Bringing back refs that were lost, as far as anything tells what they named.
//!
//! The roll of a project tells it best. Without one, pins and names do, and the ref Hermes reads; and where a project
//! has no refs at all, whatever its own state remembers, with the checkpoints behind that.

use std::collections::HashSet;

use herma_records::checkpoint::receipt::receipt_in;
use herma_store::refs::roll;
use herma_store::refs::scheme::{checkpoint_ref, extra_ref, is_extra};
use herma_store::{ObjectId, ProjectId};

use crate::engine::history::{History, chain_behind};
use crate::engine::open::OpenStore;
use crate::error::Result;
use crate::repair::Repair;
use crate::repair::lost_refs::{LostKind, LostRef, known_ids, lost_refs, saved_commits};
use crate::repair::refs::RepairedRef;

impl Repair<'_> {
    /// Creates refs again that were lost, and the refs of receipts that are missing.
    pub(super) fn repair_lost(&mut self) -> Result<()> {
        for project in known_ids(&self.store)? {
            let store = &self.store;
            if lost_refs(store, &project)?.is_empty() && missing_extras(store, &project)?.is_empty()
            {
                continue;
            }
            let _lock = self.lock(&project)?;
            // Again under the lock. Checkpoints first: names and pins are theirs.
            let mut lost = lost_refs(store, &project)?;
            lost.sort_by_key(|lost| lost.kind == LostKind::Label);
            for lost in lost {
                self.done.refs.extend(bring_back(store, lost, &History::load(store, &project)?)?);
            }
            for (name, extra) in missing_extras(store, &project)? {
                store.dirs.refs().create(&[(&name, extra)])?;
                self.done.refs.push(made_again(name, None, extra));
            }
        }
        Ok(())
    }
}

/// The commits that lost refs named and that the store does not have.
pub(crate) fn missing_commits(store: &OpenStore) -> Result<Vec<ObjectId>> {
    let mut missing = Vec::new();
    for project in known_ids(store)? {
        let lost = lost_refs(store, &project)?.into_iter().map(|lost| lost.id);
        missing.extend(lost.filter(|id| store.objects.read_commit(id).is_err()));
    }
    Ok(missing)
}

/// Refs of receipts that are not there, and what they have to name.
pub(crate) fn missing_extras(
    store: &OpenStore,
    project: &ProjectId,
) -> Result<Vec<(String, ObjectId)>> {
    let refs = store.dirs.refs();
    let there: HashSet<String> = {
        let listing = refs.list_where(&format!("refs/herma/{project}"), &is_extra)?;
        let named = listing.refs.into_iter().map(|(name, _)| name);
        named.chain(listing.broken).collect()
    };
    let history = History::load(store, project)?;
    let mut missing = Vec::new();
    for entry in history.entries.iter().filter(|entry| entry.has_ref) {
        let name = extra_ref(project, entry.number);
        if there.contains(&name) {
            continue;
        }
        // It may have come into being with its checkpoint since, or be gone with it.
        let own = refs.read(&checkpoint_ref(project, entry.number));
        let is_alone = own.is_ok_and(|id| id == Some(entry.id))
            && refs.read(&name).is_ok_and(|id| id.is_none());
        let receipt = is_alone.then(|| receipt_in(&store.objects, &entry.id)).flatten();
        missing.extend(receipt.map(|receipt| (name, receipt)));
    }
    Ok(missing)
}

/// Checkpoints whose parent is gone although nothing says that history ends there: git would call that damage, and a
/// collection would look for the parent for ever.
pub(crate) fn missing_cuts(store: &OpenStore, project: &ProjectId) -> Result<Vec<ObjectId>> {
    let history = History::load(store, project)?;
    // ORDER: after the history, because a dropping writes this first.
    let shallow = store.dirs.shallow().read()?;
    let mut missing = Vec::new();
    for entry in history.entries.iter().filter(|entry| !shallow.contains(&entry.id)) {
        let commit = store.objects.read_commit(&entry.id).ok();
        let parents = commit.map(|commit| commit.parents).unwrap_or_default();
        let mut lost = false;
        for parent in parents.iter().filter(|parent| !history.contains(parent)) {
            lost = lost || !store.objects.contains(parent)?;
        }
        missing.extend(lost.then_some(entry.id));
    }
    Ok(missing)
}

fn made_again(name: String, number: Option<u64>, id: ObjectId) -> RepairedRef {
    RepairedRef { name, number, set_aside: None, recovered: Some(id) }
}

/// Creates what a lost ref named, if it is there.
fn bring_back(store: &OpenStore, lost: LostRef, history: &History) -> Result<Vec<RepairedRef>> {
    let (refs, project) = (store.dirs.refs(), &history.project);
    let id = as_rewritten(store, project, lost.id)?;
    let is_readable = store.objects.read_commit(&id).is_ok();
    let has_ref = history.entries.iter().any(|entry| entry.id == id && entry.has_ref);
    match lost.kind {
        LostKind::Everything => return whole_history(store, project),
        LostKind::Checkpoint(number) if is_readable && !has_ref => {
            let is_free =
                |n: &u64| refs.read(&checkpoint_ref(project, *n)).is_ok_and(|id| id.is_none());
            let number = number.filter(is_free);
            let number = number.map_or_else(|| place_for(store, history, id), Ok)?;
            if lost.name != checkpoint_ref(project, number) {
                roll::strike(&store.dirs, std::iter::once(lost.name.as_str()))?;
            }
            return Ok(vec![create_checkpoint(store, project, number, id)?]);
        }
        LostKind::Label if is_readable && (has_ref || !lost.name.starts_with("refs/herma")) => {
            refs.create(&[(&lost.name, id)])?;
            return Ok(vec![made_again(lost.name, None, id)]);
        }
        LostKind::Checkpoint(_) | LostKind::Label => {}
    }
    // ORDER: nothing tells of it any more, so nobody need look for it again.
    roll::strike(&store.dirs, std::iter::once(lost.name.as_str()))?;
    if has_ref {
        return Ok(Vec::new());
    }
    let number = if let LostKind::Checkpoint(number) = lost.kind { number } else { None };
    Ok(vec![RepairedRef { name: lost.name, number, set_aside: None, recovered: None }])
}

fn create_checkpoint(
    store: &OpenStore,
    project: &ProjectId,
    number: u64,
    id: ObjectId,
) -> Result<RepairedRef> {
    let refs = store.dirs.refs();
    let (name, extra) = (checkpoint_ref(project, number), extra_ref(project, number));
    let receipt =
        receipt_in(&store.objects, &id).filter(|_| refs.read(&extra).is_ok_and(|id| id.is_none()));
    // ORDER: the receipt first, as a save has it.
    if let Some(receipt) = receipt {
        refs.create(&[(&extra, receipt)])?;
    }
    refs.create(&[(&name, id)])?;
    Ok(made_again(name, Some(number), id))
}

/// What a commit became if something was purged from it since.
fn as_rewritten(store: &OpenStore, project: &ProjectId, id: ObjectId) -> Result<ObjectId> {
    Ok(store.rewritten(project)?.get(&id).copied().unwrap_or(id))
}

/// The number of a checkpoint that lost it: the first free one after its parent, or after those that are older.
fn place_for(store: &OpenStore, history: &History, id: ObjectId) -> Result<u64> {
    let commit = store.objects.read_commit(&id)?;
    let own: Vec<_> = history.entries.iter().filter(|entry| entry.has_ref).collect();
    let parent = own.iter().find(|entry| commit.parents.first() == Some(&entry.id));
    let is_older = |id: &ObjectId| {
        let other = store.objects.read_commit(id);
        other.is_ok_and(|other| other.author.seconds <= commit.author.seconds)
    };
    let older = || own.iter().rev().find(|entry| is_older(&entry.id));
    let after = parent.or_else(older).map_or(0, |entry| entry.number);
    let mut free = after + 1;
    while own.iter().any(|entry| entry.number == free) {
        free += 1;
    }
    Ok(free)
}

/// Gives a project refs again that has none: everything its own state remembers, and what is behind it.
fn whole_history(store: &OpenStore, project: &ProjectId) -> Result<Vec<RepairedRef>> {
    let (mut order, mut known) = (Vec::new(), HashSet::new());
    for tip in saved_commits(store, project)? {
        let tip = as_rewritten(store, project, tip)?;
        let chain = chain_behind(&store.dirs, &store.objects, tip, &known)?;
        known.extend(chain.iter().map(|(id, _)| *id));
        order.extend(chain.into_iter().rev().map(|(id, _)| id));
    }
    let numbered = (1..).zip(order);
    numbered.map(|(number, id)| create_checkpoint(store, project, number, id)).collect()
}
