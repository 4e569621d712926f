//! Mending refs that name nothing and records that cannot be read.
//!
//! A ref that keeps a receipt and names something else names it again; so does one that names what is not there, if the roll
//! tells what it named. A torn ref is set aside. If something else
//! still tells which commit it named, it is made again: a pin, the checkpoint after it, or the ref Hermes reads.
//! A record is written again with what was good in the old one; the times come from the checkpoints, and the
//! directory, which nobody can guess, only from places whose word can be checked against the project's id.

use std::collections::BTreeSet;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_records::checkpoint::message::Message;
use herma_records::checkpoint::receipt::receipt_in;
use herma_records::identity::Identity;
use herma_store::error::StoreError;
use herma_store::layout::base;
use herma_store::layout::base::Found;
use herma_store::refs::roll;
use herma_store::refs::roll::Roll;
use herma_store::refs::scheme::{extra_ref, mirror_ref, number_of, pin_ref};
use herma_store::{ObjectId, ProjectId};

use crate::engine::history::{Entry, History};
use crate::engine::open::{OpenStore, project_ids};
use crate::error::Result;
use crate::repair::Repair;
use crate::repair::verify::{OUR_REFS, other_extra, record_problem};

/// A ref that named nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedRef {
    /// Its name.
    pub name: String,
    /// The checkpoint it was the ref of, by its place in the order of saving.
    pub number: Option<u64>,
    /// Where its file is now, relative to the store; `None` if there was none.
    pub set_aside: Option<String>,
    /// The commit, or the receipt, it names again; `None` if nobody knows which it was.
    pub recovered: Option<ObjectId>,
}

/// A record of a project that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedRecord {
    /// The project.
    pub project: ProjectId,
    /// What was wrong.
    pub what: String,
    /// Where the old file is now, relative to the store.
    pub set_aside: String,
    /// The directory the new one names; `None` if that is not known any more.
    pub workdir: Option<PathBuf>,
}

impl Repair<'_> {
    /// Sets refs aside that cannot be read, and makes those again of which it is known what they named.
    pub(super) fn repair_refs(&mut self) -> Result<()> {
        for prefix in OUR_REFS {
            for name in self.store.dirs.refs().list(prefix)?.broken {
                let project = project_in(&name);
                let _lock = project.map(|project| self.lock(&project)).transpose()?;
                self.done.refs.extend(self.repair_ref(&name)?);
            }
        }
        for project in project_ids(&self.store)? {
            if !wrong_refs(&self.store, &project)?.is_empty() {
                let _lock = self.lock(&project)?;
                // Again under the lock: a save makes such refs, too.
                for wrong in wrong_refs(&self.store, &project)? {
                    self.done.refs.push(self.correct(wrong)?);
                }
            }
        }
        Ok(())
    }

    /// Writes records of projects again that cannot be read or hold values of the wrong type.
    pub(super) fn repair_records(&mut self) -> Result<()> {
        for project in project_ids(&self.store)? {
            if record_problem(&self.store, &project).is_none() {
                continue;
            }
            let _lock = self.lock(&project)?;
            // Again under the lock: a save writes the record, too.
            if let Some((what, bytes)) = record_problem(&self.store, &project) {
                let identity = self.salvage(&project, &bytes)?;
                let set_aside = self.replace_record(&project, identity.as_ref())?;
                let workdir = identity.and_then(|identity| identity.workdir());
                self.done.records.push(RepairedRecord { project, what, set_aside, workdir });
            }
        }
        Ok(())
    }

    fn correct(&self, (name, named, right): WrongRef) -> Result<RepairedRef> {
        let set_aside = match self.put_aside(&name, true) {
            // It is one of many in one file.
            Err(StoreError::Fs(e)) if e.is_not_found() => "packed-refs".to_owned(),
            kept => kept?,
        };
        // ORDER: off the roll before it moves, as nobody reads a ref whose value the roll knows.
        roll::strike(&self.store.dirs, std::iter::once(name.as_str()))?;
        self.store.dirs.refs().update(&name, Some(named), right)?;
        let number = checkpoint_of(name.trim_end_matches(".extra")).map(|(_, number)| number);
        Ok(RepairedRef { name, number, set_aside: Some(set_aside), recovered: Some(right) })
    }

    /// Sets the file of a ref aside, or only a copy of it. Says where it is then.
    fn put_aside(&self, name: &str, stays: bool) -> Result<String, StoreError> {
        let (parent, leaf) = name.rsplit_once('/').unwrap_or(("", name));
        let dir = self.store.dirs.store().open_beneath(parent.as_bytes())?;
        let label = name.replace('/', "+");
        if stays {
            self.set_aside.keep_as(&dir, leaf, &label)
        } else {
            self.set_aside.take_as(&dir, leaf, &label)
        }
    }

    fn repair_ref(&self, name: &str) -> Result<Option<RepairedRef>> {
        let (store, refs) = (&self.store, self.store.dirs.refs());
        // Somebody may have mended it while its lock was waited for.
        if refs.read(name).is_ok_and(|id| id.is_some()) {
            return Ok(None);
        }
        let checkpoint = checkpoint_of(name);
        let mut recovered = receipt_of(store, name);
        if let Some((project, number)) = &checkpoint {
            recovered = lost_commit(store, project, *number)?;
        }
        if recovered.is_none() {
            recovered = on_roll(store, name)?;
        }
        let aside = match self.put_aside(name, recovered.is_some()) {
            // Only its name is spelled so: a ref whose name is not text stays, and is reported as broken.
            Err(StoreError::Fs(e)) if e.is_not_found() => return Ok(None),
            aside => aside?,
        };
        if let Some(id) = recovered
            // ORDER: in one step, or a kill in between would leave nothing that tells of the checkpoint.
            && !refs.replace_broken(name, id)?
            && refs.read(name)?.is_none()
        {
            refs.create(&[(name, id)])?;
        }
        let number = checkpoint.map(|(_, number)| number);
        let (name, set_aside) = (name.to_owned(), Some(aside));
        Ok(Some(RepairedRef { name, number, set_aside, recovered }))
    }

    /// What a project's new record says; `None` if there are no checkpoints to remember.
    fn salvage(&self, project: &ProjectId, bytes: &[u8]) -> Result<Option<Identity>> {
        let history = History::load(&self.store, project)?;
        if history.entries.is_empty() {
            return Ok(None);
        }
        let seconds = |entry: &Entry| {
            let commit = self.store.objects.read_commit(&entry.id).ok()?;
            Some(commit.author.seconds as f64)
        };
        let oldest = history.entries.iter().find_map(seconds).unwrap_or(0.0);
        let newest = history.entries.iter().rev().find_map(seconds).unwrap_or(0.0);
        let mut identity = Identity::salvage(bytes, project);
        let workdir = match identity.workdir() {
            Some(_) => None,
            None => workdir_from_legacy(&self.base_dir, project)?,
        };
        identity.complete(workdir.as_deref(), oldest, newest);
        Ok(Some(identity))
    }

    fn replace_record(&self, id: &ProjectId, new: Option<&Identity>) -> Result<String> {
        let projects = self.store.dirs.store().open_dir("projects")?;
        let name = format!("{id}.json");
        let Some(new) = new else { return Ok(self.set_aside.take(&projects, &name)?) };
        let aside = self.set_aside.keep(&projects, &name)?;
        self.store.write_identity(id, new, Durability::Synced)?;
        Ok(aside)
    }
}

