//! Where each line of a text comes from.

use crate::lines::align::{changed_ranges, numbered};

/// For each line of `new` the line of `old` it was carried over from, both counted from 0; `None` for a
/// line that is new. The alignment is that of our diffs, so the lines without an origin are those a
/// diff shows as added.
pub fn line_origins(old: &[u8], new: &[u8]) -> Vec<Option<usize>> {
    let input = numbered(old, new);
    let mut origins = Vec::with_capacity(input.after.len());
    let mut old_line = 0;
    for change in changed_ranges(&input) {
        let kept = change.before.start as usize - old_line;
        origins.extend((old_line..old_line + kept).map(Some));
        origins.resize(origins.len() + change.after.len(), None);
        old_line = change.before.end as usize;
    }
    origins.extend((old_line..input.before.len()).map(Some));
    origins
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lines::count;

    #[test]
    fn kept_lines_know_their_number_and_new_ones_have_none() {
        let origins = line_origins(b"a\nb\nc\nd\n", b"new\na\nc\nchanged\n");
        assert_eq!(origins, [None, Some(0), Some(2), None]);
    }

    #[test]
    fn everything_comes_from_an_equal_text_and_nothing_from_an_empty_one() {
        assert_eq!(line_origins(b"a\nb", b"a\nb"), [Some(0), Some(1)]);
        assert_eq!(line_origins(b"", b"a\nb"), [None, None]);
        assert!(line_origins(b"a\n", b"").is_empty());
    }

    #[test]
    fn a_line_that_got_its_newline_is_new() {
        assert_eq!(line_origins(b"a\nb", b"a\nb\nc"), [Some(0), None, None]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn origins_are_equal_lines_in_their_order(old in "[ab\n]{0,60}", new in "[abc\n ]{0,60}") {
            let lines = |text: &str| -> Vec<Vec<u8>> {
                text.as_bytes().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
            };
            let (old_lines, new_lines) = (lines(&old), lines(&new));
            let origins = line_origins(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(origins.len(), new_lines.len());
            for (origin, line) in origins.iter().zip(&new_lines) {
                prop_assert!(origin.is_none_or(|origin| &old_lines[origin] == line));
            }
            let known: Vec<usize> = origins.iter().flatten().copied().collect();
            prop_assert!(known.is_sorted_by(|a, b| a < b));
            let added = origins.len() - known.len();
            prop_assert_eq!(added as u64, count(old.as_bytes(), new.as_bytes()).0);
        }
    }
}
