//! Could a command be undone? Looks at the project as a save would, and writes nothing.

use std::os::unix::ffi::OsStrExt;

pub use herma_can_undo::{Answer, CanUndo, Uncovered, What, Why};
use herma_can_undo::{PresentFiles, answer};
pub use herma_shell::Command;
use herma_shell::{LastLink, resolve, touches};
use herma_store::RelPath;
use herma_worktree::reason::Reason;
use herma_worktree::receipt::LeftOut;
use herma_worktree::rules::Rules;
use herma_worktree::scan::judge::Judge;
use herma_worktree::sink::HashOnly;

use crate::engine::{Progress, Project};
use crate::error::Result;

/// Looks at the project, and judges what the command touches.
pub(crate) fn can_undo(
    project: &Project,
    command: &Command,
    directory: &RelPath,
    progress: &dyn Progress,
) -> Result<CanUndo> {
    let present = match project.engine.open_for_reading()? {
        Some(_) => {
            let operation = project.reading(progress)?;
            operation.look(&operation.load_history()?)?
        }
        None => project.scan(None, None, false, &HashOnly, progress)?,
    };
    let rules = Rules::new(&project.settings().excludes);
    let is_missing =
        |item: &LeftOut| !matches!(item.reason, Reason::SavedSecret | Reason::Identity);
    let left_out = present.cache.left_out().filter(is_missing);
    let left_out = left_out.map(|item| (item.path, item.reason)).collect();
    let home = project.engine.options.user_home.as_ref();
    let files = PresentFiles {
        root: project.root.as_os_str().as_bytes().into(),
        home: home.map(|home| home.as_os_str().as_bytes().into()),
        dir: project.open_root()?,
        cache: present.cache,
        left_out,
        judge: Judge::new(project.open_root()?, &rules),
        largest_file: project.settings().max_file_size,
    };
    let start = directory.as_bytes();
    let (start, _) = resolve(&files, &files.root, start, LastLink::Followed);
    let touches = touches(command, &start.absolute(&files), &files);
    Ok(answer(&files, &touches))
}