/// The project whose ref has this name.
fn project_in(name: &str) -> Option<ProjectId> {
    ProjectId::parse(name.split('/').nth(2)?.as_bytes())
}

/// A ref's name, what it names, and what it should name.
pub(crate) type WrongRef = (String, ObjectId, ObjectId);

fn wrong_refs(store: &OpenStore, project: &ProjectId) -> Result<Vec<WrongRef>> {
    let mut wrong = misled_refs(store, project)?;
    let history = History::load(store, project)?;
    wrong.extend(history.entries.iter().filter_map(|entry| {
        // What is not there cannot be named; the checkpoint is reported as damaged.
        let right = receipt_in(&store.objects, &entry.id)?;
        let (name, named) = other_extra(store, project, entry, right)?;
        Some((name, named, right))
    }));
    Ok(wrong)
}

/// Refs of a project that name what is not there, with that and with what they named as the roll has it, or else whatever
/// tells of a checkpoint.
pub(crate) fn misled_refs(store: &OpenStore, project: &ProjectId) -> Result<Vec<WrongRef>> {
    let roll = Roll::read(&store.dirs, project).unwrap_or_default();
    let is_there = |id: &ObjectId| store.objects.read_commit(id).is_ok();
    let mut misled = Vec::new();
    for prefix in roll::PREFIXES {
        for (name, named) in store.dirs.refs().list(&format!("{prefix}{project}"))?.refs {
            if is_there(&named) {
                continue;
            }
            let mut right = roll.refs.get(&name).copied().filter(is_there);
            // A fast save is not on the roll before somebody settles it.
            if let (None, Some((_, number))) = (right, checkpoint_of(&name)) {
                right = lost_commit(store, project, number)?;
            }
            misled.extend(right.map(|right| (name, named, right)));
        }
    }
    // The ref Hermes reads is on no roll: it names the newest checkpoint.
    let own = roll.refs.iter().filter(|(name, _)| checkpoint_of(name).is_some());
    let newest = own.map(|(_, id)| *id).next_back().filter(is_there);
    let mirror = mirror_ref(project);
    if let (Some(newest), Ok(Some(named))) = (newest, store.dirs.refs().read(&mirror))
        && !is_there(&named)
    {
        misled.push((mirror, named, newest));
    }
    Ok(misled)
}

