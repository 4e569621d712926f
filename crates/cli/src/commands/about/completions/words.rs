//! The words of a line as a shell hands them over.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::bash;

/// The words as the program would get them. Bash and zsh hand them over as they were typed, fish the last one.
pub(super) fn unquoted(shell: &str, words: &[OsString]) -> Vec<OsString> {
    let raw = match shell {
        "bash" | "zsh" => words.len(),
        "fish" => 1,
        _ => 0,
    };
    let (plain, raw) = words.split_at(words.len().saturating_sub(raw));
    plain.iter().cloned().chain(raw.iter().map(|word| without_quotes(word))).collect()
}

/// Can a shell be told of this candidate? Not if it has what stands between two, or before what is said about one.
pub(super) fn can_be_told(shell: &str, candidate: &OsStr) -> bool {
    let between: &[u8] = if shell == "bash" { &[bash::BETWEEN] } else { b"\n\t" };
    !candidate.as_bytes().iter().any(|byte| between.contains(byte))
}

/// One word without the quotes that only the shell sees; the last one may be open.
fn without_quotes(word: &OsStr) -> OsString {
    let mut bytes = word.as_bytes().iter().copied().peekable();
    let mut plain = Vec::new();
    let mut open = None;
    while let Some(byte) = bytes.next() {
        match (open, byte) {
            (None, b'\'' | b'"') => open = Some(byte),
            (Some(quote), _) if byte == quote => open = None,
            (None, b'\\') => plain.extend(bytes.next()),
            (Some(b'"'), b'\\') => {
                let escaped = bytes.next_if(|next| b"\"\\$`".contains(next));
                plain.push(escaped.unwrap_or(byte));
            }
            _ => plain.push(byte),
        }
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_taken_from_what_was_typed() {
        for (typed, plain) in [
            ("plain", "plain"),
            (r"my\ file", "my file"),
            ("'my file", "my file"),
            (r#""a \"b\" \$c \d"#, r#"a "b" $c \d"#),
            (r#"it\'s' a'"b""#, "it's ab"),
            (r"end\", "end"),
            (r"'a\b'", r"a\b"),
        ] {
            assert_eq!(without_quotes(OsStr::new(typed)), plain, "{typed}");
        }
    }

    #[test]
    fn each_shell_hands_over_words_in_its_way() {
        let words = [r"a\ b", r"c\ d"].map(OsString::from);
        for (shell, expected) in [
            ("bash", ["a b", "c d"]),
            ("zsh", ["a b", "c d"]),
            ("fish", [r"a\ b", "c d"]),
            ("elvish", [r"a\ b", r"c\ d"]),
        ] {
            assert_eq!(unquoted(shell, &words), expected, "{shell}");
        }
    }
}
