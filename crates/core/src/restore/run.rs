//! Restoring: save the present, plan, apply, verify.

use crate::engine::operation::Operation;
use std::collections::BTreeSet;
use std::sync::Arc;

use bstr::{BStr, BString};
use herma_diff::{Side, StoreSide};
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::RestoreOptions;
use herma_records::checkpoint::receipt::{by_path, read_left_out};
use herma_records::step::Undid;
use herma_records::undo::Move;
use herma_store::{ObjectId, RelPath};
use herma_worktree::held::Held;
use herma_worktree::modes::Modes;
use herma_worktree::owner::Owners;
use herma_worktree::present::Present;
use herma_worktree::reason::Reason;
use herma_worktree::side::PresentSide;
use herma_worktree::sink::HashOnly;
use herma_worktree::stat_cache::{EntryKind, StatCache};
use herma_worktree::tracked::LazyTracked;

use crate::engine::history::History;
use crate::error::{Error, ErrorKind, RestoreError, Result};
use crate::restore::changed_since;
use crate::restore::changed_since::{Ends, Unfinished, is_torn};
use crate::restore::plan::same_name::Asking;
use crate::restore::plan::{Planner, Prepared, same_name};
use crate::restore::{Action, ActionKind, Plan};
use crate::save::read_ahead::ReadAhead;
use crate::save::saved_before::SavedBefore;
use crate::save::{Draft, Lost, SaveOptions, Saved, vouches_for_absence};
use crate::types::kept::{Kept, KeptWhy, Lack};

/// What a restore did.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The checkpoint that was brought back.
    pub target: Checkpoint,
    /// The number this got: that of a checkpoint of the state after it. `None` if nothing had to change.
    pub number: Option<u64>,
    /// The checkpoint of the state before. `None` if nothing had to change, and no checkpoint holds it.
    pub safety: Option<Checkpoint>,
    /// Was that checkpoint made for this restore?
    pub safety_is_new: bool,
    /// What was to be done.
    pub plan: Plan,
    /// Files, links and modes written.
    pub written: usize,
    /// Files and directories removed.
    pub removed: usize,
    /// What was left alone, and why.
    pub kept: Vec<Kept>,
    /// What the store had lost of the state before. It was saved again first.
    pub lost: Lost,
    /// Was the project's own directory gone, and made again?
    pub root_made: bool,
    /// What it did about a restore that was interrupted, if it was about one.
    pub settled: Option<Settled>,
}

/// What became of a restore that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was finished. This is the move that undoes it now.
    Finished(Move),
    /// It was reversed.
    Reversed,
}

/// What a restore is for.
pub(crate) enum Task {
    /// It is one of its own; an undo or redo may say which move it undoes.
    New(Move, Option<Undid>),
    /// It finishes one that was interrupted.
    Finish(Unfinished),
    /// It undoes one that was interrupted.
    Reverse(Unfinished),
}

impl Task {
    /// Does it go to a state that somebody chose?
    const fn is_restore(&self) -> bool {
        matches!(self, Self::New(Move::Restore, _))
    }

    /// What it does about an interrupted restore.
    pub(crate) fn settled(&self) -> Option<Settled> {
        match self {
            Self::New(..) => None,
            Self::Finish(Unfinished { journal, .. }) => {
                let back = if journal.what().is_undo() { Move::Redo } else { Move::Undo };
                Some(Settled::Finished(back))
            }
            Self::Reverse(_) => Some(Settled::Reversed),
        }
    }
}

