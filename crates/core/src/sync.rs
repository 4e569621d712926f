//! Locks and atomics of what threads share.
//!
//! Built with `--cfg shuttle` they are those of the scheduler that tries interleavings one by one
//! (`cargo xtask shuttle`); otherwise they are the standard library's.

#[cfg(not(shuttle))]
pub(crate) use std::sync::Mutex;
#[cfg(not(shuttle))]
pub(crate) use std::sync::MutexGuard;
#[cfg(not(shuttle))]
pub(crate) use std::sync::RwLock;
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic;

#[cfg(shuttle)]
pub(crate) use shuttle::sync::Mutex;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::MutexGuard;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::RwLock;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic;
