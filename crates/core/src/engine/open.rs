//! Opening the store for one operation.

use crate::engine::Project;
use crate::engine::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};
use herma_records::checkpoint::address::Spec;
use herma_records::checkpoint::{Checkpoint, DamagedCheckpoint, Listed};
use herma_records::clock::Timestamp;
use herma_records::identity::Identity;
use herma_records::purge::{PurgeRecord, read_rewritten};
use herma_store::error::StoreError;
use herma_store::layout::StoreDirs;
use herma_store::lock::Guard;
use herma_store::objects::Objects;
use herma_store::refs::scheme::mirror_ref;
use herma_store::{ObjectId, ProjectId, layout};
use herma_worktree::stat_cache::StatCache;

use super::Engine;
use crate::directory::Place;
use crate::engine::history::{History, text_of};
use crate::engine::lock::lock_project;
use crate::error::{Error, Result};

/// How often the store is opened again because it is cleared meanwhile.
const ATTEMPTS: usize = 4;

/// The store, opened and held against collection for as long as this lives.
pub(crate) struct OpenStore {
    pub(crate) dirs: StoreDirs,
    pub(crate) objects: Objects,
    shared: Guard,
}

impl OpenStore {
    /// Where files are made before they get their names.
    pub(crate) fn tmp(&self) -> Result<&Dir> {
        Ok(&self.dirs.for_writing()?.tmp)
    }

