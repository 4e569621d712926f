//! The engine: where the store is, how it behaves, and what concerns all projects.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use herma_core::cleanup::{CleanRequest, Limits, Orphans};
use herma_core::engine::KnownProject;
use herma_core::types::settings::{AskedLimits, Keeping};
use herma_core::{EngineOptions, ProjectId, Settings, VerifyOptions};
use herma_fs::publish::Durability;
use herma_worktree::rules::{ExcludeSettings, SecretRules};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::answers::status::{Archive, Cleaned, OldRepository, Status};
use crate::arguments::{Patterns, Words, is_text, items, whole};
use crate::clock::SystemClock;
use crate::config;
use crate::errors::BadRequest;
use crate::paths::{Place, shown};
use crate::progress::{Listener, finishing, quietly, with_progress};
use crate::project::Project;

/// Where checkpoints are kept, and how.
#[pyclass(frozen, subclass, module = "herma")]
pub(crate) struct Engine {
    inner: Arc<herma_core::Engine>,
    home: PathBuf,
    background: bool,
}

/// `True`, `False`, or a word for something in between.
#[derive(FromPyObject)]
enum LookForSecrets {
    Switch(bool),
    Word(String),
}

impl LookForSecrets {
    fn rules(&self) -> PyResult<SecretRules> {
        match self {
            Self::Switch(true) => Ok(SecretRules::NamesAndContent),
            Self::Switch(false) => Ok(SecretRules::Off),
            Self::Word(word) if word == "names" => Ok(SecretRules::Names),
            Self::Word(_) => Err(BadRequest::new_err("secrets is True, False or \"names\"")),
        }
    }
}

fn seconds(lock_wait: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(lock_wait)
        .map_err(|_| BadRequest::new_err("lock_wait is a number of seconds, 0 or more"))
}

/// How many threads look at files: more than a disk has any use for are not started.
struct Threads(usize);

const MAX_THREADS: u64 = 64;

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match whole(object, "threads")? {
            None | Some(0) => {
                Err(BadRequest::new_err("threads is 1 or more; leave it out for one for each core"))
            }
            Some(number) => Ok(Self(number.min(MAX_THREADS) as usize)),
        }
    }
}

