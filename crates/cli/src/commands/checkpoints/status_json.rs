//! What `herma checkpoints status --json` prints: Hermes's keys, and ours beside them.

use std::os::unix::ffi::OsStrExt;

use herma_core::cleanup::{CleaningRecord, Presence};
use herma_core::{LegacyArchive, ProjectStatus, StoreStatus};
use serde::Serialize;

use super::limits::LimitsJson;
use super::status::state;
use crate::command_env::CommandEnv;
use crate::render::json::{PathJson, list, object};

pub(super) fn status_json(status: &StoreStatus, env: &CommandEnv) -> impl Serialize {
    let pre_v2 = status.pre_v2.iter().map(|repository| {
        object! {
            hash: repository.project.to_string(),
            #[serde(flatten)]
            path: PathJson::of(&repository.path),
            workdir: repository.workdir.as_deref().map(PathJson::of),
            exists: repository.exists,
            size_bytes: repository.size_bytes,
        }
    });
    object! {
        schema: "herma.checkpoints-status/1",
        base: PathJson::of(&status.base),
        exists: status.exists,
        store_size_bytes: status.store_bytes,
        legacy_size_bytes: status.legacy_bytes,
        pre_v2_size_bytes: status.pre_v2_bytes,
        total_size_bytes: status.total_bytes(),
        trash_bytes: status.trash_bytes,
        packs: status.packs,
        project_count: status.projects.len(),
        projects: list(status.projects.iter().map(project_json)),
        legacy_archives: list(status.legacy.iter().map(archive_json)),
        pre_v2: list(pre_v2),
        limits: LimitsJson::new(&env.engine.settings().keeping, status.size_limit),
        last_cleaning: status.last_cleaning.as_ref().map(cleaning_json),
    }
}

fn project_json(project: &ProjectStatus) -> impl Serialize {
    let cost = project.cost.clone().unwrap_or_default();
    let files = cost.biggest.iter().map(|file| {
        object! {
            #[serde(flatten)]
            path: PathJson::new(&file.path),
            bytes: file.bytes,
            versions: file.versions,
        }
    });
    object! {
        hash: project.id.to_string(),
        workdir: project.workdir.as_deref().map(PathJson::of),
        exists: project.presence == Presence::Live,
        state: state(&project.presence),
        doubt: match &project.presence {
            Presence::OutOfReach(doubt) => Some(doubt.to_string()),
            _ => None,
        },
        created_at: project.created_at,
        last_touch: project.last_touch,
        commits: project.checkpoints,
        own_bytes: cost.own_bytes,
        shared_bytes: cost.shared_bytes,
        biggest_files: list(files),
    }
}

fn archive_json(archive: &LegacyArchive) -> impl Serialize {
    let other = archive.other.iter();
    object! {
        name: PathJson::new(archive.name.as_bytes()),
        size_bytes: archive.size_bytes,
        mtime: archive.mtime,
        repositories: archive.repositories,
        other: list(other.map(|name| PathJson::new(name.as_bytes()))),
    }
}

fn cleaning_json(record: &CleaningRecord) -> impl Serialize {
    object! {
        at: record.at,
        store_bytes: record.store_bytes,
        packs: record.packs,
        dropped: record.dropped,
        freed_bytes: record.freed_bytes,
        problem: record.problem.clone(),
    }
}