    /// The bytes of `projects/<id>.json`, if there is one. No record is large; anything larger is something else.
    pub(crate) fn read_record(&self, id: &ProjectId) -> herma_fs::Result<Option<Vec<u8>>> {
        match self.dirs.store().open_dir("projects") {
            Ok(projects) => projects.read_opt(format!("{id}.json").as_str(), 1 << 20),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// What `projects/<id>.json` says. One that cannot be read knows nothing: it must never cost a checkpoint, nor stop a
    /// cleaning. What can be saved of it is: it may be about to be written again.
    pub(crate) fn identity(&self, id: &ProjectId) -> Identity {
        let bytes = self.read_record(id).ok().flatten();
        bytes.map(|bytes| Identity::salvage(&bytes, id)).unwrap_or_default()
    }

    /// Writes `projects/<id>.json`. The caller holds the project's lock.
    pub(crate) fn write_identity(
        &self,
        id: &ProjectId,
        identity: &Identity,
        durability: Durability,
    ) -> Result<()> {
        let projects = self.dirs.store().ensure_dir("projects", 0o700)?;
        let (file, text) = (format!("{id}.json"), identity.render());
        Ok(write_file(self.tmp()?, &projects, &file, text.as_bytes(), durability)?)
    }

    /// What a purge is about to do to a project, or was.
    pub(crate) fn purge_of(&self, id: &ProjectId) -> Result<Option<PurgeRecord>> {
        own_state(self, id)?.map_or(Ok(None), |state| Ok(PurgeRecord::read(&state)?))
    }

    /// Which ids of a project's checkpoints became which.
    pub(crate) fn rewritten(&self, id: &ProjectId) -> Result<BTreeMap<ObjectId, ObjectId>> {
        own_state(self, id)?.map_or(Ok(BTreeMap::new()), |state| Ok(read_rewritten(&state)?))
    }

    /// Has this directory, given by its canonical path, checkpoints?
    pub(crate) fn knows(&self, directory: &Path) -> bool {
        let (id, refs) = (ProjectId::of(directory), self.dirs.refs());
        refs.any(&format!("refs/herma/{id}")).unwrap_or(false)
            || refs.read(&mirror_ref(&id)).is_ok_and(|found| found.is_some())
    }

    /// How long a collection kept it from being opened.
    pub(crate) fn waited(&self) -> Duration {
        self.shared.waited()
    }

    /// Is this the store that goes by its name now? Not if it was cleared while its lock was waited for.
    fn is_current(&self) -> Result<bool> {
        let named = self.dirs.base().stat_opt("store")?;
        let held = self.dirs.store().stat_self()?;
        Ok(named.is_some_and(|named| (named.dev, named.ino) == (held.dev, held.ino)))
    }
}

impl Engine {
    /// Is there a store, of any state?
    pub fn has_store(&self) -> Result<bool> {
        Ok(self.open_for_reading()?.is_some())
    }

    /// Makes the store, if there is none. A save does this too.
    pub fn create_store(&self) -> Result<()> {
        self.open_for_writing().map(drop)
    }

    /// Opens the store without writing to it; `None` if there is none.
    pub(crate) fn open_for_reading(&self) -> Result<Option<OpenStore>> {
        self.hold_current(|| layout::open(&self.base()))
    }

    /// Opens the store for writing, making it if need be.
    pub(crate) fn open_for_writing(&self) -> Result<OpenStore> {
        let stamp = stamp(&self.options.clock.now());
        let store = self.hold_current(|| layout::create_or_open(&self.base(), &stamp).map(Some));
        let store = store.map_err(|error| self.for_want_of_home(error))?;
        store.ok_or_else(|| Error::NoStore(self.store_dir()))
    }

    /// A store that could not be made is not lost: perhaps there is no place for it.
    fn for_want_of_home(&self, error: Error) -> Error {
        let path = self.base().parent().map_or_else(PathBuf::new, Path::to_owned);
        match Dir::ensure_path(&path) {
            Err(source) => Error::HomeNotMade { path, source },
            Ok(_) => error,
        }
    }

    /// Opens the store and takes its lock, again if it was cleared in between.
    fn hold_current(
        &self,
        open: impl Fn() -> Result<Option<StoreDirs>, StoreError>,
    ) -> Result<Option<OpenStore>> {
        for _ in 0..ATTEMPTS {
            let held = match open() {
                Ok(None) => return Ok(None),
                Ok(Some(dirs)) => self.hold(dirs),
                Err(e) => Err(e.into()),
            };
            match held {
                Ok(store) if store.is_current()? => return Ok(Some(store)),
                Ok(_) => {}
                Err(Error::Store(StoreError::Fs(e))) if e.is_not_found() => {}
                Err(e) => return Err(e),
            }
        }
        match open()
            .map_err(Error::from)
            .and_then(|dirs| dirs.map(|dirs| self.hold(dirs)).transpose())
        {
            // It is not that somebody cleared the store: a part of it is not there.
            Err(Error::Store(StoreError::Fs(e))) if e.is_not_found() => {
                Err(Error::Store(StoreError::DamagedFile {
                    file: e.path.display().to_string(),
                    what: "it is missing".to_owned(),
                }))
            }
            opened => opened,
        }
    }

    fn hold(&self, dirs: StoreDirs) -> Result<OpenStore> {
        let shared = dirs.lock_shared(self.options.settings.lock_wait)?;
        let objects = Objects::open(dirs.objects().try_clone()?);
        Ok(OpenStore { dirs, objects, shared })
    }
}

/// The local time as `YYYYmmdd-HHMMSS`, for naming the archive of legacy repositories.
pub(crate) fn stamp(now: &Timestamp) -> String {
    let local = now.seconds + i64::from(now.offset_minutes) * 60;
    let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    // Days to a civil date, counting years from March so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{:02}", second % 60)
}

/// Seconds after which a visit that changed nothing is noted again.
const VISITS_APART: f64 = 60.0;

impl Operation<'_> {
    /// This project's own state in the store.
    pub(crate) fn state_dir(&self) -> Result<Dir> {
        let herma = self.store.dirs.for_writing()?;
        Ok(herma.projects.ensure_dir(self.id.as_str(), 0o700)?)
    }

    /// Keeps `projects/<id>.json`, which Hermes reads, in step. Returns whether the project is on a file system it was not on before.
    pub(crate) fn touch(&self, durability: Durability) -> Result<bool> {
        let old = self.store.identity(&self.id);
        let new = self.touched(&old);
        // An older record would do.
        let is_known = old.last_touch().is_some();
        let durability = if is_known { Durability::Ordered } else { durability };
        self.store.write_identity(&self.id, &new, durability)?;
        Ok(old.places().own_dev != new.places().own_dev)
    }

    /// Notes a visit that changed nothing, unless the record says the same already but for some seconds. A file
    /// that is renamed without being synced may be empty after a power cut, and syncing costs more than the
    /// whole visit.
    pub(crate) fn touch_now_and_then(&self) -> Result<()> {
        let mut old = self.store.identity(&self.id);
        let new = self.touched(&old);
        // The time that is in the new record: a clock that is asked again says another one.
        let times = old.last_touch().zip(new.last_touch());
        if let Some((_, now)) = times.filter(|(last, now)| (now - last).abs() < VISITS_APART) {
            old.set_last_touch(now);
            if old.render() == new.render() {
                return Ok(());
            }
        }
        self.store.write_identity(&self.id, &new, self.settings().durability)
    }

    /// Writes the stat cache. It is only a cache: failing to write it costs time, nothing else.
    pub(crate) fn write_cache(&self, cache: Arc<StatCache>, describes: ObjectId, stored: Stored) {
        let Some(mut cache) = Arc::into_inner(cache) else { return };
        if stored == Stored::All {
            cache.all_stored();
        }
        let written = self.state_dir().and_then(|state| {
            let tmp = self.store.tmp()?;
            Ok(cache.write(tmp, &state, describes)?)
        });
        drop(written);
    }

    /// The stat cache of the last save, if the checkpoint it describes is alive.
    pub(crate) fn load_cache(&self, history: &History) -> Option<Arc<StatCache>> {
        believed(&self.store, history, self.read_cache()?)
    }

    /// The stat cache of the last save, whatever it describes.
    pub(crate) fn read_cache(&self) -> Option<StatCache> {
        StatCache::read(&own_state(&self.store, &self.id).ok()??)
    }

    /// Is there a stat cache that takes its time to read?
    pub(crate) fn has_large_cache(&self) -> bool {
        let state = own_state(&self.store, &self.id);
        state.is_ok_and(|state| state.is_some_and(|state| StatCache::is_large(&state)))
    }

    pub(crate) fn timeline(&self) -> Result<Vec<Checkpoint>> {
        self.finish_purge()?;
        let history = self.load_history()?;
        history.readable(&self.store)
    }

    pub(crate) fn list_newest(&self, most: usize) -> Result<Listed> {
        self.finish_purge()?;
        let history = self.load_history()?;
        history.newest_ones(most, &self.store)
    }

    pub(crate) fn damaged(&self) -> Result<Vec<DamagedCheckpoint>> {
        let history = self.load_history()?;
        history.damaged(&self.store)
    }

    pub(crate) fn find(&self, spec: &Spec) -> Result<Checkpoint> {
        let found = self.find_own(spec)?;
        Ok(Checkpoint { line: self.line.clone(), ..found })
    }

    fn find_own(&self, spec: &Spec) -> Result<Checkpoint> {
        if let Spec::OnLine(of, line) = spec {
            return Err(Error::RowOfLine { spec: text_of(of), line: line.clone() });
        }
        self.finish_purge()?;
        let history = self.load_history()?;
        if history.entries.is_empty() {
            return Err(Error::NoCheckpoints { root: self.root.clone() });
        }
        if let Spec::Before(number) = *spec {
            history.find(&Spec::Number(number), &self.store, self.clock().now())?;
            return self.before(number)?.ok_or(Error::NothingBefore { number });
        }
        match history.find(spec, &self.store, self.clock().now()) {
            Err(e @ Error::NotFound { .. }) => Err(self.rewritten_as(spec).unwrap_or(e)),
            Err(e @ Error::NoSuchNumber { number, .. }) => {
                let held = self.state_of_numbered(number)?;
                let held = held.and_then(|id| history.entries.iter().position(|at| at.id == id));
                history.checkpoint(held.ok_or(e)?, &self.store)
            }
            found => history.checkpoint(found?, &self.store),
        }
    }

    /// Finishes a purge that was interrupted before ids are told, which it is about to change. Where that
    /// cannot be done now, what there is can be read all the same.
    pub(crate) fn finish_purge(&self) -> Result<()> {
        if self.store.purge_of(&self.id)?.is_some()
            && let Ok(store) = self.engine.open_for_writing()
        {
            drop(lock_project(&store.dirs, &self.id, Duration::ZERO));
        }
        Ok(())
    }

    /// A checkpoint that was found earlier, as it is now: something may have been purged from it since.
    pub(crate) fn as_it_is(
        &self,
        history: &History,
        checkpoint: &Checkpoint,
    ) -> Result<Checkpoint> {
        if checkpoint.line.is_none() && history.contains(&checkpoint.id) {
            return Ok(checkpoint.clone());
        }
        let rewritten = self.store.rewritten(&self.id)?;
        let now = rewritten.get(&checkpoint.id);
        let index = now.and_then(|now| history.entries.iter().position(|e| e.id == *now));
        if let Some(index) = index {
            return history.checkpoint(index, &self.store);
        }
        let on_line =
            checkpoint.line.as_ref().map(|_| self.on_lines(&checkpoint.id)).transpose()?;
        on_line.flatten().ok_or_else(|| Error::NotFound { spec: checkpoint.id.to_hex() })
    }

    /// What to say of an id that a checkpoint had before something was purged from it.
    fn rewritten_as(&self, spec: &Spec) -> Option<Error> {
        let Spec::Id(prefix) = spec else { return None };
        let all = self.store.rewritten(&self.id).ok()?;
        let mut fitting = all.iter().filter(|(old, _)| old.to_hex().starts_with(prefix));
        let (old, new) = fitting.next()?;
        let (old, new) = (*old, *new);
        fitting.next().is_none().then_some(Error::Rewritten { old, new })
    }
}

impl Project {
    /// Opens the project directory.
    pub(crate) fn open_root(&self) -> Result<Dir> {
        Dir::open_nofollow(&self.root).map_err(|e| {
            let root = self.root.clone();
            if e.is_not_found() { Error::RootGone { root } } else { e.into() }
        })
    }

