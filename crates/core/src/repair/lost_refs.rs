//! Refs that ought to be there and are not.
//!
//! Collection asks here before it deletes anything, verify and doctor tell of them, and repair brings back what is
//! left: to all of them the same refs are lost. What was dropped left the roll first ([`herma_store::refs::roll`]) and is
//! not missed. Where a project has no roll yet, pins and names tell of checkpoints without a ref, and a project's
//! record of one that has none at all.

use std::collections::BTreeSet;

use herma_fs::{Dir, FileKind};
use herma_records::step::log::StepLog;
use herma_store::layout::StoreDirs;
use herma_store::refs::roll::Roll;
use herma_store::refs::scheme::{GREEN, checkpoint_ref, is_extra, mirror_ref, number_of};
use herma_store::refs::{DIRECTORIES, roll};
use herma_store::{ObjectId, ProjectId};
use herma_worktree::stat_cache::StatCache;

use crate::engine::Engine;
use crate::engine::history::History;
use crate::engine::lock::lock_project;
use crate::engine::open::{OpenStore, ids_below, own_state, project_ids};
use crate::error::{Error, ErrorKind, Result};
use crate::repair::refs::misled_refs;
use crate::restore::interrupted::records_of;

/// How many of them an error names.
const NAMED: usize = 5;

/// What every store has since it was made.
const ALWAYS_THERE: [&str; 3] = ["refs", "refs/herma", "refs/hermes"];

/// A ref that ought to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostRef {
    /// Its name; of a checkpoint that only another ref tells of, the name of that one.
    pub(crate) name: String,
    /// What it named.
    pub(crate) id: ObjectId,
    pub(crate) kind: LostKind,
}

/// What was lost with a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostKind {
    /// A checkpoint, with its place in the order of saving if that is known.
    Checkpoint(Option<u64>),
    /// A name, a pin, or the ref Hermes reads.
    Label,
    /// All refs of a project; what they named is behind this commit.
    Everything,
}

impl LostKind {
    /// What is wrong, for people.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Checkpoint(Some(_)) | Self::Label => "it is missing",
            Self::Checkpoint(None) => "the checkpoint it names has no ref",
            Self::Everything => "the project was saved, and has no refs",
        }
    }
}