/// Its home, and the engine with these settings. What is not said is asked for: the environment is Python's.
fn open(
    py: Python<'_>,
    home: Option<Place>,
    user_home: Option<Place>,
    base: Option<Place>,
    mut settings: Settings,
) -> PyResult<(PathBuf, herma_core::Engine)> {
    let asked = || py.import("herma._home");
    let home: Place = match home {
        Some(home) => home,
        None => asked()?.call_method0("default_home")?.extract()?,
    };
    let user_home: Option<Place> = match user_home {
        Some(user_home) => Some(user_home),
        None => asked()?.call_method0("user_home")?.extract()?,
    };
    let home = home.absolute("home")?;
    let user_home = user_home.map(|path| path.absolute("user_home"));
    config::read(&home, &mut settings.keeping);
    let engine = herma_core::Engine::new(EngineOptions {
        home: home.clone(),
        user_home: user_home.transpose()?,
        clock: Arc::new(SystemClock),
        settings,
    });
    let engine = match base {
        Some(base) => engine.with_base(base.absolute("base")?),
        None => engine,
    };
    Ok((home, engine))
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(
        signature = (
            home=None, *, user_home=None, base=None, max_file_size=Some(10 << 20), max_snapshots=None,
            max_total_size=None, min_free_disk=0, retention_days=30, auto_prune=true,
            min_interval_hours=24, delete_orphans=true, exclude=Patterns::default(), include=Patterns::default(),
            secrets=LookForSecrets::Switch(true), lock_wait=10.0, durable=true, threads=None, number_moves=true,
            background=true
        ),
        text_signature = "(home=None, *, user_home=None, base=None, max_file_size=10485760, max_snapshots=None, max_total_size=None, min_free_disk=0, retention_days=30, auto_prune=True, min_interval_hours=24, delete_orphans=True, exclude=(), include=(), secrets=True, lock_wait=10.0, durable=True, threads=None, number_moves=True, background=True)"
    )]
    #[expect(clippy::fn_params_excessive_bools, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        home: Option<Place>,
        user_home: Option<Place>,
        base: Option<Place>,
        max_file_size: Option<u64>,
        max_snapshots: Option<usize>,
        max_total_size: Option<u64>,
        min_free_disk: u64,
        retention_days: u32,
        auto_prune: bool,
        min_interval_hours: u32,
        delete_orphans: bool,
        exclude: Patterns,
        include: Patterns,
        secrets: LookForSecrets,
        lock_wait: f64,
        durable: bool,
        threads: Option<Threads>,
        number_moves: bool,
        background: bool,
    ) -> PyResult<Self> {
        let keeping = Keeping {
            min_free_disk,
            retention_days,
            auto_prune,
            min_interval_hours,
            delete_orphans,
            ..Keeping::default()
        };
        let asked = AskedLimits { max_snapshots, max_total_size };
        let excludes = ExcludeSettings {
            exclude: exclude.0,
            include: include.0,
            secrets: secrets.rules()?,
            ..ExcludeSettings::default()
        };
        let settings = Settings {
            max_file_size,
            excludes,
            lock_wait: seconds(lock_wait)?,
            durability: if durable { Durability::Synced } else { Durability::Ordered },
            threads: threads.map_or(0, |threads| threads.0),
            number_moves,
            keeping,
            asked,
            ..Settings::default()
        };
        let (home, inner) = open(py, home, user_home, base, settings)?;
        Ok(Self { home, inner: Arc::new(inner), background })
    }

    /// The most threads that look at files at a time; `None` is one for each core.
    #[getter]
    fn threads(&self) -> Option<usize> {
        Some(self.inner.settings().threads).filter(|threads| *threads > 0)
    }

    /// Herma's home.
    #[getter]
    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    /// Where the store is, or will be.
    #[getter]
    fn store(&self) -> PathBuf {
        self.inner.store_dir()
    }

    /// Is there a store?
    fn has_store(&self, py: Python<'_>) -> PyResult<bool> {
        quietly(py, || self.inner.has_store())
    }

    /// Makes the store, if there is none. A save does this too.
    fn create_store(&self, py: Python<'_>) -> PyResult<()> {
        quietly(py, || self.inner.create_store())
    }

    /// The project at exactly this directory.
    fn project(&self, py: Python<'_>, root: Place) -> PyResult<Project> {
        let root = root.checked("root")?;
        quietly(py, || Project::open(&self.inner, &root, self.background))
    }

    /// The project a file or directory belongs to.
    fn project_of(&self, py: Python<'_>, path: Place) -> PyResult<Project> {
        let path = path.checked("path")?;
        quietly(py, || {
            let root = self.inner.find_root(&path)?;
            Project::open(&self.inner, &root, self.background)
        })
    }

    /// The projects the store knows: their directory if it is known, and how many checkpoints they have.
    fn projects(&self, py: Python<'_>) -> PyResult<Vec<(Option<PathBuf>, usize)>> {
        let known = quietly(py, || self.inner.projects())?;
        let pair = |known: KnownProject| (known.workdir, known.checkpoints);
        Ok(known.into_iter().map(pair).collect())
    }

    /// The state of the store.
    #[pyo3(signature = (*, progress=None))]
    fn status(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Status> {
        let status = with_progress(py, progress, |listener| self.inner.status(false, listener))?;
        Ok(status.into())
    }

    /// Drops what the limits require, and frees its room. Without limits, only what is dead is collected.
    ///
    /// `max_snapshots` is for the project with the id `project`; without one it is for all projects, except
    /// that one for which more was asked keeps more. `orphans` says what happens to projects that were
    /// deleted: `True` they go, `False` they stay, or a collection of project ids that may go.
    #[pyo3(
        signature = (
            *, max_snapshots=0, retention_days=0, max_total_size=0, orphans=OrphanChoice::All(false),
            project=None, progress=None
        ),
        text_signature = "($self, *, max_snapshots=0, retention_days=0, max_total_size=0, orphans=False, project=None, progress=None)"
    )]
    fn clean(
        &self,
        py: Python<'_>,
        max_snapshots: usize,
        retention_days: u32,
        max_total_size: u64,
        orphans: OrphanChoice,
        project: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Cleaned> {
        let request = CleanRequest {
            limits: Limits {
                max_snapshots: Some(max_snapshots),
                project: project.map(project_id).transpose()?,
                retention_days: Some(retention_days),
                max_total_bytes: Some(max_total_size),
                orphans: orphans.into_core()?,
                ..Limits::default()
            },
            attended: true,
            clock_is_right: false,
        };
        let cleaned =
            finishing(py, progress, "cleaning", |listener| self.inner.clean(&request, listener))?;
        Ok(cleaned.into())
    }

    /// Cleans up as the settings say, unless somebody else is at it; returns what it did, or `None`.
    #[pyo3(signature = (*, progress=None))]
    fn maintain(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Option<Cleaned>> {
        let work = |listener: &Listener| self.inner.maintain(listener);
        let cleaned = finishing(py, progress, "cleaning", work)?;
        Ok(cleaned.map(Cleaned::from))
    }

    /// Checks every saved object; returns what is wrong, in words. Nothing is changed.
    #[pyo3(signature = (*, progress=None))]
    fn verify(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Vec<String>> {
        let options = VerifyOptions::default();
        let verified =
            with_progress(py, progress, |listener| self.inner.verify(&options, listener))?;
        let damaged = verified.damaged.iter().map(|finding| {
            let (id, what) = (finding.id.to_hex(), &finding.what);
            format!("checkpoint {id}: {what}")
        });
        let refs = verified.refs.iter();
        let records = verified.metadata.iter();
        let packs = verified.packs.iter();
        Ok(damaged
            .chain(refs.map(|broken| format!("{}: {}", broken.name, broken.what)))
            .chain(records.map(|record| format!("{}: {}", record.file, record.what)))
            .chain(packs.map(|pack| format!("{pack:?}")))
            .collect())
    }

    /// Archives of repositories that an older Hermes made.
    fn archives(&self, py: Python<'_>) -> PyResult<Vec<Archive>> {
        let found = quietly(py, || self.inner.legacy())?;
        Ok(found.into_iter().map(Archive::from).collect())
    }

    /// Removes one archive; returns the bytes that are free.
    fn remove_archive(&self, py: Python<'_>, name: std::ffi::OsString) -> PyResult<u64> {
        let removed = quietly(py, || self.inner.remove_legacy(&name))?;
        Ok(removed.bytes_freed)
    }

    /// Repositories that an older Hermes made, and that are not in an archive.
    fn old_repositories(&self, py: Python<'_>) -> PyResult<Vec<OldRepository>> {
        let found = quietly(py, || self.inner.pre_v2_projects())?;
        Ok(found.into_iter().map(OldRepository::from).collect())
    }

    /// Removes one of them; returns the bytes that are free.
    fn remove_old_repository(&self, py: Python<'_>, project: &str) -> PyResult<u64> {
        let id = project_id(project)?;
        quietly(py, || self.inner.remove_pre_v2(&id))
    }

    /// Removes the store with all checkpoints, and what older versions left; returns the bytes that are
    /// free, and whether there was anything. Resume records stay.
    fn clear_all(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        let cleared = quietly(py, || self.inner.clear(None))?;
        Ok((cleared.bytes_freed, cleared.deleted))
    }

    /// Removes all archives; returns the bytes that are free, and how many archives there were.
    fn clear_legacy(&self, py: Python<'_>) -> PyResult<(u64, usize)> {
        let cleared = quietly(py, || self.inner.clear_legacy())?;
        Ok((cleared.bytes_freed, cleared.deleted))
    }

    fn __repr__(&self) -> String {
        format!("<Engine {}>", shown(&self.inner.store_dir()))
    }
}

fn project_id(text: &str) -> PyResult<ProjectId> {
    ProjectId::parse(text.as_bytes())
        .ok_or_else(|| BadRequest::new_err("a project's id has 16 hexadecimal digits"))
}

/// What happens to projects that were deleted.
enum OrphanChoice {
    All(bool),
    These(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for OrphanChoice {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(all) = object.cast::<PyBool>() {
            return Ok(Self::All(all.is_true()));
        }
        if is_text(object) {
            let text = "`orphans` is True, False or several ids of projects, not one text";
            return Err(PyTypeError::new_err(text));
        }
        let id = |item: Bound<'py, PyAny>| Ok(item.extract::<Words>()?.0);
        Ok(Self::These(items(object, "orphans", id)?))
    }
}

impl OrphanChoice {
    fn into_core(self) -> PyResult<Orphans> {
        Ok(match self {
            Self::All(true) => Orphans::All,
            Self::All(false) => Orphans::Keep,
            Self::These(ids) => {
                let ids: PyResult<BTreeSet<ProjectId>> =
                    ids.iter().map(|id| project_id(id)).collect();
                Orphans::These(ids?)
            }
        })
    }
}
