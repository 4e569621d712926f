//! The lines of an ignore file, read by `gix-ignore` and matched by `gix-glob`.
//!
//! Around the two stand git's habits that they do not share: only UTF-8 has a byte order mark, a NUL ends a
//! line, a name may be nothing but tabs, and of a path the literal beginning is compared first and only the rest
//! is a glob. `components` holds the guard against many `**`.

use bstr::{BStr, ByteSlice};
use gix_glob::pattern::Mode;

use super::components;

/// One pattern of an ignore file or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    glob: gix_glob::Pattern,
    /// What follows the literal beginning of a path, if it has several `**`.
    components: Option<Vec<Vec<u8>>>,
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
        Self { path, name: &path[start..], is_dir }
    }
}

/// The patterns of a whole ignore file, in its order.
pub(crate) fn parse_file(content: &[u8]) -> Vec<Pattern> {
    let lines = as_git_reads(content);
    let globs = gix_ignore::parse(&lines, false);
    globs.map(|(glob, ..)| Pattern::new(glob)).collect()
}

/// The pattern of a setting, which a `#` makes no comment. One with several lines is several patterns.
pub(crate) fn parse_setting(text: &String) -> Vec<Pattern> {
    let escape = if text.starts_with('#') { "\\" } else { "" };
    parse_file(format!("{escape}{text}").as_bytes())
}

/// The lines of a file, written so that `gix-ignore` takes them for what git does.
fn as_git_reads(content: &[u8]) -> Vec<u8> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    // An empty line first: what looks like a mark behind it is a name.
    let mut lines = b"\r\n".to_vec();
    for line in content.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = &line[..line.find_byte(0).unwrap_or(line.len())];
        let (mark, text) = line.split_at(usize::from(line.starts_with(b"!")));
        lines.extend_from_slice(mark);
        match text {
            // An escape is no literal beginning.
            [b'\\', first @ (b'#' | b'!' | b'$'), rest @ ..] if mark.is_empty() => {
                lines.extend_from_slice(&[b'[', b'\\', *first, b']']);
                lines.extend_from_slice(rest);
            }
            _ => {
                let is_blank = text.iter().all(u8::is_ascii_whitespace);
                if is_blank && text.iter().any(|b| *b != b' ') {
                    lines.push(b'\\');
                }
                lines.extend_from_slice(text);
            }
        }
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

impl Pattern {
    fn new(mut glob: gix_glob::Pattern) -> Self {
        let mut several_stars = None;
        if let Some(literal) = glob.first_wildcard_pos {
            let components = components::split(&glob.text[literal..]);
            glob.text.truncate(literal);
            glob.text.extend_from_slice(&components.join(&b'/'));
            several_stars = components::several_stars(components);
        }
        Self { glob, components: several_stars }
    }

    /// The same pattern, turned into one that takes in.
    pub(crate) fn into_negative(mut self) -> Self {
        self.glob.mode |= Mode::NEGATIVE;
        self
    }

    /// As it is written.
    pub(crate) fn written(&self) -> String {
        self.glob.to_string()
    }

    /// Does it take in again what earlier patterns leave out?
    pub(crate) fn is_negative(&self) -> bool {
        self.glob.is_negative()
    }

    /// Has it no slash but one at its end? Then it is compared with the name, at any depth.
    fn is_by_name(&self) -> bool {
        self.glob.mode.contains(Mode::NO_SUB_DIR) && !self.glob.mode.contains(Mode::ABSOLUTE)
    }

    /// Does it match this entry? `base` is the length of the directory its file is in, with the slash.
    pub(crate) fn matches(&self, entry: Entry<'_>, base: usize) -> bool {
        if self.glob.mode.contains(Mode::MUST_BE_DIR) && !entry.is_dir {
            return false;
        }
        if self.is_by_name() {
            return self.glob.matches(entry.name.as_bstr(), SLASH_IS_LITERAL);
        }
        let path = entry.path.get(base..);
        path.is_some_and(|path| self.matches_path(path))
    }

    fn matches_path(&self, path: &[u8]) -> bool {
        let Some(literal) = self.glob.first_wildcard_pos else { return self.glob.text == path };
        let (start, rest) = self.glob.text.split_at(literal);
        let path = path.strip_prefix(start.as_bytes());
        path.is_some_and(|path| match &self.components {
            None => glob(rest, path),
            Some(components) => components::match_path(components, path, glob),
        })
    }

    /// Does it say which entry is meant, rather than "everything here"? `!.env` does, `!certs/*` does not.
    pub(crate) fn is_explicit(&self) -> bool {
        let name = self.glob.text.rsplit(|b| *b == b'/').next();
        name.is_some_and(|name| name.iter().any(|b| !matches!(b, b'*' | b'?')))
    }

    /// Could it match something below `dir`, and does it say so by its path?
    ///
    /// `dir` is relative to the directory of the pattern's file. A pattern for a name at any depth
    /// (`*.keep`, `**/keep`) never answers yes. In doubt the answer is yes: that costs a listing, and each
    /// entry found is judged by itself.
    pub(crate) fn reaches_below(&self, dir: &[u8]) -> bool {
        let text = &self.glob.text;
        if self.is_by_name() || text.starts_with(b"**/") || text == "**" {
            return false;
        }
        let mut wanted = text.split(|b| *b == b'/');
        for name in dir.split(|b| *b == b'/') {
            let Some(part) = wanted.next() else { return false };
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

const SLASH_IS_LITERAL: gix_glob::wildmatch::Mode =
    gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    gix_glob::wildmatch(BStr::new(pattern), BStr::new(text), SLASH_IS_LITERAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pattern: &str) -> Pattern {
        parse_setting(&pattern.to_owned()).remove(0)
    }

    fn matches(pattern: &str, path: &str, is_dir: bool) -> bool {
        let pattern = one(pattern);
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
        assert!(matches("[+-[:x]", "9", false), "a range that ends with a bracket");
        assert!(matches("[]x[:y]", "]", false) && matches("[!a[:y]", "b", false));
        assert!(matches("\\[[:digit:]]", "[:]", false));
    }

    #[test]
    fn lines_end_where_git_ends_them() {
        let patterns =
            parse_file(b"\xef\xbb\xbfone\r\n# no\n\n  \ntwo  \nthree\\ \nfour\0five\nsix\r");
        let found: Vec<_> =
            patterns.iter().map(|p| p.glob.text.to_str_lossy().into_owned()).collect();
        assert_eq!(found, ["one", "two", "three\\ ", "four", "six"]);
    }

    #[test]
    fn a_setting_may_begin_with_a_hash_and_have_several_lines() {
        assert!(matches("#h", "a/#h", false));
        assert!(matches("\t", "\t", false), "a name that is nothing but a tab");
        assert_eq!(parse_setting(&"a\n#b\n!c".to_owned()).len(), 2);
    }

    #[test]
    fn only_patterns_that_name_a_path_reach_below_a_directory() {
        let reaches = |pattern: &str, dir: &str| one(pattern).reaches_below(dir.as_bytes());
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
            assert_eq!(one(pattern).is_explicit(), explicit, "{pattern}");
        }
    }
}
