//! Tests of marker.

use super::*;

const NOW: f64 = 1_794_702_913.365_640_6;

#[test]
fn a_marker_is_written_and_read_as_hermes_does() {
    assert_eq!(render_marker(NOW), "1794702913.3656406");
    assert_eq!(render_marker(1_794_702_913.0), "1794702913.0");
    assert_eq!(parse_marker(render_marker(NOW).as_bytes(), NOW), Some(NOW));
    assert_eq!(parse_marker(b" 1794702913\n", NOW), Some(1_794_702_913.0));
    assert_eq!(parse_marker(b"0", NOW), Some(0.0));
}

#[test]
fn a_wrong_or_future_marker_never_disables_maintenance() {
    let future = render_marker(NOW + 1.0);
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
        let last = parse_marker(bytes, NOW);
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
