//! All projects of a store: which there are, those that moved or are near a directory, and what version 1 of Hermes left.

pub(crate) mod adopt;
mod adopt_steps;
pub(crate) mod import_legacy;
pub(crate) mod legacy;
pub(crate) mod nearby;
pub(crate) mod status;
