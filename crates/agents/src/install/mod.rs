//! How an agent is told to call Herma, and how it is made to forget it.
//!
//! Everything here turns bytes into bytes: reading and writing the files is for the caller. An agent has one or
//! more [`Target`]s. Some are files of ours that the agent reads because of where they are; the others are the
//! user's own configuration, which is edited as little as possible and can be put back to the byte.
//!
//! * [`command`]: the command line, and how it is known again
//! * `hooks_json`, `json`: files with a `hooks` object in JSON
//! * `own_file`: files that are ours altogether
//! * [`switches`]: other files that decide whether an agent calls us

pub mod command;
mod error;
pub(crate) mod hooks_json;
pub(crate) mod json;
pub(crate) mod own_file;
mod places;
pub mod switches;
pub(crate) mod target;

pub use command::{FoundCommand, HookCommand};
pub use error::{InstallError, NoProjectLevel};
pub use json::JsonError;
pub use places::{Places, Scope};
pub use target::{Edited, Found, HookFile, Note, Target};
