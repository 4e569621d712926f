//! A copy goes from state to state, as a bisection has it.

use herma_records::checkpoint::{Checkpoint, RestoreOptions};

use crate::engine::{Progress, Project};
use crate::error::Result;
use crate::restore::run::Restored;
use crate::save::SaveOptions;

impl Project {
    /// Brings this copy to a state of the project it was made of. What was made of the one before is saved first; files that
    /// differ are written, and get the present time.
    pub fn visit(&self, checkpoint: &Checkpoint, progress: &dyn Progress) -> Result<Restored> {
        let operation = self.locked(progress)?;
        let options = SaveOptions { reason: "what a run left".into(), ..SaveOptions::default() };
        operation.save_with(&options)?;
        let history = operation.load_history()?;
        let known = match history.contains(&checkpoint.id) {
            true => checkpoint.clone(),
            false => operation.register(checkpoint)?,
        };
        operation.restore_with(&known, &RestoreOptions::default())
    }
}
