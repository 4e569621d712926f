//! What the user set, what a caller asks for, and what a restore leaves; with what a checkpoint is and what time it is.

pub(crate) mod asked;
pub(crate) mod kept;
pub mod settings;

pub use herma_records::checkpoint::{self, address, message};
pub use herma_records::clock;
