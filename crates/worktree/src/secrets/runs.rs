//! Finds the long words of a text: what has no space, dot or quote in it for [`MIN_WORD_CHARACTERS`] characters.
//!
//! Nearly every secret is such a word, or has one right behind its prefix, and nearly no other text is.

/// Words of fewer characters are not found.
const MIN_WORD_CHARACTERS: usize = 24;

/// Letters, digits, `_` and `-`.
const IN_RUN: [bool; 256] = {
    let mut in_run = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        in_run[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        byte += 1;
    }
    in_run
};

/// Where long words begin and end, from the first to the last.
pub(crate) fn runs(text: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let word = text.get(start..start + MIN_WORD_CHARACTERS)?;
            if let Some(gap) = word.iter().rposition(|byte| !IN_RUN[usize::from(*byte)]) {
                start += gap + 1;
                continue;
            }
            let behind = &text[start + word.len()..];
            let more =
                behind.iter().position(|byte| !IN_RUN[usize::from(*byte)]).unwrap_or(behind.len());
            let end = start + word.len() + more;
            return Some((std::mem::replace(&mut start, end), end));
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_long_word_is_found(text in "([a-cX-Z0189_-]{1,40}[ .`@{/:\\[^]){0,30}[a-z]{0,40}") {
            let found: Vec<_> = runs(text.as_bytes()).collect();
            let mut expected = Vec::new();
            let mut start = 0;
            for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-') {
                if word.len() >= MIN_WORD_CHARACTERS {
                    expected.push((start, start + word.len()));
                }
                start += word.len() + 1;
            }
            prop_assert_eq!(found, expected);
        }
    }
}
