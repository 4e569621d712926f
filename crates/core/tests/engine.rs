//! The engine, driven through its doors.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    dead_code,
    reason = "a test binary has no other crates, and prepares its files with std"
)]

mod engine {
    mod attacks;
    pub mod child;
    mod craft;
    mod crafted;
    mod crafted_store;
    mod defects_capture;
    mod defects_disk;
    mod defects_history;
    mod defects_places;
    mod defects_refusals;
    mod defects_rollback;
    mod hermes;
    mod model;
    mod model_run;
    mod model_state;
    mod names;
    mod oracle;
    mod paths;
    pub mod project;
    mod reviewed;
    mod round_trip;
    mod special;
    mod swap;
}
