//! What commands tell that several of them tell alike; how rows, times and objects look is in `herma_view`.
//!
//! * [`restore_report`], [`undo_report`], [`step_report`], [`outside_report`], [`told`]: what was done to files and conversations
//! * [`authors`], [`losses`], [`nearby`]: what is told with authors, what the store had lost, where checkpoints are that are not here
//! * [`patch_choice`]: choosing hunk by hunk

pub(crate) mod authors;
pub(crate) mod losses;
pub(crate) mod nearby;
pub(crate) mod outside_report;
pub(crate) mod patch_choice;
pub(crate) mod restore_report;
pub(crate) mod step_report;
pub(crate) mod told;
pub(crate) mod undo_report;

use herma_core::Project;
use herma_view::json::ProjectJson;

use crate::conversations::pending::unfinished;

/// The project a command was about, as programs get it.
pub(crate) fn project_json(project: &Project) -> ProjectJson {
    ProjectJson::new(project, unfinished(project).is_some())
}
