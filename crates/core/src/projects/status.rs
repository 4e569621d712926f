//! The state of the whole store: what is in it and what it costs.

use std::path::PathBuf;

use herma_store::ProjectId;
use herma_store::gc::trash;

use crate::cleanup::Presence;
use crate::cleanup::bytes::holdings::{Lengths, ProjectCost, costs as costs_of};
use crate::cleanup::due::CleaningRecord;
use crate::engine::beside::name_of_line;
use crate::engine::{Engine, Progress, Stage};
use crate::error::Result;
use crate::projects::legacy::{LegacyArchive, PreV2Project};

/// How many files of a project are named as the ones that take most.
const NAMED_FILES: usize = 5;

/// The whole store.
#[derive(Clone, Debug, Default)]
pub struct StoreStatus {
    /// Where checkpoints are kept.
    pub base: PathBuf,
    /// Is there a store at all?
    pub exists: bool,
    /// The size of the store.
    pub store_bytes: u64,
    /// What it takes on disk, as `du` counts it.
    pub store_disk_bytes: u64,
    /// The size it is kept to; 0 is no limit.
    pub size_limit: u64,
    /// How much of it is in the trash.
    pub trash_bytes: u64,
    /// The size of archives of older repositories.
    pub legacy_bytes: u64,
    /// The size of older repositories that are not in an archive.
    pub pre_v2_bytes: u64,
    /// How many packs there are.
    pub packs: usize,
    /// The projects, the one touched last first.
    pub projects: Vec<ProjectStatus>,
    /// Archives of older repositories, the newest first.
    pub legacy: Vec<LegacyArchive>,
    /// Older repositories that are not in an archive.
    pub pre_v2: Vec<PreV2Project>,
    /// What the last cleaning did.
    pub last_cleaning: Option<CleaningRecord>,
}

impl StoreStatus {
    /// The size of everything that holds checkpoints.
    pub fn total_bytes(&self) -> u64 {
        self.store_bytes + self.legacy_bytes + self.pre_v2_bytes
    }
}

/// One project in the store.
#[derive(Clone, Debug)]
pub struct ProjectStatus {
    /// Its id.
    pub id: ProjectId,
    /// Where it is, if that is known.
    pub workdir: Option<PathBuf>,
    /// What it is called, if it came in from elsewhere and is no project here.
    pub line: Option<String>,
    /// Is it still there?
    pub presence: Presence,
    /// When it was first saved, in seconds since 1970.
    pub created_at: Option<f64>,
    /// When it was last saved, in seconds since 1970.
    pub last_touch: Option<f64>,
    /// How many checkpoints it has.
    pub checkpoints: usize,
    /// What they cost, if that was asked for.
    pub cost: Option<ProjectCost>,
}

impl Engine {
    /// The state of the store; with `costs`, which takes a walk over all objects, also what costs the disk.
    pub fn status(&self, costs: bool, progress: &dyn Progress) -> Result<StoreStatus> {
        let mut status = StoreStatus {
            base: self.base(),
            legacy: self.legacy()?,
            pre_v2: self.pre_v2_projects()?,
            size_limit: self.options.settings.keeping.size_limit(None),
            ..StoreStatus::default()
        };
        status.legacy_bytes = status.legacy.iter().map(|archive| archive.size_bytes).sum();
        status.pre_v2_bytes = status.pre_v2.iter().map(|old| old.size_bytes).sum();
        let Some(store) = self.open_for_reading()? else { return Ok(status) };
        status.exists = true;
        let whole = store.dirs.base().tree_measure(c"store")?;
        (status.store_bytes, status.store_disk_bytes) = (whole.bytes, whole.disk);
        status.size_limit = self.size_limit_of(&store.dirs)?;
        status.trash_bytes = trash::bytes(&store.dirs)?;
        status.packs = store.objects.packs()?.len();
        status.last_cleaning = CleaningRecord::read(&store.dirs);
        let facts = self.facts(&store)?;
        let mut found = Vec::new();
        for project in &facts.projects {
            let identity = store.identity(&project.id);
            found.push(ProjectStatus {
                id: project.id.clone(),
                workdir: project.workdir.clone(),
                line: name_of_line(&store, &project.id)?,
                presence: project.presence.clone(),
                created_at: identity.created_at(),
                last_touch: project.last_touch,
                checkpoints: project.checkpoints.len(),
                cost: None,
            });
        }
        if costs {
            progress.stage(Stage::Marking);
            let lengths = Lengths::read(&store.dirs, &store.objects)?;
            let go_on = |done| progress.goes_on(done);
            let all = costs_of(&store.objects, &lengths, &facts.projects, NAMED_FILES, &go_on)?;
            for (project, cost) in found.iter_mut().zip(all) {
                project.cost = Some(cost);
            }
        }
        let touched = |project: &ProjectStatus| project.last_touch.unwrap_or(f64::MIN);
        found.sort_by(|a, b| touched(b).total_cmp(&touched(a)));
        status.projects = found;
        Ok(status)
    }
}
