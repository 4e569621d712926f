//! Tests of clock.

use super::*;

const NOW: f64 = 1_794_702_913.5;
const YEAR: f64 = 365.0 * DAY;

#[test]
fn a_clock_that_runs_on_is_trusted() {
    for since in [0.0, 1.0, DAY, MAX_PAUSE_SECONDS] {
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
    assert_eq!(trust(NOW, None, Some(NOW - MAX_PAUSE_SECONDS)), Trust::Trusted);
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
