//! What the store holds, gathered before anything is decided.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use herma_records::checkpoint::Facts;
use herma_records::checkpoint::message::Message;
use herma_records::identity::Identity;
use herma_records::step::log::StepLog;
use herma_store::layout::StoreDirs;
use herma_store::objects::Objects;
use herma_store::{ObjectId, ProjectId};

use super::clock::{MARKER_FILE, MAX_MARKER_BYTES, parse_marker};
use super::notes::Protection;
use super::plan::larger;
use super::presence;
use super::presence::Presence;
use crate::engine::Engine;
use crate::engine::beside::is_line;
use crate::engine::history::{Entry, History, Labels};
use crate::engine::open::{OpenStore, own_state, project_ids};
use crate::error::Result;
use crate::restore::interrupted::records_of;
use crate::steps::recording::open_steps;

/// Everything the rules are told about a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreFacts {
    /// The present, in seconds since 1970.
    pub now: f64,
    /// When a cleaning last looked at the clock. It judges whether `now` can be believed.
    pub last_run: Option<f64>,
    /// Every project the store knows, in any order.
    pub projects: Vec<ProjectFacts>,
    /// Bytes of the store that no checkpoint holds and no collection frees: refs, caches, records.
    pub fixed_bytes: u64,
    /// Bytes of all objects on disk, those that the next collection frees included.
    pub object_bytes: u64,
    /// Bytes free on the store's disk.
    pub free_bytes: u64,
}

/// One project.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFacts {
    /// Its id.
    pub id: ProjectId,
    /// Where it is, if that is known.
    pub workdir: Option<PathBuf>,
    /// Is it still there?
    pub presence: Presence,
    /// When it was last saved, in seconds since 1970.
    pub last_touch: Option<f64>,
    /// When an unattended cleaning first found it deleted, in seconds since 1970.
    pub missing_since: Option<f64>,
    /// How many checkpoints somebody asked for it; 0 is no limit.
    pub asked_snapshots: Option<usize>,
    /// Its checkpoints, oldest first.
    pub checkpoints: Vec<CheckpointFacts>,
}

impl ProjectFacts {
    /// The newest checkpoint, and if that cannot be read the newest that can: what a project keeps under
    /// every rule but that for deleted projects.
    pub fn last_resort(&self) -> [Option<&CheckpointFacts>; 2] {
        let newest = self.checkpoints.iter().max_by_key(|c| (c.place, c.id));
        let readable = self.checkpoints.iter().filter(|c| c.readable);
        [newest, readable.max_by_key(|c| (c.place, c.id))]
    }
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// Its number.
    pub number: u64,
    /// Its place in the project's order; the highest is the newest.
    pub place: i64,
    /// Its commit.
    pub id: ObjectId,
    /// When it was taken, in seconds since 1970, by the clock of that moment.
    pub time: i64,
    /// Did a person pin it?
    pub pinned: bool,
    /// Does it have a name?
    pub named: bool,
    /// Does an interrupted restore or the next undo need it?
    pub in_use: bool,
    /// Did it come in with a line?
    pub imported: bool,
    /// Did a user's prompt begin or end in this state?
    pub at_prompt: bool,
    /// Can it be read: its commit, its top directory and its receipt? Not everything below is looked at.
    pub readable: bool,
}

impl CheckpointFacts {
    /// Why it stays because somebody wants or needs it.
    pub fn protection(&self) -> Option<Protection> {
        if self.imported {
            Some(Protection::Imported)
        } else if self.pinned {
            Some(Protection::Pinned)
        } else if self.named {
            Some(Protection::Named)
        } else {
            self.in_use.then_some(Protection::InUse)
        }
    }
}

impl Engine {
    /// How many bytes the store may have: what the settings say, else the most that was asked for any project;
    /// 0 is no limit.
    pub(crate) fn size_limit_of(&self, dirs: &StoreDirs) -> Result<u64> {
        let keeping = &self.options.settings.keeping;
        Ok(match keeping.max_total_size {
            Some(limit) => limit,
            None => keeping.size_limit(asked_size(dirs)?),
        })
    }

    /// How many bytes the store may have; 0 is no limit.
    pub fn size_limit(&self) -> Result<u64> {
        match self.open_for_reading()? {
            Some(store) => self.size_limit_of(&store.dirs),
            None => Ok(self.options.settings.keeping.size_limit(None)),
        }
    }

    /// Everything but the bytes, which cost a walk over all objects.
    pub(crate) fn facts(&self, store: &OpenStore) -> Result<StoreFacts> {
        let now = self.options.clock.now().as_float();
        let mut projects = Vec::new();
        for id in project_ids(store)? {
            projects.push(project_facts(store, id)?);
        }
        Ok(StoreFacts {
            now,
            last_run: last_run(&store.dirs, now),
            projects,
            free_bytes: store.dirs.store().free_bytes()?,
            ..StoreFacts::default()
        })
    }
}

