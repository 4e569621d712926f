//! Keeping the store within its limits without anybody asking.
//!
//! A save that finds a limit nearly reached says so; the caller starts a process in the background that
//! calls [`Engine::maintain`]. No save ever waits for it. It begins before a limit is reached and makes some
//! room, so that it is not needed at every save.
//!
//! What the last cleaning found and left is in `herma/cleaning`: so that the next one knows whether the clock
//! can be believed, and a save knows whether another one would change anything.

use herma_fs::Errno;
use herma_fs::publish::{Durability, write_file};
use herma_store::gc::trash;
use herma_store::layout::StoreDirs;
use herma_store::repair::set_aside::SetAside;
use serde::{Deserialize, Serialize};

use super::bytes::is_near;
use super::clear::count;
use super::clock::{MARKER_FILE, is_due, render_marker};
use super::execute::in_words;
use super::facts::last_run;
use super::plan::{Limits, Orphans, larger};
use super::room::{PackFiles, store_bytes};
use super::{CleanRequest, Cleaned};
use crate::engine::history::{Entry, History, Labels};
use crate::engine::open::{OpenStore, project_ids};
use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::types::asked::Due;
use crate::types::settings::Keeping;

/// So many packs are merged; git's own number.
const MANY_PACKS: usize = 50;

/// After a cleaning that left many packs, the next one waits for so many more.
const MORE_PACKS: usize = 25;

/// One of 256 directories of loose objects with so many entries says that there are thousands.
const MANY_LOOSE: usize = 8;

/// How often a cleaning goes on because of what was saved meanwhile.
const MAX_ROUNDS: usize = 20;

/// After a cleaning with a problem, so many seconds pass before the next one.
const PAUSE_AFTER_PROBLEM: f64 = 600.0;

impl Engine {
    /// Is it time to clean up, after a save of this project? Looks at a few directories only.
    pub(crate) fn due(&self, store: &OpenStore, history: &History) -> Result<Option<Due>> {
        let record = CleaningRecord::read(&store.dirs).unwrap_or_default();
        let now = self.options.clock.now().as_float();
        // What failed a moment ago would fail again, and cost a process with every save.
        if record.failed && (0.0..PAUSE_AFTER_PROBLEM).contains(&(now - record.at)) {
            return Ok(None);
        }
        let due = self.due_for(store, history, &record, now)?;
        // Nobody needs to be started while somebody is at it.
        let is_busy = due.is_some() && store.dirs.is_collecting()?;
        Ok(due.filter(|_| !is_busy))
    }

    fn due_for(
        &self,
        store: &OpenStore,
        history: &History,
        record: &CleaningRecord,
        now: f64,
    ) -> Result<Option<Due>> {
        let project = &history.project;
        let keeping = &self.options.settings.keeping;
        let asked = self.options.settings.asked;
        let recorded = || store.identity(project).asked().max_snapshots;
        let most =
            Limits::of(keeping, None).snapshots_of(project, asked.max_snapshots.or_else(recorded));
        // The new one is not in the history yet.
        let checkpoints = history.entries.len() + 1;
        if exceeds(most, checkpoints) && exceeds(most, droppable(store, history)? + 2) {
            return Ok(Some(Due::Count));
        }
        let files = PackFiles::of(&store.dirs)?;
        if files.packs > MANY_PACKS.max(record.packs + MORE_PACKS) || has_many_loose(&store.dirs) {
            return Ok(Some(Due::Packs));
        }
        let bytes = files.bytes + trash::bytes(&store.dirs)? + record.fixed_bytes;
        // A cleaning looks at what was asked for every project; a save goes by what the last one found.
        let asked = asked.max_total_size.into_iter();
        let asked = asked.chain(record.asked_size).reduce(larger);
        let limit = keeping.size_limit(asked);
        // What the last cleaning had to leave does not call for another one.
        let has_grown = bytes > record.store_bytes + limit / 40;
        if is_near(bytes, limit) && (has_grown || !is_near(record.store_bytes, limit)) {
            return Ok(Some(Due::Size));
        }
        let least = keeping.min_free_disk;
        if least > 0 && has_grown && store.dirs.store().free_bytes()? < least {
            return Ok(Some(Due::Disk));
        }
        let is_due = keeping.auto_prune && self.interval_is_over(&store.dirs, now);
        Ok(is_due.then_some(Due::Interval))
    }

    /// Cleans up as the settings say, unless somebody else is at it already. What is saved meanwhile is cleaned
    /// up as well: nobody starts another process while this one is at it.
    pub fn maintain(&self, progress: &dyn Progress) -> Result<Option<Cleaned>> {
        let Some(dirs) = self.open_for_cleaning()? else { return Ok(None) };
        let mut total: Option<Cleaned> = None;
        for _ in 0..MAX_ROUNDS {
            let Some(cleaned) = self.maintain_once(&dirs, progress)? else { break };
            let (left, is_over) = (cleaned.left, cleaned.over.is_some());
            match &mut total {
                Some(total) => total.add(cleaned),
                None => total = Some(cleaned),
            }
            // Only what was saved meanwhile calls for more, never what the cleaning itself wrote.
            let is_more = count(&dirs)?.values().sum::<usize>() > left;
            if is_over || !is_more || !self.is_over(&dirs)? {
                break;
            }
        }
        Ok(total)
    }

