//! Which lines of a content match a regular expression, as ripgrep reads one.
//!
//! A match is always within one line. A content with a NUL among its first bytes is binary, as git has it: that it matches is
//! told, but no line of it.

use std::collections::HashSet;
use std::io;

use bstr::ByteSlice;
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// So many bytes of lines are kept of one content; of the rest only their number.
const MAX_KEPT_BYTES: usize = 64 << 10;
/// So much of a line is kept.
const MAX_LINE_BYTES: usize = 1000;
/// A NUL among so many bytes makes a content binary.
const BINARY_BYTES: usize = 8000;
/// What a pattern may take when it is compiled, and each thread while it searches.
const MAX_PATTERN_BYTES: usize = 10 << 20;
const MAX_CACHE_BYTES: usize = 4 << 20;
/// A line that is longer is searched in pieces of this length.
const MAX_SEARCHED_LINE: usize = 16 << 20;

/// How lines are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineOptions {
    /// Small and large letters are the same.
    pub ignore_case: bool,
    /// Only whole words.
    pub word: bool,
    /// Each character stands for itself.
    pub fixed: bool,
}

/// A regular expression that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

/// A regular expression for lines.
#[derive(Clone, Debug)]
pub struct LinePattern(RegexMatcher);

/// Lines, each by a hash of it: whether a line is among them.
#[derive(Clone, Debug, Default)]
pub struct LineSet(HashSet<u128>);

impl LineSet {
    fn hash(line: &[u8]) -> u128 {
        xxhash_rust::xxh3::xxh3_128(line)
    }

    /// Adds those of another one.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn contains(&self, line: &[u8]) -> bool {
        self.0.contains(&Self::hash(line))
    }
}

/// Which of the lines that match are wanted.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'w> {
    /// All of them.
    All,
    /// Those that are not among these.
    Without(&'w LineSet),
    /// None is told; all are put into a set.
    Set,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the end of the line, and no more than a thousand.
    pub text: Vec<u8>,
    /// Is it longer?
    pub is_cut: bool,
}

/// What matches in one content.
#[derive(Clone, Debug, Default)]
pub struct FoundLines {
    /// The lines, in their order.
    pub lines: Vec<FoundLine>,
    /// How many more there are.
    pub more: u64,
    /// Is it no text? Then no line is told.
    pub is_binary: bool,
    /// The lines as a set, if that was wanted.
    pub set: LineSet,
    kept: usize,
}

impl LinePattern {
    /// Reads a regular expression.
    pub fn new(pattern: &str, options: LineOptions) -> Result<Self, BadPattern> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(options.ignore_case)
            .word(options.word)
            .fixed_strings(options.fixed)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES);
        builder.build(pattern).map(Self).map_err(|error| BadPattern(error.to_string()))
    }

    /// What matches in a content; `None` if nothing does.
    pub fn search(&self, content: &[u8], wanted: Wanted<'_>) -> Option<FoundLines> {
        let mut search = Search::new(self, wanted);
        search.begin(content);
        search.lines(content);
        search.end()
    }

    /// Does this line match?
    pub fn fits(&self, line: &[u8]) -> bool {
        matches!(self.0.is_match(line), Ok(true))
    }
}

/// A search of one content, which may come in pieces.
pub struct Search<'p> {
    pattern: &'p LinePattern,
    wanted: Wanted<'p>,
    found: FoundLines,
    is_found: bool,
    has_begun: bool,
    line: u64,
    /// The beginning of a line of which the end has not come yet.
    rest: Vec<u8>,
}

impl<'p> Search<'p> {
    /// Nothing has come yet.
    pub fn new(pattern: &'p LinePattern, wanted: Wanted<'p>) -> Self {
        let (found, rest) = (FoundLines::default(), Vec::new());
        Self { pattern, wanted, found, is_found: false, has_begun: false, line: 1, rest }
    }

