//! What a person changed, as steps: an undo by number means it like any other row.
//!
//! Nobody recorded such a step. It began where the checkpoint before was saved and ended in its own, and is called by that one's
//! number; its handle is made of the number, so that what is undone of it can be marked.

use std::collections::BTreeSet;

use herma_records::step::id::handle_by_hand;
use herma_records::step::{Moment, Step, StepEnd, StepKind, StepStart};

use crate::engine::history::History;
use crate::engine::operation::Operation;
use crate::error::Result;
use crate::steps::StepChoice;

impl Operation<'_> {
    /// All steps that are remembered, and those made by hand that are asked for by their numbers.
    pub(crate) fn steps_for(&self, history: &History, choice: &StepChoice) -> Result<Vec<Step>> {
        let mut steps = self.all_steps()?;
        let recorded: BTreeSet<u64> = steps.iter().filter_map(|step| step.number).collect();
        let asked: BTreeSet<u64> = choice.ids.iter().filter_map(|id| id.number()).collect();
        for number in asked.difference(&recorded) {
            steps.extend(self.by_hand(history, *number)?);
        }
        Ok(steps)
    }

    /// What led to this checkpoint; `None` where there is none, or none before it.
    fn by_hand(&self, history: &History, number: u64) -> Result<Option<Step>> {
        let index = history.entries.iter().position(|entry| entry.number == number);
        let both = index.and_then(|index| Some((index, history.entries[index.checked_sub(1)?])));
        let Some((index, before)) = both else { return Ok(None) };
        let saved = history.checkpoint(index, &self.store)?;
        let at = |checkpoint, place| Moment { checkpoint, place, next_step: 1 };
        Ok(Some(Step {
            handle: handle_by_hand(number),
            number: Some(number),
            kind: StepKind::Run,
            start: StepStart { facts: saved.facts.clone(), ..StepStart::default() },
            before: at(before.id, before.place),
            end: StepEnd::Changed(at(saved.id, saved.place)),
            started: saved.time.seconds,
            ended: Some(saved.time.seconds),
            ..Step::default()
        }))
    }
}
