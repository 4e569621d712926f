//! Undo and redo: which checkpoint the next move goes to.

use std::sync::Arc;

use super::OutsideOfStep;
use super::Progress;
use super::Project;
use super::open::OpenStore;
use super::receipts::read_left_out;
use super::restoring::Restored;
use super::restoring::Task;
use super::restoring::by_path;
use super::story::LeftOutMap;
use crate::checkpoint::Checkpoint;
use crate::diff;
use crate::diff::Change;
use crate::diff::Side;
use crate::error::Error;
use crate::history::History;
use crate::id::ObjectId;
use crate::path::RelPath;
use crate::restore::Plan;
use crate::restore::RestoreOptions;
use crate::restore::undo::Move;
use crate::restore::undo::UndoRecord;
use crate::reversal::why_left_out;
use crate::side::PresentSide;
use crate::side::StoreSide;
use crate::snapshot::held::Held;
use crate::snapshot::held::Holding;
use crate::snapshot::present::Present;

/// What came of an undo or redo.
#[derive(Clone, Debug)]
pub enum Undone {
    /// It was done.
    Done(Box<Restored>),
    /// It was only planned.
    Planned(Box<Plan>),
    /// Nothing was done: the last step changed only what no checkpoint holds, and nobody asked for an older one.
    Outside(OutsideOfStep),
}

