//! What threads of one process share, under orders of their steps that are chosen one by one.
//!
//! Only with `--cfg shuttle`, which `cargo xtask interleavings` sets; otherwise there is nothing here. A scheduler runs
//! the threads as one and decides at every lock, every atomic and every use of a name in the file system who goes on.
//! Half of the orders are random, half change priorities at a few random steps (PCT), which finds what needs one
//! thread to sleep at the worst moment. A failure prints the order, which `shuttle::replay` repeats.
#![cfg(shuttle)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make files directly and fail loudly"
)]

#[path = "interleavings/packs.rs"]
mod packs;
#[path = "interleavings/place.rs"]
mod place;
#[path = "interleavings/refs.rs"]
mod refs;
#[path = "interleavings/savers.rs"]
mod savers;
