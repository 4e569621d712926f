//! What steps changed that no checkpoint holds, and so no restore and no undo brings back.

use super::Project;
use super::open::OpenStore;
use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::outside::Outside;
use crate::outside::Sighting;
use crate::path::RelPath;
use crate::receipt::Summary;
use crate::snapshot::present::Present;
use crate::steps::Step;
use crate::steps::StepEnd;

/// What a step changed that no checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideOfStep {
    /// The step.
    pub step: u64,
    /// What it changed.
    pub outside: Outside,
}

impl OutsideOfStep {
    /// What a step changed, as far as it is within these paths; all of it if there are none.
    pub(super) fn of(step: &Step, paths: &[RelPath]) -> Option<Self> {
        let mut outside = step.outside.clone();
        if !paths.is_empty() {
            let is_asked = |path: &[u8]| {
                let path = RelPath::new(path);
                path.is_ok_and(|path| paths.iter().any(|asked| path.starts_with(asked)))
            };
            outside.changes.retain(|change| is_asked(&change.path));
            outside.more = 0;
        }
        (!outside.is_empty()).then_some(Self {
            step: step.number,
            outside,
        })
    }
}

impl Project<'_> {
    /// What no checkpoint holds, as it is now. What cannot be looked at is not watched.
    pub(super) fn sight_outside(&self, store: &OpenStore) -> Sighting {
        match self.open_root() {
            Ok(root) => Sighting::of(&root, self.read_cache(store).as_ref()),
            Err(_) => Sighting::default(),
        }
    }

    /// What a step has changed by now that no checkpoint holds. The counts are those of the save after it.
    pub(super) fn outside_of(
        &self,
        store: &OpenStore,
        step: &Step,
        counts: &Summary,
    ) -> Result<Outside, Error> {
        let is_asked = step.watched.is_outnumbered(counts);
        let saved = is_asked.then(|| self.read_cache(store)).flatten();
        Ok(step.watched.changes(&self.open_root()?, saved.as_ref()))
    }

    /// What steps changed outside checkpoints after this one was saved.
    pub(super) fn outside_since(
        &self,
        store: &OpenStore,
        checkpoint: &Checkpoint,
        paths: &[RelPath],
    ) -> Result<Vec<OutsideOfStep>, Error> {
        let steps = self.all_steps(store)?;
        let later = steps
            .iter()
            .filter(|step| step.before.sequence >= checkpoint.sequence);
        Ok(later
            .filter_map(|step| OutsideOfStep::of(step, paths))
            .collect())
    }

    /// What an undo that goes to this checkpoint passes over and does not take back: the steps since the last move.
    pub(super) fn outside_of_undo(
        &self,
        store: &OpenStore,
        target: &Checkpoint,
    ) -> Result<Vec<OutsideOfStep>, Error> {
        let steps = self.all_steps(store)?;
        let since = steps.iter().rposition(|step| step.kind.is_move());
        let newer = steps.iter().skip(since.map_or(0, |last| last + 1));
        let passed = newer.filter(|step| step.before.sequence >= target.sequence);
        Ok(passed
            .filter_map(|step| OutsideOfStep::of(step, &[]))
            .collect())
    }

    /// The newest step, if it left the files as they are: an undo takes back something older. If it changed what no
    /// checkpoint holds, that is what it did; else how many directories were not looked into.
    pub(super) fn only_outside(
        &self,
        store: &OpenStore,
        present: &Present,
    ) -> Result<Option<OutsideOfStep>, Error> {
        let newest = self.all_steps(store)?.pop();
        let Some(step) = newest.filter(|step| matches!(step.end, StepEnd::Unchanged(_))) else {
            return Ok(None);
        };
        let after = self.state_of_checkpoint(store, &step.before.checkpoint);
        let is_last = after == Some((present.tree, present.modes));
        Ok(is_last.then_some(OutsideOfStep {
            step: step.number,
            outside: step.outside,
        }))
    }
}
