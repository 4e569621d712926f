//! Back to what was saved: everything or single paths ([`restore`]), one move at a time ([`undo`]), without single steps
//! ([`take_back`]), or without a file that should never have been saved ([`purge`]).

pub(crate) mod purge;
pub(crate) mod restore;
pub(crate) mod take_back;
pub(crate) mod undo;
