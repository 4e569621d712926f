//! What a purge found and did, for programs.

use herma_core::purge::{PurgePlan, Purged};
use herma_core::{ObjectId, RelPath};

use crate::json::{PathJson, ProjectJson, Serialize, list, object};

/// What was found, and what was done unless it was a dry run; `texts` are the kinds of text that were not searched.
pub fn purge_json(
    project: ProjectJson,
    plan: &PurgePlan,
    purged: Option<&Purged>,
    texts: Vec<&'static str>,
) -> impl Serialize {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let ids = |ids: &[ObjectId]| list(ids.iter().map(|id| id.to_hex()));
    object! {
        schema: "herma.purge/1",
        project,
        dry_run: purged.is_none(),
        paths: list(plan.paths.iter().map(|found| object! {
            #[serde(flatten)]
            path: path(&found.path),
            checkpoints: found.checkpoints,
            versions: found.contents,
        })),
        copies: list(plan.copies.iter().map(|copy| object! {
            project: copy.project.to_string(),
            workdir: copy.workdir.as_deref().map(PathJson::of),
            #[serde(flatten)]
            path: path(&copy.path),
            checkpoints: copy.checkpoints,
            removed: copy.goes,
            still_present: copy.still_present,
        })),
        checkpoints: plan.checkpoints,
        versions: ids(&plan.contents),
        versions_of_dropped: plan.dropped,
        still_present: list(plan.still_present.iter().map(path)),
        unreadable: &plan.unreadable,
        not_searched: list(plan.not_searched.iter().map(PathJson::of)),
        texts_not_searched: texts,
        #[serde(flatten)]
        done: purged.map(|purged| object! {
            rewritten: list(purged.rewritten.iter().map(|checkpoint| object! {
                project: checkpoint.project.to_string(),
                old: checkpoint.old.to_hex(),
                new: checkpoint.new.to_hex(),
            })),
            gone: purged.gone,
            remaining: ids(&purged.remaining),
            needed_by: &purged.needed_by,
            bytes_freed: purged.bytes_freed,
            damaged_refs: &purged.damaged,
            postponed: purged.postponed,
            no_room: purged.no_room,
            litter_removed: purged.litter_removed,
            left_over: list(purged.left_over.iter().map(PathJson::of)),
        }),
    }
}
