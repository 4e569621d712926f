//! The threads of one piece of work: a walk, a restore, a merge of packs.
//!
//! They end by themselves when the work is done, and nobody waits for that: on a busy machine a thread that has nothing left
//! to do may be given its last moment milliseconds later. Who starts the next ones waits only if too many are still there;
//! and where address space is limited, what they reserve for their stacks must be free again at once.
//!
//! A process that is about to fork does wait, with [`wait_until_gone`]: a fork takes along only the thread that forks, and a
//! lock that a thread on its way out holds at that moment, of the standard library or of C's, stays locked in the child.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

/// The system gives no threads, for the reason it says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoThreads(String);

/// Deep trees recurse once per level; the stack is reserved, not used, until then.
const WALK_STACK_BYTES: usize = 256 << 20;
/// Where every thread waits for the disk, this many of them share a processor.
const WAITING_THREADS_PER_PROCESSOR: usize = 4;
/// A thread that replaces a file has its directory open, the file it writes and the one it replaces.
const FILES_EACH: u64 = 4;
/// Open besides: the store and its locks, packs, the project, what the caller brought.
const OTHER_FILES: u64 = 32;
/// Room for the longest path, one level at a time.
const WAITING_STACK: usize = 32 << 20;
/// What reads, compares and compresses goes no deeper than a chain of deltas.
const PART_STACK: usize = 8 << 20;

/// So many threads may be on their way out before somebody waits for them.
const MAX_ENDING_THREADS: usize = 32;

/// Where no thread can be had, it is tried again so often,
const START_TRIES: usize = 200;
/// each time after so long.
const START_PAUSE: Duration = Duration::from_millis(1);

/// Threads whose work is done.
static LEAVING: Mutex<Leaving> = Mutex::new(Leaving { process: 0, threads: Vec::new() });

struct Leaving {
    /// Whose threads they are: a process that was split off knows of them, but has none.
    process: u32,
    threads: Vec<JoinHandle<()>>,
}

/// Runs `work` in a pool of its own.
pub fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, NoThreads> {
    in_pool_with(thread_count(threads), WALK_STACK_BYTES, work)
}

/// The same for threads that mostly wait: more of them, each with less room.
pub fn in_waiting_pool<T: Send>(
    threads: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, NoThreads> {
    let threads = thread_count(threads) * WAITING_THREADS_PER_PROCESSOR;
    in_pool_with(threads.min(most_with_files()), WAITING_STACK, work)
}

/// Runs `work` on threads that all work of this process shares which is too short to start its own, or in the pool it is called in.
/// Where no thread can be had it runs on this one alone.
pub fn in_shared_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    thread_local! {
        static ALONE: Option<ThreadPool> = alone();
    }
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match SHARED.get_or_init(Shared::start).pool_here() {
        Some(pool) => pool.install(work),
        None => ALONE.with(|alone| match alone {
            Some(pool) => pool.install(work),
            None => work(),
        }),
    }
}

/// Does `work` with every item, on one thread for each processor, of which this one is one: what is short is done before a thread
/// that others have to wake is where it could work beside them. What came of it is in the order of the items.
pub fn shared_out<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, work(item)))
    };
    let share = || std::iter::from_fn(take).collect::<Vec<_>>();
    let mut others = thread_count(0).min(items.len()).saturating_sub(1);
    // What their stacks would reserve may be all that is left for the work.
    if herma_fs::process::has_address_space_limit() {
        others = 0;
    }
    let mut done = thread::scope(|scope| {
        let start = |_| {
            let thread = thread::Builder::new().stack_size(PART_STACK);
            thread.spawn_scoped(scope, share)
        };
        // Where no more threads can be had, there are fewer.
        let started: Vec<_> = (0..others).map_while(|at| start(at).ok()).collect();
        let mut done = share();
        for thread in started {
            let others = thread.join();
            done.extend(others.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, came)| came).collect()
}

/// Not the library's own pool, which is there for this: that one ends the program where it cannot be made.
struct Shared {
    /// Whose threads they are.
    process: u32,
    pool: Option<ThreadPool>,
}

impl Shared {
    fn start() -> Self {
        Self { process: std::process::id(), pool: shared(thread_count(0)).or_else(|| shared(1)) }
    }

    /// The pool, unless this process was split off from the one that has its threads: they would never answer.
    fn pool_here(&self) -> Option<&ThreadPool> {
        let pool = self.pool.as_ref();
        pool.filter(|_| self.process == std::process::id())
    }
}

fn shared(threads: usize) -> Option<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(threads).build().ok()
}

/// A pool of the thread that asks for it, and of no other.
fn alone() -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    builder.use_current_thread().build().ok()
}

/// How many threads can each have some files open at once.
fn most_with_files() -> usize {
    let Some(limit) = herma_fs::process::descriptor_limit() else { return usize::MAX };
    let left = limit.saturating_sub(OTHER_FILES) / FILES_EACH;
    usize::try_from(left).map_or(usize::MAX, |left| left.max(1))
}

