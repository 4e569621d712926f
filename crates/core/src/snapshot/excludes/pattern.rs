//! One line of an ignore file, matched exactly as git matches it.
//!
//! Parsing and matching follow git's `dir.c`, down to its habits: the literal beginning of a pattern
//! is compared first and only the rest is a glob, a NUL ends a line, and a pattern without an inner
//! slash looks at the name alone. Only the glob itself comes from `gix-glob`.

use std::borrow::Cow;

use bstr::ByteSlice;

use super::levels::Levels;

/// One pattern of an ignore file or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The glob, without `!`, the leading and the trailing slash.
    text: Box<[u8]>,
    /// It takes in again what earlier patterns leave out.
    negative: bool,
    directory_only: bool,
    /// It has no inner slash: it is compared with the name, at any depth.
    by_name: bool,
    /// `*literal`: the end of the name decides.
    is_suffix: bool,
    /// How many bytes stand before the first glob character.
    literal: usize,
    /// What follows the literal beginning, if it has several `**`.
    levels: Option<Levels>,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// Relative to the project root.
    pub(crate) path: &'a [u8],
    /// The last component of `path`.
    pub(crate) name: &'a [u8],
    pub(crate) is_dir: bool,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(path: &'a [u8], is_dir: bool) -> Self {
        let start = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        Self {
            path,
            name: &path[start..],
            is_dir,
        }
    }
}

/// The pattern with `[:` escaped wherever it begins no class: in `[[:x]`, git takes it for two characters of the
/// set, and the glob matcher does not.
fn with_plain_sets(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains_str("[:") {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len() + 4);
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            b'\\' => at + 2,
            b'[' => end_of_set(text, at, &mut plain),
            _ => at + 1,
        };
        let end = end.min(text.len());
        if text[at] != b'[' {
            plain.extend_from_slice(&text[at..end]);
        }
        at = end;
    }
    Cow::Owned(plain)
}

/// Copies the set that begins at `start`, and returns where it ends. One that is not closed takes the rest.
fn end_of_set(text: &[u8], start: usize, plain: &mut Vec<u8>) -> usize {
    let mut at = start + 1;
    if matches!(text.get(at), Some(b'!' | b'^')) {
        at += 1;
    }
    plain.extend_from_slice(&text[start..at]);
    // What may begin a range. The first character belongs to the set, even if it is a bracket.
    let (mut before, mut is_first) = (false, true);
    while let Some(&byte) = text.get(at) {
        if byte == b']' && !is_first {
            plain.push(byte);
            return at + 1;
        }
        is_first = false;
        let rest = &text[at..];
        let mut length = 1;
        let mut begins_range = true;
        match rest {
            [b'\\', ..] => length = 2,
            [b'-', b'[', ..] if before => {
                plain.extend_from_slice(b"-\\");
                at += 1;
                begins_range = false;
            }
            [b'-', next, ..] if before && *next != b']' => {
                length = if *next == b'\\' { 3 } else { 2 };
                begins_range = false;
            }
            [b'[', b':', inner @ ..] => match inner.find_byte(b']') {
                Some(close) if close > 0 && inner[close - 1] == b':' => {
                    length = close + 3;
                    begins_range = false;
                }
                _ => plain.push(b'\\'),
            },
            _ => {}
        }
        let end = (at + length).min(text.len());
        plain.extend_from_slice(&text[at..end]);
        at = end;
        before = begins_range;
    }
    text.len()
}

