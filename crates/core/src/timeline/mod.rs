//! The timeline of a project: its steps, and the states they led to, in full.
//!
//! Most states on the timeline are checkpoints. Where a restore brought back only a part, the state it led to
//! is put together again from the two checkpoints, in memory.

pub(crate) mod compare;
pub(crate) mod contents;
pub(crate) mod file_history;
pub(crate) mod labels;
pub(crate) mod partition;
pub(crate) mod session_changes;
mod shares;
pub(crate) mod versions;

use crate::engine::operation::Operation;
use crate::timeline::partition::Sorted;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use herma_diff::merge::Labels;
use herma_diff::{DiffError, Pending, StoreSide};
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::RestoreOptions;
use herma_records::checkpoint::receipt::{LeftOutMap, by_path, read_left_out};
use herma_records::step::{LineAuthor, Step, StepId};
use herma_records::timeline::Timeline;
use herma_reversal as reversal;
use herma_reversal::{Conflicts, Request, Reversed, Run, StateView};
use herma_store::error::StoreError;
use herma_store::object::{EntryMode, Kind, Object, id_of};
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;
use herma_worktree::present::{Present, StateIds};

use crate::engine::history::History;
use crate::error::Result;
use crate::save::comparable::{Foreign, may_be_foreign};
use crate::steps::StepChoice;
use crate::steps::passed_over::were_there;

/// A project's timeline and what led along it.
pub(crate) struct Story {
    pub(crate) line: Timeline,
    /// Oldest first.
    pub(crate) steps: Vec<Step>,
    /// Newest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// States that no checkpoint holds.
    pub(crate) made: Made,
}

/// Objects of states that no checkpoint holds.
#[derive(Default)]
pub(crate) struct Made(Mutex<HashMap<ObjectId, (Kind, Vec<u8>)>>);

impl Made {
    pub(crate) fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        let id = id_of(kind, data).ok_or(StoreError::Collision)?;
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.insert(id, (kind, data.to_vec()));
        Ok(id)
    }

    /// Makes the state that `reversed` makes of another one.
    pub(crate) fn state(&self, of: &StateView<'_>, reversed: &Reversed) -> Result<StateIds> {
        let add = |kind: Kind, data: &[u8]| {
            self.add(kind, data)
                .map_err(|e| DiffError::Store { path: RelPath::root(), source: Box::new(e) })
        };
        Ok(reversal::write_state(of, reversed, &add)?)
    }

    pub(crate) fn read(&self, id: &ObjectId) -> Option<Object> {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, data) = objects.get(id)?.clone();
        Some(Object { kind, data })
    }
}

/// What belongs to a state beside its tree.
pub(crate) struct StateParts {
    pub(crate) modes: Modes,
    pub(crate) left_out: LeftOutMap,
}

impl StateParts {
    /// The state in full.
    pub(crate) fn view<'a>(&'a self, tree: ObjectId, side: &'a StoreSide<'a>) -> StateView<'a> {
        StateView { tree, modes: &self.modes, side, left_out: &self.left_out }
    }
}

impl Story {
    /// Reads what is not in the store: states made here, and what `other` knows.
    pub(crate) fn pending<'s>(
        &'s self,
        other: &'s Pending<'s>,
    ) -> impl Fn(&ObjectId) -> Result<Option<Object>, StoreError> + Sync + 's {
        move |id| match self.made.read(id) {
            Some(object) => Ok(Some(object)),
            None => other(id),
        }
    }

    /// Who led from one state to another, whatever is in between.
    pub(crate) fn author_between(&self, from: usize, to: usize) -> LineAuthor {
        let line = &self.line;
        let first = line.author(from);
        if (from..to).all(|stretch| line.author(stretch) == first) {
            return first;
        }
        let mut steps: Vec<StepId> = (from..to).flat_map(|s| line.ids_in(s)).collect();
        steps.sort_unstable();
        steps.dedup();
        LineAuthor::Unattributed(steps)
    }

    /// The step with this handle.
    pub(crate) fn step(&self, handle: i64) -> Option<&Step> {
        self.steps.iter().find(|step| step.handle == handle)
    }

    /// What these steps are called.
    pub(crate) fn ids<'h>(&self, handles: impl IntoIterator<Item = &'h i64>) -> Vec<StepId> {
        let known = handles.into_iter().filter_map(|handle| self.step(*handle));
        let mut ids: Vec<StepId> = known.map(Step::id).collect();
        ids.sort_unstable();
        ids
    }
}

