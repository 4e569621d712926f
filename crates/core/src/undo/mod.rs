//! Undo and redo: which checkpoint the next move goes to.
//!
//! One rule: an undo goes to the latest state the project was in before that differs from what is there. The states are
//! a line (`undo/record.rs`): the past of the record, then, if anything happened since the last move, where that led and what
//! saves found since. Below the line are the checkpoints that are older than all of it.

pub(crate) mod by_hand;
pub(crate) mod last;
pub(crate) mod notice;
pub(crate) mod plan;
pub(crate) mod preview;
pub(crate) mod several;
pub(crate) mod steps;
pub(crate) mod stretches;
pub(crate) mod units;

use crate::engine::operation::Operation;
use std::sync::Arc;

use herma_diff::{Side, StoreSide};
use herma_records::checkpoint::RestoreOptions;
use herma_records::checkpoint::receipt::why_left_out;
use herma_records::checkpoint::{Checkpoint, Origin};
use herma_records::step::Undid;
use herma_records::undo::{MAX_UNDO_STATES, Move, Reversed, UndoRecord};
use herma_store::{ObjectId, RelPath};
use herma_worktree::held::{Held, Holding};
use herma_worktree::present::Present;
use herma_worktree::side::PresentSide;

use crate::engine::history::{Entry, History};
use crate::engine::open::OpenStore;
use crate::error::{Error, Result};
use crate::restore::Plan;
use crate::restore::changed_since::Unfinished;
use crate::restore::run::{Restored, Task, unless_damaged};
use crate::undo::last::PlannedUndo;
use crate::undo::plan::StepsUndone;

/// What came of an undo or redo.
#[derive(Clone, Debug)]
pub enum Undone {
    /// It was done.
    Done(Box<Restored>),
    /// It was only planned.
    Planned(Box<Plan>),
    /// Steps were undone, or this is what that would do.
    Steps(Box<PlannedUndo>, Option<Box<StepsUndone>>),
}

