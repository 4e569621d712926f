//! What steps changed that no checkpoint holds, and so no restore and no undo brings back.

use crate::engine::operation::Operation;
use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::message::Message;
use herma_records::checkpoint::receipt::{LeftOutMap, by_path, left_out_of};
use herma_records::step::outside::{LeftOutThen, Outside, Sighting};
use herma_records::step::{OutsideOfStep, Step, StepEnd};
use herma_records::undo::Move;
use herma_store::RelPath;
use herma_worktree::present::Present;
use herma_worktree::receipt::{Summary, why_left_out};

use crate::engine::open::OpenStore;
use crate::error::Result;

impl Operation<'_> {
    /// What no checkpoint holds, as it is now. What cannot be looked at is not watched.
    pub(crate) fn sight_outside(&self) -> Sighting {
        match self.open_root() {
            Ok(root) => Sighting::of(&root, self.read_cache().as_ref()),
            Err(_) => Sighting::default(),
        }
    }

    /// What a step has changed by now that no checkpoint holds. The counts are those of the save after it, and `is_changed`
    /// says whether that found another state.
    pub(crate) fn outside_of(
        &self,
        step: &Step,
        counts: &Summary,
        is_changed: bool,
    ) -> Result<Outside> {
        let is_asked = step.watched.is_outnumbered(counts);
        let saved = is_asked.then(|| self.read_cache()).flatten();
        let mut outside = step.watched.changes(&self.open_root()?, saved.as_ref());
        if is_changed {
            // What cannot be read says nothing.
            let said = left_out_before(&self.store, step).unwrap_or_default();
            let is_unsaid = |then: &LeftOutThen| {
                let path = RelPath::new(then.path.clone());
                path.is_ok_and(|path| why_left_out(&said, &path).is_none())
            };
            outside.unsaid = step.watched.were_there().filter(is_unsaid).collect();
        }
        Ok(outside)
    }

    /// What no save said was there when this checkpoint held the state of the project, because it was left out: a save that finds no
    /// file different makes no new checkpoint, but the steps that began there know.
    pub(crate) fn were_there(&self, checkpoint: &Checkpoint) -> Result<LeftOutMap> {
        Ok(were_there(&self.all_steps()?, checkpoint))
    }

    /// What steps changed outside checkpoints after this one was saved.
    pub(crate) fn outside_since(
        &self,
        checkpoint: &Checkpoint,
        paths: &[RelPath],
    ) -> Result<Vec<OutsideOfStep>> {
        // Its place says nothing about what was done here.
        if checkpoint.line.is_some() {
            return Ok(Vec::new());
        }
        let steps = self.all_steps()?;
        let later = steps.iter().filter(|step| step.before.place >= checkpoint.place);
        Ok(later.filter_map(|step| OutsideOfStep::of(step, paths)).collect())
    }

    /// What an undo that goes to this checkpoint passes over and does not undo: the steps since the last move.
    pub(crate) fn outside_of_undo(&self, target: &Checkpoint) -> Result<Vec<OutsideOfStep>> {
        let steps = self.all_steps()?;
        let since = steps.iter().rposition(|step| step.kind.is_move());
        let newer = steps.iter().skip(since.map_or(0, |last| last + 1));
        let passed = newer.filter(|step| step.before.place >= target.place);
        Ok(passed.filter_map(|step| OutsideOfStep::of(step, &[])).collect())
    }

    /// The newest step, if it left the files as they are and a move goes back beyond it: with how many directories were not looked into.
    pub(crate) fn passed_by(&self, by: Move, present: &Present) -> Result<Option<OutsideOfStep>> {
        if by != Move::Undo || self.records()?.0.is_some() {
            return Ok(None);
        }
        let newest = self.step_log()?.newest(|_| true)?;
        let Some(step) = newest.filter(|step| matches!(step.end, StepEnd::Unchanged(_))) else {
            return Ok(None);
        };
        let after = self.state_of_checkpoint(&step.before.checkpoint);
        let is_last = after == Some((present.tree, present.modes));
        Ok(is_last.then_some(OutsideOfStep { step: step.id(), outside: step.outside }))
    }
}

/// What these steps saw left out that began in the state of this checkpoint.
pub(crate) fn were_there(steps: &[Step], checkpoint: &Checkpoint) -> LeftOutMap {
    let from_here = |step: &&Step| step.before.checkpoint == checkpoint.id;
    let steps = steps.iter().filter(from_here);
    steps.flat_map(Step::were_there).collect()
}

/// What the checkpoint before a step says it left out.
fn left_out_before(store: &OpenStore, step: &Step) -> Option<LeftOutMap> {
    let commit = store.objects.read_commit(&step.before.checkpoint).ok()?;
    let receipt = Message::parse(&commit.message).extra?;
    left_out_of(&store.objects, receipt).ok().map(by_path)
}
