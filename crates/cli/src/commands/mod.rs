//! One file per command: its arguments, what it asks the engine for, and how it tells the answer.

pub(crate) mod checkpoints;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod drop;
pub(crate) mod list;
pub(crate) mod maintain;
pub(crate) mod man;
pub(crate) mod mark;
pub(crate) mod markdown_help;
pub(crate) mod restore;
pub(crate) mod save;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod undo;
