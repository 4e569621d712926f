//! The time, as Python's callers have it.

use herma_core::types::clock::{Clock, Timestamp};
use herma_sessions::resume::Now;
use jiff::Zoned;

/// The system's clock, with the offset of the user's time zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Zoned::now();
        Timestamp {
            seconds: now.timestamp().as_second(),
            // Negative only before 1970.
            nanos: now.timestamp().subsec_nanosecond().unsigned_abs(),
            offset_minutes: now.offset().seconds() / 60,
        }
    }
}

/// The present, as resume records take it.
pub(crate) fn now() -> Now {
    let now = Zoned::now();
    Now { time: now.timestamp(), zone: now.time_zone().clone() }
}

/// Seconds since 1970.
pub(crate) fn seconds() -> f64 {
    SystemClock.now().as_float()
}