/// Commits that torn refs may have named and that the store does not have.
pub(crate) fn missing_candidates(store: &OpenStore) -> Result<Vec<ObjectId>> {
    let mut missing = Vec::new();
    for name in store.dirs.refs().list("refs/herma")?.broken {
        if let Some((project, number)) = checkpoint_of(&name) {
            let found = candidates(store, &project, number)?;
            let is_missing = |id: &ObjectId| store.objects.read_commit(id).is_err();
            missing.extend(found.into_iter().filter(is_missing));
        }
    }
    Ok(missing)
}

/// The project and the number in the name of a checkpoint's ref.
fn checkpoint_of(name: &str) -> Option<(ProjectId, u64)> {
    let (project, leaf) = name.strip_prefix("refs/herma/")?.split_once('/')?;
    Some((ProjectId::parse(project.as_bytes())?, number_of(leaf)?))
}

/// The commit that a ref named, if the project's roll still tells; of the ref Hermes reads, the newest checkpoint.
fn on_roll(store: &OpenStore, name: &str) -> Result<Option<ObjectId>> {
    let Some(project) = project_in(name) else { return Ok(None) };
    if name == mirror_ref(&project) {
        let history = History::load(store, &project)?;
        return Ok(history.newest().map(|entry| entry.id));
    }
    let roll = Roll::read(&store.dirs, &project).unwrap_or_default();
    let named = roll.refs.get(name).copied();
    Ok(named.filter(|id| store.objects.read_commit(id).is_ok()))
}

/// The receipt that the ref beside a checkpoint's own must have named.
fn receipt_of(store: &OpenStore, name: &str) -> Option<ObjectId> {
    let checkpoint = name.strip_suffix(".extra")?;
    checkpoint_of(checkpoint)?;
    let id = store.dirs.refs().read(checkpoint).ok()??;
    receipt_in(&store.objects, &id)
}

/// The commit that the ref of a checkpoint must have named, if something else tells.
fn lost_commit(store: &OpenStore, project: &ProjectId, number: u64) -> Result<Option<ObjectId>> {
    let extra = store.dirs.refs().read(&extra_ref(project, number));
    let Some(extra) = extra.ok().flatten() else {
        // The receipt is unique to a checkpoint; without it there is nothing to tell them apart.
        return Ok(None);
    };
    let fits = |id: &ObjectId| {
        let commit = store.objects.read_commit(id);
        commit.is_ok_and(|commit| Message::parse(&commit.message).extra == Some(extra))
    };
    Ok(candidates(store, project, number)?.into_iter().find(fits))
}

/// Commits that the ref of a checkpoint may have named: its pin tells, or the checkpoint after it, or
/// the ref Hermes reads, behind which it is found again.
fn candidates(store: &OpenStore, project: &ProjectId, number: u64) -> Result<BTreeSet<ObjectId>> {
    let refs = store.dirs.refs();
    let history = History::load(store, project)?;
    let mut found = BTreeSet::new();
    found.extend(refs.read(&pin_ref(project, number)).ok().flatten());
    let next = history.entries.iter().filter(|e| e.number > number);
    let next = next.min_by_key(|e| e.number);
    if let Some(next) = next.filter(|next| next.has_ref) {
        let is_cut = store.dirs.shallow().read()?.contains(&next.id);
        let commit = store.objects.read_commit(&next.id).ok();
        let commit = commit.filter(|_| !is_cut);
        found.extend(commit.and_then(|commit| commit.parents.first().copied()));
    }
    let behind = history.entries.iter().filter(|entry| !entry.has_ref);
    found.extend(behind.map(|entry| entry.id));
    found.extend(history.mirror);
    for entry in history.entries.iter().filter(|entry| entry.has_ref) {
        found.remove(&entry.id);
    }
    Ok(found)
}

/// The directory that a version 1 repository of the project names, if it is the project's.
fn workdir_from_legacy(base_dir: &Dir, project: &ProjectId) -> Result<Option<PathBuf>> {
    let mut places = vec![base_dir.try_clone()?];
    for entry in base_dir.entries()? {
        if base::classify(base_dir, &entry)? == Found::Archive {
            places.push(base_dir.open_dir(entry.name.as_c_str())?);
        }
    }
    let named = places.iter().filter_map(|place| {
        let repository = place.open_dir(project.as_str()).ok()?;
        base::workdir_of(&repository)
    });
    Ok({ named }.find(|path| ProjectId::of(path) == *project))
}