impl Engine {
    /// Refuses to go on where refs are missing or cannot be read: what they kept would be deleted as if nothing
    /// needed it. Then writes down which refs there are, for the next time.
    pub(crate) fn check_refs(&self) -> Result<()> {
        let store = self.open_for_writing()?;
        refuse_lost(&store)?;
        for project in project_ids(&store)? {
            match lock_project(&store.dirs, &project, std::time::Duration::ZERO) {
                Ok(_lock) => roll::renew(&store.dirs, &project)?,
                // Whoever saves there notes it; what is left is for the next collection.
                Err(e) if e.kind() == ErrorKind::Busy => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Fails where refs are missing or cannot be read.
pub(crate) fn refuse_lost(store: &OpenStore) -> Result<()> {
    let mut missing = misplaced(&store.dirs)?;
    if missing.is_empty() {
        missing = store.dirs.refs().list("refs")?.broken;
        // Receipts are found through the commits that name them.
        missing.retain(|name| !is_extra(name));
        for project in known_ids(store)? {
            let lost = lost_refs(store, &project)?.into_iter();
            missing.extend(lost.map(|lost| lost.name));
            let misled = misled_refs(store, &project)?.into_iter();
            missing.extend(misled.map(|(name, ..)| name));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let more = missing.len().saturating_sub(NAMED);
    missing.truncate(NAMED);
    Err(Error::RefsLost { refs: missing, more })
}

/// Directories of refs that are missing, or are something else.
pub(crate) fn misplaced(dirs: &StoreDirs) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in DIRECTORIES {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_wrong = |dir: &Dir| match dir.stat_opt(name)? {
            Some(stat) => Ok::<_, Error>(stat.kind != FileKind::Directory),
            None => Ok(ALWAYS_THERE.contains(&path)),
        };
        if parent.is_empty() {
            if is_wrong(dirs.store())? {
                // Nothing can be asked about what would be in it.
                return Ok(vec![path.to_owned()]);
            }
        } else if is_wrong(&dirs.store().open_dir(parent)?)? {
            found.push(path.to_owned());
        }
    }
    Ok(found)
}

/// All projects, also those of which nothing is left but their own state.
pub(crate) fn known_ids(store: &OpenStore) -> Result<BTreeSet<ProjectId>> {
    let mut ids = project_ids(store)?;
    if let Some(herma) = store.dirs.herma() {
        for entry in herma.projects.entries()? {
            ids.extend(ProjectId::parse(entry.name.to_bytes()));
        }
    }
    for prefix in roll::PREFIXES {
        ids.extend(ids_below(&store.dirs, prefix)?);
    }
    Ok(ids)
}

/// The refs of a project that ought to be there and are not.
pub(crate) fn lost_refs(store: &OpenStore, project: &ProjectId) -> Result<Vec<LostRef>> {
    let roll = Roll::read(&store.dirs, project);
    let mut lost = match &roll {
        Some(roll) => lost_by_roll(store, project, roll)?,
        None => lost_by_labels(store, project)?,
    };
    if lost.is_empty() && roll.is_none() {
        lost.extend(lost_by_record(store, project)?);
    }
    Ok(lost)
}

/// What is on the roll and has no ref.
fn lost_by_roll(store: &OpenStore, project: &ProjectId, roll: &Roll) -> Result<Vec<LostRef>> {
    if roll.refs.is_empty() {
        return Ok(Vec::new());
    }
    let mut present = BTreeSet::new();
    for prefix in roll::PREFIXES {
        let listing = store.dirs.refs().list(&format!("{prefix}{project}"))?;
        let readable = listing.refs.into_iter().map(|(name, _)| name);
        // What cannot be read is told of elsewhere.
        present.extend(readable.chain(listing.broken));
    }
    let mirror = mirror_ref(project);
    let mirror_is_needed = present.is_empty()
        && store.dirs.refs().read(&mirror).is_ok_and(|id| id.is_none())
        && matches!(store.read_record(project), Ok(Some(_)));
    let is_gone = |name: &str| !present.contains(name) && (name != mirror || mirror_is_needed);
    let mut gone: Vec<(&String, &ObjectId)> =
        { roll.refs.iter() }.filter(|(name, _)| is_gone(name)).collect();
    if !gone.is_empty() {
        // ORDER: the roll is read before the refs and after them. What was dropped meanwhile is not on it now.
        let now = Roll::read(&store.dirs, project).unwrap_or_default();
        gone.retain(|(name, _)| now.refs.contains_key(*name));
    }
    let lost = gone.into_iter().map(|(name, id)| LostRef {
        kind: kind_of(name, project),
        name: name.clone(),
        id: *id,
    });
    Ok(lost.collect())
}

fn kind_of(name: &str, project: &ProjectId) -> LostKind {
    let leaf = name.strip_prefix(&format!("refs/herma/{project}/"));
    match leaf.and_then(number_of) {
        Some(number) => LostKind::Checkpoint(Some(number)),
        None => LostKind::Label,
    }
}

/// Pins and names of checkpoints that are none, where no roll says more: a killed save or dropping leaves them, too.
fn lost_by_labels(store: &OpenStore, project: &ProjectId) -> Result<Vec<LostRef>> {
    let refs = store.dirs.refs();
    let pins = format!("refs/herma-pins/{project}");
    let mut labels = refs.list(&pins)?.refs;
    labels.extend(refs.list(&format!("refs/herma-names/{project}"))?.refs);
    // An interrupted purge has moved some of the refs; whoever locks the project moves the others.
    if labels.is_empty() || store.purge_of(project)?.is_some() {
        return Ok(Vec::new());
    }
    let history = History::load(store, project)?;
    let mut lost = Vec::new();
    for (name, id) in labels {
        let leaf = name.strip_prefix(&pins).and_then(|leaf| leaf.strip_prefix('/'));
        let number = leaf.and_then(|leaf| number_of(leaf.strip_suffix(GREEN).unwrap_or(leaf)));
        // A number that is taken, by whatever it is, was not lost. One whose label is gone by now was dropped.
        let is_there = history.contains(&id)
            || number.is_some_and(|n| !matches!(refs.read(&checkpoint_ref(project, n)), Ok(None)))
            || !refs.read(&name).is_ok_and(|found| found == Some(id));
        if !is_there && !lost.iter().any(|lost: &LostRef| lost.id == id) {
            let name = number.map_or(name, |number| checkpoint_ref(project, number));
            let kind = LostKind::Checkpoint(number);
            lost.push(LostRef { name, id, kind });
        }
    }
    Ok(lost)
}

/// A project that was saved and has neither refs nor a roll.
fn lost_by_record(store: &OpenStore, project: &ProjectId) -> Result<Option<LostRef>> {
    if !matches!(store.read_record(project), Ok(Some(_))) {
        return Ok(None);
    }
    // ORDER: what names the commits is read before the refs. A first save that ends in between has its ref by then.
    let newest = saved_commits(store, project)?.pop();
    let history = History::load(store, project)?;
    if !history.entries.is_empty() || !history.broken.is_empty() {
        return Ok(None);
    }
    Ok(newest.map(|id| LostRef {
        name: format!("refs/herma/{project}"),
        id,
        kind: LostKind::Everything,
    }))
}

/// The commits that a project's own state still names and that can be read, the newest last.
pub(crate) fn saved_commits(store: &OpenStore, project: &ProjectId) -> Result<Vec<ObjectId>> {
    let Some(state) = own_state(store, project)? else { return Ok(Vec::new()) };
    let mut ids = BTreeSet::new();
    ids.extend(StatCache::read(&state).and_then(|cache| cache.header().checkpoint));
    for step in StepLog::open(&state)?.all()? {
        ids.insert(step.before.checkpoint);
        ids.extend(step.end.moment().map(|moment| moment.checkpoint));
    }
    let (journal, undo) = records_of(store, project)?;
    ids.extend(journal.iter().flat_map(|journal| [journal.safety, journal.target]));
    ids.extend(undo.past.iter().chain(&undo.future).chain(&undo.position));
    ids.extend(undo.reversed.map(|moved| moved.target));
    let mut found: Vec<(i64, ObjectId)> = Vec::new();
    for id in ids {
        if let Ok(commit) = store.objects.read_commit(&id) {
            found.push((commit.author.seconds, id));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, id)| id).collect())
}
