//! One file per command: its arguments, what it asks the engine for, and how it tells the answer. [`cli`] puts their arguments
//! together, [`one_command`] reads the usual lines without describing the others, [`dispatch`] calls them.
//! Commands for one purpose share a folder.

pub(crate) mod about;
pub(crate) mod agents;
pub(crate) mod blame;
pub(crate) mod checkpoints;
pub(crate) mod cli;
pub(crate) mod config;
pub(crate) mod copies;
pub(crate) mod diff;
pub(crate) mod dispatch;
pub(crate) mod drop;
pub(crate) mod exchange;
pub(crate) mod going_back;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod maintain;
pub(crate) mod mark;
pub(crate) mod one_command;
pub(crate) mod past;
pub(crate) mod resume;
pub(crate) mod save;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod steps;
