//! One scan of the whole project: the state it is in now.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use herma_fs::{Dir, Stat};
use herma_store::ObjectId;
use herma_store::error::StoreError;
use herma_store::threads::{NoThreads, in_pool};
use xxhash_rust::xxh3::Xxh3;

use super::held::{Begun, Held, Holding};
use super::lists::UsualModes;
use super::owner::Owners;
use super::reason::Reason;
use super::saved::AlreadySaved;
use super::scan::{Here, Walk, Walked, damaged_cache};
use super::sink::Sink;
use super::stat_cache::{CacheBuilder, CacheHeader, StatCache};
use super::tracked::LazyTracked;
use crate::rules::{ExcludeSettings, Rules, Tracked, Verdict};
use crate::scan::build::{cache_size, emit};
use crate::scan::changed_dirs::ChangedDirs;
use crate::scan::read_file::Reader;
pub use crate::scan::read_file::Recent;
use crate::scan::same_shape::{Edits, has_same_shape, update};
use crate::scan::unchanged::QuickCheck;

/// Time stamps of files are at most this coarse on file systems that keep them well.
const TICK: i64 = 10_000_000;
/// And this coarse where nothing is known.
const UNKNOWN_TICK: i64 = 2_000_000_000;

/// Why a project could not be scanned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The objects could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project root could not be read.
    #[error(transparent)]
    Root(#[from] herma_fs::Error),
    /// The project root vanished or became unreadable during the scan.
    #[error("the project directory could not be read: {}", .0.display())]
    Unreadable(std::path::PathBuf),
    /// The scanning threads could not be started.
    #[error("could not start threads: {0}")]
    Threads(#[from] NoThreads),
    /// The caller asked to stop.
    #[error("stopped before anything was changed")]
    Cancelled,
}

/// A state of the project: its tree and its list of modes.
pub type StateIds = (ObjectId, Option<ObjectId>);

/// What the user set about looking at a project.
#[derive(Clone, Copy, Debug)]
pub struct ScanSettings<'a> {
    /// Files larger than this many bytes are left out and named; `None` takes every size.
    pub max_file_size: Option<u64>,
    /// What is left out by rule.
    pub excludes: &'a ExcludeSettings,
    /// Threads for scanning and hashing; 0 takes one per core.
    pub threads: usize,
    /// How many directories a project must have for a look at all of them before a walk.
    pub quick_check_from: u32,
}

/// What to scan, and with which rules.
pub struct ScanOptions<'a> {
    /// The project root.
    pub root: &'a Dir,
    /// What the user set.
    pub settings: ScanSettings<'a>,
    /// The cache of the last save, if it may be believed.
    pub cache: Option<Arc<StatCache>>,
    /// What the store has already; asked only about files that look like they hold a secret.
    pub saved: &'a dyn AlreadySaved,
    /// Read every file, whatever the cache says.
    pub rehash: bool,
    /// The only directories in which something changed since the cache was written, if that is known.
    pub only_in: Option<Vec<Vec<u8>>>,
    /// What is done about files that changed lately.
    pub recent: Recent,
    /// States of which something is covered whatever the rules say.
    pub held: Option<&'a Held<'a>>,
    /// Called now and then with the number of files seen; `true` stops the scan.
    pub cancelled: &'a (dyn Fn(u64) -> bool + Sync),
}

/// The state of a project now.
pub struct Present {
    /// Every file's state and id, in memory.
    pub cache: Arc<StatCache>,
    /// Is it exactly the cache the scan began with?
    pub same_as_cache: bool,
    /// The project's tree.
    pub tree: ObjectId,
    /// The list of modes.
    pub modes: Option<ObjectId>,
    /// The list of what was left out.
    pub left: Option<ObjectId>,
    /// The modes this state does not have to mention.
    pub usual: UsualModes,
    /// What changed since the state the cache described, if the walk found every name where it was.
    pub edits: Option<Arc<Edits>>,
    /// The states that were held when it was looked at.
    pub holding: Holding,
}

/// What `info/exclude` of the user's git says.
pub fn info_exclude_rules(root: &Dir) -> Vec<u8> {
    rules_in(&LazyTracked::of(root).info_exclude().unwrap_or_default())
}

/// The lines of an ignore file that say something.
fn rules_in(file: &[u8]) -> Vec<u8> {
    let lines = file.split(|byte| *byte == b'\n');
    let says = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    lines.filter(says).flat_map(|line| [line, b"\n"]).flatten().copied().collect()
}

/// Everything besides the files themselves that decides what is captured.
pub(crate) struct Circumstances {
    rules: Rules,
    info_exclude: Option<Vec<u8>>,
    tracked: LazyTracked,
    usual: UsualModes,
    /// Changes whenever the rules do.
    pub(crate) fingerprint: u64,
    /// Changes whenever the index of the user's git does.
    pub(crate) index_state: u64,
}

