//! A project that moved takes its steps along, so that nobody takes agents' work for a person's.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use herma_store::ProjectId;

use crate::engine::open::own_state;
use crate::error::Result;
use crate::records::step::log::StepLog;
use crate::records::step::marks::Marks;
use crate::records::step::{Moment, Step, StepEnd};
use crate::types::step_id::{handle_by_hand, number_by_hand};

impl Operation<'_> {
    /// Takes over the steps and turns of another project, whose checkpoints have got other numbers and other
    /// places in the order of saving. They came before all that were recorded here, and get lower handles.
    pub(crate) fn carry_steps(
        &self,
        from: &ProjectId,
        place_of: &dyn Fn(i64) -> i64,
        number_of: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<()> {
        let Some(theirs) = own_state(&self.store, from)? else { return Ok(()) };
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        let (ours, steps) = (log.all()?, StepLog::open(&theirs)?.all()?);
        let Some(newest) = steps.last().map(|last| last.handle) else { return Ok(()) };
        let copy_of = |own: &Step| steps.iter().rev().find(|step| is_same(own, step));
        // After a kill the rest goes where it was to go.
        let begun = ours.iter().rev().find_map(|own| Some(own.handle - copy_of(own)?.handle));
        let before_all = || ours.first().map_or(0, |first| first.handle.min(0) - 1 - newest);
        let shift = begun.unwrap_or_else(before_all);
        let handle_of = |handle: i64| match number_by_hand(handle) {
            Some(number) => number_of(number).map(handle_by_hand),
            None => Some(handle + shift),
        };
        let moved = |moment: &mut Moment| {
            moment.place = place_of(moment.place);
            moment.next_step += shift;
        };
        let tmp = self.store.tmp()?;
        // ORDER: the newest first, so that no step that begins after a kill gets the handle of one that is missing.
        for mut step in steps.iter().rev().cloned() {
            step.handle += shift;
            step.number = step.number.and_then(number_of);
            step.start.within = step.start.within.map(|outer| outer + shift);
            moved(&mut step.before);
            match &mut step.end {
                StepEnd::Open => {}
                StepEnd::Unchanged(end) | StepEnd::Changed(end) | StepEnd::Unknown(end) => {
                    moved(end);
                }
            }
            if let Some(undid) = &mut step.undid {
                for handles in [&mut undid.steps, &mut undid.left, &mut undid.part] {
                    *handles = handles.iter().filter_map(|handle| handle_of(*handle)).collect();
                }
            }
            // A session that went on here counts its prompts anew.
            let own = ours.iter().find(|own| own.handle > newest + shift && is_of_turn(own, &step));
            if let Some(turn) = step.start.facts.turn.as_mut().filter(|_| own.is_some()) {
                turn.push_str(" before");
            }
            log.write(tmp, &state, &step, Durability::Synced)?;
        }
        Marks::read(&state)?.after(Marks::read(&theirs)?).write(tmp, &state)?;
        self.number_steps()
    }
}

/// Is one of these the other, taken over?
fn is_same(own: &Step, step: &Step) -> bool {
    let words = |step: &Step| (step.kind, step.started, step.ended, step.moves_before);
    words(own) == words(step)
        && own.before.checkpoint == step.before.checkpoint
        && (&own.start.call, &own.start.command) == (&step.start.call, &step.start.command)
}

fn is_of_turn(own: &Step, step: &Step) -> bool {
    let (own, step) = (&own.start.facts, &step.start.facts);
    own.session.is_some() && (&own.session, &own.turn) == (&step.session, &step.turn)
}