    fn maintain_once(&self, dirs: &StoreDirs, progress: &dyn Progress) -> Result<Option<Cleaned>> {
        let keeping = self.options.settings.keeping;
        let now = self.options.clock.now().as_float();
        let by_age = keeping.auto_prune && self.interval_is_over(dirs, now);
        let limit = self.size_limit_of(dirs)?;
        let is_near = is_near(store_bytes(dirs)?, limit);
        let request = CleanRequest {
            limits: automatic_limits(&keeping, limit, by_age, is_near),
            attended: false,
            clock_is_right: false,
        };
        let cleaned = match self.clean(&request, progress) {
            Err(e) if e.kind() == crate::error::ErrorKind::Busy => return Ok(None),
            Err(e) => {
                // Nobody watches: what went wrong is written where somebody will look.
                let record = CleaningRecord {
                    at: now,
                    failed: true,
                    problem: Some(in_words(&e)),
                    ..CleaningRecord::read(dirs).unwrap_or_default()
                };
                record.write(dirs)?;
                return Err(e);
            }
            Ok(cleaned) => cleaned,
        };
        if by_age {
            write_marker(dirs, now)?;
        }
        Ok(Some(cleaned))
    }

    /// Is a limit exceeded that a save would call for a cleaning for?
    fn is_over(&self, dirs: &StoreDirs) -> Result<bool> {
        let keeping = &self.options.settings.keeping;
        if is_near(store_bytes(dirs)?, self.size_limit_of(dirs)?) {
            return Ok(true);
        }
        let store = self.open_for_writing()?;
        for project in project_ids(&store)? {
            let history = History::load(&store, &project)?;
            let asked = store.identity(&project).asked().max_snapshots;
            let most = Limits::of(keeping, None).snapshots_of(&project, asked);
            if exceeds(most, droppable(&store, &history)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Has the time between two cleanings by age passed? A marker that makes no sense says yes.
    fn interval_is_over(&self, dirs: &StoreDirs, now: f64) -> bool {
        let last = last_run(dirs, now);
        is_due(now, last, self.options.settings.keeping.min_interval_hours)
    }
}

/// Notes that a cleaning by age was done. What stands in the way of that would have it done again and again,
/// so it is set aside.
fn write_marker(dirs: &StoreDirs, now: f64) -> Result<()> {
    let (tmp, base) = (&dirs.for_writing()?.tmp, dirs.base());
    let text = render_marker(now);
    let write = || write_file(tmp, base, MARKER_FILE, text.as_bytes(), Durability::Cache);
    match write() {
        Err(e) if matches!(e.errno(), Some(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST)) => {
            let set_aside = SetAside::open(dirs, "cleaning".to_owned())?;
            set_aside.take(base, MARKER_FILE)?;
            Ok(write()?)
        }
        other => Ok(other?),
    }
}

/// Has a project more checkpoints than it may, and some more, so that not every save starts a process?
fn exceeds(most: usize, checkpoints: usize) -> bool {
    most > 0 && checkpoints > most.saturating_add((most / 4).max(1))
}

/// The limits as the settings have them. The size may be as near as it is: the rule for it knows what to do.
fn automatic_limits(keeping: &Keeping, limit: u64, by_age: bool, is_near: bool) -> Limits {
    let mut limits = Limits::of(keeping, Some(limit));
    limits.retention_days = limits.retention_days.filter(|_| by_age);
    limits.thinning = limits.thinning.filter(|_| by_age);
    // Nothing that lives gives up anything for what was deleted long ago.
    if (by_age || is_near && keeping.auto_prune) && keeping.delete_orphans {
        // Somebody may have moved it, and want its history at the new place.
        limits.orphans = Orphans::Untouched { days: keeping.retention_days.max(1) };
    }
    limits
}

/// How many checkpoints of a project a count limit could drop.
fn droppable(store: &OpenStore, history: &History) -> Result<usize> {
    let labels = Labels::load(store, &history.project)?;
    let is_free = |entry: &&Entry| {
        !labels.is_pinned(entry.number) && labels.names_of(&entry.id).next().is_none()
    };
    Ok(history.entries.iter().filter(is_free).count())
}

fn has_many_loose(dirs: &StoreDirs) -> bool {
    let entries = dirs.objects().open_dir("17").and_then(|dir| dir.entries());
    entries.is_ok_and(|entries| entries.len() > MANY_LOOSE)
}

const FILE: &str = "cleaning";
const VERSION: u32 = 1;
const MAX_SIZE: u64 = 1 << 16;

/// The record of the last cleaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CleaningRecord {
    pub(crate) version: u32,
    /// When it ran, in seconds since 1970.
    pub at: f64,
    /// The size of the store afterwards.
    pub store_bytes: u64,
    /// How much of that was neither in the pack directory nor in the trash, where a save looks.
    pub fixed_bytes: u64,
    /// The largest size of the store that was asked for a project.
    #[serde(default)]
    pub(crate) asked_size: Option<u64>,
    /// How many packs were left.
    pub packs: usize,
    /// How many checkpoints it dropped.
    pub dropped: usize,
    /// How many bytes it freed.
    pub freed_bytes: u64,
    /// How many seconds it took.
    #[serde(default)]
    pub took: f64,
    /// Did it fail? Then the next one waits for a while.
    #[serde(default)]
    pub failed: bool,
    /// What it could not do, in words.
    pub problem: Option<String>,
}

impl CleaningRecord {
    /// Reads the record; a missing or damaged one is none.
    pub(crate) fn read(dirs: &StoreDirs) -> Option<Self> {
        let bytes = dirs.herma()?.dir.read_opt(FILE, MAX_SIZE).ok()??;
        Self::parse(&bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        (record.version == VERSION && record.at.is_finite()).then_some(record)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let record = Self { version: VERSION, ..self.clone() };
        serde_json::to_vec(&record).expect("numbers and strings always serialise")
    }

    /// Writes the record. It is advice, not data: no power cut makes it matter.
    pub(crate) fn write(&self, dirs: &StoreDirs) -> Result<()> {
        let herma = dirs.for_writing()?;
        Ok(write_file(&herma.tmp, &herma.dir, FILE, &self.encode(), Durability::Cache)?)
    }
}