impl Operation<'_> {
    /// Puts the story of this project together, up to a present in this state.
    pub(crate) fn story(
        &self,
        history: &History,
        present: StateIds,
        choice: &StepChoice,
    ) -> Result<Story> {
        let checkpoints = history.readable(&self.store)?;
        let steps = self.steps_for(history, choice)?;
        let made = Made::default();
        let mut line = Timeline::new(&checkpoints, &steps, present, &|step, before, after| {
            if step.part == RestoreOptions::default() {
                return Some((after.tree, after.modes));
            }
            // Where it led cannot be told any more: its two ends count as gone.
            self.after_part(&step.part, before, after, &made).ok()
        });
        self.divide(&mut line, &steps, &made)?;
        Ok(Story { line, steps, checkpoints, made })
    }

    /// The state after a part of `target` was brought back into `before`.
    fn after_part(
        &self,
        part: &RestoreOptions,
        before: &Checkpoint,
        target: &Checkpoint,
        made: &Made,
    ) -> Result<StateIds> {
        let none = |_: &ObjectId| Ok(None);
        let side = StoreSide::new(&self.store.objects);
        let parts = |checkpoint: &Checkpoint| self.parts_of(checkpoint, checkpoint.modes, &none);
        let (before_parts, target_parts) = (parts(before)?, parts(target)?);
        let present = before_parts.view(before.tree, &side);
        let run = Run { from: target_parts.view(target.tree, &side), to: present };
        let request = Request {
            present,
            runs: &[run],
            scope: &part.paths,
            conflicts: Conflicts::Theirs,
            labels: Labels { ours: "", theirs: "" },
        };
        let mut reversed = reversal::reverse(&request)?;
        let is_kept = |path: &RelPath| part.keep.iter().any(|keep| path.starts_with(keep));
        reversed.changes.retain(|path, _| !is_kept(path));
        made.state(&present, &reversed)
    }

    /// What belongs to a checkpoint beside its tree.
    pub(crate) fn parts_of(
        &self,
        checkpoint: &Checkpoint,
        modes: Option<ObjectId>,
        pending: &Pending<'_>,
    ) -> Result<StateParts> {
        let objects = &self.store.objects;
        let modes = match checkpoint.extra {
            Some(_) => Modes::read_pending(objects, pending, modes)?,
            None => Modes::unknown(self.open_root()?.stat_self()?.mode),
        };
        Ok(StateParts { modes, left_out: by_path(read_left_out(objects, checkpoint)?) })
    }

    /// What belongs to the present beside its tree.
    pub(crate) fn present_parts(
        &self,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<StateParts> {
        let left_out = present.cache.left_out().collect();
        let modes = Modes::read_pending(&self.store.objects, pending, present.modes)?;
        Ok(StateParts { modes, left_out: by_path(left_out) })
    }
}

/// A story, and where its objects are.
pub(crate) struct Ground<'g> {
    pub(crate) operation: &'g Operation<'g>,
    pub(crate) told: &'g Story,
    /// The last state of the story, if that is what there is now.
    pub(crate) present: Option<&'g Present>,
    pub(crate) pending: &'g Pending<'g>,
}

impl Ground<'_> {
    /// What belongs to a point of the timeline beside its tree.
    pub(crate) fn parts(&self, point: usize) -> Result<StateParts> {
        let (points, pending) = (&self.told.line.points, self.told.pending(self.pending));
        match (&points[point].checkpoint, self.present) {
            (Some(checkpoint), _) => {
                let modes = points[point].state.1;
                let mut parts = self.operation.parts_of(checkpoint, modes, &pending)?;
                parts.left_out.extend(were_there(&self.told.steps, checkpoint));
                Ok(parts)
            }
            (None, Some(present)) => self.operation.present_parts(present, &pending),
            (None, None) => Ok(StateParts { modes: Modes::default(), left_out: LeftOutMap::new() }),
        }
    }

    /// The same for both ends of every run, and for one point more.
    pub(crate) fn parts_of_runs(
        &self,
        sorted: &Sorted,
        more: usize,
    ) -> Result<BTreeMap<usize, StateParts>> {
        let ends = sorted.runs.iter().flat_map(|(from, to)| [*from, *to]);
        let points: BTreeSet<usize> = ends.chain([more]).collect();
        points.into_iter().map(|point| Ok((point, self.parts(point)?))).collect()
    }

    /// The files that changed along a stretch, without what belongs to somebody else at one of its ends.
    pub(crate) fn changes_in(&self, stretch: usize, scope: &[RelPath]) -> Result<Vec<RelPath>> {
        let objects = &self.operation.store.objects;
        let pending = self.told.pending(self.pending);
        let side = StoreSide::with_pending(objects, &pending);
        let points = &self.told.line.points[stretch..=stretch + 1];
        let (old, new) = (points[0].state.0, points[1].state.0);
        let mut changes = herma_diff::compare(Some((&side, old)), Some((&side, new)), scope)?;
        if may_be_foreign(&changes) {
            let mut foreign = Foreign::default();
            for point in points {
                match (&point.checkpoint, self.present) {
                    (Some(checkpoint), _) => foreign.add_receipt(objects, checkpoint.extra),
                    (None, Some(present)) => foreign.add_present(&present.cache),
                    (None, None) => {}
                }
            }
            foreign.take_out(&mut changes);
        }
        Ok(changes.into_iter().map(|change| change.path).collect())
    }
}

/// The full mode of a file in the state with these modes.
fn full_mode(modes: &Modes, path: &RelPath, mode: EntryMode) -> u32 {
    match mode {
        EntryMode::File => modes.file(path, /*executable*/ false),
        EntryMode::Executable => modes.file(path, /*executable*/ true),
        EntryMode::Symlink | EntryMode::Nested | EntryMode::Directory => 0,
    }
}