impl Operation<'_> {
    /// What a move would do. Nothing is changed.
    pub(crate) fn plan_move(&self, by: Move) -> Result<Undone> {
        let history = self.some_history()?;
        let mut present = self.look_holding(&history, &[])?;
        let last = self.passed_by(by, &present)?;
        let (target, task) = self.target_of(by, &history, &present)?;
        if is_to_be_held(&self.store, &target, &present) {
            present = self.look_holding(&history, &[target.id])?;
        }
        let (all, seen) = (RestoreOptions::default(), (&history, &present));
        let (prepared, _) = self.prepare_task((&target, &all), seen, &task)?;
        let mut plan = prepared.plan;
        plan.forget_left_out();
        if matches!(task, Task::New(Move::Undo, _)) {
            plan.name_outside(self.outside_of_undo(&target)?);
        }
        plan.passed = last;
        Ok(Undone::Planned(Box::new(plan)))
    }

    /// Undoes or redoes.
    pub(crate) fn make_move(&self, by: Move, undid: Option<Undid>) -> Result<Undone> {
        self.some_history()?;
        let root_made = self.make_root_again()?;
        let mut draft = self.draft(false, &[])?;
        let last = self.passed_by(by, &draft.present)?;
        let (target, mut task) = self.target_of(by, &draft.history, &draft.present)?;
        match &mut task {
            Task::New(_, of) => *of = undid,
            // Who removed the project's directory has changed nothing in it.
            Task::Finish(taken) | Task::Reverse(taken) => taken.all = root_made,
        }
        if is_to_be_held(&self.store, &target, &draft.present) {
            draft = self.draft(false, &[target.id])?;
        }
        let options = RestoreOptions::default();
        let mut restored = self.restore_over(draft, &target, &options, &task)?;
        restored.plan.passed = last;
        restored.root_made = root_made;
        Ok(Undone::Done(Box::new(restored)))
    }

    /// What making a move after all that was interrupted and reversed would do. Nothing is changed.
    pub(crate) fn plan_again(&self, moved: &Reversed) -> Result<Undone> {
        let plan = self.plan_restore(&self.target_of_reversed(moved)?, &moved.options)?;
        Ok(Undone::Planned(Box::new(plan)))
    }

    /// Makes a move after all that was interrupted and reversed, as what it was.
    pub(crate) fn make_again(&self, moved: &Reversed) -> Result<Undone> {
        let target = self.target_of_reversed(moved)?;
        let task = Task::New(moved.by, moved.undid.clone());
        Ok(Undone::Done(Box::new(self.restore_locked(&target, &moved.options, &task)?)))
    }

    fn target_of_reversed(&self, moved: &Reversed) -> Result<Checkpoint> {
        let all = self.load_history()?.readable(&self.store)?;
        all.into_iter().find(|c| c.id == moved.target).ok_or(Error::NothingToRedo)
    }

    pub(crate) fn undo_record(&self) -> Result<UndoRecord> {
        Ok(self.records()?.1)
    }

    pub(crate) fn is_half_way(&self) -> Result<bool> {
        Ok(self.records()?.0.is_some())
    }

    /// The checkpoint an undo or redo goes to.
    fn target_of(
        &self,
        by: Move,
        history: &History,
        present: &Present,
    ) -> Result<(Checkpoint, Task)> {
        let all = history.readable(&self.store)?;
        let by_id = |id: &ObjectId| all.iter().find(|c| c.id == *id).cloned();
        // One that was dropped is passed over. One that cannot be read is where it would have led.
        let sought = |id: &ObjectId| match by_id(id) {
            None if history.contains(id) => self.store.objects.read_commit(id).map(|_| None),
            found => Ok(found),
        };
        let (journal, _) = self.records()?;
        // An interrupted restore is what an undo undoes first.
        if let Some(journal) = journal.filter(|_| by == Move::Undo)
            && let Some(safety) = sought(&journal.safety)?
        {
            return Ok((safety, Task::Reverse(Unfinished { journal, all: false })));
        }
        let now = (present.tree, present.modes);
        let differs = |c: &Checkpoint| {
            let same_modes = c.receipt_damaged || c.modes == now.1;
            c.tree != now.0 || !same_modes
        };
        let Standing { record, since } = self.standing(history, present)?;
        let latest = |ids: &[ObjectId]| {
            for id in ids.iter().rev() {
                if let Some(found) = sought(id)?.filter(differs) {
                    return Ok(Some(found));
                }
            }
            Ok::<_, Error>(None)
        };
        let found = match by {
            Move::Redo if record.future.is_empty() && record.reversed.is_none() => {
                return Err(Error::NothingToRedo);
            }
            Move::Redo if since != Since::Nothing => return Err(Error::ChangedSinceUndo),
            Move::Redo => latest(&record.future)?.ok_or(Error::NothingToRedo),
            _ => {
                let known = record.past.iter().chain(&record.position);
                let oldest = known.filter_map(by_id).map(|c| c.place).min();
                let is_older = |c: &&Checkpoint| oldest.is_some_and(|o| c.place < o);
                let older = || all.iter().filter(is_older).find(|c| differs(c)).cloned();
                let found = latest(&record.past)?.or_else(older);
                found.ok_or(Error::NothingToUndo)
            }
        };
        Ok((found?, Task::New(by, None)))
    }

    /// Where undo and redo stand, with what happened since the last move. Content alone does not tell: later work may
    /// have led to just where that move had led.
    pub(crate) fn standing(&self, history: &History, present: &Present) -> Result<Standing> {
        let (_, mut record) = self.records()?;
        let entries = history.entries.iter();
        let noted = entries.clone().find(|entry| Some(entry.id) == record.newest);
        let noted = noted.map(|entry| entry.place).or(record.order);
        let forgotten = entries.rev().nth(MAX_UNDO_STATES).map(|entry| entry.place);
        let last = noted.max(forgotten).unwrap_or(i64::MIN);
        let is_end = |entry: &Entry| [record.position, record.left].contains(&Some(entry.id));
        let is_wanted = |entry: &Entry| entry.place > last || is_end(entry);
        let read = history.readable_where(&self.store, is_wanted)?;
        let by_id = |id: Option<ObjectId>| read.iter().find(|c| Some(c.id) == id);
        let (position, left) = (by_id(record.position), by_id(record.left));
        let is_told = |(to, from): &Ends<'_>| !to.receipt_damaged && !from.receipt_damaged;
        let ends = position.zip(left).filter(|_| record.whole).filter(is_told);
        // What was merged is a state the project was in only where a move led to it.
        let is_saved = |c: &&Checkpoint| c.place > last && c.origin != Origin::Merged;
        let saved: Vec<&Checkpoint> = read.iter().rev().filter(is_saved).collect();
        let since = self.happened(&record, &saved, (ends, present))?;
        if since != Since::Nothing {
            let led_there = |c: &&Checkpoint| {
                record.whole || !c.receipt_damaged && record.is_current((c.tree, c.modes))
            };
            record.past.extend(position.filter(led_there).map(|c| c.id));
            // What cannot be read was a state, too, and is not passed over in silence.
            let is_passed = |entry: &&Entry| match by_id(Some(entry.id)) {
                Some(_) => saved.iter().any(|c| c.id == entry.id),
                None => entry.place > last,
            };
            let passed = history.entries.iter().filter(is_passed);
            record.past.extend(passed.map(|entry| entry.id));
            record.past.dedup();
        }
        Ok(Standing { record, since })
    }

    /// What happened since the last move, by what was `saved` since and the present.
    fn happened(
        &self,
        record: &UndoRecord,
        saved: &[&Checkpoint],
        (ends, present): (Option<Ends<'_>>, &Present),
    ) -> Result<Since> {
        let is_current = record.is_current((present.tree, present.modes))
            // A move whose ends cannot be read must not keep the project from all others: its end stays in the past, where an
            // undo meets it.
            || unless_damaged(self.differs_by_rules(ends, present))?.unwrap_or(false);
        for checkpoint in saved {
            let is_as_moved = record.is_current((checkpoint.tree, checkpoint.modes))
                || is_current && self.is_no_way(checkpoint, present)?;
            if !is_as_moved {
                return Ok(Since::Work);
            }
        }
        Ok(if is_current { Since::Nothing } else { Since::Edits })
    }

    /// Would going to this checkpoint change nothing? Then only rules make it another state.
    fn is_no_way(&self, checkpoint: &Checkpoint, present: &Present) -> Result<bool> {
        let prepared = self.prepare(checkpoint, &RestoreOptions::default(), present);
        let prepared = unless_damaged(prepared)?;
        Ok(prepared.is_some_and(|prepared| prepared.plan.actions.is_empty()))
    }

    /// Is the project as the last restore left it, but for files that only rules which changed since make part of it, or take
    /// out of it? Nobody changed the others.
    fn differs_by_rules(&self, ends: Option<Ends<'_>>, present: &Present) -> Result<bool> {
        let Some((position, left)) = ends else { return Ok(false) };
        let side = StoreSide::new(&self.store.objects);
        let seen = PresentSide::new(self.open_root()?, Arc::clone(&present.cache));
        let seen: &dyn Side = &&seen;
        let since = |then: &Checkpoint| {
            herma_diff::compare(Some((&side, then.tree)), Some((seen, present.tree)), &[])
        };
        let changes = match &present.edits {
            Some(edits) if edits.base == position.tree => edits.changes.clone(),
            _ => since(position)?,
        };
        let objects = &self.store.objects;
        let is_left_out = |path: &RelPath| {
            let entry = present.cache.entry_at(path.as_bytes());
            entry.is_some_and(|entry| entry.kind.left_out().is_some())
        };
        let mut touched = Vec::new();
        for path in changes.iter().map(|change| &change.path).filter(|path| !is_left_out(path)) {
            // What the save before the restore left out, the restore did not touch.
            if why_left_out(objects, left, path)?.is_some() {
                continue;
            }
            if why_left_out(objects, position, path)?.is_none() {
                return Ok(false);
            }
            touched.push(path);
        }
        let since_left = if touched.is_empty() { Vec::new() } else { since(left)? };
        let is_other = |path: &RelPath| since_left.iter().any(|change| change.path == *path);
        Ok(!changes.is_empty() && !touched.into_iter().any(is_other))
    }
}

