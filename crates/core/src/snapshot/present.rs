//! One scan of the whole project: the state it is in now.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use herma_fs::Dir;
use herma_fs::Stat;
use xxhash_rust::xxh3::Xxh3;

use super::build::emit;
use super::excludes::Rules;
use super::excludes::Tracked;
use super::excludes::Verdict;
use super::lists::UsualModes;
use super::read_file::Reader;
use super::reason::Reason;
use super::scan::Here;
use super::scan::Walk;
use super::scan::Walked;
use super::sink::Sink;
use super::stat_cache::CacheBuilder;
use super::stat_cache::CacheHeader;
use super::stat_cache::StatCache;
use super::tracked::TrackedFiles;
use super::tracked::git_dir::GitDir;
use super::tracked::git_dir::git_dir;
use crate::id::ObjectId;
use crate::settings::Settings;
use crate::store::error::StoreError;

/// Time stamps of files are at most this coarse on file systems that keep them well.
const TICK: i64 = 10_000_000;
/// And this coarse where nothing is known.
const UNKNOWN_TICK: i64 = 2_000_000_000;
/// Deep trees recurse once per level; the stack is reserved, not used, until then.
const STACK: usize = 256 << 20;

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
    Threads(String),
    /// The caller asked to stop.
    #[error("stopped before anything was changed")]
    Cancelled,
}

/// What to scan, and with which rules.
pub struct ScanOptions<'a> {
    /// The project root.
    pub root: &'a Dir,
    /// What the user set.
    pub settings: &'a Settings,
    /// The cache of the last save, if it may be believed.
    pub cache: Option<Arc<StatCache>>,
    /// What the store has already; asked only about files that look like they hold a secret.
    pub saved: &'a dyn AlreadySaved,
    /// Read every file, whatever the cache says.
    pub rehash: bool,
    /// Called now and then with the number of files seen; `true` stops the scan.
    pub cancelled: &'a (dyn Fn(u64) -> bool + Sync),
}

/// Tells what is in the store already. Leaving it out of the next checkpoint would take it from undo and
/// protect nothing.
pub trait AlreadySaved: Sync {
    /// Does the newest checkpoint of the project have a file at this path?
    fn has_path(&self, path: &[u8]) -> bool;
    /// Does the store have this very content?
    fn has_content(&self, id: &ObjectId) -> bool;
}

/// A store with nothing in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingSaved;

impl AlreadySaved for NothingSaved {
    fn has_path(&self, _path: &[u8]) -> bool {
        false
    }

    fn has_content(&self, _id: &ObjectId) -> bool {
        false
    }
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
}

/// Scans the project; new objects go into `sink`.
pub fn scan(options: &ScanOptions<'_>, sink: &dyn Sink) -> Result<Present, ScanError> {
    let root_stat = options.root.stat_self()?;
    let rules = Rules::new(&options.settings.excludes);
    // A repository that cannot be read tracks and excludes nothing: rules then apply as written.
    let repository = git_dir(options.root).ok().flatten();
    let info_exclude = repository
        .as_ref()
        .and_then(|dir| dir.info_exclude().ok().flatten());
    let usual = UsualModes::below(root_stat.mode);
    let fingerprint = fingerprint(
        &rules,
        info_exclude.as_deref(),
        options.settings,
        &root_stat,
    );
    let tracked = LazyTracked::new(repository);
    let index_state = tracked.index_state();

    let cache = options.cache.as_deref().filter(|_| !options.rehash);
    let same_rules = cache.is_some_and(|c| c.header().rules == fingerprint);
    let index_changed = cache.is_some_and(|c| c.header().index_state != index_state);
    let judge_all =
        !same_rules || (index_changed && cache.is_some_and(|c| leaves_out_tracked(c, &tracked)));
    let started = herma_fs::process::file_clock();
    let known_times = options.root.keeps_directory_times();
    let walk = Walk {
        cache,
        reader: Reader {
            sink,
            max_size: options.settings.max_file_size,
            started,
            settle_before: started - if known_times { TICK } else { UNKNOWN_TICK },
            write_backs: AtomicU32::new(0),
        },
        rules: &rules,
        info_exclude: info_exclude.as_deref(),
        tracked: &tracked,
        saved: options.saved,
        judge_all,
        rebuild: !same_rules,
        trust_listings: known_times,
        usual,
        root_dev: root_stat.dev,
        files_seen: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
        cancelled: options.cancelled,
    };
    let header = CacheHeader {
        rules: fingerprint,
        index_state,
        ..CacheHeader::default()
    };
    in_pool(options.settings.threads, || run(&walk, options, &header))?
}

