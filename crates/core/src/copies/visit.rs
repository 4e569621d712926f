//! A copy goes from state to state, as a bisection has it.

use herma_records::checkpoint::{Checkpoint, RestoreOptions};

use crate::engine::operation::Operation;
use crate::error::Result;
use crate::restore::run::Restored;
use crate::save::SaveOptions;

impl Operation<'_> {
    pub(crate) fn visit(&self, checkpoint: &Checkpoint) -> Result<Restored> {
        let options = SaveOptions { reason: "what a run left".into(), ..SaveOptions::default() };
        self.save_with(&options)?;
        let history = self.load_history()?;
        let known = if history.contains(&checkpoint.id) {
            checkpoint.clone()
        } else {
            self.register(checkpoint)?
        };
        self.restore_with(&known, &RestoreOptions::default())
    }
}
