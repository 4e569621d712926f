//! What stays and what goes: facts → rules → plan.
//!
//! Cleaning is decided before it is done. [`StoreFacts`] say what the store holds, [`Limits`] what the
//! person wants, and [`plan`](plan()) turns both into a [`Plan`]: a value that can be printed, confirmed
//! and applied. Nothing here deletes, and but for [`evidence`] nothing here looks at a disk.
//!
//! The rules, each in its own file, in the order in which they are asked:
//!
//! 1. `protect`: pinned and named checkpoints stay, and so does what an undo or an interrupted restore
//!    needs.
//! 2. `orphans`: a deleted project's checkpoints go, if that is wanted.
//! 3. `protect` again: every other project keeps its newest checkpoint, and the newest that can be read.
//! 4. `age`: the older ones of a project that was not used for a long time go.
//! 5. `count`: a project keeps so many.
//! 6. `bytes`: the store keeps to its size, and leaves so much of the disk free; what that frees, `shares` knows.
//!
//! `thinning` says which checkpoints of a project are given up first. A rule drops only what its limit
//! demands.
//!
//! # The clock
//!
//! Order comes from sequence numbers. Times are used for age, for thinning, and to weigh projects
//! against each other, and only while [`clock_trust`] finds the clock plausible. A clock that jumped
//! costs one cycle of cleaning, never a checkpoint.

mod age;
mod bytes;
pub mod clock_trust;
mod count;
mod draft;
pub mod evidence;
pub mod facts;
pub mod limits;
pub mod marker;
pub mod notes;
mod orphans;
pub mod plan;
mod protect;
pub mod shares;
mod thinning;

#[cfg(test)]
mod clock_jumps;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

pub use bytes::is_near;
pub use clock_trust::Trust;
pub use clock_trust::trust;
pub use evidence::presence;
pub use facts::CheckpointFacts;
pub use facts::CheckpointKey;
pub use facts::Doubt;
pub use facts::Holdings;
pub use facts::Presence;
pub use facts::ProjectFacts;
pub use facts::StoreFacts;
pub use limits::Limits;
pub use limits::Orphans;
pub use limits::larger;
pub use notes::Held;
pub use notes::Note;
pub use notes::Over;
pub use notes::Protection;
pub use plan::Dropped;
pub use plan::ForgottenProject;
pub use plan::Plan;
pub use plan::Rule;
pub use plan::plan;
pub use shares::Shares;

/// Seconds in an hour.
const HOUR: f64 = 3600.0;
/// Seconds in a day.
const DAY: f64 = 24.0 * HOUR;