/// The largest size of the store that was asked for a project.
pub(crate) fn asked_size(dirs: &StoreDirs) -> Result<Option<u64>> {
    let Ok(dir) = dirs.store().open_dir("projects") else { return Ok(None) };
    let mut most = None;
    for entry in dir.entries()? {
        let bytes = dir.read_opt(entry.name.as_c_str(), 1 << 20).ok().flatten();
        let asked = bytes.and_then(|bytes| Identity::parse(&bytes).asked().max_total_size);
        most = most.into_iter().chain(asked).reduce(larger);
    }
    Ok(most)
}

/// When a cleaning by age was last due, as `.last_prune` says; a time that cannot be is none.
pub(crate) fn last_run(dirs: &StoreDirs, now: f64) -> Option<f64> {
    let text = dirs.base().read_opt(MARKER_FILE, MAX_MARKER_BYTES).ok()??;
    parse_marker(&text, now)
}

pub(crate) fn project_facts(store: &OpenStore, id: ProjectId) -> Result<ProjectFacts> {
    let history = History::load(store, &id)?;
    let labels = Labels::load(store, &id)?;
    let in_use = in_use(store, &id)?;
    let imported = is_line(&store.dirs, &id)?;
    let identity = store.identity(&id);
    let workdir = identity.workdir();
    let presence = presence::presence(workdir.as_deref(), &identity.places());
    let (mut time, mut prompts) = (0, Vec::new());
    let facts = |entry: &Entry| {
        let commit = store.objects.read_commit(&entry.id).ok();
        // One that cannot be read counts as old as the one before it.
        if let Some(commit) = &commit {
            time = commit.author.seconds;
        }
        let message = commit.as_ref().map(|commit| Message::parse(&commit.message));
        let extra = message.as_ref().and_then(|message| message.extra);
        prompts.push(message.and_then(|message| OfPrompt::of(message.facts)));
        CheckpointFacts {
            number: entry.number,
            place: entry.place,
            id: entry.id,
            time,
            pinned: labels.is_pinned(entry.number),
            named: labels.names_of(&entry.id).next().is_some(),
            in_use: in_use.contains(&entry.id),
            imported,
            at_prompt: false,
            readable: commit.is_some_and(|commit| is_readable(&store.objects, commit.tree, extra)),
        }
    };
    let mut checkpoints: Vec<_> = history.entries.iter().map(facts).collect();
    for index in prompt_boundaries(&prompts) {
        checkpoints[index].at_prompt = true;
    }
    Ok(ProjectFacts {
        workdir,
        presence,
        last_touch: identity.last_touch(),
        missing_since: identity.missing_since(),
        asked_snapshots: identity.asked().max_snapshots,
        checkpoints,
        id,
    })
}

/// Can the top directory and the receipt be read? Whatever keeps them from being read counts: the worst
/// that comes of it is that one more checkpoint stays.
fn is_readable(objects: &Objects, tree: ObjectId, extra: Option<ObjectId>) -> bool {
    let mut trees = std::iter::once(tree).chain(extra);
    trees.all(|tree| objects.read_tree(&tree).is_ok())
}

/// The prompt a checkpoint was taken in, as its commit says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfPrompt {
    session: String,
    turn: String,
    is_of_tool: bool,
}

impl OfPrompt {
    fn of(facts: Facts) -> Option<Self> {
        let is_of_tool = facts.tool.is_some();
        Some(Self { session: facts.session?, turn: facts.turn?, is_of_tool })
    }
}

/// In which of these states, oldest first, a prompt began or ended. It began in the one that was saved for it before any
/// tool was, or in the one before its first, because a state that is there already is not saved again. It ended in its
/// last.
fn prompt_boundaries(prompts: &[Option<OfPrompt>]) -> BTreeSet<usize> {
    let (mut last, mut found) = (HashMap::new(), BTreeSet::new());
    for (index, prompt) in prompts.iter().enumerate() {
        let Some(prompt) = prompt else { continue };
        if last.insert((&prompt.session, &prompt.turn), index).is_none() {
            let began = index.checked_sub(usize::from(prompt.is_of_tool));
            found.extend(began);
        }
    }
    found.extend(last.into_values());
    found
}

/// What an interrupted restore, or the next undo or redo, goes to, and what steps that are under way began
/// with: an agent's session may take longer than its first checkpoint would stay otherwise.
fn in_use(store: &OpenStore, id: &ProjectId) -> Result<HashSet<ObjectId>> {
    let (journal, undo) = records_of(store, id)?;
    let mut ids = HashSet::new();
    ids.extend(undo.past.last());
    ids.extend(undo.future.last());
    ids.extend(undo.position);
    ids.extend(undo.reversed.map(|moved| moved.target));
    if let Some(journal) = journal {
        ids.extend([journal.safety, journal.target]);
    }
    if let Some(state) = own_state(store, id)? {
        let log = StepLog::open(&state)?;
        let open = open_steps(&log)?;
        ids.extend(open.iter().map(|step| step.before.checkpoint));
    }
    Ok(ids)
}

#[cfg(test)]
#[path = "tests/facts/prompts.rs"]
mod prompts_tests;