    /// Takes the next piece.
    pub fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.rest.extend_from_slice(piece);
        if !self.has_begun && self.rest.len() < BINARY_BYTES {
            return Ok(());
        }
        let whole = match self.rest.rfind_byte(b'\n') {
            Some(end) => end + 1,
            None if self.rest.len() > MAX_SEARCHED_LINE => self.rest.len(),
            None => return Ok(()),
        };
        let rest = std::mem::take(&mut self.rest);
        if !self.has_begun {
            self.begin(&rest);
        }
        self.lines(&rest[..whole]);
        self.rest.extend_from_slice(&rest[whole..]);
        Ok(())
    }

    /// What was found; `None` if nothing was.
    pub fn end(mut self) -> Option<FoundLines> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            if !self.has_begun {
                self.begin(&rest);
            }
            self.lines(&rest);
        }
        self.is_found.then_some(self.found)
    }

    fn begin(&mut self, start: &[u8]) {
        self.has_begun = true;
        self.found.is_binary = start[..start.len().min(BINARY_BYTES)].contains(&0);
    }

    /// Searches whole lines.
    fn lines(&mut self, text: &[u8]) {
        // Up to where lines were counted.
        let (mut at, mut counted) = (0, 0);
        while at < text.len() && !(self.found.is_binary && self.is_found) {
            let Some(inside) = self.next(text, at) else { break };
            let start = text[..inside].rfind_byte(b'\n').map_or(0, |newline| newline + 1);
            let end = text[inside..].find_byte(b'\n').map_or(text.len(), |after| inside + after);
            self.line += newlines(&text[counted..start]);
            counted = start;
            self.found_line(&text[start..end]);
            at = end + 1;
        }
        self.line += newlines(&text[counted..]);
    }

    fn found_line(&mut self, line: &[u8]) {
        if self.found.is_binary {
            self.is_found = true;
            return;
        }
        match self.wanted {
            Wanted::Without(known) if known.contains(line) => return,
            Wanted::Set => drop(self.found.set.0.insert(LineSet::hash(line))),
            Wanted::All | Wanted::Without(_) => self.found.add(self.line, line),
        }
        self.is_found = true;
    }

    /// A place within the next line that matches, from the line that begins at `from` on.
    fn next(&self, text: &[u8], mut from: usize) -> Option<usize> {
        let matcher = &self.pattern.0;
        while from < text.len() {
            let candidate = match matcher.find_candidate_line(&text[from..]).ok()?? {
                LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at) => from + at,
            };
            // Behind the last end of a line there is no line.
            if candidate >= text.len() && text.ends_with(b"\n") {
                return None;
            }
            let inside = candidate.min(text.len());
            let start = text[..inside].rfind_byte(b'\n').map_or(0, |newline| newline + 1);
            let end = text[inside..].find_byte(b'\n').map_or(text.len(), |after| inside + after);
            // The expression sees the line alone, as if there were no other.
            if self.pattern.fits(&text[start..end]) {
                return Some(inside);
            }
            from = end + 1;
        }
        None
    }
}

