//! What Hermes's version 1 left: repositories, and the archives its version 2 made of them.
//!
//! When Hermes made its first store of version 2, it swept everything beside it into `legacy-<stamp>/`,
//! resume records of sessions included, and deleted the archive a week later. Here the records move back to
//! where they were before an archive goes.

use std::ffi::CString;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use herma_fs::Dir;

use super::Engine;
use super::cleaning_apply::in_words;
use crate::error::Error;
use crate::id::ProjectId;
use crate::store::base;
use crate::store::base::Found;
use crate::store::layout;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreV2Project {
    /// The repository.
    pub path: PathBuf,
    /// Its project.
    pub project: ProjectId,
    /// The directory it says it belongs to.
    pub workdir: Option<PathBuf>,
    /// Is that directory there?
    pub exists: bool,
}

/// What came of removing all archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearedLegacy {
    /// The bytes of the files that were removed.
    pub bytes_freed: u64,
    /// How many archives are gone.
    pub deleted: usize,
    /// The resume records that were moved back beside the store.
    pub moved_back: Vec<OsString>,
    /// Archives that stay, because they hold a resume record whose name is taken beside the store.
    pub kept: Vec<OsString>,
    /// Archives that could not be removed, and why; `tmp-…` is what an earlier removal left.
    pub failed: Vec<(OsString, String)>,
}

/// What came of removing one archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedLegacy {
    /// The bytes of the files that were removed.
    pub bytes_freed: u64,
    /// Is the archive gone?
    pub deleted: bool,
    /// The resume records that were moved back beside the store.
    pub moved_back: Vec<OsString>,
    /// The resume records that stay in the archive, because their names are taken beside the store.
    pub kept: Vec<OsString>,
}

impl Engine {
    /// The archives beside the store.
    pub fn legacy(&self) -> Result<Vec<LegacyArchive>, Error> {
        let Some((_, dir)) = layout::open_base(&self.base())? else {
            return Ok(Vec::new());
        };
        let mut archives = Vec::new();
        for entry in dir.entries()? {
            if base::classify(&dir, &entry)? == Found::Archive {
                archives.push(describe(&dir, &entry.name)?);
            }
        }
        Ok(archives)
    }

    /// The archives in which nothing was changed since `cutoff`, in seconds since 1970.
    pub fn stale_legacy(&self, cutoff: f64) -> Result<Vec<LegacyArchive>, Error> {
        let mut archives = self.legacy()?;
        archives.retain(|archive| archive.mtime < cutoff);
        Ok(archives)
    }

    /// Removes one archive; resume records in it move back beside the store.
    pub fn remove_legacy(&self, name: &OsStr) -> Result<RemovedLegacy, Error> {
        let is_archive =
            name.as_bytes().starts_with(b"legacy-") && !name.as_bytes().contains(&b'/');
        let found = layout::open_base(&self.base())?;
        let (true, Some((_, dir)), Ok(name)) = (is_archive, found, CString::new(name.as_bytes()))
        else {
            let spec = name.to_string_lossy().into_owned();
            return Err(Error::NoSuchArchive { name: spec });
        };
        let emptied = base::remove_archive(&dir, &name)?;
        Ok(RemovedLegacy {
            bytes_freed: emptied.bytes,
            deleted: emptied.is_gone,
            moved_back: emptied.moved_back,
            kept: emptied.kept,
        })
    }

    /// Removes all archives; resume records in them move back beside the store. One that cannot be removed
    /// does not keep the others.
    pub fn clear_legacy(&self) -> Result<ClearedLegacy, Error> {
        let mut cleared = ClearedLegacy::default();
        let Some((_, dir)) = layout::open_base(&self.base())? else {
            return Ok(cleared);
        };
        match base::finish_leaving(&dir) {
            Ok(bytes) => cleared.bytes_freed += bytes,
            Err(error) => cleared
                .failed
                .push(("tmp-…".into(), in_words(&error.into()))),
        }
        for entry in dir.entries()? {
            if base::classify(&dir, &entry)? != Found::Archive {
                continue;
            }
            let name = base::os_name(&entry.name);
            let emptied = match base::remove_archive(&dir, &entry.name) {
                Ok(emptied) => emptied,
                Err(error) => {
                    cleared.failed.push((name, in_words(&error.into())));
                    continue;
                }
            };
            cleared.bytes_freed += emptied.bytes;
            cleared.moved_back.extend(emptied.moved_back);
            if emptied.is_gone {
                cleared.deleted += 1;
            } else {
                cleared.kept.push(name);
            }
        }
        Ok(cleared)
    }

    /// Repositories of version 1 that stand beside the store: an old Hermes still works there.
    pub fn pre_v2_projects(&self) -> Result<Vec<PreV2Project>, Error> {
        let Some((_, dir)) = layout::open_base(&self.base())? else {
            return Ok(Vec::new());
        };
        let mut projects = Vec::new();
        for entry in dir.entries()? {
            if let Found::Repository(project) = base::classify(&dir, &entry)? {
                let repository = dir.open_dir(entry.name.as_c_str())?;
                let workdir = base::workdir_of(&repository);
                projects.push(PreV2Project {
                    path: repository.path().to_owned(),
                    project,
                    exists: workdir.as_ref().is_some_and(|path| Dir::open(path).is_ok()),
                    workdir,
                });
            }
        }
        Ok(projects)
    }

    /// Removes a repository of version 1 that stands beside the store; returns its bytes.
    pub fn remove_pre_v2(&self, project: &ProjectId) -> Result<u64, Error> {
        let missing = || Error::NoSuchArchive {
            name: project.to_string(),
        };
        let (_, dir) = layout::open_base(&self.base())?.ok_or_else(missing)?;
        let name = CString::new(project.as_str()).map_err(|_| missing())?;
        if !layout::is_repository(&dir, &name)? {
            return Err(missing());
        }
        Ok(base::discard(&dir, &dir, &name)?)
    }
}

fn describe(base_dir: &Dir, name: &CString) -> Result<LegacyArchive, Error> {
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
