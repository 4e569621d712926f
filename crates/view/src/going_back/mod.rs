//! Going back: what a restore, an undo or a purge does or would do, as it is told before and after.
//!
//! * [`restore`], [`undo`]: what goes, what stays, and why
//! * [`purge`]: a leaked file that leaves everything saved

pub mod purge;
pub mod restore;
pub mod undo;
