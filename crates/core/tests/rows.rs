//! The rows of the failure table (`cargo xtask faults --list`) that the engine alone can be put through.
//!
//! Each has a size for every change and, with `HERMA_FAULT_FULL=1`, the size the table asks for.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    dead_code,
    reason = "a test binary has no other crates, prepares its files with std, and tells its figures"
)]

#[path = "engine"]
mod engine {
    mod attacks;
    pub mod child;
    pub mod project;
    mod swap;
}

mod rows {
    mod clocks;
    mod damage;
    mod damage_scene;
    mod invisible;
    mod old_stores;
    pub mod places;
    mod writers;
}