impl Operation<'_> {
    pub(crate) fn plan_restore(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
    ) -> Result<Plan> {
        let history = self.load_history()?;
        let target = &self.as_it_is(&history, target)?;
        let present = self.look_holding(&history, &[target.id])?;
        self.plan_over(&history, target, options, &present)
    }

    /// What restoring a checkpoint over this present would do.
    pub(crate) fn plan_over(
        &self,
        history: &History,
        target: &Checkpoint,
        options: &RestoreOptions,
        present: &Present,
    ) -> Result<Plan> {
        let target = &self.as_it_is(history, target)?;
        let prepared = self.prepare(target, options, present)?;
        prepared.check_paths()?;
        let root = self.open_root()?;
        same_name::check(&root, &prepared.plan, &present.cache, Asking::ByLooking)?;
        let mut plan = prepared.plan;
        plan.name_outside(self.outside_since(target, &options.paths)?);
        Ok(plan)
    }

    /// Scans the present without writing anything.
    pub(crate) fn look(&self, history: &History) -> Result<Present> {
        let cache = self.load_cache(history);
        self.scan(Some(&self.store), cache, false, &HashOnly, self.progress)
    }

    /// The same before files are moved: what the last move wrote, and what is as in these checkpoints, is not left out
    /// because rules changed.
    pub(crate) fn look_holding(&self, history: &History, held: &[ObjectId]) -> Result<Present> {
        self.scan_holding(history, held, &HashOnly)
    }

    pub(crate) fn restore_with(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
    ) -> Result<Restored> {
        let root_made = self.make_root_again()?;
        let task = Task::New(Move::Restore, None);
        let restored = self.restore_locked(target, options, &task)?;
        Ok(Restored { root_made, ..restored })
    }

    pub(crate) fn prepare(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
        present: &Present,
    ) -> Result<Prepared> {
        let root = self.open_root()?;
        let modes = unless_damaged(match target.extra {
            Some(_) if !target.receipt_damaged => {
                Modes::read(&self.store.objects, target.modes).map(Some).map_err(Error::from)
            }
            _ => Ok(None),
        })?
        .flatten();
        let receipt_damaged = target.extra.is_some() && modes.is_none();
        let target_modes = match modes {
            Some(modes) => modes,
            None => Modes::unknown(root.stat_self()?.mode),
        };
        let left_out =
            unless_damaged(read_left_out(&self.store.objects, target).map_err(Error::from))?;
        let left = left_out.iter().flatten();
        let with_identity = left.filter(|item| item.reason == Reason::Identity);
        let with_identity: BTreeSet<_> = with_identity.map(|item| item.path.clone()).collect();
        let mut target_left_out = left_out.map(by_path);
        if let Some(left_out) = &mut target_left_out {
            let is_there = |path: &[u8]| present.cache.entry_at(path).is_some();
            let known = self.were_there(target)?.into_iter();
            left_out.extend(known.filter(|(path, _)| is_there(path)));
        }
        let target_side = StoreSide::new(&self.store.objects);
        let held = Held::new(&self.store.objects, &present.holding);
        let held_and_left_out = held.left_out_in(&present.cache);
        let present_side = PresentSide::new(root.try_clone()?, Arc::clone(&present.cache));
        let (tracked, saved) = (LazyTracked::of(&root), SavedBefore::new(self, Some(&self.store)));
        let owners = Owners::below(&root, &root.stat_self()?, &tracked, &saved);
        let planner = Planner {
            root: &root,
            target,
            target_side: &target_side,
            target_modes: &target_modes,
            target_left_out: target_left_out.as_ref(),
            receipt_damaged: receipt_damaged || target_left_out.is_none(),
            present_side: &&present_side,
            present: &present.cache,
            present_tree: present.tree,
            present_modes: present.modes,
            owners: &owners,
            edits: present.edits.as_deref(),
            held_and_left_out: &held_and_left_out,
            options,
        };
        let mut prepared = planner.plan()?;
        name_lost_identity(&mut prepared.plan, &present.cache, &with_identity);
        Ok(prepared)
    }

    /// The same for a task. What was changed since a restore was interrupted is kept, unless all is meant: it is among the
    /// options this returns.
    pub(crate) fn prepare_task(
        &self,
        (target, options): (&Checkpoint, &RestoreOptions),
        (history, present): (&History, &Present),
        task: &Task,
    ) -> Result<(Prepared, RestoreOptions)> {
        let (Task::Finish(taken) | Task::Reverse(taken)) = task else {
            return Ok((self.prepare(target, options, present)?, options.clone()));
        };
        let mut changed = Vec::new();
        if !taken.all {
            let found = unless_damaged(self.changed_since(taken, (history, present), task))?;
            // Where one of its ends cannot be read, nobody can tell.
            changed = found.unwrap_or_default();
        }
        let mut options = options.clone();
        options.keep.extend_from_slice(&changed);
        let mut prepared = self.prepare(target, &options, present)?;
        changed_since::name(&mut prepared.plan, &changed, &taken.journal.options);
        Ok((prepared, options))
    }

    /// The paths that somebody changed since a restore was interrupted.
    fn changed_since(
        &self,
        Unfinished { journal, .. }: &Unfinished,
        (history, present): (&History, &Present),
        task: &Task,
    ) -> Result<Vec<RelPath>> {
        let before = self.end_of_interrupted(history, &journal.safety)?;
        let target = self.end_of_interrupted(history, &journal.target)?;
        let before = self.prepare(&before, &RestoreOptions::default(), present)?;
        let target = self.prepare(&target, &journal.options, present)?;
        let is_reversed = matches!(task, Task::Reverse(_));
        let (here, other) = if is_reversed { (&before, &target) } else { (&target, &before) };
        let now = PresentSide::new(self.open_root()?, Arc::clone(&present.cache));
        let then = StoreSide::new(&self.store.objects);
        let is_work = |path: &RelPath| {
            let Some(entry) = present.cache.entry_at(path.as_bytes()) else { return Ok(false) };
            if !entry.kind.is_captured_file() {
                return Ok(false);
            }
            let ends = [here, other].into_iter().filter_map(|end| end.contents.get(path));
            let ids: Vec<ObjectId> = ends.map(|content| content.id).collect();
            if ids.contains(&entry.id) || entry.kind == EntryKind::Symlink {
                return Ok(!ids.contains(&entry.id));
            }
            let Some(bytes) = (&now).content(path, &entry.id, u64::MAX)? else { return Ok(true) };
            for id in ids {
                let whole = then.content(path, &id, u64::MAX)?;
                if whole.is_some_and(|whole| is_torn(&bytes, &whole)) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Ends { here, other, asked: &journal.options }.changed_since(&is_work)
    }

    /// The checkpoint that an interrupted restore came from, or goes to.
    pub(crate) fn end_of_interrupted(
        &self,
        history: &History,
        id: &ObjectId,
    ) -> Result<Checkpoint> {
        let found = history.readable(&self.store)?.into_iter().find(|c| c.id == *id);
        match found {
            Some(found) => Ok(found),
            None => self.on_lines(id)?.ok_or(Error::NotFound { spec: id.to_hex() }),
        }
    }

    pub(crate) fn restore_locked(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
        task: &Task,
    ) -> Result<Restored> {
        let draft = self.draft(false, &[target.id])?;
        self.restore_over(draft, target, options, task)
    }

    /// Brings a checkpoint back over the present that `draft` found.
    ///
    /// One look serves the plan and the save: what is planned is exactly what is saved. Until the save is
    /// kept, nothing names it: a wrong path, a damaged checkpoint or a file that cannot be saved adds no
    /// entry.
    pub(crate) fn restore_over(
        &self,
        mut draft: Draft<'_>,
        target: &Checkpoint,
        options: &RestoreOptions,
        task: &Task,
    ) -> Result<Restored> {
        let target = &self.as_it_is(&draft.history, target)?;
        let seen = (&draft.history, &draft.present);
        let (mut prepared, options) = self.prepare_task((target, options), seen, task)?;
        let options = &options;
        // An interrupted restore may have removed a path already: going on with it asks nothing.
        if task.is_restore() {
            prepared.check_paths()?;
            let outside = self.outside_since(target, &options.paths)?;
            prepared.plan.name_outside(outside);
        } else {
            prepared.plan.forget_left_out();
        }
        if matches!(task, Task::New(Move::Undo, _)) {
            let outside = self.outside_of_undo(target)?;
            prepared.plan.name_outside(outside);
        }
        let (root, seen) = (self.open_root()?, &draft.present.cache);
        same_name::check(&root, &prepared.plan, seen, Asking::ByTrying)?;
        prepared.read_ahead = ReadAhead::of(&self.store.objects, &prepared.contents)?.into();
        draft.at_hand = Arc::clone(&prepared.read_ahead);
        check_saved(&prepared.plan, &draft.present.cache)?;
        let made = prepared.plan.actions.iter().filter(|action| action.kind.creates());
        draft.created = made.map(|action| action.path.clone()).collect();
        // Nothing to change needs no way back, and a checkpoint more would move all others down the list. An
        // undo or redo has to arrive somewhere, and what was interrupted has to be closed.
        let is_new = task.is_restore();
        let (interrupted, record) = self.records()?;
        if prepared.plan.actions.is_empty()
            && is_new
            && interrupted.is_none()
            && self.saved_before(&draft.history, &draft.present, &draft.created)?.is_none()
        {
            let herma = self.store.dirs.for_writing()?;
            record.stayed().write(&herma.tmp, &self.state_dir()?)?;
            return Ok(nothing_changed(prepared.plan));
        }
        let reason = format!("restoring to {}", &target.id.to_hex()[..8]);
        let proven = self.secure(draft, &prepared.plan, &reason)?;
        self.carry_out(proven, prepared, options, task)
    }

    /// An older checkpoint that holds exactly the present state, and says that nothing was where something will be `created`, so that going back and forth between
    /// checkpoints does not fill the list with copies.
    pub(crate) fn saved_before(
        &self,
        history: &History,
        present: &Present,
        created: &[RelPath],
    ) -> Result<Option<Saved>> {
        // A tree that is not in the store yet is no checkpoint's, however many there are.
        let is_new = matches!(self.store.objects.contains_listed(&present.tree), Ok(false));
        if is_new && present.tree != ObjectId::EMPTY_TREE {
            return Ok(None);
        }
        let all = history.readable(&self.store)?;
        let now = (present.tree, present.modes);
        let found = all
            .into_iter()
            .filter(|c| c.vouches_for_all() && (c.tree, c.modes) == now)
            .find(|c| vouches_for_absence(&self.store, c, created));
        Ok(found.map(Saved::known))
    }
}

/// Names the files whose setuid and setgid bits do not come with them: what is there and is replaced keeps its own.
fn name_lost_identity(plan: &mut Plan, seen: &StatCache, with_identity: &BTreeSet<BString>) {
    let is_lost = |action: &&Action| {
        let path = action.path.as_bytes();
        let has_bits = || seen.entry_at(path).is_some_and(|now| now.mode & 0o6000 != 0);
        let is_written = matches!(action.kind, ActionKind::Write { .. });
        is_written && with_identity.contains(BStr::new(path)) && !has_bits()
    };
    let lost = plan
        .actions
        .iter()
        .filter(is_lost)
        .map(|action| Kept { path: action.path.clone(), why: KeptWhy::NotHeld(Lack::Identity) });
    plan.kept.extend(lost);
    plan.kept.sort_unstable();
}

/// How the save before a restore, or before steps are undone, is asked for.
pub(crate) fn before(what: &str) -> SaveOptions {
    SaveOptions {
        reason: format!("pre-rollback snapshot ({what})").into(),
        ..SaveOptions::default()
    }
}

/// A restore that found everything as it was to be, but for what it leaves alone.
fn nothing_changed(plan: Plan) -> Restored {
    let mut kept = plan.kept.clone();
    kept.sort_unstable();
    kept.dedup();
    Restored {
        target: plan.target.clone(),
        number: None,
        safety: None,
        safety_is_new: false,
        written: 0,
        removed: 0,
        kept,
        lost: Lost::default(),
        plan,
        root_made: false,
        settled: None,
    }
}

/// `None` for what the store cannot give back any more. A list that is there and malformed is another
/// matter: somebody newer may have written it.
pub(crate) fn unless_damaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(e) if e.kind() == ErrorKind::Damaged && !matches!(e, Error::Restore(_)) => Ok(None),
        read => read.map(Some),
    }
}

/// Checks that every file the plan changes or removes is held, whole, by the save just made.
fn check_saved(plan: &Plan, saved: &StatCache) -> Result<(), RestoreError> {
    let touched = plan.actions.iter().filter(|action| action.kind.displaces());
    let is_held = |action: &&Action| {
        let entry = saved.entry_at(action.path.as_bytes());
        entry.is_some_and(|entry| !entry.unstable && entry.kind.is_captured_file())
    };
    let paths: Vec<RelPath> =
        touched.filter(|action| !is_held(action)).map(|action| action.path.clone()).collect();
    if paths.is_empty() { Ok(()) } else { Err(RestoreError::Unsafe { paths }) }
}
