//! A project that moved takes its steps along, so that nobody takes agents' work for a person's.

use herma_fs::publish::Durability;
use herma_store::ProjectId;

use crate::engine::Project;
use crate::engine::open::{OpenStore, own_state};
use crate::error::Error;
use crate::records::step::StepEnd;
use crate::records::step::log::StepLog;
use crate::records::step::marks::Marks;

impl Project {
    /// Takes over the steps and turns of another project, whose checkpoints have got other places in the
    /// order of saving. Not if steps were recorded here already: two lines of work have no common order.
    pub(crate) fn carry_steps(
        &self,
        store: &OpenStore,
        from: &ProjectId,
        place_of: &dyn Fn(u64) -> u64,
    ) -> Result<(), Error> {
        let Some(theirs) = own_state(store, from)? else { return Ok(()) };
        let state = self.state_dir(&store.dirs)?;
        let mut log = StepLog::open(&state)?;
        let steps = StepLog::open(&theirs)?.all()?;
        if log.next_number() > 1 || steps.is_empty() {
            return Ok(());
        }
        let tmp = &store.dirs.for_writing()?.tmp;
        for mut step in steps {
            step.before.sequence = place_of(step.before.sequence);
            match &mut step.end {
                StepEnd::Open => {}
                StepEnd::Unchanged(moment)
                | StepEnd::Changed(moment)
                | StepEnd::Unknown(moment) => moment.sequence = place_of(moment.sequence),
            }
            log.write(tmp, &state, &step, Durability::Synced)?;
        }
        Marks::read(&theirs)?.write(tmp, &state)
    }
}
