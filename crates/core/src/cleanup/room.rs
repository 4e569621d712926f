//! Making room: what nothing needs any more is collected, and packs are merged.
//!
//! How much is done depends on who asks and on how near a limit is; what the collection itself does, and in which
//! order, is its own story ([`herma_store::gc`]).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use herma_store::gc::{CollectOptions, CollectStage, Collected, Thoroughness, trash};
use herma_store::layout::StoreDirs;
use herma_store::lock::Guard;
use herma_store::{gc, layout};

use super::bytes::is_near;
use super::plan::Limits;
use super::{CleanRequest, Cleaned};
use crate::cleanup::doomed;
use crate::engine::{Engine, Progress, Stage};
use crate::error::{ErrorKind, Result};

/// A merged pack takes no more than this share of what the store may have.
const PACKS_PER_STORE: u64 = 20;

/// However little the store may have, a merged pack may have so much.
const MIN_PACK_BYTES: u64 = 256 << 10;

/// What must not be readable any more goes, and nothing else that takes long.
pub(crate) fn purging(litter_at_once: bool) -> CollectOptions {
    CollectOptions {
        thoroughness: Thoroughness::Quick,
        at_once: true,
        litter_at_once,
        ..CollectOptions::default()
    }
}

/// A limit is exceeded: what is damaged must not make the store grow without end.
pub(super) fn urgent(thoroughness: Thoroughness) -> CollectOptions {
    CollectOptions {
        thoroughness,
        at_once: true,
        despite_damage: true,
        ..CollectOptions::default()
    }
}

impl Engine {
    /// Frees what nothing refers to any more. What is freed waits in the trash for an hour, unless it is emptied too.
    pub fn collect(
        &self,
        thoroughness: Thoroughness,
        empty_trash: bool,
        progress: &dyn Progress,
    ) -> Result<Cleaned> {
        let mut cleaned = Cleaned::default();
        let Some(dirs) = self.open_for_cleaning()? else { return Ok(cleaned) };
        let _collector = self.lock_collector(&dirs, true)?;
        self.check_refs()?;
        cleaned.bytes_before = store_bytes(&dirs)?;
        dirs.use_reserve()?;
        let options = CollectOptions {
            thoroughness,
            at_once: empty_trash || self.is_tight(&dirs, None)?,
            litter_at_once: self.may_finish_purge(&dirs, progress)?,
            ..CollectOptions::default()
        };
        let collected = self.collect_locked(&dirs, options, progress)?;
        cleaned.note(collected);
        dirs.restore_reserve()?;
        cleaned.bytes_after = store_bytes(&dirs)?;
        cleaned.trash_bytes = trash::bytes(&dirs)?;
        Ok(cleaned)
    }

    /// Opens the store for writing if there is one.
    pub(crate) fn open_for_cleaning(&self) -> Result<Option<StoreDirs>> {
        if self.open_for_reading()?.is_none() {
            return Ok(None);
        }
        let stamp = crate::engine::open::stamp(&self.options.clock.now());
        Ok(Some(layout::create_or_open(&self.base(), &stamp)?))
    }

    pub(crate) fn lock_collector(&self, dirs: &StoreDirs, attended: bool) -> Result<Guard> {
        let wait = if attended {
            self.options.settings.lock_wait
        } else {
            // A save that asks whether somebody is at it holds the lock for an instant.
            Duration::from_millis(100)
        };
        Ok(dirs.lock_collect(wait)?)
    }

    /// Has the store so little room left that the trash cannot be kept for a while?
    fn is_tight(&self, dirs: &StoreDirs, limit: Option<u64>) -> Result<bool> {
        let limit = match limit {
            Some(limit) => limit,
            None => self.size_limit_of(dirs)?,
        };
        let bytes = store_bytes(dirs)?;
        Ok(limit > 0 && bytes > limit / 2 || dirs.store().free_bytes()? < bytes)
    }

    /// Frees the room of what was dropped. If a byte limit is near, what is dead goes first: that is quick, and
    /// makes room for the rest.
    pub(crate) fn free_room(
        &self,
        dirs: &StoreDirs,
        request: &CleanRequest,
        is_weighed: bool,
        progress: &dyn Progress,
        cleaned: &mut Cleaned,
    ) -> Result<()> {
        if is_weighed {
            let quick = urgent(Thoroughness::Quick);
            cleaned.note(self.collect_locked(dirs, quick, progress)?);
        }
        let options = if is_pressed(dirs, &request.limits, store_bytes(dirs)?)? {
            urgent(Thoroughness::Full)
        } else {
            CollectOptions {
                at_once: is_weighed || self.is_tight(dirs, request.limits.max_total_bytes)?,
                ..CollectOptions::default()
            }
        };
        let limit = request.limits.max_total_bytes.unwrap_or(0);
        let limit = if request.attended { 0 } else { limit };
        let (packs, state) = (PackFiles::of(dirs)?.packs, Mutex::new((Instant::now(), false)));
        let patient = Patient { progress, dirs, limit, packs, state };
        let collected = match self.collect_locked(dirs, options, &patient) {
            // Savers do not wait for it, so it makes way for the next round.
            Err(e) if e.kind() == ErrorKind::Cancelled && !progress.is_cancelled() => {
                self.collect_locked(dirs, urgent(Thoroughness::Quick), progress)?
            }
            collected => collected?,
        };
        cleaned.note(collected);
        Ok(())
    }

