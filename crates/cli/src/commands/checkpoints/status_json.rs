//! What `herma checkpoints status --json` prints: Hermes's keys, and ours beside them.

use std::os::unix::ffi::OsStrExt;

use herma_core::cleanup::{CleaningRecord, Presence};
use herma_core::{LegacyArchive, ProjectStatus, StoreStatus};
use serde::Serialize;

use super::limits::LimitsJson;
use super::status::state;
use crate::command_env::CommandEnv;
use crate::render::json::PathJson;

#[derive(Serialize)]
pub(super) struct StatusJson {
    schema: &'static str,
    base: PathJson,
    exists: bool,
    store_size_bytes: u64,
    legacy_size_bytes: u64,
    pre_v2_size_bytes: u64,
    total_size_bytes: u64,
    trash_bytes: u64,
    packs: usize,
    project_count: usize,
    projects: Vec<ProjectJson>,
    legacy_archives: Vec<ArchiveJson>,
    pre_v2: Vec<PreV2Json>,
    limits: LimitsJson,
    last_cleaning: Option<CleaningJson>,
}

#[derive(Serialize)]
struct ProjectJson {
    hash: String,
    workdir: Option<PathJson>,
    exists: bool,
    state: &'static str,
    doubt: Option<String>,
    created_at: Option<f64>,
    last_touch: Option<f64>,
    commits: usize,
    own_bytes: u64,
    shared_bytes: u64,
    biggest_files: Vec<FileJson>,
}

#[derive(Serialize)]
struct FileJson {
    #[serde(flatten)]
    path: PathJson,
    bytes: u64,
    versions: usize,
}

/// An archive of version 1.
#[derive(Serialize)]
pub(super) struct ArchiveJson {
    name: PathJson,
    size_bytes: u64,
    mtime: f64,
    repositories: usize,
    other: Vec<PathJson>,
}

#[derive(Serialize)]
struct PreV2Json {
    hash: String,
    #[serde(flatten)]
    path: PathJson,
    workdir: Option<PathJson>,
    exists: bool,
    size_bytes: u64,
}

#[derive(Serialize)]
struct CleaningJson {
    at: f64,
    store_bytes: u64,
    packs: usize,
    dropped: usize,
    freed_bytes: u64,
    problem: Option<String>,
}

impl StatusJson {
    pub(super) fn new(status: &StoreStatus, env: &CommandEnv) -> Self {
        let pre_v2 = status.pre_v2.iter().map(|repository| PreV2Json {
            hash: repository.project.to_string(),
            path: PathJson::of(&repository.path),
            workdir: repository.workdir.as_deref().map(PathJson::of),
            exists: repository.exists,
            size_bytes: repository.size_bytes,
        });
        Self {
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
            projects: status.projects.iter().map(ProjectJson::from).collect(),
            legacy_archives: status.legacy.iter().map(ArchiveJson::from).collect(),
            pre_v2: pre_v2.collect(),
            limits: LimitsJson::new(&env.engine.settings().keeping, status.size_limit),
            last_cleaning: status.last_cleaning.as_ref().map(CleaningJson::from),
        }
    }
}

impl From<&ProjectStatus> for ProjectJson {
    fn from(project: &ProjectStatus) -> Self {
        let cost = project.cost.clone().unwrap_or_default();
        let files = cost.biggest.iter().map(|file| FileJson {
            path: PathJson::new(&file.path),
            bytes: file.bytes,
            versions: file.versions,
        });
        Self {
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
            biggest_files: files.collect(),
        }
    }
}

impl From<&LegacyArchive> for ArchiveJson {
    fn from(archive: &LegacyArchive) -> Self {
        let other = archive.other.iter();
        Self {
            name: PathJson::new(archive.name.as_bytes()),
            size_bytes: archive.size_bytes,
            mtime: archive.mtime,
            repositories: archive.repositories,
            other: other.map(|name| PathJson::new(name.as_bytes())).collect(),
        }
    }
}

impl From<&CleaningRecord> for CleaningJson {
    fn from(record: &CleaningRecord) -> Self {
        Self {
            at: record.at,
            store_bytes: record.store_bytes,
            packs: record.packs,
            dropped: record.dropped,
            freed_bytes: record.freed_bytes,
            problem: record.problem.clone(),
        }
    }
}
