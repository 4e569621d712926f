//! Doors for the fuzz targets, compiled only with `--cfg fuzzing`.

use crate::secrets;

/// The content of a file, in which a secret may be: it is found again one line further down, its place can be
/// noted, and looking takes no longer than the file is long.
pub fn secrets(content: &[u8], looks_long: bool) {
    let found = secrets::find(content);
    if let Some(found) = found {
        let lines = content.iter().filter(|byte| **byte == b'\n').count() + 1;
        assert!((1..=lines).contains(&(found.line as usize)));
        assert_eq!(secrets::Finding::from_number(found.to_number()), Some(found));
        assert_eq!(secrets::Finding::from_word(found.to_word().as_bytes()), Some(found));
        let _ = secrets::is_fixture(content, found.kind);
    }
    let is_marked = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
    if !is_marked && content.len() < 7000 {
        let moved = secrets::find(&[b"\n", content].concat());
        let expected = found.map(|found| secrets::Finding { line: found.line + 1, ..found });
        assert_eq!(moved, expected, "it moves with its line");
    }
    let _ = secrets::names::is_secret(content, false);
    if looks_long && !content.is_empty() {
        let _ = secrets::find(&content.repeat(secrets::MAX_SEARCHED_BYTES / 4 / content.len()));
    }
}
