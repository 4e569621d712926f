//! Tells what could be a real secret from what only shows where one belongs.
//!
//! Documentation, tests and templates are full of strings shaped like keys. Nearly all of them say so:
//! they spell `EXAMPLE` or `your`, count up, or repeat themselves. Random text does none of this.

use bstr::ByteSlice;

/// What makes a string a placeholder, whatever surrounds it: in lower case, in upper case, or with a
/// capital. Random text spells such a word now and then, but hardly ever in one case.
#[rustfmt::skip]
const PLACEHOLDERS: [&[u8]; 22] = [
    b"example", b"xxxx", b"your", b"placeholder", b"changeme", b"change_me", b"change-me", b"dummy",
    b"fake", b"sample", b"redacted", b"insert", b"replace", b"invalid", b"notreal", b"not-a-", b"secret",
    b"token", b"abcdefg", b"1234567", b"7654321", b"qwerty",
];

/// Runs of one character, or of characters that count up, do not get this long by chance.
const MAX_RUN_CHARACTERS: usize = 6;

/// Bits per character below which text is not random.
const MIN_ENTROPY: f64 = 3.0;
/// The same for text too short to have more.
const MIN_ENTROPY_OF_SHORT: f64 = 2.75;
const SHORT_TEXT: usize = 20;

/// Could this be the random part of a real secret?
pub(crate) fn is_random(text: &[u8]) -> bool {
    let least = if text.len() <= SHORT_TEXT { MIN_ENTROPY_OF_SHORT } else { MIN_ENTROPY };
    entropy(text) >= least && !is_placeholder(text)
}

/// Does the text say that it only stands for a secret?
pub(crate) fn is_placeholder(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    let spelled = PLACEHOLDERS
        .iter()
        .any(|word| lower.find_iter(word).any(|at| is_spelled(&text[at..at + word.len()])));
    spelled
        || longest_run(&lower, 0) > MAX_RUN_CHARACTERS
        || longest_run(&lower, 1) > MAX_RUN_CHARACTERS
}

/// Is a word written as words are?
fn is_spelled(word: &[u8]) -> bool {
    let rest = word.get(1..).unwrap_or_default();
    !rest.iter().any(u8::is_ascii_uppercase) || !word.iter().any(u8::is_ascii_lowercase)
}

/// The longest stretch in which each character is `step` above the one before it.
fn longest_run(text: &[u8], step: u8) -> usize {
    let mut longest = 0;
    let mut run = 1;
    for pair in text.windows(2) {
        run = if pair[0].checked_add(step) == Some(pair[1]) { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest
}

/// Shannon's entropy, in bits per character.
pub(crate) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let all = text.len() as f64;
    let of_each = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = f64::from(*count) / all;
        -share * share.log2()
    });
    of_each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_random_text() {
        for shown in [
            "IOSFODNN7EXAMPLE",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "your_token_goes_here_your_token_goes",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "1234567890abcdef1234567890abcdef",
            "0123456789abcdef0123456789abcdef",
            "abababababababababababababababababab",
            "0000000000000000000000000000000f",
            "",
        ] {
            assert!(!is_random(shown.as_bytes()), "{shown}");
        }
        for random in ["q7Vz2LkP0sXw9RtY", "9f3b1c7e5a2d8046bfe1"] {
            assert!(is_random(random.as_bytes()), "{random}");
        }
    }

    #[test]
    fn entropy_is_measured_in_bits() {
        assert!(entropy(b"aaaa").abs() < f64::EPSILON);
        assert!((entropy(b"abcdabcd") - 2.0).abs() < 1e-9);
    }
}
