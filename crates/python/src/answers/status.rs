//! The whole store: what it holds, what is wrong with it, and what cleaning did.

use std::ffi::OsString;
use std::path::PathBuf;

use herma_core::cleanup::{Cleaned as CoreCleaned, Presence, Rule};
use herma_core::{LegacyArchive, PreV2Project, ProjectStatus as CoreProject, StoreStatus};
use pyo3::prelude::*;

use crate::answers::answer;
use crate::paths::shown;

answer! {
    /// The whole store.
    pub(crate) struct Status {
        /// Where checkpoints are kept.
        base: PathBuf,
        /// Is there a store at all?
        exists: bool,
        /// The size of the store.
        store_bytes: u64,
        /// The size of archives of older repositories.
        legacy_bytes: u64,
        /// How many packs there are.
        packs: usize,
        /// The projects, the one touched last first.
        projects: Vec<ProjectStatus>,
        /// Archives of older repositories.
        archives: Vec<Archive>,
        /// Older repositories that are not in an archive.
        old_repositories: Vec<OldRepository>,
    }
    repr |this| {
            let (projects, bytes) = (this.projects.len(), this.store_bytes);
            format!("<Status {projects} projects, {bytes} bytes>")
    }
}

impl From<StoreStatus> for Status {
    fn from(status: StoreStatus) -> Self {
        Self {
            base: status.base,
            exists: status.exists,
            store_bytes: status.store_bytes,
            legacy_bytes: status.legacy_bytes,
            packs: status.packs,
            projects: status.projects.into_iter().map(ProjectStatus::from).collect(),
            archives: status.legacy.into_iter().map(Archive::from).collect(),
            old_repositories: status.pre_v2.into_iter().map(OldRepository::from).collect(),
        }
    }
}

answer! {
    /// One project in the store.
    pub(crate) struct ProjectStatus {
        /// Its id.
        id: String,
        /// Where it is, if that is known.
        root: Option<PathBuf>,
        /// `live`, `gone`, `out-of-reach` or `unknown`.
        presence: String,
        /// When it was first saved, in seconds since 1970.
        created_at: Option<f64>,
        /// When it was last saved, in seconds since 1970.
        last_touch: Option<f64>,
        /// How many checkpoints it has.
        checkpoints: usize,
    }
    repr |this| {
            let root = this.root.as_deref().map_or("?".to_owned(), shown);
            format!("<ProjectStatus {root} {} checkpoints>", this.checkpoints)
    }
}

impl From<CoreProject> for ProjectStatus {
    fn from(project: CoreProject) -> Self {
        Self {
            id: project.id.to_string(),
            root: project.workdir,
            presence: match project.presence {
                Presence::Live => "live",
                Presence::Gone | Presence::GoneWithParents => "gone",
                Presence::OutOfReach(_) => "out-of-reach",
                Presence::Unknown => "unknown",
            }
            .to_owned(),
            created_at: project.created_at,
            last_touch: project.last_touch,
            checkpoints: project.checkpoints,
        }
    }
}

answer! {
    /// An archive of repositories that an older Hermes made.
    pub(crate) struct Archive {
        /// Its name.
        name: OsString,
        /// Its size.
        size_bytes: u64,
        /// When something was last put into it or taken out, in seconds since 1970.
        mtime: f64,
    }
}

impl From<LegacyArchive> for Archive {
    fn from(archive: LegacyArchive) -> Self {
        Self { name: archive.name, size_bytes: archive.size_bytes, mtime: archive.mtime }
    }
}

answer! {
    /// A repository that an older Hermes made, beside the store.
    pub(crate) struct OldRepository {
        /// Where it is.
        path: PathBuf,
        /// The id of its project.
        project: String,
        /// The directory it says it belongs to.
        root: Option<PathBuf>,
        /// Is that directory there?
        exists: bool,
    }
}

impl From<PreV2Project> for OldRepository {
    fn from(old: PreV2Project) -> Self {
        Self {
            path: old.path,
            project: old.project.to_string(),
            root: old.workdir,
            exists: old.exists,
        }
    }
}

answer! {
    /// What a cleaning did.
    pub(crate) struct Cleaned {
        /// How many projects were looked at.
        scanned: usize,
        /// How many checkpoints were dropped.
        dropped: usize,
        /// How many projects lost checkpoints because they were deleted.
        orphans: usize,
        /// How many projects lost checkpoints because of their age.
        stale: usize,
        /// How many archives of older repositories were removed.
        archives: usize,
        /// How many bytes are free now that were not.
        bytes_freed: u64,
        /// How many bytes are in the trash, and free when a cleaning empties it after an hour.
        trash_bytes: u64,
        /// What could not be done, in words.
        errors: Vec<String>,
        /// Things worth telling.
        notes: Vec<String>,
        /// A limit that could not be reached, in words.
        over: Option<String>,
    }
    repr |this| {
            let (dropped, bytes) = (this.dropped, this.bytes_freed);
            format!("<Cleaned {dropped} dropped, {bytes} bytes freed>")
    }
}

impl From<CoreCleaned> for Cleaned {
    fn from(cleaned: CoreCleaned) -> Self {
        Self {
            scanned: cleaned.scanned,
            dropped: cleaned.dropped.len(),
            orphans: cleaned.projects_by(Rule::Orphan),
            stale: cleaned.projects_by(Rule::Stale),
            archives: cleaned.archives,
            bytes_freed: cleaned.bytes_freed(),
            trash_bytes: cleaned.trash_bytes,
            notes: cleaned.notes.iter().map(ToString::to_string).collect(),
            over: cleaned.over.as_ref().map(ToString::to_string),
            errors: cleaned.errors,
        }
    }
}
