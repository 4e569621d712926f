//! Sessions of an agent: the rows of `state.db`, the transcript files beside them, and how long both
//! are kept.
//!
//! * [`db`]: opening the database, and writing to it beside others
//! * [`session`], [`filters`]: one session with its messages and its title, and which sessions are meant
//! * [`list`], [`search`], [`stats`], [`export`]: reading
//! * [`delete`], [`prune`], [`orphans`]: removing, rows and files; [`archive`], [`reap`]: sessions that are kept, or ended
//! * [`vacuum`], [`auto`]: keeping the database small by itself
//! * [`files`], [`pending`], [`index`]: the files beside the database
//! * [`rewind`]: a conversation goes back to where it was, and forward again
//! * [`resume`]: what an agent needs to go on with a task after its conversation was cut short
//!
//! The crate never prints, never reads the environment and never asks the clock; times are seconds since
//! 1970, as in the database.

pub mod archive;
pub mod auto;
pub mod db;
mod error;
pub mod export;
pub mod files;
pub mod filters;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/sessions.rs"]
pub mod fuzzing;
pub mod index;
pub mod list;
pub mod pending;
pub mod reap;
mod removal;
pub mod resume;
pub mod rewind;
pub mod search;
pub mod session;
pub mod stats;

pub use db::{Access, Database, vacuum};
pub use error::{Error, Result};
pub use filters::Filter;
pub use removal::{delete, orphans, prune};
pub use session::Session;