/// How many threads work if so many are wanted: none given means one for each processor.
pub(crate) fn thread_count(wanted: usize) -> usize {
    // To ask means to read several files.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    match wanted {
        0 => *PROCESSORS.get_or_init(processors),
        wanted => wanted,
    }
}

fn in_pool_with<T: Send>(
    threads: usize,
    stack: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, NoThreads> {
    Ok(Threads::with_stack(threads, stack)?.install(work))
}

/// Threads for one piece of work of several parts. They are told to end when this goes.
pub(crate) struct Threads {
    /// Only while this is being dropped there is none.
    pool: Option<ThreadPool>,
    started: Vec<JoinHandle<()>>,
}

impl Threads {
    /// So many threads, or one where there is no room for them; none given means one for each processor.
    pub(crate) fn start(count: usize) -> Result<Self, NoThreads> {
        Self::with_stack(thread_count(count), PART_STACK)
    }

    /// Under a limit of memory or of processes there may be room for one where there is none for several.
    fn with_stack(count: usize, stack: usize) -> Result<Self, NoThreads> {
        Self::exactly(count, stack)
            .or_else(|_| Self::exactly(1, stack))
            .or_else(|refused| Self::after_others(stack).ok_or(refused))
    }

    /// One thread, once those of the work before are gone: under a limit they may be all that is in the way.
    fn after_others(stack: usize) -> Option<Self> {
        (0..START_TRIES).find_map(|_| {
            wait_until_gone();
            // The system counts a thread for a moment longer than it can be waited for.
            thread::sleep(START_PAUSE);
            Self::exactly(1, stack).ok()
        })
    }

    fn exactly(count: usize, stack: usize) -> Result<Self, NoThreads> {
        wait_for_earlier();
        let mut started = Vec::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(count)
            .spawn_handler(|thread| {
                started.push(start(thread, stack)?);
                Ok(())
            })
            .build();
        match pool {
            Ok(pool) => Ok(Self { pool: Some(pool), started }),
            Err(error) => {
                join(started);
                Err(NoThreads(error.to_string()))
            }
        }
    }

    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let pool = self.pool.as_ref();
        pool.expect("it is there until the drop").install(work)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // ORDER: they end because the pool is gone.
        drop(self.pool.take());
        leave(std::mem::take(&mut self.started));
    }
}

fn start(thread: ThreadBuilder, stack: usize) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().stack_size(stack).spawn(|| thread.run())
}

/// Waits until the threads of all work that is done are gone. For a process that is about to fork.
pub fn wait_until_gone() {
    let Some(mut leaving) = try_lock() else { return };
    if leaving.process == std::process::id() {
        let threads = std::mem::take(&mut leaving.threads);
        drop(leaving);
        join(threads);
    }
}

/// Lets go of threads that were told to end.
fn leave(threads: Vec<JoinHandle<()>>) {
    if herma_fs::process::has_address_space_limit() {
        return join(threads);
    }
    if let Some(mut leaving) = try_lock() {
        let process = std::process::id();
        if leaving.process != process {
            forget(&mut leaving);
            leaving.process = process;
        }
        leaving.threads.extend(threads);
    }
}

fn wait_for_earlier() {
    let Some(mut leaving) = try_lock() else { return };
    if leaving.process == std::process::id() {
        let threads = std::mem::take(&mut leaving.threads);
        let (gone, going): (Vec<_>, _) = threads.into_iter().partition(JoinHandle::is_finished);
        if going.len() <= MAX_ENDING_THREADS {
            leaving.threads = going;
            drop(leaving);
            join(gone);
        } else {
            drop(leaving);
            join(gone);
            join(going);
        }
    } else {
        forget(&mut leaving);
    }
}

/// The lock is held for moments only, and may have been held by a thread that this process does not have.
fn try_lock() -> Option<MutexGuard<'static, Leaving>> {
    match LEAVING.try_lock() {
        Ok(leaving) => Some(leaving),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waiting for a thread that only another process has would never end.
fn forget(leaving: &mut Leaving) {
    for thread in leaving.threads.drain(..) {
        std::mem::forget(thread);
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // What they panicked of was told by the work.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_out_comes_back_in_order_and_once() {
        for count in [0, 1, 2, 3, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let calls = AtomicUsize::new(0);
            let doubled = shared_out(&items, |item| {
                calls.fetch_add(1, Ordering::Relaxed);
                item * 2
            });
            assert!(doubled.iter().copied().eq((0..count).map(|item| item * 2)));
            assert_eq!(calls.into_inner(), count);
        }
    }

    #[test]
    #[should_panic(expected = "the last one")]
    fn a_panic_of_any_of_them_is_one_of_the_whole() {
        let items: Vec<usize> = (0..100).collect();
        shared_out(&items, |item| assert!(*item < 99, "the last one"));
    }
}
