//! `.last_prune`: when cleaning last ran, as Hermes writes it (`str(time.time())`).
//!
//! A marker that cannot be right, because it is no number or lies in the future, counts as no marker:
//! cleaning is due, and writes a new one.

use super::HOUR;
use crate::project::python_float;

/// The name of the file, in the directory that holds the store.
pub const FILE: &str = ".last_prune";

/// The longest file worth reading.
pub const LONGEST: u64 = 64;

/// The time in a marker, if it is one that can be: a number, not negative, not after `now`.
pub fn parse(bytes: &[u8], now: f64) -> Option<f64> {
    let time: f64 = std::str::from_utf8(bytes).ok()?.trim().parse().ok()?;
    // An infinite time is after now, and what is no number compares as false.
    (0.0 <= time && time <= now).then_some(time)
}

/// Is it time to clean again? Yes if the last time is unknown, or in the future, or `hours` ago.
pub fn is_due(now: f64, last: Option<f64>, hours: u32) -> bool {
    match last {
        Some(last) if last <= now => now - last >= f64::from(hours) * HOUR,
        _ => true,
    }
}

/// The content of a marker written at `now`.
pub fn render(now: f64) -> String {
    python_float(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 1_794_702_913.365_640_6;

    #[test]
    fn a_marker_is_written_and_read_as_hermes_does() {
        assert_eq!(render(NOW), "1794702913.3656406");
        assert_eq!(render(1_794_702_913.0), "1794702913.0");
        assert_eq!(parse(render(NOW).as_bytes(), NOW), Some(NOW));
        assert_eq!(parse(b" 1794702913\n", NOW), Some(1_794_702_913.0));
        assert_eq!(parse(b"0", NOW), Some(0.0));
    }

    #[test]
    fn a_wrong_or_future_marker_never_disables_maintenance() {
        let future = render(NOW + 1.0);
        let wrong = [
            &b""[..],
            b"yesterday",
            b"nan",
            b"inf",
            b"-inf",
            b"1e999",
            b"-1",
            b"\xff",
            b"1 2",
            future.as_bytes(),
        ];
        for bytes in wrong {
            let last = parse(bytes, NOW);
            assert_eq!(last, None, "{bytes:?}");
            assert!(is_due(NOW, last, 24));
        }
        assert!(is_due(NOW, Some(NOW + 1.0), 24), "the clock was set back");
        assert!(is_due(NOW, Some(f64::NAN), 24));
    }

    #[test]
    fn cleaning_waits_for_the_interval() {
        assert!(!is_due(NOW, Some(NOW - 23.9 * HOUR), 24));
        assert!(is_due(NOW, Some(NOW - 24.1 * HOUR), 24));
        assert!(is_due(NOW, Some(NOW), 0));
        assert!(!is_due(NOW, Some(NOW - 1.0), u32::MAX));
    }
}
