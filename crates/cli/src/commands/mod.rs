//! One file per command: its arguments, what it asks the engine for, and how it tells the answer.

pub(crate) mod blame;
pub(crate) mod can_undo;
pub(crate) mod checkpoints;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod drop;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod maintain;
pub(crate) mod man;
pub(crate) mod mark;
pub(crate) mod markdown_help;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod step;
pub(crate) mod steps;
pub(crate) mod take_back;
pub(crate) mod turn;
pub(crate) mod undo;
