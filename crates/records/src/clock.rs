//! The time, handed in from outside: the engine never asks the system for it.
//!
//! Times are shown to people and stored with checkpoints. Nothing is ordered by them, and only
//! cleanup counts ages, while it finds the clock plausible.

/// A moment, with the offset of the place where it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970, UTC.
    pub seconds: i64,
    /// Nanoseconds into the second.
    pub nanos: u32,
    /// Minutes east of UTC.
    pub offset_minutes: i32,
}

impl Timestamp {
    /// Seconds since 1970 with a fraction, as Python's `time.time()` gives them.
    pub fn as_float(&self) -> f64 {
        self.seconds as f64 + f64::from(self.nanos) / 1e9
    }

    /// Nanoseconds since 1970.
    pub fn as_nanos(&self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(self.nanos))
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still; for tests.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}
