//! What a purge found and did, for programs.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use herma_core::engine::Project;
use herma_core::purge::{PurgePlan, Purged};
use herma_core::{ObjectId, RelPath};
use serde::Serialize;

use super::texts;
use crate::command_env::CommandEnv;
use crate::command_error::CommandError;
use crate::render::json::{PathJson, ProjectJson};

#[derive(Serialize)]
struct PurgeJson<'p> {
    schema: &'static str,
    project: ProjectJson,
    dry_run: bool,
    paths: Vec<FoundJson>,
    copies: Vec<CopyJson>,
    checkpoints: usize,
    versions: Vec<String>,
    versions_of_dropped: usize,
    still_present: Vec<PathJson>,
    unreadable: &'p [String],
    not_searched: Vec<PathJson>,
    texts_not_searched: Vec<&'static str>,
    #[serde(flatten)]
    done: Option<DoneJson<'p>>,
}

#[derive(Serialize)]
struct FoundJson {
    #[serde(flatten)]
    path: PathJson,
    checkpoints: usize,
    versions: usize,
}

#[derive(Serialize)]
struct CopyJson {
    project: String,
    workdir: Option<PathJson>,
    #[serde(flatten)]
    path: PathJson,
    checkpoints: usize,
    removed: bool,
    still_present: bool,
}

#[derive(Serialize)]
struct DoneJson<'p> {
    rewritten: Vec<RewrittenJson>,
    gone: usize,
    remaining: Vec<String>,
    needed_by: &'p [String],
    bytes_freed: u64,
    damaged_refs: &'p [String],
    postponed: bool,
    no_room: bool,
    litter_removed: usize,
    left_over: Vec<PathJson>,
}

#[derive(Serialize)]
struct RewrittenJson {
    project: String,
    old: String,
    new: String,
}

/// Prints what was found, and what was done unless it was a dry run.
pub(super) fn write(
    env: &CommandEnv,
    project: &Project<'_>,
    plan: &PurgePlan,
    purged: Option<&Purged>,
) -> Result<(), CommandError> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let ids = |ids: &[ObjectId]| ids.iter().map(|id| id.to_hex()).collect();
    let found = plan.paths.iter().map(|found| FoundJson {
        path: path(&found.path),
        checkpoints: found.checkpoints,
        versions: found.contents,
    });
    let copies = plan.copies.iter().map(|copy| CopyJson {
        project: copy.project.to_string(),
        workdir: copy.workdir.as_deref().map(PathJson::of),
        path: path(&copy.path),
        checkpoints: copy.checkpoints,
        removed: copy.goes,
        still_present: copy.still_present,
    });
    let done = purged.map(|purged| DoneJson {
        rewritten: rewritten(purged),
        gone: purged.gone,
        remaining: ids(&purged.remaining),
        needed_by: &purged.needed_by,
        bytes_freed: purged.bytes_freed,
        damaged_refs: &purged.damaged,
        postponed: purged.postponed,
        no_room: purged.no_room,
        litter_removed: purged.litter_removed,
        left_over: files(&purged.left_over),
    });
    let texts = texts::present(env, project);
    env.ui.write_json(&PurgeJson {
        schema: "herma.purge/1",
        project: ProjectJson::new(project),
        dry_run: purged.is_none(),
        paths: found.collect(),
        copies: copies.collect(),
        checkpoints: plan.checkpoints,
        versions: ids(&plan.contents),
        versions_of_dropped: plan.dropped,
        still_present: plan.still_present.iter().map(path).collect(),
        unreadable: &plan.unreadable,
        not_searched: files(&plan.not_searched),
        texts_not_searched: texts.iter().map(|text| text.word()).collect(),
        done,
    })
}

fn files(paths: &[PathBuf]) -> Vec<PathJson> {
    let paths = paths.iter();
    paths.map(|path| PathJson::new(path.as_os_str().as_bytes())).collect()
}

fn rewritten(purged: &Purged) -> Vec<RewrittenJson> {
    let all = purged.rewritten.iter();
    all.map(|checkpoint| RewrittenJson {
        project: checkpoint.project.to_string(),
        old: checkpoint.old.to_hex(),
        new: checkpoint.new.to_hex(),
    })
    .collect()
}