    pub(crate) fn collect_locked(
        &self,
        dirs: &StoreDirs,
        mut options: CollectOptions,
        progress: &dyn Progress,
    ) -> Result<Collected> {
        // ORDER: before anything is taken away that an interrupted purge is about to name.
        self.finish_purges(dirs)?;
        self.check_refs()?;
        options.threads = self.options.settings.threads;
        let limit = self.size_limit_of(dirs)?;
        if limit > 0 {
            let share = (limit / PACKS_PER_STORE).max(MIN_PACK_BYTES);
            options.max_pack = options.max_pack.min(share);
        }
        let report = |stage, done| {
            progress.stage(match stage {
                CollectStage::Marking => Stage::Marking,
                CollectStage::Merging => Stage::Merging,
                CollectStage::Removing => Stage::Removing,
            });
            progress.files(done, None);
            !progress.is_cancelled()
        };
        options.doomed = doomed::read(dirs)?;
        if !options.doomed.is_empty() {
            doomed::forget_indexes(dirs, &options.doomed)?;
        }
        let collected = gc::collect(dirs, &options, &report)?;
        if !options.doomed.is_empty() {
            doomed::write(dirs, &collected.doomed_left)?;
        }
        Ok(collected)
    }
}

/// On a full disk not even a checkpoint can be dropped, because git must be told where history ends. So the
/// stat caches go first, which cost nothing but the time of the next save.
pub(crate) fn make_room(dirs: &StoreDirs) -> Result<()> {
    let projects = &dirs.for_writing()?.projects;
    for entry in projects.entries()? {
        if let Ok(project) = projects.open_dir(entry.name.as_c_str()) {
            project.remove_if_there("stat-cache")?;
        }
    }
    Ok(())
}

/// The size of the store on disk, as Hermes counts it: all regular files.
pub(crate) fn store_bytes(dirs: &StoreDirs) -> Result<u64> {
    Ok(dirs.base().tree_bytes(c"store")?)
}

/// Is a byte limit so near that something has to be done?
pub(crate) fn is_pressed(dirs: &StoreDirs, limits: &Limits, bytes: u64) -> Result<bool> {
    let least = limits.min_free_bytes.unwrap_or(0);
    let is_near = is_near(bytes, limits.max_total_bytes.unwrap_or(0));
    Ok(is_near || least > 0 && dirs.store().free_bytes()? < least)
}

/// What is in the pack directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackFiles {
    /// The bytes of all files.
    pub(crate) bytes: u64,
    /// How many packs there are.
    pub(crate) packs: usize,
}

impl PackFiles {
    /// Looks at every file.
    pub(crate) fn of(dirs: &StoreDirs) -> Result<Self> {
        let dir = dirs.objects().open_dir("pack")?;
        let mut facts = Self::default();
        for entry in dir.entries()? {
            // Gone since the listing: then it takes no room either.
            if let Some(stat) = dir.stat_opt(entry.name.as_c_str())? {
                facts.bytes += stat.size;
            }
            facts.packs += usize::from(entry.name.to_bytes().ends_with(b".pack"));
        }
        Ok(facts)
    }
}

/// How often the store is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// So many packs more than there were are not the work's own: it writes one, and takes others away for it.
const OTHERS: usize = 4;

/// Passes progress on, and stops when what others save meanwhile brings the store near its limit.
struct Patient<'a> {
    progress: &'a dyn Progress,
    dirs: &'a StoreDirs,
    /// How many bytes the store may have; 0 is no limit.
    limit: u64,
    packs: usize,
    state: Mutex<(Instant, bool)>,
}

impl Patient<'_> {
    fn is_pressed(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.limit > 0 && !state.1 && state.0.elapsed() > INTERVAL {
            // What cannot be looked at is no reason to stop.
            let files = PackFiles::of(self.dirs).unwrap_or_default();
            let has_grown = files.packs > self.packs + OTHERS;
            *state = (Instant::now(), has_grown && is_near(files.bytes, self.limit));
        }
        state.1
    }
}

impl Progress for Patient<'_> {
    fn stage(&self, stage: Stage) {
        self.progress.stage(stage);
    }

    fn files(&self, done: u64, total: Option<u64>) {
        self.progress.files(done, total);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled() || self.is_pressed()
    }
}
