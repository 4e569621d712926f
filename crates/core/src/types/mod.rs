//! What a checkpoint is and says, what the user set, and what time it is.

pub mod checkpoint;
pub mod clock;
pub mod message;
pub mod settings;
