//! Sessions of an agent: the rows of `state.db`, the transcript files beside them, and how long both
//! are kept.
//!
//! * [`db`]: opening the database, and writing to it beside others
//! * [`session`], [`filters`]: one session, and which sessions are meant
//! * [`list`], [`show`], [`search`], [`stats`], [`export`]: reading
//! * [`rename`], [`delete`], [`prune`], [`archive`], [`reap`]: changing
//! * [`vacuum`], [`auto`]: keeping the database small by itself
//! * [`files`], [`pending`], [`index`], [`orphans`]: the files beside the database
//! * [`rewind`]: a conversation goes back to where it was, and forward again
//! * [`resume`]: what an agent needs to go on with a task after its conversation was cut short
//!
//! The crate never prints, never reads the environment and never asks the clock; times are seconds since
//! 1970, as in the database.

mod activity;
pub mod archive;
pub mod auto;
pub mod db;
pub mod delete;
mod error;
pub mod export;
pub mod files;
pub mod filters;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod index;
pub mod list;
pub mod orphans;
pub mod pending;
pub mod prune;
pub mod reap;
mod removal;
pub mod rename;
pub mod resume;
pub mod rewind;
pub mod search;
mod search_index;
pub mod session;
pub mod show;
pub mod stats;
pub mod vacuum;

pub use db::{Access, Database};
pub use error::{Error, Result};
pub use filters::Filter;
pub use session::Session;
