//! Gathering what the retention rules want to know.

use std::collections::HashSet;

use herma_fs::publish::Durability;
use herma_fs::publish::write_file;

use super::Engine;
use super::adopt::project_ids;
use super::interrupted::own_state;
use super::interrupted::records_of;
use super::open::OpenStore;
use super::steps::open_steps;
use crate::error::Error;
use crate::history::Entry;
use crate::history::History;
use crate::history::Labels;
use crate::id::ObjectId;
use crate::id::ProjectId;
use crate::message::Message;
use crate::project::Identity;
use crate::retention::CheckpointFacts;
use crate::retention::ProjectFacts;
use crate::retention::StoreFacts;
use crate::retention::evidence;
use crate::retention::larger;
use crate::retention::marker;
use crate::steps::log::StepLog;
use crate::store::commit::Commit;
use crate::store::layout::StoreDirs;
use crate::store::objects::Objects;

impl Engine {
    /// How many bytes the store may have: what the settings say, else the most that was asked for any project;
    /// 0 is no limit.
    pub(super) fn size_limit_of(&self, dirs: &StoreDirs) -> Result<u64, Error> {
        let keeping = &self.options.settings.keeping;
        Ok(match keeping.max_total_size {
            Some(limit) => limit,
            None => keeping.size_limit(asked_size(dirs)?),
        })
    }

    /// How many bytes the store may have; 0 is no limit.
    pub fn size_limit(&self) -> Result<u64, Error> {
        match self.open_for_reading()? {
            Some(store) => self.size_limit_of(&store.dirs),
            None => Ok(self.options.settings.keeping.size_limit(None)),
        }
    }

    /// Everything but the bytes, which cost a walk over all objects.
    pub(crate) fn facts(&self, store: &OpenStore) -> Result<StoreFacts, Error> {
        let now = self.options.clock.now().as_float();
        let mut projects = Vec::new();
        for id in project_ids(store)? {
            projects.push(project_facts(store, id)?);
        }
        Ok(StoreFacts {
            now,
            last_run: last_run(&store.dirs, now),
            projects,
            fixed_bytes: 0,
            object_bytes: 0,
            free_bytes: store.dirs.store().free_bytes()?,
        })
    }
}

/// The largest size of the store that was asked for a project.
pub(super) fn asked_size(dirs: &StoreDirs) -> Result<Option<u64>, Error> {
    let Ok(dir) = dirs.store().open_dir("projects") else {
        return Ok(None);
    };
    let mut most = None;
    for entry in dir.entries()? {
        let bytes = dir.read_opt(entry.name.as_c_str(), 1 << 20).ok().flatten();
        let asked = bytes.and_then(|bytes| Identity::parse(&bytes).asked().max_total_size);
        most = most.into_iter().chain(asked).reduce(larger);
    }
    Ok(most)
}

/// When a cleaning by age was last due, as `.last_prune` says; a time that cannot be is none.
pub(super) fn last_run(dirs: &StoreDirs, now: f64) -> Option<f64> {
    let text = dirs.base().read_opt(marker::FILE, marker::LONGEST).ok()??;
    marker::parse(&text, now)
}

/// What `projects/<id>.json` says.
pub(crate) fn identity_of(store: &OpenStore, id: &ProjectId) -> Identity {
    let dir = store.dirs.store().open_dir("projects").ok();
    let file = format!("{id}.json");
    // Metadata that cannot be read knows nothing; it must not stop a cleaning.
    let bytes = dir.and_then(|dir| dir.read_opt(file.as_str(), 1 << 20).ok().flatten());
    // What can be saved of it is: it may be about to be written again.
    let found = bytes.map(|bytes| Identity::salvage(&bytes, id));
    found.unwrap_or_default()
}

/// Writes `projects/<id>.json`. The caller holds the project's lock.
pub(super) fn write_identity(
    store: &OpenStore,
    id: &ProjectId,
    identity: &Identity,
) -> Result<(), Error> {
    let tmp = &store.dirs.for_writing()?.tmp;
    let dir = store.dirs.store().open_dir("projects")?;
    let (file, text) = (format!("{id}.json"), identity.render());
    let synced = Durability::Synced;
    Ok(write_file(tmp, &dir, &file, text.as_bytes(), synced)?)
}

pub(super) fn project_facts(store: &OpenStore, id: ProjectId) -> Result<ProjectFacts, Error> {
    let history = History::load(&store.dirs, &store.objects, &id)?;
    let labels = Labels::load(&store.dirs, &id)?;
    let in_use = in_use(store, &id)?;
    let identity = identity_of(store, &id);
    let workdir = identity.workdir();
    let presence = evidence::presence(workdir.as_deref(), &identity.places());
    let mut time = 0;
    let facts = |entry: &Entry| {
        let commit = store.objects.read_commit(&entry.id).ok();
        // One that cannot be read counts as old as the one before it.
        if let Some(commit) = &commit {
            time = commit.author.seconds;
        }
        CheckpointFacts {
            sequence: entry.sequence,
            id: entry.id,
            time,
            pinned: labels.is_pinned(entry.sequence),
            named: labels.names_of(&entry.id).next().is_some(),
            in_use: in_use.contains(&entry.id),
            readable: commit.is_some_and(|commit| is_readable(&store.objects, &commit)),
        }
    };
    Ok(ProjectFacts {
        workdir,
        presence,
        last_touch: identity.last_touch(),
        missing_since: identity.missing_since(),
        asked_snapshots: identity.asked().max_snapshots,
        checkpoints: history.entries.iter().map(facts).collect(),
        id,
    })
}

/// Can the top directory and the receipt be read? Whatever keeps them from being read counts: the worst
/// that comes of it is that one more checkpoint stays.
fn is_readable(objects: &Objects, commit: &Commit) -> bool {
    let extra = Message::parse(&commit.message).extra;
    let mut trees = std::iter::once(commit.tree).chain(extra);
    trees.all(|tree| objects.read_tree(&tree).is_ok())
}

/// What an interrupted restore, or the next undo or redo, goes to, and what steps that are under way began
/// with: an agent's session may take longer than its first checkpoint would stay otherwise.
fn in_use(store: &OpenStore, id: &ProjectId) -> Result<HashSet<ObjectId>, Error> {
    let (journal, undo) = records_of(store, id)?;
    let mut ids = HashSet::new();
    ids.extend(undo.past.last());
    ids.extend(undo.future.last());
    ids.extend(undo.position);
    if let Some(journal) = journal {
        ids.extend([journal.safety, journal.target]);
    }
    if let Some(state) = own_state(store, id)? {
        let log = StepLog::open(&state)?;
        let open = open_steps(&log, log.next_number())?;
        ids.extend(open.iter().map(|step| step.before.checkpoint));
    }
    Ok(ids)
}
