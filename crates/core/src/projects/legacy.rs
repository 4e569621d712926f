//! What Hermes's version 1 left: repositories, and the archives its version 2 made of them.
//!
//! When Hermes made its first store of version 2, it swept everything beside it into `legacy-<stamp>/`,
//! resume records of sessions included, and deleted the archive a week later. Here the records move back to
//! where they were before an archive goes.
//!
//! A repository that still stands beside the store goes by the rules Hermes had for it: with its project, or when
//! nothing in it was changed for `retention_days`. That its project is not there proves no more than it does for any
//! other (`cleanup::presence`), unless a person was shown it and agreed.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_store::layout::base;
use herma_store::layout::base::Found;
pub use herma_store::layout::base::RemovedLegacy;
use herma_store::{ProjectId, layout};

use crate::cleanup::execute::in_words;
use crate::cleanup::{Limits, Orphans, Presence, Rule, presence};
use crate::engine::Engine;
use crate::error::{Error, Result};

const DAY: f64 = 86_400.0;

/// An archive `legacy-<stamp>/`.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyArchive {
    /// Its name.
    pub name: OsString,
    /// The sizes of the files in it, added up.
    pub size_bytes: u64,
    /// When something was last put into it or taken out, in seconds since 1970.
    pub mtime: f64,
    /// How many repositories it holds.
    pub repositories: usize,
    /// What else is in it.
    pub other: Vec<OsString>,
}

/// A repository of version 1 that stands beside the store.
#[derive(Clone, Debug, PartialEq)]
pub struct PreV2Project {
    /// The repository.
    pub path: PathBuf,
    /// Its project.
    pub project: ProjectId,
    /// The directory it says it belongs to.
    pub workdir: Option<PathBuf>,
    /// Is that directory there?
    pub exists: bool,
    /// Was it deleted, as far as the store knows where it was?
    pub presence: Presence,
    /// The sizes of the files in it, added up.
    pub size_bytes: u64,
    /// When something in it was last changed, in seconds since 1970.
    pub newest: f64,
}

/// What came of removing all archives, and repositories beside the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearedLegacy {
    /// The bytes of the files that were removed.
    pub bytes_freed: u64,
    /// How many of them are gone.
    pub deleted: usize,
    /// The resume records that were moved back beside the store.
    pub moved_back: Vec<OsString>,
    /// Archives that stay, because they hold a resume record whose name is taken beside the store.
    pub kept: Vec<OsString>,
    /// Archives that could not be removed, and why; `tmp-…` is what an earlier removal left.
    pub failed: Vec<(OsString, String)>,
}

impl ClearedLegacy {
    /// Adds what came of removing one of them.
    pub fn add(&mut self, name: OsString, removed: RemovedLegacy) {
        self.bytes_freed += removed.bytes_freed;
        self.moved_back.extend(removed.moved_back);
        if removed.deleted {
            self.deleted += 1;
        } else {
            self.kept.push(name);
        }
    }
}

impl Engine {
    /// The archives beside the store.
    pub fn legacy(&self) -> Result<Vec<LegacyArchive>> {
        let Some((_, dir)) = layout::open_base(&self.base())? else { return Ok(Vec::new()) };
        let mut archives = Vec::new();
        for entry in dir.entries()? {
            if base::classify(&dir, &entry)? == Found::Archive {
                archives.push(describe(&dir, &entry.name)?);
            }
        }
        Ok(archives)
    }

    /// The archives in which nothing was changed since `cutoff`, in seconds since 1970.
    pub fn stale_legacy(&self, cutoff: f64) -> Result<Vec<LegacyArchive>> {
        let mut archives = self.legacy()?;
        archives.retain(|archive| archive.mtime < cutoff);
        Ok(archives)
    }

    /// Removes one archive; resume records in it move back beside the store.
    pub fn remove_legacy(&self, name: &OsStr) -> Result<RemovedLegacy> {
        let is_archive =
            name.as_bytes().starts_with(b"legacy-") && !name.as_bytes().contains(&b'/');
        let found = layout::open_base(&self.base())?;
        let (true, Some((_, dir)), Ok(name)) = (is_archive, found, CString::new(name.as_bytes()))
        else {
            let spec = name.to_string_lossy().into_owned();
            return Err(Error::NoSuchArchive { name: spec });
        };
        Ok(base::remove_archive(&dir, &name)?)
    }

