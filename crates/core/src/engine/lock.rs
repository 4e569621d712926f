//! A project's lock, and the purge that has to be finished by whoever takes it.

use std::collections::BTreeMap;
use std::time::Duration;

use herma_fs::Dir;
use herma_fs::publish::Durability;
use herma_records::purge::{PurgeRecord, RefMove};
use herma_records::step::StepEnd;
use herma_records::step::log::StepLog;
use herma_records::undo::UndoRecord;
use herma_records::{forget_look, purge as record};
use herma_store::error::StoreError;
use herma_store::layout::StoreDirs;
use herma_store::lock::Guard;
use herma_store::objects::Objects;
use herma_store::refs::roll;
use herma_store::refs::scheme::mirror_ref;
use herma_store::{ObjectId, ProjectId};

use crate::engine::Engine;
use crate::error::Result;

/// Where the refs of a project are that a record may move.
const PREFIXES: [&str; 3] = ["refs/herma/", "refs/herma-names/", "refs/herma-pins/"];

/// Takes a project's lock, and finishes the purge that was interrupted in it, if one was.
pub(crate) fn lock_project(dirs: &StoreDirs, project: &ProjectId, wait: Duration) -> Result<Guard> {
    let guard = dirs.lock_project(project, wait)?;
    if let Ok(state) = dirs.for_writing()?.projects.open_dir(project.as_str())
        && let Some(record) = PurgeRecord::read(&state)?
    {
        carry_out(dirs, project, &state, &record)?;
    }
    Ok(guard)
}

impl Engine {
    /// Finishes every purge that was interrupted. Collection has to do this first: until then nothing but
    /// the record names what the refs are about to.
    pub(crate) fn finish_purges(&self, dirs: &StoreDirs) -> Result<()> {
        let projects = &dirs.for_writing()?.projects;
        for entry in projects.entries()? {
            let Some(project) = ProjectId::parse(entry.name.to_bytes()) else { continue };
            let Ok(state) = projects.open_dir(entry.name.as_c_str()) else { continue };
            if PurgeRecord::read(&state)?.is_some() {
                drop(lock_project(dirs, &project, self.options.settings.lock_wait)?);
            }
        }
        Ok(())
    }
}

/// Does what the record says, as far as it is not done yet. The caller holds the project's lock.
pub(crate) fn carry_out(
    dirs: &StoreDirs,
    project: &ProjectId,
    state: &Dir,
    record: &PurgeRecord,
) -> Result<()> {
    let refs = dirs.refs();
    let objects = Objects::open(dirs.objects().try_clone()?);
    // A record somebody made up moves nothing of another project, and nothing to where nothing is.
    let mirror = record.mirror.as_ref().filter(|m| m.name == mirror_ref(project));
    let ours = |moved: &&RefMove| {
        let rest = PREFIXES.iter().find_map(|prefix| moved.name.strip_prefix(prefix));
        let below = rest.and_then(|rest| rest.strip_prefix(project.as_str()));
        below.is_some_and(|below| below.starts_with('/'))
    };
    // ORDER: the ref Hermes reads goes first and comes back last. While it is away nobody takes the chain
    // behind it, old or new, for checkpoints that Hermes added.
    if let Some(mirror) = mirror {
        unless_moved(refs.delete(&mirror.name, mirror.old))?;
    }
    // ORDER: off the roll before they move, as nobody reads a ref whose value the roll knows.
    roll::strike(dirs, record.refs.iter().filter(ours).map(|moved| moved.name.as_str()))?;
    for moved in record.refs.iter().filter(ours) {
        if objects.contains(&moved.new)? {
            unless_moved(refs.update(&moved.name, Some(moved.old), moved.new))?;
        }
    }
    if let Some(mirror) = mirror
        && objects.contains(&mirror.new)?
    {
        unless_moved(refs.update(&mirror.name, None, mirror.new))?;
    }
    let tmp = &dirs.for_writing()?.tmp;
    follow_steps(tmp, state, &record.commits)?;
    let undo = UndoRecord::read(state)?;
    let followed = undo.clone().followed(&record.commits);
    if followed != undo {
        followed.write(tmp, state)?;
    }
    // Both name a checkpoint that is no more, and cost nothing but time to make again.
    forget_look(state);
    state.remove_if_there("stat-cache")?;
    record::add_rewritten(tmp, state, &record.commits)?;
    // ORDER: the record goes last; until then the next one goes through all of this again.
    Ok(PurgeRecord::close(state)?)
}

/// A ref that is elsewhere was moved before, or somebody else has gone on with it.
fn unless_moved(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(StoreError::RefMoved { .. } | StoreError::DamagedFile { .. }) => Ok(()),
        done => done,
    }
}

/// Steps remember the checkpoints before and after them.
fn follow_steps(tmp: &Dir, state: &Dir, commits: &BTreeMap<ObjectId, ObjectId>) -> Result<()> {
    let mut log = StepLog::open(state)?;
    for old in log.all()? {
        let mut step = old.clone();
        let follow = |id: &mut ObjectId| *id = commits.get(id).copied().unwrap_or(*id);
        follow(&mut step.before.checkpoint);
        match &mut step.end {
            StepEnd::Open => {}
            StepEnd::Unchanged(moment) | StepEnd::Changed(moment) | StepEnd::Unknown(moment) => {
                follow(&mut moment.checkpoint);
            }
        }
        if step != old {
            log.write(tmp, state, &step, Durability::Synced)?;
        }
    }
    Ok(())
}