impl Circumstances {
    /// Those of a project now.
    pub(crate) fn of(root: &Dir, root_stat: &Stat, settings: ScanSettings<'_>) -> Self {
        let rules = Rules::new(settings.excludes);
        let tracked = LazyTracked::of(root);
        let info_exclude = tracked.info_exclude();
        let fingerprint = fingerprint(&rules, info_exclude.as_deref(), settings, root_stat);
        Self {
            usual: UsualModes::below(root_stat.mode),
            index_state: tracked.index_state(),
            rules,
            info_exclude,
            tracked,
            fingerprint,
        }
    }
}

/// What a walk comes to.
enum Outcome {
    /// The state that was expected.
    AsExpected,
    /// Exactly the cache it began with.
    Same,
    /// A project of the same shape as that cache.
    SameShape(Walked),
    /// Another one.
    Other(StatCache),
}

/// Scans the project; new objects go into `sink`. A cache that is nobody else's is brought up to date in place where
/// that can be done.
pub fn scan(options: ScanOptions<'_>, sink: &dyn Sink) -> Result<Present, ScanError> {
    let seen = scan_for(options, sink, None)?;
    Ok(seen.expect("only a state that is expected is not described"))
}

/// Scans the project to see whether it is in the state `expected`. `None` if so: what there would be to say is
/// known already.
pub fn scan_unless(
    options: ScanOptions<'_>,
    sink: &dyn Sink,
    expected: StateIds,
) -> Result<Option<Present>, ScanError> {
    scan_for(options, sink, Some(expected))
}

fn scan_for(
    mut options: ScanOptions<'_>,
    sink: &dyn Sink,
    expected: Option<StateIds>,
) -> Result<Option<Present>, ScanError> {
    let mut old = options.cache.take();
    let is_ours = old.as_mut().is_some_and(|cache| Arc::get_mut(cache).is_some());
    let root_stat = options.root.stat_self()?;
    let around = Circumstances::of(options.root, &root_stat, options.settings);
    let (fingerprint, index_state) = (around.fingerprint, around.index_state);
    let tracked = &around.tracked;

    let cache = old.as_deref().filter(|_| !options.rehash);
    let held_number = options.held.map_or(fingerprint, |held| held.number(fingerprint));
    let is_of_held = cache.is_some_and(|c| c.header().rules == held_number);
    let same_rules = is_of_held || cache.is_some_and(|c| c.header().rules == fingerprint);
    let excludes = options.settings.excludes;
    let info_exclude = rules_in(around.info_exclude.as_deref().unwrap_or_default());
    let is_as_now =
        |begun: &Begun| begun.settings == *excludes && begun.info_exclude == info_exclude;
    let overrules = |held: &Held<'_>| cache.is_some_and(|cache| held.overrules(cache, is_as_now));
    let overrules_cache = !is_of_held && options.held.is_some_and(overrules);
    let index_changed = cache.is_some_and(|c| c.header().index_state != index_state);
    let judge_all = !same_rules
        || overrules_cache
        || (index_changed && cache.is_some_and(|c| leaves_out_tracked(c, tracked)));
    let mut owners = Owners::below(options.root, &root_stat, tracked, options.saved);
    owners.index_changed = index_changed;
    let started = herma_fs::process::file_clock();
    let known_times = options.root.keeps_directory_times();
    let mut walk = Walk {
        cache,
        reader: Reader {
            sink,
            max_size: options.settings.max_file_size,
            started,
            settle_before: started - if known_times { TICK } else { UNKNOWN_TICK },
            recent: options.recent,
            write_backs: AtomicU32::new(0),
        },
        rules: &around.rules,
        info_exclude: around.info_exclude.as_deref(),
        tracked,
        saved: options.saved,
        held: options.held,
        overruled: AtomicBool::new(is_of_held && held_number != fingerprint),
        judge_all,
        rebuild: !same_rules,
        trust_listings: known_times,
        changed: cache
            .zip(options.only_in.as_deref())
            .map(|(cache, directories)| ChangedDirs::only_in(cache, directories)),
        distrust: AtomicBool::new(false),
        usual: around.usual,
        owners,
        files_seen: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
        cancelled: options.cancelled,
    };
    let mut header = CacheHeader { rules: fingerprint, index_state, ..CacheHeader::default() };
    let aim = Aim { expected, is_ours, held_number };
    let threads = options.settings.threads;
    let outcome = in_pool(threads, || {
        let walked = run(&mut walk, &options)?;
        conclude(&walk, &options, &mut header, &aim, walked)
    })??;
    let usual = walk.usual;
    let same_as_cache = matches!(outcome, Outcome::Same);
    let mut edits = None;
    let cache = match (outcome, old) {
        (Outcome::AsExpected, _) => return Ok(None),
        (Outcome::Same, Some(old)) => old,
        (Outcome::SameShape(walked), Some(mut old)) => {
            let ours = Arc::get_mut(&mut old).ok_or_else(damaged_cache)?;
            let found = update(ours, walked).ok_or_else(damaged_cache)?;
            edits = Some(Arc::new(found));
            ours.take_header(&header);
            old
        }
        (Outcome::Other(cache), _) => Arc::new(cache),
        (Outcome::Same | Outcome::SameShape(_), None) => return Err(damaged_cache().into()),
    };
    let root = cache.dir(StatCache::ROOT).ok_or_else(damaged_cache)?;
    Ok(Some(Present {
        same_as_cache,
        tree: root.tree,
        modes: unless_null(root.modes),
        left: unless_null(root.left),
        usual,
        cache,
        edits,
        holding: options.held.map(|held| held.holding.clone()).unwrap_or_default(),
    }))
}