impl FoundLines {
    fn add(&mut self, number: u64, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = &line[..line.len().min(MAX_LINE_BYTES)];
        if self.kept + text.len() > MAX_KEPT_BYTES {
            self.more += 1;
            return;
        }
        self.kept += text.len().max(32);
        let is_cut = text.len() < line.len();
        self.lines.push(FoundLine { number, text: text.to_owned(), is_cut });
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.find_iter(b"\n").count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(pattern: &str, options: LineOptions, content: &[u8]) -> Vec<(u64, String)> {
        let pattern = LinePattern::new(pattern, options).unwrap();
        let found = pattern.search(content, Wanted::All).unwrap_or_default();
        let text = |line: &FoundLine| String::from_utf8_lossy(&line.text).into_owned();
        found.lines.iter().map(|line| (line.number, text(line))).collect()
    }

    #[test]
    fn lines_are_found_with_their_numbers() {
        let plain = LineOptions::default();
        let text = b"one\ntwo\r\n\nfour two\nend";
        let all = |pattern: &str, options| -> Vec<u64> {
            found(pattern, options, text).into_iter().map(|(number, _)| number).collect()
        };
        assert_eq!(found("two", plain, text), [(2, "two".into()), (4, "four two".into())]);
        assert_eq!(all("^$", plain), [3]);
        assert_eq!(all("", plain), [1, 2, 3, 4, 5]);
        assert_eq!(all("end$", plain), [5]);
        assert_eq!(all("^two", plain), [2]);
        assert_eq!(all("one\\s+two", plain), [0; 0]);
        assert_eq!(all("TWO", LineOptions { ignore_case: true, ..plain }), [2, 4]);
        assert_eq!(all("tw", LineOptions { word: true, ..plain }), [0; 0]);
        assert_eq!(all("o.r", LineOptions { fixed: true, ..plain }), [0; 0]);
        assert_eq!(found("a", plain, b""), []);
        assert_eq!(found("", plain, b"\n"), [(1, String::new())]);
    }

    #[test]
    fn of_what_is_binary_only_that_it_matches_is_told() {
        let pattern = LinePattern::new("b", LineOptions::default()).unwrap();
        let found = pattern.search(b"a\0\nb\n", Wanted::All).unwrap();
        assert!(found.is_binary && found.lines.is_empty());
        assert!(pattern.search(b"a\0\nc\n", Wanted::All).is_none());
    }

    #[test]
    fn endless_lines_and_patterns_keep_within_bounds() {
        let pattern = LinePattern::new("x", LineOptions::default()).unwrap();
        let found = pattern.search(&b"x".repeat(5000), Wanted::All).unwrap();
        assert_eq!((found.lines[0].text.len(), found.lines[0].is_cut), (MAX_LINE_BYTES, true));
        let found = pattern.search(&b"x\n".repeat(100_000), Wanted::All).unwrap();
        assert_eq!(found.lines.len() as u64 + found.more, 100_000);
        assert!(found.lines.len() <= MAX_KEPT_BYTES / 32);
        for bad in ["(", "a{1000}{1000}{1000}", "\\n"] {
            assert!(LinePattern::new(bad, LineOptions::default()).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_that_are_known_are_not_wanted() {
        let pattern = LinePattern::new("a", LineOptions::default()).unwrap();
        let known = pattern.search(b"a1\na2\n", Wanted::Set).unwrap();
        assert!(known.lines.is_empty());
        let found = pattern.search(b"a2\nb\na3\na1", Wanted::Without(&known.set)).unwrap();
        assert_eq!(found.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [3]);
        assert!(pattern.search(b"a2\nb\n", Wanted::Without(&known.set)).is_none());
    }

    proptest! {
        #[test]
        fn in_pieces_it_finds_what_it_finds_at_once(
            text in "[ab\n\r]{0,60}", cuts in proptest::collection::vec(0..60_usize, 0..5),
            pattern in "[ab]{1,2}|\\^a|b\\$|\\^\\$", long in any::<bool>(),
        ) {
            let mut text = text.into_bytes();
            if long {
                text.splice(0..0, b"ab\n".repeat(3000));
            }
            let pattern = LinePattern::new(&pattern, LineOptions::default()).unwrap();
            let mut search = Search::new(&pattern, Wanted::All);
            let mut rest = &text[..];
            for cut in cuts {
                let (piece, after) = rest.split_at((cut * if long { 300 } else { 1 }).min(rest.len()));
                search.take(piece).unwrap();
                rest = after;
            }
            search.take(rest).unwrap();
            let found = search.end();
            let at_once = pattern.search(&text, Wanted::All);
            prop_assert_eq!(found.as_ref().map(|f| &f.lines), at_once.as_ref().map(|f| &f.lines));
            let lines: Vec<&[u8]> = text.strip_suffix(b"\n").unwrap_or(&text).split(|b| *b == b'\n').collect();
            let fitting = (1..).zip(&lines).filter(|(_, line)| !text.is_empty() && pattern.fits(line));
            let fitting: Vec<u64> = fitting.map(|(number, _)| number).collect();
            let found = found.unwrap_or_default();
            let told: Vec<u64> = found.lines.iter().map(|line| line.number).collect();
            prop_assert_eq!(&told[..], &fitting[..told.len()]);
            prop_assert_eq!(told.len() as u64 + found.more, fitting.len() as u64);
        }
    }
}
