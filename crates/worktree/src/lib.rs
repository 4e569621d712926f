//! One look at the project: what is there, what changed since the last look, and what is left out.
//!
//! * [`present`]: one whole look, for a save or for a comparison
//! * [`scan`]: the walk, what each directory holds, the files that changed, and the trees made of them
//! * [`stat_cache`]: what every file looked like last time
//! * [`rules`], [`tracked`]: what belongs to the project and what is left out
//! * [`secrets`]: files that hold secrets, by name and by content
//! * [`saved`]: what a scan asks about the store; [`sink`]: where it puts what it read
//! * [`receipt`], [`reason`]: what was captured, what was not, and why
//! * [`side`]: the files as they are, to compare them with a checkpoint
//! * [`lists`]: full modes and left-out names, stored beside the tree
//! * [`modes`]: the full modes of a checkpoint, read back
//! * [`held`]: what belongs to the present whatever the rules say
//! * [`owner`]: what in the project belongs to somebody else
//!
//! # Limits
//!
//! * Files that change during a scan are each consistent, not mutually.
//! * A store through a shared mapping into a page that was dirty already moves no time stamp. Recently
//!   changed files are written back before they are hashed, which makes the next such store visible on
//!   disk file systems; on tmpfs only `rehash` is a complete answer.

#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/worktree.rs"]
pub mod fuzzing;
pub mod held;
pub mod lists;
pub mod modes;
pub mod owner;
pub mod present;
pub mod reason;
pub mod receipt;
pub mod rules;
pub mod saved;
pub mod scan;
pub mod secrets;
pub mod side;
pub mod sink;
pub mod stat_cache;
#[cfg(test)]
mod testing;
pub mod tracked;