/// The checkpoints the last move went to and came from.
type Ends<'a> = (&'a Checkpoint, &'a Checkpoint);

/// Where undo and redo stand.
pub(crate) struct Standing {
    /// The record; its past goes up to now.
    record: UndoRecord,
    since: Since,
}

/// What happened since the last move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Nothing,
    /// Files were changed, and that was not saved.
    Edits,
    /// The project was seen in other states.
    Work,
}

impl Standing {
    /// Is the project as the last move left it?
    pub(crate) fn is_untouched(&self) -> bool {
        self.since == Since::Nothing
    }

    /// The checkpoint that an undo would go to along the states, or a redo.
    pub(crate) fn next(&self, by: Move) -> Option<ObjectId> {
        let states = if by == Move::Redo { &self.record.future } else { &self.record.past };
        states.last().copied()
    }

    /// The last move, if it was interrupted and reversed, and nothing happened since.
    pub(crate) fn reversed(self) -> Option<Reversed> {
        self.record.reversed.filter(|_| self.since == Since::Nothing)
    }

    /// The record that a move starts from. What was undone before later work is not to be done again over it.
    pub(crate) fn before_a_move(mut self) -> UndoRecord {
        if self.since == Since::Work {
            self.record.future.clear();
        }
        self.record.reversed = None;
        self.record
    }
}

/// Does a checkpoint have something that the rules leave out of the present, and nobody holds yet?
fn is_to_be_held(store: &OpenStore, target: &Checkpoint, present: &Present) -> bool {
    let mut holding = Holding::default();
    holding.hold(target.tree);
    let is_held = holding.states.iter().all(|tree| present.holding.states.contains(tree));
    !is_held && Held::new(&store.objects, &holding).overrules(&present.cache, |_| true)
}
