//! Undoing the last units at once: what one undo after the other would undo, as one plan.

use herma_reversal::Reversed;

use crate::engine::operation::Operation;
use crate::error::{Error, Result};
use crate::undo::last::{NextMove, PlannedUndo, UndoLast};
use crate::undo::plan::UndoPlan;
use crate::undo::units::Unit;

impl Operation<'_> {
    /// What undoing the last of these units would do, as many as were asked for.
    pub(crate) fn plan_several(
        &self,
        units: impl Iterator<Item = Unit>,
        asked: &UndoLast,
    ) -> Result<NextMove> {
        let mut taken: Vec<Unit> = Vec::new();
        let mut planned: Option<UndoPlan> = None;
        for unit in units {
            let mut handles = asked.handles_of(&unit);
            if handles.is_empty() {
                continue;
            }
            handles.extend(taken.iter().flat_map(|unit| asked.handles_of(unit)));
            handles.sort_unstable();
            let asked_of = asked.of(handles);
            let plan = self.plan_from(self.look_for(&asked_of)?, &asked_of)?;
            // Somebody has done it already.
            if adds_nothing(&plan, planned.as_ref(), &unit) {
                continue;
            }
            // Undoing it says what else is undone, and so which is the next.
            if let Some(own) = unit.steps.iter().find(|step| step.kind.is_move()) {
                return Err(Error::UndoneAlone(own.id(), own.kind));
            }
            self.check_over(&unit, asked)?;
            taken.push(unit);
            planned = Some(plan);
            if taken.len() > asked.more {
                break;
            }
        }
        match planned {
            None => Err(Error::NothingToUndo),
            Some(_) if taken.len() <= asked.more => Err(Error::FewerToUndo(taken.len())),
            Some(plan) => {
                let is_any = asked.paths.is_empty() && asked.session.is_none();
                self.planned_of(taken, plan, is_any)
            }
        }
    }

    /// The units, the newest first, with what is doubtful about the first that is.
    fn planned_of(&self, units: Vec<Unit>, plan: UndoPlan, is_whole: bool) -> Result<NextMove> {
        let mut doubted = None;
        for unit in &units {
            if let Some(doubt) = self.doubt_about_planned(unit, &plan)? {
                doubted = Some((unit.clone(), doubt));
                break;
            }
        }
        Ok(NextMove::Steps(Box::new(PlannedUndo { units, plan, doubted, is_whole })))
    }
}

/// Would undoing this unit, too, change nothing beside what is planned without it?
fn adds_nothing(plan: &UndoPlan, without: Option<&UndoPlan>, unit: &Unit) -> bool {
    let nothing = Reversed::default();
    let before = without.map_or(&nothing, |plan| &plan.reversed);
    let is_of_unit = |id: &_| unit.steps.iter().any(|step| step.is(*id));
    let mut outcomes = plan.outcomes().into_iter().filter(|outcome| is_of_unit(&outcome.step));
    plan.reversed == *before
        && plan.outside.len() == without.map_or(0, |plan| plan.outside.len())
        && outcomes.all(|outcome| outcome.left.is_empty())
}
