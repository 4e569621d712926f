//! `promote`: what was changed in a copy comes into the project.

use herma_core::RelPath;
use herma_core::copies::{CopyRecord, PromotePlan, Promoted};

use super::undo::word;
use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object};

/// What comes in, what stays, and what came of it.
pub fn promote_json(
    project: ProjectJson,
    copy: &CopyRecord,
    (plan, promoted): (&PromotePlan, Option<&Promoted>),
) -> impl Serialize + use<> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let reversed = &plan.reversed;
    let restored = promoted.and_then(|promoted| promoted.restored.as_ref());
    object! {
        schema: "herma.promote/1",
        project,
        copy: object! {
            #[serde(flatten)]
            root: PathJson::of(copy.path()),
        },
        #[serde(rename = "try")]
        attempt: copy.attempt.map(|attempt| attempt.index),
        dry_run: promoted.is_none(),
        state: checkpoint_json(&plan.state),
        changes: list(reversed.changes.iter().map(|(at, becomes)| object! {
            becomes: word(becomes),
            merged: reversed.merged.contains(at),
            #[serde(flatten)]
            path: path(at),
        })),
        conflicts: list(reversed.conflicts.iter().map(|conflict| object! {
            why: conflict.why.word(),
            text: conflict.why.of_copy(),
            decided: conflict.decided.word(),
            #[serde(flatten)]
            path: path(&conflict.path),
        })),
        kept: list(reversed.kept.iter().map(|(at, reason)| object! {
            reason: reason.word(),
            #[serde(flatten)]
            path: path(at),
        })),
        only_in_copy: list(plan.unsaved.iter().map(|(at, reason)| object! {
            reason: reason.word(),
            #[serde(flatten)]
            path: path(at),
        })),
        number: restored.and_then(|restored| restored.number),
        target: restored.map(|restored| checkpoint_json(&restored.target)),
        safety: restored.and_then(|restored| restored.safety.as_ref().map(checkpoint_json)),
        safety_is_new: restored.map(|restored| restored.safety_is_new),
        written: restored.map(|restored| restored.written),
        removed: restored.map(|restored| restored.removed),
    }
}
