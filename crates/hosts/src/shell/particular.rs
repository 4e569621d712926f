//! Programs that mostly change something and with these arguments only read, which matters to a label and not to
//! `herma can-undo`.

use super::words::Argument;

/// Does a program that mostly changes something only read with exactly these arguments?
pub(super) fn only_reads(name: &str, arguments: &[Argument]) -> bool {
    let words = arguments
        .iter()
        .map(|argument| argument.as_ref().map(|text| text.as_slice()));
    let Some(words) = words.collect::<Option<Vec<&[u8]>>>() else {
        return false;
    };
    let are_operands = |words: &[&[u8]]| words.iter().all(|word| word.first() != Some(&b'-'));
    match (name, words.as_slice()) {
        ("go", [b"version"]) | ("java", [b"-version"]) => true,
        // With `-n` the operands are patterns of tags to be listed.
        ("git", [b"tag", flag, rest @ ..]) => {
            let lines = flag.strip_prefix(b"-n");
            lines.is_some_and(|lines| lines.iter().all(u8::is_ascii_digit)) && are_operands(rest)
        }
        ("git", [b"config", b"--get", rest @ ..])
        | ("gzip", [b"-l" | b"-t" | b"-dc" | b"-cd", rest @ ..]) => are_operands(rest),
        _ => false,
    }
}
