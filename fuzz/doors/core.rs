//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`.
//!
//! What the engine reads back from a disk is often private to it. The targets in `fuzz/` come in here. Each door
//! also says what must hold of the answer, because "it did not panic" is the least of it.

use crate::cleanup::{CleaningRecord, clock};
use crate::steps::calls;

/// What the last cleaning left, when it was, and when somebody looked last.
pub fn cleaning(bytes: &[u8]) {
    if let Some(record) = CleaningRecord::parse(bytes) {
        assert_eq!(CleaningRecord::parse(&record.encode()), Some(record));
    }
    let now = 1_794_702_913.5;
    if let Some(last) = clock::parse_marker(bytes, now) {
        assert!((0.0..=now).contains(&last), "never in the future");
        assert_eq!(clock::parse_marker(clock::render_marker(last).as_bytes(), now), Some(last));
        assert_eq!(clock::is_due(now, Some(last), 0), true);
    }
    if let Some((moment, id)) = calls::parse_look(bytes) {
        let _ = moment.elapsed();
        let written = format!("{moment} {id}\n");
        assert_eq!(calls::parse_look(written.as_bytes()), Some((moment, id)));
    }
}
