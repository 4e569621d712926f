//! Two things at once: the disk is waited for, or a large file read, while something else is done.
//!
//! A command is one thread but for the pools that walk and write. Where it would only wait, what it does next is begun beside
//! that; what both of them bring is taken together, so an error of either is an error of the command.

use std::sync::{Mutex, PoisonError};

/// Room for the longest path, one level at a time; reserved, not used, until then.
const ASIDE_STACK: usize = 32 << 20;

/// Does `aside` on a thread of its own while `work` is done here; afterwards, where there is no thread to be had or no room for one.
/// What is to begin at once is `work`: on a busy machine a new thread gets its first moment milliseconds later.
pub fn in_parallel<A: Send, W>(
    aside: impl FnOnce() -> A + Send,
    work: impl FnOnce() -> W,
) -> (A, W) {
    let aside = Mutex::new(Some(aside));
    let take = || aside.lock().unwrap_or_else(PoisonError::into_inner).take();
    let run = || take().map(|aside| aside());
    // What its stack would reserve may be all that is left for the work.
    if herma_fs::process::has_address_space_limit() {
        let worked = work();
        return (run().expect("nobody ran it before"), worked);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ASIDE_STACK);
        let started = thread.spawn_scoped(scope, run);
        let worked = work();
        let done = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => run(),
        };
        (done.expect("it runs once, here or there"), worked)
    })
}
