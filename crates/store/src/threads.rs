//! The threads of one piece of work: a walk, a restore, a merge of packs.
//!
//! They are gone when the work is done: a process that forks takes along only the thread that forks, and a lock that another one on
//! its way out holds at that moment stays locked in the child.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

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

/// Where no thread can be had, it is tried again so often,
const START_TRIES: u32 = 200;
/// each time after so long.
const START_PAUSE: Duration = Duration::from_millis(1);

/// Runs `work` in a pool of its own.
pub fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, NoThreads> {
    with_stack(thread_count(threads), WALK_STACK_BYTES, |pool| pool.install(work))
}

/// The same for threads that mostly wait: more of them, each with less room.
pub fn in_waiting_pool<T: Send>(
    threads: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, NoThreads> {
    let threads = thread_count(threads) * WAITING_THREADS_PER_PROCESSOR;
    let threads = threads.min(most_with_files());
    with_stack(threads, WAITING_STACK, |pool| pool.install(work))
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
    let threads = thread_count(0).min(most_with_files());
    let mut others = threads.min(items.len()).saturating_sub(1);
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

/// Has `work` use a pool of so many threads, or of one where there is no room for them; none given means one for each processor.
pub(crate) fn with_pool<T>(
    threads: usize,
    work: impl FnOnce(&ThreadPool) -> T,
) -> Result<T, NoThreads> {
    with_stack(thread_count(threads), PART_STACK, work)
}

/// Under a limit of memory or of processes there may be room for one where there is none for several; and the system may
/// count the threads of the work before for a moment longer than they can be waited for.
fn with_stack<T>(
    count: usize,
    stack: usize,
    work: impl FnOnce(&ThreadPool) -> T,
) -> Result<T, NoThreads> {
    let mut work = Some(work);
    let mut run = |count| exactly(count, stack, |pool| work.take().map(|work| work(pool)));
    let mut done = run(count);
    for attempt in 0..START_TRIES {
        if done.is_ok() {
            break;
        }
        thread::sleep(START_PAUSE * attempt.min(1));
        done = run(1);
    }
    let done = done.map_err(|error| NoThreads(error.to_string()))?;
    Ok(done.expect("it is run once, when there are threads"))
}

fn exactly<T>(
    count: usize,
    stack: usize,
    work: impl FnOnce(&ThreadPool) -> T,
) -> Result<T, ThreadPoolBuildError> {
    thread::scope(|scope| {
        let mut started = Vec::new();
        let builder = ThreadPoolBuilder::new().num_threads(count);
        let pool = builder.spawn_handler(|thread| {
            let builder = thread::Builder::new().stack_size(stack);
            started.push(builder.spawn_scoped(scope, || thread.run())?);
            Ok(())
        });
        // ORDER: they end because the pool is gone.
        let done = pool.build().map(|pool| work(&pool));
        for thread in started {
            // What they panicked of was told by the work.
            let _ = thread.join();
        }
        done
    })
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
