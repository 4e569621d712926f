//! Carrying out a plan: project by project, under the project's lock, looking at everything once more. A dropped
//! checkpoint's refs go, and git's `shallow` file says where history is cut.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use herma_fs::{Dir, FileKind};
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::address::Spec;
use herma_records::step::log::StepLog;
use herma_records::step::{Step, log};
use herma_store::error::StoreError;
use herma_store::gc::mark::Walk;
use herma_store::objects::ObjectError;
use herma_store::refs::scheme::{
    checkpoint_ref, extra_ref, green_ref, mirror_ref, name_ref, pin_ref, stray_extras,
};
use herma_store::{ObjectId, ProjectId};

use super::Cleaned;
use super::facts::{CheckpointFacts, ProjectFacts, project_facts};
use super::notes::Note;
use super::plan::{Dropped, Plan, Rule};
use super::presence::Presence;
use crate::engine::Engine;
use crate::engine::history::{Entry, History, Labels, held_by_copies_after};
use crate::engine::lock::lock_project;
use crate::engine::open::{OpenStore, own_state};
use crate::error::{Error, Result};

/// How long an unattended cleaning waits for a project that is being saved.
const UNATTENDED_WAIT: Duration = Duration::from_secs(2);

impl Engine {
    /// Applies a plan. What cannot be done is noted, and the rest goes on.
    pub(crate) fn apply(
        &self,
        store: &OpenStore,
        plan: &Plan,
        attended: bool,
        cleaned: &mut Cleaned,
    ) {
        let mut by_project: BTreeMap<ProjectId, Vec<Dropped>> = BTreeMap::new();
        for dropped in &plan.drops {
            by_project.entry(dropped.project.clone()).or_default().push(dropped.clone());
        }
        // A deleted project may have lost its last checkpoint before.
        for forgotten in &plan.forgotten {
            by_project.entry(forgotten.id.clone()).or_default();
        }
        for (project, drops) in by_project {
            match self.apply_to(store, &project, &drops, attended) {
                Ok((dropped, is_left)) => {
                    cleaned.dropped.extend(dropped);
                    if !is_left {
                        cleaned.forgotten.push(project);
                    }
                }
                Err(e) => cleaned.errors.push(format!("project {project}: {}", in_words(&e))),
            }
        }
    }

    /// Drops checkpoints of one project; says which, and whether the project still has any.
    fn apply_to(
        &self,
        store: &OpenStore,
        project: &ProjectId,
        drops: &[Dropped],
        attended: bool,
    ) -> Result<(Vec<Dropped>, bool)> {
        let wait = if attended { self.options.settings.lock_wait } else { UNATTENDED_WAIT };
        let _lock = lock_project(&store.dirs, project, wait)?;
        // Time has passed since the plan was made: somebody may have pinned one, or mounted a volume.
        let now = project_facts(store, project.clone())?;
        let last_resort = now.last_resort().map(|last| last.map(|c| c.id));
        let is_still = |dropped: &&Dropped| {
            let mut found = now.checkpoints.iter();
            let found = found.find(|c| (c.number, c.id) == (dropped.number, dropped.id));
            let may = match dropped.rule {
                Rule::Orphan => now.presence.is_gone(),
                _ => !last_resort.contains(&Some(dropped.id)),
            };
            may && found.is_some_and(|c| c.protection().is_none())
        };
        let mut drops: Vec<Dropped> = drops.iter().filter(is_still).cloned().collect();
        if drops.iter().any(|dropped| dropped.rule != Rule::Orphan) {
            keep_a_whole_one(store, &now, &mut drops)?;
        }
        // One that never had any goes only if it was deleted: it may be about to get its first.
        let is_empty = now.checkpoints.is_empty();
        let is_left = drops.len() < now.checkpoints.len() || (is_empty && !now.presence.is_gone());
        if !drops.is_empty() {
            let numbers = drops.iter().map(|dropped| dropped.number).collect();
            cut(store, &History::load(store, project)?, &numbers)?;
        }
        if !is_left {
            forget(store, project)?;
        }
        Ok((drops, is_left))
    }
}

