//! What was changed along the stretches of a timeline, and by whom.

use std::collections::BTreeSet;

use herma_diff::StoreSide;
use herma_records::timeline::Belongs;
use herma_reversal as reversal;
use herma_store::RelPath;
use herma_worktree::receipt::why_left_out;

use crate::error::Result;
use crate::timeline::Ground;
use crate::timeline::partition::Sorted;
use crate::undo::plan::UndoPlan;
use crate::undo::units::{Mark, Marks};

impl Ground<'_> {
    /// Notes which of the files that chosen steps changed others changed too, as far as they are within what was asked for. That
    /// comes after [`Self::name_what_goes`].
    pub(crate) fn name_what_stays(&self, sorted: &Sorted, plan: &mut UndoPlan) -> Result<()> {
        let marks = self.operation.marks(&self.told.steps);
        for (stretch, belongs) in &sorted.others {
            let mut paths = self.changed_in(*stretch, &plan.asked.paths)?;
            self.drop_unvouched(*stretch, &mut paths)?;
            if plan.asked.since.is_none() {
                paths.retain(|path| plan.touched.values().any(|touched| touched.contains(path)));
            }
            match belongs {
                Belongs::Hand => plan.by_hand.extend(paths),
                Belongs::Partly => plan.unattributed.extend(paths),
                // What Herma did is nobody's work, and what is undone does not stay.
                Belongs::Others if self.is_move(*stretch) || self.is_undone(*stretch, &marks) => {}
                Belongs::Others | Belongs::Chosen => plan.by_others.extend(paths),
            }
        }
        Ok(())
    }

    /// Notes which files each chosen step changed, alone or while others were under way.
    pub(crate) fn name_what_goes(
        &self,
        sorted: &Sorted,
        chosen: &BTreeSet<i64>,
        plan: &mut UndoPlan,
    ) -> Result<()> {
        let marks = self.operation.marks(&self.told.steps);
        let runs = sorted.runs.iter().flat_map(|(from, to)| *from..*to);
        let partly = |(stretch, belongs): &(usize, Belongs)| {
            (*belongs == Belongs::Partly).then_some(*stretch)
        };
        let partly = sorted.others.iter().filter_map(partly);
        let line = &self.told.line;
        for stretch in runs.chain(partly).filter(|stretch| line.changes(*stretch)) {
            let asked = &plan.asked.paths;
            let is_asked = |path: &RelPath| {
                asked.is_empty() || asked.iter().any(|asked| path.starts_with(asked))
            };
            let (paths, beyond): (Vec<_>, Vec<_>) =
                self.changed_in(stretch, &[])?.into_iter().partition(is_asked);
            let steps = line.steps_in(stretch).filter(|step| chosen.contains(step));
            for step in steps.filter(|step| !marks.is_undone(*step)) {
                let Some(step) = self.told.step(step) else { continue };
                let touched = plan.touched.entry(step.id()).or_default();
                touched.extend(paths.iter().cloned());
                plan.beyond.extend((!beyond.is_empty()).then(|| step.id()));
            }
        }
        Ok(())
    }

    fn is_undone(&self, stretch: usize, marks: &Marks) -> bool {
        self.told.line.steps_in(stretch).all(|step| marks.of(step) == Some(Mark::Undone))
    }

    fn is_move(&self, stretch: usize) -> bool {
        let mut steps = self.told.line.steps_in(stretch);
        steps.all(|step| self.told.step(step).is_some_and(|step| step.kind.is_move()))
    }

    /// What changed along a stretch, modes as well.
    fn changed_in(&self, stretch: usize, scope: &[RelPath]) -> Result<Vec<RelPath>> {
        let mut paths = self.changes_in(stretch, scope)?;
        let points = &self.told.line.points;
        let (old, new) = (points[stretch].state, points[stretch + 1].state);
        if old.1 != new.1 {
            let pending = self.told.pending(self.pending);
            let side = StoreSide::with_pending(&self.operation.store.objects, &pending);
            let (before, after) = (self.parts(stretch)?, self.parts(stretch + 1)?);
            let (before, after) = (before.view(old.0, &side), after.view(new.0, &side));
            let is_asked = |path: &RelPath| {
                scope.is_empty() || scope.iter().any(|scope| path.starts_with(scope))
            };
            let others = reversal::other_modes(before, after)?.into_iter();
            paths.extend(others.filter(is_asked));
        }
        Ok(paths)
    }

    /// Drops what one end of a stretch says nothing about: that it is in the other one only need not be anybody's doing.
    fn drop_unvouched(&self, stretch: usize, paths: &mut Vec<RelPath>) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        for point in [stretch, stretch + 1] {
            let left_out = self.parts(point)?.left_out;
            paths.retain(|path| why_left_out(&left_out, path).is_none());
        }
        Ok(())
    }
}
