//! Is the project where a restore was to bring it, and does the disk know?
//!
//! The look before a restore saw everything, so the look after it enters only the directories the restore changed
//! something in, and those of which the first look could not be sure; after one that only replaced files, only these are
//! read. Every file that was written is read and compared, or hashed, here. What others do elsewhere meanwhile is theirs,
//! and the next save sees it.

use crate::engine::operation::Operation;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use herma_fs::Dir;
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::RestoreOptions;
use herma_store::RelPath;
use herma_store::error::StoreError;
use herma_store::threads::in_waiting_pool;
use herma_worktree::held::Holding;
use herma_worktree::present::{Present, ScanError, StateIds};
use herma_worktree::reason::Reason;
use herma_worktree::scan::same_shape::Edits;
use herma_worktree::stat_cache::StatCache;
use rayon::prelude::*;

use crate::engine::Project;
use crate::error::{Error, Result};
use crate::restore::Plan;
use crate::restore::apply::Applied;
use crate::restore::apply::as_written::is_all_as_written;
use crate::restore::plan::Prepared;
use crate::save::publish::Way;
use crate::types::kept::{Kept, KeptWhy};

/// Where one of Herma's own moves led.
pub(crate) struct Arrived<'m> {
    /// The checkpoint it went to.
    pub(crate) target: &'m Checkpoint,
    /// The state it led to.
    pub(crate) after: StateIds,
    /// What part of the checkpoint was brought back.
    pub(crate) options: &'m RestoreOptions,
    /// What was left as it is.
    pub(crate) kept: &'m [Kept],
    /// How it came there, if all of the checkpoint was brought back.
    pub(crate) way: Way<'m>,
}

impl Arrived<'_> {
    /// Does the checkpoint say all there is to say about the state after it?
    pub(crate) fn is_at_target(&self) -> bool {
        self.has_its_files()
            && self.kept.is_empty()
            && *self.options == RestoreOptions::default()
            && self.target.vouches_for_all()
    }

    /// Are the files those of the checkpoint?
    pub(crate) fn has_its_files(&self) -> bool {
        self.after == (self.target.tree, self.target.modes)
    }

    /// Is somebody else's work in the state after it?
    pub(crate) fn is_disturbed(&self) -> bool {
        let is_work = |why| matches!(why, KeptWhy::ChangedMeanwhile | KeptWhy::ChangedSince);
        self.kept.iter().any(|kept| is_work(kept.why))
    }
}

/// Up to this many files are synced one by one; beyond it the file system is synced once, which was quicker for 100 files even
/// on a disk whose `fsync` takes 0.1 ms.
const SYNC_EACH: usize = 64;

/// Is each file synced when it is written?
pub(crate) fn syncs_each(plan: &Plan) -> bool {
    plan.actions.len() <= SYNC_EACH
}

impl Operation<'_> {
    /// Looks at the project again: nothing of the plan may be left to do, but for what somebody changed
    /// meanwhile, and what is no longer ignored because the ignore file is as it was then. Returns the
    /// state it is in.
    pub(crate) fn arrived(
        &self,
        (target, prepared): (&Checkpoint, &Prepared),
        options: &RestoreOptions,
        before: &Present,
        applied: &mut Applied,
    ) -> Result<StateIds> {
        // A state has one pair of ids: if it is the checkpoint's, all of the checkpoint is here and nothing else.
        let is_known = target.extra.is_some() && !target.receipt_damaged;
        let expected = is_known.then_some((target.tree, target.modes));
        let has_same_names = |edits: &Edits| edits.base == target.tree;
        let is_whole = *options == RestoreOptions::default() && applied.kept.is_empty();
        if is_known
            && is_whole
            && before.edits.as_deref().is_some_and(has_same_names)
            && is_all_as_written(&self.open_root()?, prepared)
        {
            return Ok((target.tree, target.modes));
        }
        let look = || {
            let directories = touched(&prepared.plan);
            let known = &*prepared.read_ahead;
            // As the next look will, whatever the rules say by now.
            let mut holding = Holding::default();
            holding.hold(target.tree);
            holding.hold(before.tree);
            self.look_again(&before.cache, directories, expected, known, holding)
        };
        let hidden = |seen: &Option<Present>| {
            let seen = seen.as_ref()?;
            newly_unreadable(&before.cache, &seen.cache)
        };
        // What stands in the way may pass.
        let after = match look() {
            Ok(seen) if hidden(&seen).is_none() => seen,
            Err(e) if !is_want_of_resources(&e) => return Err(e),
            _ => look()?,
        };
        let Some(after) = after else { return Ok((target.tree, target.modes)) };
        // What cannot be seen cannot be called restored; the journal stays open.
        if let Some(path) = newly_unreadable(&before.cache, &after.cache) {
            return Err(ScanError::Unreadable(self.root.join(OsStr::from_bytes(&path))).into());
        }
        let rest = self.prepare(target, options, &after)?;
        let known: Vec<RelPath> = applied.kept.iter().map(|kept| kept.path.clone()).collect();
        for action in rest.plan.actions {
            if !known.contains(&action.path) {
                applied.kept.push(why_left(&before.cache, action.path));
            }
        }
        Ok((after.tree, after.modes))
    }
}

