//! A project that moved takes its steps along, so that nobody takes agents' work for a person's.

use crate::engine::operation::Operation;
use herma_fs::publish::Durability;
use herma_store::ProjectId;

use crate::engine::open::own_state;
use crate::error::Result;
use crate::records::step::StepEnd;
use crate::records::step::log::StepLog;
use crate::records::step::marks::Marks;

impl Operation<'_> {
    /// Takes over the steps and turns of another project, whose checkpoints have got other numbers and other
    /// places in the order of saving. Not if steps were recorded here already: two lines of work have no common order. Returns how many
    /// were left behind.
    pub(crate) fn carry_steps(
        &self,
        from: &ProjectId,
        place_of: &dyn Fn(i64) -> i64,
        number_of: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<usize> {
        let Some(theirs) = own_state(&self.store, from)? else { return Ok(0) };
        let state = self.state_dir()?;
        let mut log = StepLog::open(&state)?;
        let steps = StepLog::open(&theirs)?.all()?;
        if log.next_handle() > 1 || steps.is_empty() {
            return Ok(steps.len());
        }
        let tmp = self.store.tmp()?;
        for mut step in steps {
            step.number = step.number.and_then(number_of);
            step.before.place = place_of(step.before.place);
            match &mut step.end {
                StepEnd::Open => {}
                StepEnd::Unchanged(moment)
                | StepEnd::Changed(moment)
                | StepEnd::Unknown(moment) => moment.place = place_of(moment.place),
            }
            log.write(tmp, &state, &step, Durability::Synced)?;
        }
        Marks::read(&theirs)?.write(tmp, &state)?;
        self.number_steps()?;
        Ok(0)
    }
}