/// If nothing that would be left can be restored, keeps the newest checkpoint that can. It takes reading
/// files, so it is done only when one or two would be left.
fn keep_a_whole_one(
    store: &OpenStore,
    project: &ProjectFacts,
    drops: &mut Vec<Dropped>,
) -> Result<()> {
    let goes = |c: &&CheckpointFacts| drops.iter().any(|dropped| dropped.id == c.id);
    let (going, staying): (Vec<_>, Vec<_>) = project.checkpoints.iter().partition(goes);
    if going.is_empty() || staying.len() > 2 {
        return Ok(());
    }
    for checkpoint in staying.iter().rev().chain(going.iter().rev()) {
        if is_whole(store, checkpoint.id)? {
            drops.retain(|dropped| dropped.id != checkpoint.id);
            break;
        }
    }
    Ok(())
}

/// Can every object of a checkpoint be read?
fn is_whole(store: &OpenStore, id: ObjectId) -> Result<bool> {
    let go_on = |_| true;
    let mut walk = Walk::new(&store.objects, BTreeSet::new(), &go_on);
    walk.checkpoint(id)?;
    if !walk.unreadable().is_empty() {
        return Ok(false);
    }
    for wanted in walk.order() {
        match store.objects.is_whole(&wanted.id) {
            Ok(()) => {}
            Err(ObjectError::Fs(e)) => return Err(e.into()),
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Notes since when a project is missing; one that is back is not.
pub(crate) fn note_missing(store: &OpenStore, project: &ProjectFacts, now: f64) -> Result<()> {
    let since = project.missing_since.filter(|since| *since <= now);
    let wanted = match project.presence {
        Presence::Gone | Presence::GoneWithParents => Some(since.unwrap_or(now)),
        Presence::Live => None,
        // Whatever was known of it may still be right.
        Presence::OutOfReach(_) | Presence::Unknown => return Ok(()),
    };
    if wanted == project.missing_since {
        return Ok(());
    }
    let _lock = lock_project(&store.dirs, &project.id, UNATTENDED_WAIT)?;
    let mut identity = store.identity(&project.id);
    identity.set_missing_since(wanted);
    store.write_identity(&project.id, &identity, Durability::Synced)
}

/// Puts a time right that cannot be: it would keep a project from ever being cleaned up, or have it
/// cleaned up too early.
pub(crate) fn put_right(store: &OpenStore, note: &Note, now: f64) -> Result<()> {
    let (Note::FutureTouch { project } | Note::EarlyTouch { project, .. }) = note else {
        return Ok(());
    };
    let _lock = lock_project(&store.dirs, project, UNATTENDED_WAIT)?;
    let mut identity = store.identity(project);
    identity.set_last_touch(now);
    store.write_identity(project, &identity, Durability::Synced)
}

/// Forgets steps of which both checkpoints are gone. One that is under way is remembered as long as somebody
/// may still end it.
pub(crate) fn forget_steps(store: &OpenStore, project: &ProjectId, now: i64) -> Result<()> {
    let has_steps = |state: &Dir| state.stat_opt(log::DIR).map(|found| found.is_some());
    match own_state(store, project)? {
        Some(state) if has_steps(&state)? => {}
        _ => return Ok(()),
    }
    let _lock = lock_project(&store.dirs, project, Duration::ZERO)?;
    let Some(state) = own_state(store, project)? else { return Ok(()) };
    let history = History::load(store, project)?;
    let is_gone = |step: &Step| {
        let before = history.contains(&step.before.checkpoint);
        match step.end.moment() {
            Some(after) => !before && !history.contains(&after.checkpoint),
            None => !before && now > step.given_up_at(),
        }
    };
    StepLog::open(&state)?.forget(is_gone)?;
    Ok(())
}

/// An error with everything that led to it.
pub(crate) fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}

/// Removes what the store knows about a project that has no checkpoint left. Its lock file stays: somebody
/// may be about to lock it. So does its next number: were its directory made again, none is given twice.
pub(crate) fn forget(store: &OpenStore, project: &ProjectId) -> Result<()> {
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        dir.remove_if_there(format!("{project}.json").as_str())?;
    }
    if let Ok(dir) = store.dirs.store().open_dir("indexes") {
        dir.remove_if_there(project.as_str())?;
    }
    let projects = &store.dirs.for_writing()?.projects;
    if let Ok(dir) = projects.open_dir(project.as_str()) {
        empty_but(&dir, &[b"lock", log::DIR.to_bytes()])?;
        if let Ok(steps) = dir.open_dir(log::DIR) {
            empty_but(&steps, &[log::NEXT.as_bytes()])?;
        }
    }
    Ok(())
}

/// Removes all from a directory but these.
fn empty_but(dir: &Dir, kept: &[&[u8]]) -> Result<()> {
    for entry in dir.entries()?.iter().filter(|entry| !kept.contains(&entry.name.to_bytes())) {
        if dir.stat(entry.name.as_c_str())?.kind == FileKind::Directory {
            dir.remove_tree(&entry.name)?;
        } else {
            dir.remove_if_there(entry.name.as_c_str())?;
        }
    }
    Ok(())
}

/// Drops all that is known of a line. The caller holds its lock.
pub(crate) fn remove_all(store: &OpenStore, project: &ProjectId) -> Result<()> {
    let history = History::load(store, project)?;
    cut(store, &history, &history.entries.iter().map(|entry| entry.number).collect())?;
    forget(store, project)
}

impl Operation<'_> {
    pub(crate) fn drop_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        let history = self.load_history()?;
        // Looked up now: an adoption may have moved it since the caller read it.
        self.drop_entry(&history, *history.entry(&checkpoint.id)?)
    }

    pub(crate) fn drop_named(&self, spec: &Spec) -> Result<()> {
        let history = self.load_history()?;
        let index = history.find(spec, &self.store, self.clock().now())?;
        self.drop_entry(&history, history.entries[index])
    }

    fn drop_entry(&self, history: &History, entry: Entry) -> Result<()> {
        let Entry { number, id, .. } = entry;
        let (journal, _) = self.records()?;
        if journal.is_some_and(|journal| journal.safety == id || journal.target == id) {
            return Err(Error::NeededByInterrupted { id });
        }
        cut(&self.store, history, &BTreeSet::from([number]))
    }
}

