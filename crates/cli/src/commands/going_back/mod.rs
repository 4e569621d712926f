//! Back to what was saved: everything or single paths ([`restore`]), one move at a time ([`undo`]), without single steps
//! ([`undo_steps`]), or without a file that should never have been saved ([`purge`]).

pub(crate) mod purge;
pub(crate) mod restore;
pub(crate) mod undo;
pub(crate) mod undo_steps;
