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

use std::fmt;

use super::DAY;

/// A clock may run on for so long between two looks at it.
const LONGEST_PAUSE: f64 = 30.0 * DAY;
/// A record may be so far ahead: time zones set wrongly, two machines on one disk.
pub(super) const AHEAD: f64 = DAY;

/// What is thought of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It runs on from where it was.
    Trusted,
    /// It is before the newest record of the store.
    Behind,
    /// It is more than thirty days after the last cleaning.
    JumpedAhead,
    /// No cleaning has looked at it yet, and the newest record is more than thirty days old.
    Unconfirmed,
}

impl Trust {
    /// May anything be decided by age?
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trusted => "the clock runs on from the last cleaning",
            Self::Behind => "the clock is behind the newest checkpoint",
            Self::JumpedAhead => "the clock is more than 30 days ahead of the last cleaning",
            Self::Unconfirmed => "the clock is more than 30 days ahead of the newest checkpoint",
        })
    }
}

/// Judges the clock. All times are seconds since 1970; `newest_record` is the latest time that any
/// project's record or checkpoint shows.
pub fn trust(now: f64, last_run: Option<f64>, newest_record: Option<f64>) -> Trust {
    if !now.is_finite() {
        return Trust::Unconfirmed;
    }
    match last_run {
        Some(last) if last <= now && now <= last + LONGEST_PAUSE => Trust::Trusted,
        Some(last) if last.is_finite() && last <= now => Trust::JumpedAhead,
        _ => by_records(now, newest_record),
    }
}

fn by_records(now: f64, newest_record: Option<f64>) -> Trust {
    match newest_record {
        None => Trust::Trusted,
        Some(newest) if newest > now + AHEAD => Trust::Behind,
        Some(newest) if newest >= now - LONGEST_PAUSE => Trust::Trusted,
        Some(_) => Trust::Unconfirmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 1_794_702_913.5;
    const YEAR: f64 = 365.0 * DAY;

    #[test]
    fn a_clock_that_runs_on_is_trusted() {
        for since in [0.0, 1.0, DAY, LONGEST_PAUSE] {
            assert_eq!(trust(NOW, Some(NOW - since), None), Trust::Trusted);
            assert_eq!(trust(NOW, Some(NOW - since), Some(1.0)), Trust::Trusted);
        }
    }

    #[test]
    fn a_jump_ahead_waits_one_cycle() {
        assert_eq!(trust(NOW + YEAR, Some(NOW), Some(NOW)), Trust::JumpedAhead);
        // Six weeks in a drawer look the same; the cycle after that sees its own last run.
        let back = NOW + 42.0 * DAY;
        assert_eq!(trust(back, Some(NOW), Some(NOW)), Trust::JumpedAhead);
        assert_eq!(trust(back + DAY, Some(back), Some(NOW)), Trust::Trusted);
    }

    #[test]
    fn a_jump_back_waits_one_cycle() {
        let wrong = NOW - YEAR;
        assert_eq!(trust(wrong, Some(NOW), Some(NOW)), Trust::Behind);
        assert_eq!(trust(wrong + DAY, Some(wrong), Some(NOW)), Trust::Trusted);
        assert_eq!(trust(NOW, Some(wrong), Some(NOW)), Trust::JumpedAhead);
    }

    #[test]
    fn a_last_run_in_the_future_is_no_last_run() {
        for future in [NOW + 1.0, NOW + YEAR, f64::INFINITY] {
            assert_eq!(trust(NOW, Some(future), Some(NOW - DAY)), Trust::Trusted);
            assert_eq!(trust(NOW, Some(future), None), Trust::Trusted);
            assert_eq!(trust(NOW, Some(future), Some(NOW + YEAR)), Trust::Behind);
        }
    }

    #[test]
    fn without_a_last_run_the_newest_record_decides() {
        assert_eq!(trust(NOW, None, None), Trust::Trusted);
        assert_eq!(trust(NOW, None, Some(NOW - LONGEST_PAUSE)), Trust::Trusted);
        assert_eq!(trust(NOW, None, Some(NOW + AHEAD)), Trust::Trusted);
        assert_eq!(trust(NOW, None, Some(NOW + AHEAD + 1.0)), Trust::Behind);
        assert_eq!(trust(NOW, None, Some(NOW - YEAR)), Trust::Unconfirmed);
    }

    #[test]
    fn numbers_that_are_no_times_are_not_trusted() {
        assert!(!trust(f64::NAN, None, None).is_trusted());
        assert!(!trust(f64::INFINITY, Some(NOW), Some(NOW)).is_trusted());
        assert!(!trust(NOW, Some(f64::NEG_INFINITY), Some(NOW - YEAR)).is_trusted());
        assert!(!trust(NOW, None, Some(f64::NAN)).is_trusted());
        assert_eq!(trust(NOW, Some(f64::NAN), Some(NOW)), Trust::Trusted);
    }
}
