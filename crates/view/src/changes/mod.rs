//! What is different between two states: names and counts, patches, and hunks somebody chooses.
//!
//! * [`names`]: what git prints for `--name-status` and `--stat`
//! * [`patch_lines`], [`hunk_choices`]: a patch line by line, and what was answered about its hunks

pub mod hunk_choices;
pub mod names;
pub mod patch_lines;

use std::io::Write;

use herma_core::{Checkpoint, Comparison, RelPath, SessionChanges};
use herma_diff::stat::per_file;
use herma_diff::{Budget, Change, DiffError, FileStat, PatchOptions, Side, patch};

use self::patch_lines::write_patch_line;
use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object};
use crate::steps::named_step_json;
use crate::style::Style;

/// Prints changes as a patch.
pub fn write_patch(
    out: &mut dyn Write,
    style: &Style,
    changes: &[Change],
    [old, new]: [&dyn Side; 2],
    options: &PatchOptions,
) -> Result<(), DiffError> {
    patch::render(changes, old, new, options, &mut |line| write_patch_line(out, style, line))
}

/// How many lines changed in each file.
pub fn stats(comparison: &Comparison) -> Result<Vec<FileStat>, DiffError> {
    let (old, new) = (comparison.old_side(), comparison.new_side());
    per_file(&comparison.changes, &*old, &*new, Budget::UNLIMITED)
}

/// Two states compared, as programs read it; `None` is the present.
pub fn comparison_json(
    project: ProjectJson,
    (from, to): (&Checkpoint, Option<&Checkpoint>),
    comparison: &Comparison,
) -> Result<impl Serialize + use<>, DiffError> {
    Ok(object! {
        schema: "herma.diff/2",
        project,
        from: checkpoint_json(from),
        to: to.map(checkpoint_json),
        changes: changes_json(comparison)?,
    })
}

/// What some steps changed, and nothing else, as programs read it.
pub fn session_changes_json(
    project: ProjectJson,
    found: &SessionChanges,
) -> Result<impl Serialize + use<>, DiffError> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    Ok(object! {
        schema: "herma.diff-steps/2",
        project,
        steps: list(found.steps.iter().map(named_step_json)),
        changes: changes_json(&found.comparison)?,
        unattributed: list(found.unattributed.iter().map(path)),
        uncertain: found.uncertain.clone(),
        forgotten: found.forgotten.clone(),
        incomplete: list(found.incomplete.iter().map(path)),
        left_out: list(found.left_out.iter().map(|(p, _)| path(p))),
    })
}

fn changes_json(comparison: &Comparison) -> Result<Vec<impl Serialize + use<>>, DiffError> {
    let counted = stats(comparison)?;
    let changes = comparison.changes.iter().zip(counted).map(|(change, stat)| {
        object! {
            status: names::status_letter(change).to_string(),
            #[serde(flatten)]
            path: PathJson::new(change.path.as_bytes()),
            from: change.from.as_ref().map(|from| PathJson::new(from.path.as_bytes())),
            similarity: change.from.as_ref().map(|from| from.similarity),
            old_mode: change.old.map(|state| state.mode.six_digits()),
            new_mode: change.new.map(|state| state.mode.six_digits()),
            insertions: stat.insertions,
            deletions: stat.deletions,
            binary: stat.binary,
        }
    });
    Ok(changes.collect())
}