    /// Takes this project's lock: one save or restore at a time.
    pub(crate) fn lock(&self, dirs: &StoreDirs) -> Result<Guard> {
        lock_project(dirs, &self.id, self.settings().lock_wait)
    }

    /// Why no restore could work here, in words. Whatever a file system lacks a restore can do without, but for writing; to see
    /// that nothing has to be written.
    pub(crate) fn unrestorable(&self) -> Option<String> {
        let root = self.open_root().ok()?;
        let why = if root.is_read_only().ok()? {
            "its file system is read-only"
        } else if !root.may_write().ok()? {
            "its directory may not be written to"
        } else {
            return None;
        };
        Some(format!("nothing can be restored in this project: {why}"))
    }

    /// The record of a project that was just saved.
    fn touched(&self, old: &Identity) -> Identity {
        let mut identity = old.clone();
        // What cannot be looked at is not recorded: that only makes it harder to prove a deletion.
        let look = |path| Dir::open(path).and_then(|dir| Place::of(&dir)).ok();
        let parent = self.root.parent().and_then(look);
        identity.touch(&self.root, self.clock().now().as_float(), parent);
        if let Some(own) = look(&self.root) {
            identity.note_own(&own);
        }
        identity.ask(&self.settings().asked);
        identity
    }
}

/// A stat cache, if the checkpoint it describes is alive.
pub(crate) fn believed(
    store: &OpenStore,
    history: &History,
    cache: StatCache,
) -> Option<Arc<StatCache>> {
    let alive = cache
        .header()
        .checkpoint
        .is_some_and(|id| history.contains(&id) && store.objects.contains(&id).unwrap_or(false));
    alive.then(|| Arc::new(cache))
}

/// A project's own state, if there is any.
pub(crate) fn own_state(store: &OpenStore, project: &ProjectId) -> Result<Option<Dir>> {
    own_state_in(&store.dirs, project)
}

/// The same in a store that nobody holds.
pub(crate) fn own_state_in(dirs: &StoreDirs, project: &ProjectId) -> Result<Option<Dir>> {
    let Some(herma) = dirs.herma() else { return Ok(None) };
    match herma.projects.open_dir(project.as_str()) {
        Ok(dir) => Ok(Some(dir)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The ids of all projects that have refs, readable or not, or a record.
pub(crate) fn project_ids(store: &OpenStore) -> Result<BTreeSet<ProjectId>> {
    let mut ids = BTreeSet::new();
    for prefix in ["refs/herma/", "refs/hermes/"] {
        ids.extend(ids_below(&store.dirs, prefix)?);
    }
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        for entry in dir.entries()? {
            let stem = entry.name.to_bytes().strip_suffix(b".json");
            ids.extend(stem.and_then(ProjectId::parse));
        }
    }
    Ok(ids)
}

/// The ids of the projects that have refs below `prefix`, readable or not.
pub(crate) fn ids_below(dirs: &StoreDirs, prefix: &str) -> Result<BTreeSet<ProjectId>> {
    let found = dirs.refs().next_components(prefix.trim_end_matches('/'))?;
    Ok(found.iter().filter_map(|name| ProjectId::parse(name)).collect())
}

/// Which of the objects a stat cache names are in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// All of them.
    All,
    /// Trees, blobs and modes; lists of what was left out may be missing.
    TreesOnly,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_is_the_local_date_and_time() {
        let at = |seconds, offset_minutes| stamp(&Timestamp { seconds, nanos: 0, offset_minutes });
        assert_eq!(at(0, 0), "19700101-000000");
        assert_eq!(at(951_782_399, 60), "20000229-005959");
        assert_eq!(at(1_794_702_913, -300), "20261114-193513");
        assert_eq!(at(-1, 0), "19691231-235959");
    }
}
