//! Can the clock be believed?
//!
//! Age rules delete by what the clock says, so a clock that jumped must not be obeyed. It is plausible
//! if it lies at most thirty days after the last time a cleaning looked at it. If no cleaning has looked
//! yet, or the last look lies in the future, the newest record of the store decides: it must be at
//! most thirty days old and at most a day ahead.
//!
//! A distrusted clock is a matter of one cycle. The cleaning that distrusts it writes down what it
//! saw, and if the next one finds the clock running on from there, time has really passed: the machine
//! was off for six weeks, or the clock was set right. So a marker in the future, a dead battery or a long
//! holiday delays cleaning by one cycle and never turns it off.
//!
//! # Limits
//!
//! A jump ahead that lasts for two cycles is taken for time that passed.
//!
//! # The marker
//!
//! `.last_prune`: when cleaning last ran, as Hermes writes it (`str(time.time())`).
//!
//! A marker that cannot be right, because it is no number or lies in the future, counts as no marker:
//! cleaning is due, and writes a new one.

use herma_records::identity::python_float;

use super::{DAY, HOUR};

/// A clock may run on for so long between two looks at it.
const MAX_PAUSE_SECONDS: f64 = 30.0 * DAY;
/// A record may be so far ahead: time zones set wrongly, two machines on one disk.
pub(super) const AHEAD: f64 = DAY;

/// What is thought of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trust {
    /// It runs on from where it was.
    #[error("the clock runs on from the last cleaning")]
    Trusted,
    /// It is before the newest record of the store.
    #[error("the clock is behind the newest checkpoint")]
    Behind,
    /// It is more than thirty days after the last cleaning.
    #[error("the clock is more than 30 days ahead of the last cleaning")]
    JumpedAhead,
    /// No cleaning has looked at it yet, and the newest record is more than thirty days old.
    #[error("the clock is more than 30 days ahead of the newest checkpoint")]
    Unconfirmed,
}

impl Trust {
    /// May anything be decided by age?
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

/// Judges the clock. All times are seconds since 1970; `newest_record` is the latest time that any
/// project's record or checkpoint shows.
pub(crate) fn trust(now: f64, last_run: Option<f64>, newest_record: Option<f64>) -> Trust {
    if !now.is_finite() {
        return Trust::Unconfirmed;
    }
    match last_run {
        Some(last) if last <= now && now <= last + MAX_PAUSE_SECONDS => Trust::Trusted,
        Some(last) if last.is_finite() && last <= now => Trust::JumpedAhead,
        _ => by_records(now, newest_record),
    }
}

fn by_records(now: f64, newest_record: Option<f64>) -> Trust {
    match newest_record {
        None => Trust::Trusted,
        Some(newest) if newest > now + AHEAD => Trust::Behind,
        Some(newest) if newest >= now - MAX_PAUSE_SECONDS => Trust::Trusted,
        Some(_) => Trust::Unconfirmed,
    }
}

/// The name of the file, in the directory that holds the store.
pub(crate) const MARKER_FILE: &str = ".last_prune";

/// The longest file worth reading.
pub(crate) const MAX_MARKER_BYTES: u64 = 64;

/// The time in a marker, if it is one that can be: a number, not negative, not after `now`.
pub(crate) fn parse_marker(bytes: &[u8], now: f64) -> Option<f64> {
    let time: f64 = std::str::from_utf8(bytes).ok()?.trim().parse().ok()?;
    // An infinite time is after now, and what is no number compares as false.
    (0.0 <= time && time <= now).then_some(time)
}

/// Is it time to clean again? Yes if the last time is unknown, or in the future, or `hours` ago.
pub(crate) fn is_due(now: f64, last: Option<f64>, hours: u32) -> bool {
    match last {
        Some(last) if last <= now => now - last >= f64::from(hours) * HOUR,
        _ => true,
    }
}

/// The content of a marker written at `now`.
pub(crate) fn render_marker(now: f64) -> String {
    python_float(now)
}

#[cfg(test)]
#[path = "tests/clock/trust.rs"]
mod clock_tests;

#[cfg(test)]
#[path = "tests/clock/marker.rs"]
mod marker_tests;
