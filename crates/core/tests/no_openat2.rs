//! The same attacks where the kernel has no `openat2`: paths are then resolved name by name.
//!
//! A binary of its own, because a process that once did without it does without it for good.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    dead_code,
    reason = "a test binary has no other crates, and prepares its files with std"
)]

#[path = "engine"]
mod engine {
    pub mod attacks;
    pub mod project;
}

#[test]
fn a_save_takes_in_nothing_through_a_swapped_directory() {
    herma_fs::dir::assume_no_openat2();
    engine::attacks::save(engine::attacks::Victim::Directory);
}

#[test]
fn a_restore_touches_nothing_through_a_swapped_directory() {
    herma_fs::dir::assume_no_openat2();
    engine::attacks::restore(engine::attacks::Victim::Directory);
}

#[test]
fn a_removal_reaches_nothing_through_a_swapped_directory() {
    herma_fs::dir::assume_no_openat2();
    engine::attacks::remove(engine::attacks::Victim::Directory);
}

#[test]
fn a_save_takes_in_nothing_through_a_swapped_file() {
    herma_fs::dir::assume_no_openat2();
    engine::attacks::save(engine::attacks::Victim::File);
}

#[test]
fn a_restore_touches_nothing_through_a_swapped_file() {
    herma_fs::dir::assume_no_openat2();
    engine::attacks::restore(engine::attacks::Victim::File);
}