impl Project<'_> {
    /// Takes back the last restore; or, if files changed since, those changes; or goes one checkpoint
    /// further back.
    pub fn undo(&self, progress: &dyn Progress, dry_run: bool) -> Result<Undone, Error> {
        self.move_by(Move::Undo, progress, dry_run)
    }

    /// Repeats what undo took back.
    pub fn redo(&self, progress: &dyn Progress, dry_run: bool) -> Result<Undone, Error> {
        self.move_by(Move::Redo, progress, dry_run)
    }

    /// Where undo and redo stand, for what is to go along with the files.
    pub fn undo_record(&self) -> Result<UndoRecord, Error> {
        let Some(store) = self.engine.open_for_reading()? else {
            return Ok(UndoRecord::default());
        };
        Ok(self.records(&store)?.1)
    }

    /// Is a restore of this project on its way, under way now or interrupted?
    pub fn is_half_way(&self) -> Result<bool, Error> {
        let Some(store) = self.engine.open_for_reading()? else {
            return Ok(false);
        };
        Ok(self.records(&store)?.0.is_some())
    }

    fn move_by(&self, by: Move, progress: &dyn Progress, dry_run: bool) -> Result<Undone, Error> {
        let options = RestoreOptions::default();
        if dry_run {
            let store = self.read_store()?;
            let history = self.some_history(&store)?;
            let mut present = self.look_holding(&store, &history, &[], progress)?;
            if let Some(outside) = self.nothing_covered(&store, by, &present)? {
                return Ok(Undone::Outside(outside));
            }
            let (target, _) = self.target_of(&store, by, &history, &present)?;
            if is_to_be_held(&store, &target, &present) {
                present = self.look_holding(&store, &history, &[target.id], progress)?;
            }
            let mut plan = self.prepare(&store, &target, &options, &present)?.plan;
            plan.forget_left_out();
            if by == Move::Undo {
                plan.outside = self.outside_of_undo(&store, &target)?;
            }
            return Ok(Undone::Planned(Box::new(plan)));
        }
        self.read_store()?;
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        self.some_history(&store)?;
        self.make_root_again(&store)?;
        // One look serves the choice, the plan and the save.
        let mut draft = self.draft(&store, false, &[], progress)?;
        if let Some(outside) = self.nothing_covered(&store, by, &draft.present)? {
            return Ok(Undone::Outside(outside));
        }
        let (target, task) = self.target_of(&store, by, &draft.history, &draft.present)?;
        if is_to_be_held(&store, &target, &draft.present) {
            draft = self.draft(&store, false, &[target.id], progress)?;
        }
        let restored = self.restore_over(&store, draft, &target, &options, &task, progress)?;
        Ok(Undone::Done(Box::new(restored)))
    }

    /// What the last step did, if all of it is outside checkpoints, so that there is nothing an undo could take back.
    fn nothing_covered(
        &self,
        store: &OpenStore,
        by: Move,
        present: &Present,
    ) -> Result<Option<OutsideOfStep>, Error> {
        if by != Move::Undo || self.records(store)?.0.is_some() {
            return Ok(None);
        }
        self.only_outside(store, present)
    }

    /// The history, which must have something in it.
    fn some_history(&self, store: &OpenStore) -> Result<History, Error> {
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        if history.entries.is_empty() {
            return Err(Error::NoCheckpoints {
                root: self.root.clone(),
            });
        }
        Ok(history)
    }

    /// The checkpoint an undo or redo goes to.
    fn target_of(
        &self,
        store: &OpenStore,
        by: Move,
        history: &History,
        present: &Present,
    ) -> Result<(Checkpoint, Task), Error> {
        let all = history.readable(&store.dirs, &store.objects, &self.id)?;
        let by_id = |id: &ObjectId| all.iter().find(|c| c.id == *id).cloned();
        let (journal, undo) = self.records(store)?;
        // An interrupted restore is what an undo takes back first.
        if let Some(journal) = journal.filter(|_| by == Move::Undo)
            && let Some(safety) = by_id(&journal.safety)
        {
            return Ok((safety, Task::Reverse(journal)));
        }
        let now = (present.tree, present.modes);
        let differs = |c: &Checkpoint| {
            let same_modes = c.receipt_damaged || c.modes == now.1;
            c.tree != now.0 || !same_modes
        };
        let current =
            undo.is_current(now) || self.is_current_but_for_rules(store, &undo, &all, present)?;
        let found = match by {
            Move::Redo if undo.future.is_empty() => return Err(Error::NothingToRedo),
            Move::Redo if !current => return Err(Error::ChangedSinceUndo),
            Move::Redo => undo.future.iter().rev().filter_map(by_id).find(differs),
            _ if current => {
                let past = undo
                    .past
                    .iter()
                    .rev()
                    .filter_map(by_id)
                    .find(|c| differs(c));
                past.or_else(|| older_than(&all, undo.position, &differs))
            }
            // Files changed since the last restore: those changes are what is taken back.
            _ => {
                let saved_since = undo.newest != all.first().map(|c| c.id);
                let position = undo.position.as_ref().and_then(by_id);
                let led_there = |c: &Checkpoint| {
                    undo.whole || !c.receipt_damaged && undo.is_current((c.tree, c.modes))
                };
                let restored_to = position.filter(|c| !saved_since && led_there(c));
                restored_to.or_else(|| all.iter().find(|c| differs(c)).cloned())
            }
        };
        let nothing = match by {
            Move::Redo => Error::NothingToRedo,
            _ => Error::NothingToUndo,
        };
        Ok((found.ok_or(nothing)?, Task::New(by)))
    }

    /// Is the project as the last restore left it, but for files that only rules which changed since make part of it, or take
    /// out of it? Nobody changed the others.
    fn is_current_but_for_rules(
        &self,
        store: &OpenStore,
        undo: &UndoRecord,
        all: &[Checkpoint],
        present: &Present,
    ) -> Result<bool, Error> {
        let by_id = |id: Option<ObjectId>| all.iter().find(|c| Some(c.id) == id);
        let ends = by_id(undo.position).zip(by_id(undo.left));
        let Some((position, left)) = ends.filter(|_| undo.whole) else {
            return Ok(false);
        };
        let side = StoreSide::new(&store.objects);
        let seen = PresentSide::new(self.open_root()?, Arc::clone(&present.cache));
        let seen: &dyn Side = &&seen;
        let since = |then: &Checkpoint| {
            diff::compare(Some((&side, then.tree)), Some((seen, present.tree)), &[])
        };
        let (changes, since_left) = (since(position)?, since(left)?);
        let is_as_left = |path: &RelPath| !since_left.iter().any(|change| change.path == *path);
        let unsaid = by_path(read_left_out(&store.objects, position)?);
        let unsaid_left = by_path(read_left_out(&store.objects, left)?);
        let is_by_rules = |change: &Change| {
            let path = &change.path;
            let entry = present.cache.entry_at(path.as_bytes());
            let is_left_out = entry.is_some_and(|entry| entry.kind.left_out().is_some());
            let is_said = |by: &LeftOutMap| why_left_out(by, path).is_none();
            // What the save before the restore left out, the restore did not touch.
            is_left_out || !is_said(&unsaid_left) || (!is_said(&unsaid) && is_as_left(path))
        };
        Ok(!changes.is_empty() && changes.iter().all(is_by_rules))
    }
}

/// Does a checkpoint have something that the rules leave out of the present, and nobody holds yet?
fn is_to_be_held(store: &OpenStore, target: &Checkpoint, present: &Present) -> bool {
    let mut holding = Holding::default();
    holding.hold(target.tree);
    let is_held = holding
        .states
        .iter()
        .all(|tree| present.holding.states.contains(tree));
    !is_held && Held::new(&store.objects, &holding).overrules(&present.cache, |_| true)
}

/// The newest checkpoint older than `position` whose state differs from the present.
fn older_than(
    all: &[Checkpoint],
    position: Option<ObjectId>,
    differs: &dyn Fn(&Checkpoint) -> bool,
) -> Option<Checkpoint> {
    let sequence = all.iter().find(|c| Some(c.id) == position)?.sequence;
    all.iter()
        .filter(|c| c.sequence < sequence)
        .find(|c| differs(c))
        .cloned()
}
