//! The Herma engine: saves a project, lists and compares what was saved, and brings it back exactly.
//!
//! The engine never prints, prompts, reads the environment or asks the clock: callers hand it paths,
//! [`Settings`] and a [`Clock`], and get values back. All file access goes through `herma-fs`.
//!
//! * [`project`]: which directory is the project, and may it be saved at all
//! * [`snapshot`]: scan → hash → pack, with the stat cache, the excludes and the lists
//! * [`store`]: the git-compatible object store: packs, refs, locks
//! * [`diff`]: trees, renames, lines, patches

pub mod diff;
pub mod id;
pub mod path;
pub mod project;
pub mod receipt;
pub mod settings;
pub mod snapshot;
pub mod store;

pub use id::ObjectId;
pub use id::ProjectId;
pub use path::RelPath;
pub use settings::Settings;
