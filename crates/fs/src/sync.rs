//! What threads wait for each other with, and where another one may come in between.
//!
//! In every ordinary build this is the standard library, by other names, and [`point`] is nothing. Built with
//! `--cfg shuttle` (`cargo xtask interleavings`) a scheduler decides at each of these which thread goes on, so that
//! tests can try orders that a machine hardly ever comes up with, and repeat the one that failed.

#[cfg(not(shuttle))]
pub use std::sync::Condvar;
#[cfg(not(shuttle))]
pub use std::sync::Mutex;
#[cfg(not(shuttle))]
pub use std::sync::MutexGuard;
#[cfg(not(shuttle))]
pub use std::sync::RwLock;
#[cfg(not(shuttle))]
pub use std::sync::atomic;
#[cfg(not(shuttle))]
pub use std::thread::sleep;

#[cfg(shuttle)]
pub use shuttle::sync::Condvar;
#[cfg(shuttle)]
pub use shuttle::sync::Mutex;
#[cfg(shuttle)]
pub use shuttle::sync::MutexGuard;
#[cfg(shuttle)]
pub use shuttle::sync::RwLock;
#[cfg(shuttle)]
pub use shuttle::sync::atomic;

/// A moment at which another thread may change what the next call finds: before every use of a name.
#[cfg(not(shuttle))]
#[inline]
pub const fn point() {}

/// A moment at which another thread may change what the next call finds: before every use of a name.
#[cfg(shuttle)]
pub fn point() {
    shuttle::thread::sleep(std::time::Duration::ZERO);
}

/// Lets others go first; how long does not matter where time is not what passes.
#[cfg(shuttle)]
pub fn sleep(_: std::time::Duration) {
    shuttle::thread::yield_now();
}