impl Project {
    /// Makes what a plan changed last.
    pub(crate) fn sync_changes(&self, plan: &Plan) -> Result<()> {
        if plan.actions.is_empty() {
            return Ok(());
        }
        let root = self.open_root()?;
        if syncs_each(plan) {
            sync_parents(&root, plan, self.settings().threads)
        } else {
            Ok(root.sync_file_system()?)
        }
    }
}

/// The directories a plan changes, and those it changes something in.
pub(crate) fn touched(plan: &Plan) -> Vec<Vec<u8>> {
    let mut found = BTreeSet::new();
    for action in &plan.actions {
        found.extend(action.path.split().map(|(parent, _)| parent));
        found.insert(action.path.clone());
    }
    found.into_iter().map(|path| path.as_bytes().to_vec()).collect()
}

/// Could this process open no more files while it looked?
fn is_want_of_resources(error: &Error) -> bool {
    matches!(error, Error::Scan(ScanError::Store(StoreError::Fs(e))) if e.is_want_of_resources())
}

/// Something that could be read before a restore and cannot be after it.
fn newly_unreadable(before: &StatCache, after: &StatCache) -> Option<Vec<u8>> {
    let count = |cache: &StatCache| {
        let counts = &cache.header().summary.left_out;
        counts.get(&Reason::Unreadable).copied().unwrap_or(0)
    };
    if count(after) <= count(before) {
        return None;
    }
    let was = |path: &[u8]| before.entry_at(path).and_then(|entry| entry.kind.left_out());
    let mut unreadable = after.left_out().filter(|item| item.reason == Reason::Unreadable);
    let new = unreadable.find(|item| was(&item.path) != Some(Reason::Unreadable));
    new.map(|item| item.path.into())
}

/// Why something is still not as in the checkpoint: it, or a directory above it, was not in the save, or
/// it changed since.
fn why_left(saved: &StatCache, path: RelPath) -> Kept {
    let mut above = RelPath::root();
    for name in path.components() {
        above = above.join(name);
        let entry = saved.entry_at(above.as_bytes());
        if let Some(reason) = entry.and_then(|entry| entry.kind.left_out()) {
            let why = KeptWhy::NotSaved(reason);
            return Kept { path: above, why };
        }
    }
    let why = KeptWhy::ChangedMeanwhile;
    Kept { path, why }
}

/// Makes the names in every directory a plan touched durable. The disk is asked for several at once: it brings them
/// together, where one after the other would each be waited for.
fn sync_parents(root: &Dir, plan: &Plan, threads: usize) -> Result<()> {
    let mut parents: Vec<RelPath> =
        plan.actions.iter().filter_map(|action| Some(action.path.split()?.0)).collect();
    parents.sort_unstable();
    parents.dedup();
    let sync = |parent: &RelPath| match root.open_within(parent.as_bytes()) {
        Ok(dir) => dir.sync(),
        // A directory that was removed has nothing left to sync.
        Err(_) => Ok(()),
    };
    match &parents[..] {
        [] => Ok(()),
        [one] => Ok(sync(one)?),
        many => Ok(in_waiting_pool(threads, || many.par_iter().try_for_each(sync))??),
    }
}
