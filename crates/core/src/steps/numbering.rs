//! Numbers for steps that were recorded before steps had any.
//!
//! Once for each project, by the first that changes it: the first step to reach a state gets the number of that state's checkpoint,
//! and every other one that changed something a number above all others. Such a number has no checkpoint of its own; it leads to
//! the one of its state ([`crate::engine::operation::Operation`]'s `find`).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use herma_fs::publish::{Durability, write_file};
use herma_records::checkpoint::RestoreOptions;
use herma_records::step::log::StepLog;
use herma_records::step::{Step, StepEnd};
use herma_store::ObjectId;

use crate::engine::history::History;
use crate::engine::open::own_state;
use crate::engine::operation::Operation;
use crate::error::Result;

/// Beside the steps of a project: all of them have the numbers they get.
pub(crate) const MARK: &str = "steps-numbered";

impl Operation<'_> {
    /// Gives the steps of this project their numbers, if that was not done yet.
    pub(crate) fn number_old_steps(&self) -> Result<()> {
        let Some(state) = own_state(&self.store, &self.id)? else { return Ok(()) };
        if state.stat_opt(MARK)?.is_some() {
            return Ok(());
        }
        self.number_steps()?;
        Ok(write_file(self.store.tmp()?, &state, MARK, b"", Durability::Ordered)?)
    }

    /// Gives those steps a number that ought to have one.
    pub(crate) fn number_steps(&self) -> Result<()> {
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        let (numbered, next) = numbered(log.all()?, &self.load_history()?);
        let tmp = self.store.tmp()?;
        if numbered.is_empty() {
            return Ok(());
        }
        // ORDER: no checkpoint gets a number that a step is about to have.
        StepLog::reserve_order(tmp, &state, next)?;
        for step in &numbered {
            log.write(tmp, &state, step, Durability::Cache)?;
        }
        // ORDER: the numbers are on disk before it is noted that they are.
        Ok(state.sync_file_system()?)
    }

    /// The checkpoint that holds the state after the step with this number, if that has none of its own.
    pub(crate) fn state_of_numbered(&self, number: u64) -> Result<Option<ObjectId>> {
        let step = self.step_log()?.newest(|step| step.number == Some(number))?;
        Ok(step.filter(|step| step.part == RestoreOptions::default()).and_then(|step| step.after()))
    }
}

/// The steps that get a number, with it, and the lowest number that nothing has then.
fn numbered(mut steps: Vec<Step>, history: &History) -> (Vec<Step>, u64) {
    let numbers: HashMap<ObjectId, u64> =
        history.entries.iter().map(|entry| (entry.id, entry.number)).collect();
    let mut taken: HashSet<u64> = steps.iter().filter_map(|step| step.number).collect();
    steps.retain(|step| step.number.is_none() && has_changed(step));
    // A part of a step ended before it, though it began later.
    steps.sort_by_key(|step| (step.ended, Reverse(step.handle)));
    // Where a move led to was there before it.
    for step in steps.iter_mut().filter(|step| !step.kind.is_move()) {
        let own = step.after().and_then(|id| numbers.get(&id).copied());
        step.number = own.filter(|own| taken.insert(*own));
    }
    steps.sort_by_key(|step| step.handle);
    let mut next = history.next_number();
    for step in steps.iter_mut().filter(|step| step.number.is_none()) {
        step.number = Some(next);
        next += 1;
    }
    (steps, next)
}

fn has_changed(step: &Step) -> bool {
    matches!(step.end, StepEnd::Changed(_)) || step.after().is_some() && !step.outside.is_empty()
}
