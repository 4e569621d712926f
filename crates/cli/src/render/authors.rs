//! What is told with the authors of lines and versions: what their steps were about, and what cannot be known.

use herma_core::steps::{Step, StepChoice, StepId};
use herma_core::{AuthorshipError, Error, Project, RelPath};
use herma_view::authors::explained_steps;
use herma_view::here;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::terminal::{Ui, quote};

/// The failure to tell of a file, where a directory or nothing at all was named.
pub(crate) fn no_such_file(project: &Project, path: &RelPath, error: Error) -> CommandError {
    let is_no_file = match &error {
        Error::PathUnknown { path } => {
            matches!(project.first_unknown(std::slice::from_ref(path)), Ok(None))
                && matches!(project.newest_with(path), Ok(Some(_)))
        }
        Error::Authorship(AuthorshipError::NotAFile { .. }) => true,
        _ => false,
    };
    if !is_no_file {
        return error.into();
    }
    let (path, typed) = (here::path(path), quote(&here::path(path)));
    CommandError::usage(format!("{path} is a directory, or was one, and this is about one file"))
        .with_hint(format!("`herma diff N {typed}` shows what changed in it since checkpoint N."))
}

/// Says once for each step what it was about.
pub(crate) fn explain_steps(ui: &Ui, project: &Project, steps: &[Step]) -> Result<()> {
    let ids: Vec<StepId> = steps.iter().filter(|s| s.kind.is_move()).map(Step::id).collect();
    let moves = if ids.is_empty() {
        Vec::new()
    } else {
        project.steps(&StepChoice { ids, ..StepChoice::default() })?
    };
    for line in explained_steps(steps, &moves, ui.width) {
        ui.status(line);
    }
    Ok(())
}

/// Says so when the line of states has gaps because checkpoints are damaged.
pub(crate) fn warn_of_gaps(env: &CommandEnv, project: &Project) -> Result<Outcome> {
    let damaged = project.damaged()?;
    if damaged.is_empty() {
        return Ok(Outcome::Done);
    }
    env.ui.warning(format_args!(
        "{} damaged; what they held is missing here.",
        match damaged.len() {
            1 => "1 checkpoint is".to_owned(),
            many => format!("{many} checkpoints are"),
        }
    ));
    env.ui.detail("`herma list` names them.");
    Ok(Outcome::Damaged)
}
