//! The store: one bare git repository that holds every project's checkpoints.
//!
//! * [`layout`], [`lock`]: making and opening it, who may work on it, what a killed process left behind
//! * [`object`]: the formats of blobs, trees, commits and deltas, and how they are compressed
//! * [`objects`]: reading, out of packs and loose files, every object checked against its id
//! * [`pack`]: one pack per checkpoint, durable before anything names it; [`merge`]: many of them into one
//! * [`refs`]: what is alive, listed a second time in the roll, and where history is cut
//! * [`verify`], [`repair`]: what is damaged, and what can be brought back
//! * [`gc`]: mark → merge → trash, beside any number of savers
//! * [`transfer`]: commits of another repository, with all they need
//!
//! Nothing in a store is ever executed or trusted: no configuration is obeyed, every name and id is
//! validated.

pub mod error;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/store.rs"]
pub mod fuzzing;
pub mod gc;
pub mod id;
pub mod id_table;
pub mod in_parallel;
pub mod layout;
pub mod lock;
mod lock_file;
pub mod merge;
pub mod object;
pub mod objects;
pub mod pack;
pub mod path;
pub mod refs;
pub mod repair;
#[cfg(test)]
mod testing;
pub mod threads;
pub mod transfer;
pub mod verify;

pub use error::StoreError;
pub use id::{ObjectId, ProjectId};
pub use layout::StoreDirs;
pub use pack::write::finish::PackName;
pub use pack::write::{Known, PackWriter};
pub use path::RelPath;
pub use refs::Refs;
pub use refs::shallow::Shallow;