/// The patterns of a whole ignore file, in its order.
pub(crate) fn parse_file(content: &[u8]) -> Vec<Pattern> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    content
        .split(|b| *b == b'\n')
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<Pattern> {
    if line.first().is_none_or(|first| *first == b'#') {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Pattern::parse(line)
}

impl Pattern {
    /// Reads one pattern; `None` if it can match nothing.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let end = line.find_byte(0).unwrap_or(line.len());
        let line = trim_trailing_spaces(&line[..end]);
        let (negative, text) = match line.strip_prefix(b"!") {
            Some(text) => (true, text),
            None => (false, line),
        };
        let (directory_only, text) = match text.strip_suffix(b"/") {
            Some(text) => (true, text),
            None => (false, text),
        };
        if text.is_empty() {
            return None;
        }
        let by_name = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let text = &*with_plain_sets(text);
        let is_suffix = text.first() == Some(&b'*') && literal_length(&text[1..]) == text.len() - 1;
        let literal = literal_length(text);
        Some(Self {
            text: text.into(),
            negative,
            directory_only,
            by_name,
            is_suffix,
            literal,
            levels: if by_name {
                None
            } else {
                Levels::of(&text[literal..])
            },
        })
    }

    /// The same pattern, turned into one that takes in.
    pub(crate) fn into_negative(mut self) -> Self {
        self.negative = true;
        self
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Does it match this entry? `base` is the length of the directory its file is in, with the slash.
    pub(crate) fn matches(&self, entry: Entry<'_>, base: usize) -> bool {
        if self.directory_only && !entry.is_dir {
            return false;
        }
        if self.by_name {
            self.matches_name(entry.name)
        } else {
            entry
                .path
                .get(base..)
                .is_some_and(|path| self.matches_path(path))
        }
    }

    fn matches_name(&self, name: &[u8]) -> bool {
        if self.literal == self.text.len() {
            *self.text == *name
        } else if self.is_suffix {
            name.ends_with(&self.text[1..])
        } else {
            let (start, _) = self.text.split_at(self.literal);
            name.starts_with(start) && glob(&self.text, name)
        }
    }

    fn matches_path(&self, path: &[u8]) -> bool {
        let (start, rest) = self.text.split_at(self.literal);
        match path.strip_prefix(start) {
            None => false,
            Some(path) if rest.is_empty() => path.is_empty(),
            Some(path) => match &self.levels {
                Some(levels) => levels.matches(path, glob),
                None => glob(rest, path),
            },
        }
    }

    /// Does it say which entry is meant, rather than "everything here"? `!.env` does, `!certs/*` does not.
    pub(crate) fn is_explicit(&self) -> bool {
        let name = self.text.rsplit(|b| *b == b'/').next().unwrap_or_default();
        name.iter().any(|b| !matches!(b, b'*' | b'?'))
    }

    /// Could it match something below `dir`, and does it say so by its path?
    ///
    /// `dir` is relative to the directory of the pattern's file. A pattern for a name at any depth
    /// (`*.keep`, `**/keep`) never answers yes. In doubt the answer is yes: that costs a listing, and each
    /// entry found is judged by itself.
    pub(crate) fn reaches_below(&self, dir: &[u8]) -> bool {
        if self.by_name || self.text.starts_with(b"**/") || *self.text == *b"**" {
            return false;
        }
        let mut wanted = self.text.split(|b| *b == b'/');
        for name in dir.split(|b| *b == b'/') {
            let Some(part) = wanted.next() else {
                return false;
            };
            // A bracket or an escape that spans a slash cannot be compared component by component.
            if part.ends_with(b"\\") || (part.contains(&b'[') && !part.contains(&b']')) {
                return true;
            }
            if !glob(part, name) {
                return false;
            }
            if part.ends_with(b"**") {
                return true;
            }
        }
        wanted.next().is_some()
    }
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
    gix_glob::wildmatch(pattern.as_bstr(), text.as_bstr(), mode)
}

fn literal_length(text: &[u8]) -> usize {
    text.find_byteset(b"*?[\\").unwrap_or(text.len())
}

/// Removes spaces at the end, but not one behind a backslash.
fn trim_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = None;
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => {
                end.get_or_insert(at);
                continue;
            }
            b'\\' if bytes.next().is_none() => return line,
            _ => {}
        }
        end = None;
    }
    end.map_or(line, |end| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str, is_dir: bool) -> bool {
        let pattern = Pattern::parse(pattern.as_bytes()).unwrap();
        pattern.matches(Entry::new(path.as_bytes(), is_dir), 0)
    }

    #[test]
    fn a_slash_inside_anchors_and_one_at_the_end_means_directory() {
        assert!(matches("build", "a/build", false));
        assert!(matches("build/", "a/build", true));
        assert!(!matches("build/", "a/build", false));
        assert!(!matches("/build", "a/build", true));
        assert!(!matches("a/b", "x/a/b", false));
        assert!(matches("a/**/b", "a/b", false));
        assert!(matches("**/b", "x/y/b", false));
        assert!(!matches("a/*", "a/b/c", false));
        assert!(matches("a/**", "a/b/c", false));
    }

    #[test]
    fn what_only_begins_like_a_class_is_part_of_the_set() {
        assert!(matches("[[:alpha:]]", "x", false));
        assert!(matches("[[:alpha:[x]", ":", false) && matches("[[:alpha:[x]", "[", false));
        assert!(!matches("[[:alpha:[x]", "b", false));
        assert!(matches("[[:]", ":", false) && !matches("[[:", "[", false));
        assert!(
            matches("[+-[:x]", "9", false),
            "a range that ends with a bracket"
        );
        assert!(matches("[]x[:y]", "]", false) && matches("[!a[:y]", "b", false));
        assert!(matches("\\[[:digit:]]", "[:]", false));
    }

    #[test]
    fn lines_end_where_git_ends_them() {
        let patterns =
            parse_file(b"\xef\xbb\xbfone\r\n# no\n\n  \ntwo  \nthree\\ \nfour\0five\nsix\r");
        let found: Vec<_> = patterns
            .iter()
            .map(|p| p.text.to_str_lossy().into_owned())
            .collect();
        assert_eq!(found, ["one", "two", "three\\ ", "four", "six"]);
    }

    #[test]
    fn only_patterns_that_name_a_path_reach_below_a_directory() {
        let reaches = |pattern: &str, dir: &str| {
            Pattern::parse(pattern.as_bytes())
                .unwrap()
                .reaches_below(dir.as_bytes())
        };
        assert!(reaches("!dist/keep.js", "dist"));
        assert!(reaches("!build/**/gen.py", "build"));
        assert!(reaches("!build/**/gen.py", "build/a/b"));
        assert!(reaches("!/a/*/c", "a/x"));
        assert!(!reaches("!a/*/c", "a/x/c"));
        assert!(!reaches("!dist/keep.js", "dist/sub"));
        assert!(!reaches("!dist/keep.js", "other"));
        assert!(!reaches("!*.keep", "dist"));
        assert!(!reaches("!**/keep", "dist"));
        assert!(!reaches("!dist/", "dist"));
    }

    #[test]
    fn a_pattern_of_wildcards_only_is_not_explicit() {
        for (pattern, explicit) in [
            ("!.env", true),
            ("!certs/*.pem", true),
            ("!certs/*", false),
            ("!**", false),
            ("!a/??", false),
        ] {
            assert_eq!(
                Pattern::parse(pattern.as_bytes()).unwrap().is_explicit(),
                explicit,
                "{pattern}"
            );
        }
    }
}