/// What a walk is for.
struct Aim {
    expected: Option<StateIds>,
    /// May the cache be changed?
    is_ours: bool,
    /// The number of the rules together with what is held.
    held_number: u64,
}

fn unless_null(id: ObjectId) -> Option<ObjectId> {
    (!id.is_null()).then_some(id)
}

/// Which directories have to be walked, by a look at all of them; `None` if that is what the walk is for.
fn quickly_checked(walk: &Walk<'_>, options: &ScanOptions<'_>) -> Option<ChangedDirs> {
    let is_enough = walk.trust_listings && !walk.judge_all && !walk.rebuild;
    let is_large = |cache: &StatCache| cache.directories() >= options.settings.quick_check_from;
    let cache = walk.cache.filter(|cache| is_enough && is_large(cache))?;
    if walk.changed.is_some() {
        return None;
    }
    // What was ours when the cache was written and is a worktree by now is found by walking.
    if walk.owners.worktrees.iter().any(|path| cache.dir_at(path).is_some()) {
        return None;
    }
    let root = options.root.path();
    let check = QuickCheck::new(cache, root, walk.owners.boundary, options.cancelled)?;
    let seen = check.take()?;
    walk.files_seen.store(check.names(), Ordering::Relaxed);
    Some(seen)
}

fn run(walk: &mut Walk<'_>, options: &ScanOptions<'_>) -> Result<Walked, ScanError> {
    if let Some(seen) = quickly_checked(walk, options) {
        if seen.changed.is_empty() {
            return Ok(Walked::Same(StatCache::ROOT));
        }
        walk.changed = Some(seen);
    }
    let mut here = Here::new(options.root.try_clone()?, None, b"", Verdict::Keep);
    let cached = walk.cache.map(|_| StatCache::ROOT);
    let mut walked = walk.walk_open(&mut here, cached, false);
    if walk.changed.is_some() && walk.distrust.load(Ordering::Relaxed) {
        here = Here::new(options.root.try_clone()?, None, b"", Verdict::Keep);
        walked = walk.walk_open(&mut here, cached, false);
    }
    Ok(walked)
}

/// What came of a walk.
fn conclude(
    walk: &Walk<'_>,
    options: &ScanOptions<'_>,
    header: &mut CacheHeader,
    aim: &Aim,
    walked: Walked,
) -> Result<Outcome, ScanError> {
    // Whoever holds something else judges the names of this cache anew.
    if walk.overruled.load(Ordering::Relaxed) {
        header.rules = aim.held_number;
    }
    if let Some(error) =
        walk.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    {
        return Err(error.into());
    }
    if walk.stop.load(Ordering::Relaxed) {
        return Err(ScanError::Cancelled);
    }
    let state = walk.ids(&walked);
    let state = state.map(|root| (root.tree, unless_null(root.modes)));
    if state.is_some() && state == aim.expected {
        return Ok(Outcome::AsExpected);
    }
    let is_same = |cache: &StatCache| {
        cache.header().rules == header.rules && cache.header().index_state == header.index_state
    };
    if matches!(walked, Walked::Same(_)) && walk.cache.is_some_and(is_same) {
        return Ok(Outcome::Same);
    }
    let same_shape = |cache: &StatCache| has_same_shape(cache, &walked);
    if aim.is_ours && walk.cache.is_some_and(same_shape) {
        return Ok(Outcome::SameShape(walked));
    }
    let unreadable = || ScanError::Unreadable(options.root.path().to_owned());
    let size = cache_size(walk.cache, &walked);
    let mut builder = size.and_then(CacheBuilder::new).ok_or_else(unreadable)?;
    emit(&mut builder, walk.cache, walked).ok_or_else(unreadable)?;
    let cache = builder.finish(header).ok_or_else(unreadable)?;
    Ok(Outcome::Other(cache))
}

/// Everything besides the files themselves that decides what is captured and how it is described.
fn fingerprint(
    rules: &Rules,
    info_exclude: Option<&[u8]>,
    settings: ScanSettings<'_>,
    root: &Stat,
) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&rules.fingerprint.to_le_bytes());
    hash.update(info_exclude.unwrap_or_default());
    hash.update(&settings.max_file_size.unwrap_or(u64::MAX).to_le_bytes());
    hash.update(&root.dev.to_le_bytes());
    hash.update(&UsualModes::below(root.mode).directory().to_le_bytes());
    hash.digest()
}

/// Does the cache leave out something the user's git tracks by now?
fn leaves_out_tracked(cache: &StatCache, tracked: &dyn Tracked) -> bool {
    cache.left_out().any(|item| {
        matches!(item.reason, Reason::Excluded | Reason::Ignored | Reason::SecretContent)
            && (tracked.contains(&item.path) || tracked.any_below(&item.path))
    })
}
