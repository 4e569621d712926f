//! A project that moved takes its steps along, so that nobody takes agents' work for a person's.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use herma_records::step::id::{handle_by_hand, number_by_hand};
use herma_records::step::log::StepLog;
use herma_records::step::marks::Marks;
use herma_records::step::{Moment, Step, StepEnd};
use herma_store::ProjectId;

use crate::engine::open::own_state;
use crate::error::Result;

/// Behind the name of a turn of a session that went on here.
const BEFORE: &str = " before";

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
        // Nothing is written over another step: what is like one of theirs may be left from when the project was here before.
        let is_free = |shift: &i64| {
            let at = |step: &Step| ours.binary_search_by_key(&(step.handle + shift), |s| s.handle);
            steps.iter().all(|step| at(step).map_or(true, |at| is_same(&ours[at], step)))
        };
        // After a kill the rest goes where it was to go.
        let shift_of = |own: &Step| Some(own.handle - copy_of(own)?.handle);
        let begun = ours.iter().rev().filter_map(shift_of).find(is_free);
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
        let (marks, their_marks) = (Marks::read(&state)?, Marks::read(&theirs)?);
        // A session that went on here counts its prompts anew: behind the names of those from before stands that they are.
        let befores = |session: &String| {
            let own = ours.iter().filter(|s| s.handle > newest + shift).map(|s| &s.start.facts);
            let own = own.filter(|facts| facts.session.as_ref() == Some(session));
            let turns = own.filter_map(|facts| facts.turn.as_deref());
            let most = turns.map(|turn| turn.matches(BEFORE).count()).max();
            let mark = marks.of_session(session).map(|mark| &mark.turn);
            let is_own = mark.is_some() && mark != their_marks.of_session(session).map(|m| &m.turn);
            most.or(is_own.then_some(0)).map_or(0, |most| most + 1)
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
            let facts = &mut step.start.facts;
            if let (Some(session), Some(turn)) = (&facts.session, &mut facts.turn) {
                turn.push_str(&BEFORE.repeat(befores(session)));
            }
            log.write(tmp, &state, &step, Durability::Synced)?;
        }
        marks.after(their_marks).write(tmp, &state)?;
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
