//! Copies of old states, through the engine's doors.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    dead_code,
    reason = "a test binary has no other crates, and prepares its files with std"
)]

#[path = "engine"]
mod engine {
    pub mod project;
}

mod copies {
    mod promote;
    mod random;
}
