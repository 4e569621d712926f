//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! The engine never prints, prompts, reads the environment or asks the clock: callers hand it paths,
//! settings and a clock, and get values back. All file access goes through `herma-fs`.
//!
//! * [`store`]: the git-compatible object store: packs, refs, locks
//! * [`diff`]: trees, renames, lines, patches

pub mod diff;
pub mod id;
pub mod path;
pub mod store;

pub use id::ObjectId;
pub use id::ProjectId;
pub use path::RelPath;