fn run(
    walk: &Walk<'_>,
    options: &ScanOptions<'_>,
    header: &CacheHeader,
) -> Result<Present, ScanError> {
    let mut here = Here::new(options.root.try_clone()?, None, b"", Verdict::Keep);
    let cached = walk.cache.map(|_| StatCache::ROOT);
    let walked = walk.walk_open(&mut here, cached, false);
    if let Some(error) = walk
        .failure
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take()
    {
        return Err(error.into());
    }
    if walk.stop.load(Ordering::Relaxed) {
        return Err(ScanError::Cancelled);
    }
    let unreadable = || ScanError::Unreadable(options.root.path().to_owned());
    let same_as_cache = matches!(walked, Walked::Same(_))
        && walk.cache.is_some_and(|c| {
            c.header().rules == header.rules && c.header().index_state == header.index_state
        });
    let cache = match &options.cache {
        Some(cache) if same_as_cache => Arc::clone(cache),
        _ => {
            let mut builder = CacheBuilder::with_room_for(walk.cache);
            emit(&mut builder, walk.cache, walked).ok_or_else(unreadable)?;
            Arc::new(builder.finish(header).ok_or_else(unreadable)?)
        }
    };
    let root = cache.dir(StatCache::ROOT).ok_or_else(unreadable)?;
    let some = |id: ObjectId| (!id.is_null()).then_some(id);
    Ok(Present {
        same_as_cache,
        tree: root.tree,
        modes: some(root.modes),
        left: some(root.left),
        usual: walk.usual,
        cache,
    })
}

/// Runs `work` in a pool of its own, whose threads have room for deep trees, and are gone when it is done: what one
/// pool reserves for its stacks would be missing for the next where address space is limited.
pub(crate) fn in_pool<T: Send>(
    threads: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, ScanError> {
    let mut work = Some(work);
    let mut run = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK)
            .build_scoped(rayon::ThreadBuilder::run, |pool| {
                pool.install(|| work.take().map(|work| work()))
            })
    };
    // Under a limit of memory or of processes there may be room for one where there is none for several.
    let done = run(threads)
        .or_else(|_| run(1))
        .map_err(|e| ScanError::Threads(e.to_string()))?;
    Ok(done.expect("the one pool that was built did the work"))
}

/// Everything besides the files themselves that decides what is captured and how it is described.
fn fingerprint(
    rules: &Rules,
    info_exclude: Option<&[u8]>,
    settings: &Settings,
    root: &Stat,
) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&rules.fingerprint().to_le_bytes());
    hash.update(info_exclude.unwrap_or_default());
    hash.update(&settings.max_file_size.unwrap_or(u64::MAX).to_le_bytes());
    hash.update(&root.dev.to_le_bytes());
    hash.update(&UsualModes::below(root.mode).root().to_le_bytes());
    hash.digest()
}

/// Does the cache leave out something the user's git tracks by now?
fn leaves_out_tracked(cache: &StatCache, tracked: &dyn Tracked) -> bool {
    let mut found = false;
    cache.each_left_out(|path, why| {
        let yields = matches!(
            why.reason,
            Reason::Excluded | Reason::Ignored | Reason::SecretContent
        );
        found = yields && (tracked.contains(path) || tracked.any_below(path));
        !found
    });
    found
}

/// The user's tracked files, read only when a rule would leave something out.
pub(super) struct LazyTracked {
    git_dir: Option<GitDir>,
    files: OnceLock<TrackedFiles>,
}

impl LazyTracked {
    /// What the repository in `git_dir` tracks; nothing without one.
    pub(super) fn new(git_dir: Option<GitDir>) -> Self {
        Self {
            git_dir,
            files: OnceLock::new(),
        }
    }

    fn files(&self) -> &TrackedFiles {
        self.files.get_or_init(|| {
            let files = self.git_dir.as_ref().and_then(|dir| dir.tracked().ok());
            files.unwrap_or_default()
        })
    }

    /// A number that changes whenever the index does.
    fn index_state(&self) -> u64 {
        let stat = self
            .git_dir
            .as_ref()
            .and_then(|dir| dir.index_stat().ok().flatten());
        stat.map_or(0, |stat| {
            let mut hash = Xxh3::new();
            for number in [stat.mtime as u64, stat.ctime as u64, stat.ino, stat.size] {
                hash.update(&number.to_le_bytes());
            }
            hash.digest()
        })
    }
}

impl Tracked for LazyTracked {
    fn contains(&self, path: &[u8]) -> bool {
        self.files().contains(path)
    }

    fn any_below(&self, dir: &[u8]) -> bool {
        self.files().any_below(dir)
    }
}