/// Drops checkpoints of a project, by their numbers. The caller holds the project's lock.
fn cut(store: &OpenStore, history: &History, dropped: &BTreeSet<u64>) -> Result<()> {
    let (refs, project) = (store.dirs.refs(), &history.project);
    let (going, staying): (Vec<&Entry>, Vec<&Entry>) =
        history.entries.iter().partition(|entry| dropped.contains(&entry.number));
    let next = history.next_number();
    if dropped.contains(&(next - 1)) {
        // ORDER: before the ref goes, from which the next number would follow.
        let herma = store.dirs.for_writing()?;
        let state = herma.projects.ensure_dir(project.as_str(), 0o700)?;
        StepLog::reserve_order(&herma.tmp, &state, next)?;
    }
    // Checkpoints only Hermes's ref holds must not vanish when history is cut.
    for entry in staying.iter().filter(|entry| !entry.has_ref) {
        refs.create(&[(&checkpoint_ref(project, entry.number), entry.id)])?;
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
    children.extend(held_by_copies_after(store, &ids, project)?);
    store.dirs.shallow().add(&children)?;
    move_mirror_off(store, history, &staying)?;
    let mut names = Vec::new();
    let labels = Labels::load(store, project)?;
    for entry in &going {
        names.extend(labels.names_of(&entry.id).map(|name| name_ref(project, name)));
        names.extend([pin_ref(project, entry.number), green_ref(project, entry.number)]);
    }
    // ORDER: a checkpoint without a name is one that can be seen and dropped again; a name without a
    // checkpoint would keep its objects for ever.
    names.extend(going.iter().map(|entry| checkpoint_ref(project, entry.number)));
    names.extend(going.iter().map(|entry| extra_ref(project, entry.number)));
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
fn move_mirror_off(store: &OpenStore, history: &History, staying: &[&Entry]) -> Result<()> {
    let Some(mirror) = history.mirror else { return Ok(()) };
    if staying.iter().any(|entry| entry.id == mirror) {
        return Ok(());
    }
    let (refs, name) = (store.dirs.refs(), mirror_ref(&history.project));
    match staying.last() {
        Some(newest) => refs.update(&name, Some(mirror), newest.id)?,
        None => refs.delete(&name, mirror)?,
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/execute.rs"]
mod execute_tests;
