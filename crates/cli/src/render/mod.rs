//! How the engine's answers are shown, to people and to programs.
//!
//! * [`json`], [`listing`], [`authors`], [`patch_lines`]: checkpoints, paths, authors and patches
//! * [`restore_report`], [`undo_report`], [`step_report`], [`outside_report`], [`told`]: what was done to files and conversations;
//!   [`notice`]: what an agent is told of it
//! * [`nearby`]: where checkpoints are that are not here
//! * [`patch_choice`], [`hunk_choices`]: choosing hunk by hunk

pub(crate) mod authors;
pub(crate) mod hunk_choices;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod nearby;
pub(crate) mod notice;
pub(crate) mod outside_report;
pub(crate) mod patch_choice;
pub(crate) mod patch_lines;
pub(crate) mod restore_report;
pub(crate) mod step_report;
pub(crate) mod timeline;
pub(crate) mod told;
pub(crate) mod undo_report;
