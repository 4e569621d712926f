//! Checkpoints in the forms of other programs.

pub(super) mod archive;
pub(super) mod commit;
pub(crate) mod git;
pub(super) mod series;
mod unpack;
