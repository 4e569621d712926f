//! What a checkpoint is and says, what the user set, and what time it is.

pub mod address;
pub(crate) mod asked;
pub mod checkpoint;
pub mod clock;
pub(crate) mod kept;
pub mod message;
pub mod settings;
pub mod step_id;