    /// Removes all archives, and the repositories of version 1 that stand beside the store; resume records move
    /// back there. One that cannot be removed does not keep the others.
    pub fn clear_legacy(&self) -> Result<ClearedLegacy> {
        let mut cleared = ClearedLegacy::default();
        let Some((_, dir)) = layout::open_base(&self.base())? else { return Ok(cleared) };
        match base::finish_leaving(&dir) {
            Ok(bytes) => cleared.bytes_freed += bytes,
            Err(error) => cleared.failed.push(("tmp-…".into(), in_words(&error.into()))),
        }
        for entry in dir.entries()? {
            let name = base::os_name(&entry.name);
            let removed = match base::classify(&dir, &entry)? {
                Found::Archive => base::remove_archive(&dir, &entry.name),
                Found::Repository(_) => base::discard(&dir, &dir, &entry.name).map(|bytes_freed| {
                    RemovedLegacy { bytes_freed, deleted: true, ..RemovedLegacy::default() }
                }),
                _ => continue,
            };
            match removed {
                Ok(removed) => cleared.add(name, removed),
                Err(error) => cleared.failed.push((name, in_words(&error.into()))),
            }
        }
        Ok(cleared)
    }

    /// Repositories of version 1 that stand beside the store: an old Hermes still works there.
    pub fn pre_v2_projects(&self) -> Result<Vec<PreV2Project>> {
        let Some((_, dir)) = layout::open_base(&self.base())? else { return Ok(Vec::new()) };
        // A store that cannot be read knows nothing about them.
        let store = self.open_for_reading().ok().flatten();
        let mut projects = Vec::new();
        for entry in dir.entries()? {
            if let Found::Repository(project) = base::classify(&dir, &entry)? {
                let repository = dir.open_dir(entry.name.as_c_str())?;
                let workdir = base::workdir_of(&repository);
                let known = store.as_ref().map(|store| store.identity(&project));
                let known = known.filter(|known| known.workdir() == workdir);
                let places = known.map(|known| known.places()).unwrap_or_default();
                let measure = dir.tree_measure(&entry.name)?;
                projects.push(PreV2Project {
                    path: repository.path().to_owned(),
                    project,
                    exists: workdir.as_ref().is_some_and(|path| Dir::open(path).is_ok()),
                    presence: presence::presence(workdir.as_deref(), &places),
                    workdir,
                    size_bytes: measure.bytes,
                    newest: measure.newest as f64 / 1e9,
                });
            }
        }
        Ok(projects)
    }

    /// The repositories of version 1 beside the store that go by these limits, and by which rule.
    pub fn pre_v2_to_go(&self, limits: &Limits, now: f64) -> Result<Vec<(PreV2Project, Rule)>> {
        let days = limits.retention_days.unwrap_or(0);
        let cutoff = now - f64::from(days) * DAY;
        let rule = |old: &PreV2Project| {
            let is_orphan = match &limits.orphans {
                Orphans::Keep => false,
                Orphans::All | Orphans::Untouched { .. } => old.presence == Presence::Gone,
                Orphans::These(confirmed) => confirmed.contains(&old.project) && !old.exists,
            };
            match (is_orphan, days > 0 && old.newest < cutoff) {
                (true, _) => Some(Rule::Orphan),
                (false, true) => Some(Rule::Stale),
                (false, false) => None,
            }
        };
        let all = self.pre_v2_projects()?.into_iter();
        let going = all.filter_map(|old| rule(&old).map(|rule| (old, rule)));
        Ok(going.collect())
    }

    /// Removes a repository of version 1 that stands beside the store; returns its bytes.
    pub fn remove_pre_v2(&self, project: &ProjectId) -> Result<u64> {
        let missing = || Error::NoSuchArchive { name: project.to_string() };
        let (_, dir) = layout::open_base(&self.base())?.ok_or_else(missing)?;
        let name = CString::new(project.as_str()).map_err(|_| missing())?;
        if !layout::is_repository(&dir, &name)? {
            return Err(missing());
        }
        Ok(base::discard(&dir, &dir, &name)?)
    }
}

fn describe(base_dir: &Dir, name: &CString) -> Result<LegacyArchive> {
    let archive = base_dir.open_dir(name.as_c_str())?;
    let (mut repositories, mut other) = (0, Vec::new());
    for entry in archive.entries()? {
        if matches!(base::classify(&archive, &entry)?, Found::Repository(_)) {
            repositories += 1;
        } else {
            other.push(base::os_name(&entry.name));
        }
    }
    Ok(LegacyArchive {
        name: base::os_name(name),
        size_bytes: base_dir.tree_bytes(name)?,
        mtime: archive.stat_self()?.mtime as f64 / 1e9,
        repositories,
        other,
    })
}
