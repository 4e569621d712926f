//! Paths inside a project: bytes, slash-separated, checked once.
//!
//! Every name that comes out of a store or off a command line passes [`check_name`] before it reaches
//! the file system. What it refuses can never be written by a restore, so a save does not take it in
//! either.

use serde::{Deserialize, Serialize};
use std::fmt;

use bstr::{BStr, ByteSlice};

/// Why a name or path cannot be part of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Empty, `.` or `..`.
    #[error("it is empty, `.` or `..`")]
    NotAName,
    /// Contains a slash or a NUL.
    #[error("it contains a slash or a NUL byte")]
    Separator,
    /// Longer than any file system here allows.
    #[error("it is longer than 255 bytes")]
    TooLong,
    /// Some system would take it for `.git`.
    #[error("some system would take it for `.git`")]
    LooksLikeGit,
    /// Begins with a slash.
    #[error("it is absolute")]
    Absolute,
}

/// Checks one path component.
pub fn check_name(name: &[u8]) -> Result<(), BadName> {
    match name {
        b"" | b"." | b".." => return Err(BadName::NotAName),
        _ if name.len() > 255 => return Err(BadName::TooLong),
        _ => {}
    }
    if name.iter().any(|b| matches!(b, b'/' | 0)) {
        return Err(BadName::Separator);
    }
    if looks_like_git(name) {
        return Err(BadName::LooksLikeGit);
    }
    Ok(())
}

/// May no symlink have this name? git refuses to check out a linked `.gitmodules`, because following it
/// reads a file outside.
pub fn is_reserved_link(name: &[u8]) -> bool {
    let stem = name.strip_prefix(b".").unwrap_or_default();
    stem.eq_ignore_ascii_case(b"gitmodules")
}

/// Would a case-folding, normalising or 8.3 file system resolve this name to `.git`?
fn looks_like_git(name: &[u8]) -> bool {
    // Nearly every name is decided by its first byte.
    match name[0] {
        b'.' | b'g' | b'G' | 0xe2 | 0xef => {}
        _ => return false,
    }
    let folded = strip_ignorable(name);
    // NTFS drops trailing dots and spaces, and everything from a colon or backslash on.
    let end = folded.iter().position(|b| matches!(b, b':' | b'\\')).unwrap_or(folded.len());
    let stem = folded[..end].trim_end_with(|c| c == '.' || c == ' ');
    stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1")
}

/// Removes the code points HFS+ ignores when it compares names.
fn strip_ignorable(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(&first) = rest.first() {
        let ignorable = matches!(
            rest,
            [0xe2, 0x80, 0x8c..=0x8f | 0xaa..=0xae, ..]
                | [0xe2, 0x81, 0xaa..=0xaf, ..]
                | [0xef, 0xbb, 0xbf, ..]
        );
        if ignorable {
            rest = &rest[3..];
        } else {
            out.push(first);
            rest = &rest[1..];
        }
    }
    out
}

/// The path of something in a directory. The root's is empty.
pub fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    [directory, slash, name].concat()
}

/// The directory a path is in, and its last component.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// A path relative to a project root, every component checked. Empty means the root itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// The project root.
    pub fn root() -> Self {
        Self::default()
    }

    /// Checks every component of a slash-separated path.
    pub fn new(path: impl Into<Vec<u8>>) -> Result<Self, BadName> {
        let path = path.into();
        if path.is_empty() {
            return Ok(Self::root());
        }
        if path[0] == b'/' {
            return Err(BadName::Absolute);
        }
        for name in path.split(|b| *b == b'/') {
            check_name(name)?;
        }
        Ok(Self(path))
    }

    /// The bytes, slash-separated.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Is this the project root itself?
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This path with one more component. The name must have passed [`check_name`].
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        Self(join(&self.0, name))
    }

    /// The directory it is in, and its last component. The root has neither.
    pub fn split(&self) -> Option<(Self, &[u8])> {
        let (parent, name) = split(&self.0);
        (!name.is_empty()).then(|| (Self(parent.to_vec()), name))
    }

    /// The directories it is in, innermost first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + use<> {
        let mut next = self.split().map(|(parent, _)| parent);
        std::iter::from_fn(move || {
            let here = next.take().filter(|path| !path.is_root())?;
            next = here.split().map(|(parent, _)| parent);
            Some(here)
        })
    }

    /// Its components, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|c| !c.is_empty())
    }

    /// Is this `other`, or something below it?
    pub fn starts_with(&self, other: &Self) -> bool {
        other.is_root()
            || self.0 == other.0
            || (self.0.starts_with(&other.0) && self.0.get(other.0.len()) == Some(&b'/'))
    }
}

impl From<RelPath> for Vec<u8> {
    fn from(path: RelPath) -> Self {
        path.0
    }
}

impl TryFrom<Vec<u8>> for RelPath {
    type Error = BadName;

    fn try_from(path: Vec<u8>) -> Result<Self, BadName> {
        Self::new(path)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(BStr::new(&self.0), f)
    }
}

/// Escaped for a person: control and direction-changing characters and invalid UTF-8 are spelled out.
impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() { f.write_str(".") } else { f.write_str(&escape(&self.0)) }
    }
}

/// Text made safe for a terminal: control characters, characters that reorder text and bytes that are
/// not UTF-8 become visible escapes. The rest stays as it is.
pub fn escape(text: &[u8]) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                _ if is_hidden(c) => {
                    let _ = write!(out, "\\u{{{:x}}}", c as u32);
                }
                _ => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Would a terminal act on this character, or show it as something else or nothing?
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_some_system_takes_for_git_are_refused() {
        let bad: [&[u8]; 9] = [
            b".git",
            b".GIT",
            b".Git ",
            b".git.",
            b"git~1",
            b"GIT~1",
            b".git:x",
            b".g\xe2\x80\x8cit",
            b"\xef\xbb\xbf.git",
        ];
        for name in bad {
            assert_eq!(check_name(name), Err(BadName::LooksLikeGit), "{}", escape(name));
        }
        for name in [&b".gitignore"[..], b".github", b"git", b"git~2", b"a.git", b"\xff\xfe"] {
            assert_eq!(check_name(name), Ok(()), "{}", escape(name));
        }
    }

    #[test]
    fn a_name_is_one_component() {
        for name in [&b"a/b"[..], b"/", b"a/", b"a\0b"] {
            assert_eq!(check_name(name), Err(BadName::Separator));
        }
        assert_eq!(check_name(&[b'a'; 256]), Err(BadName::TooLong));
        assert_eq!(check_name(&[b'a'; 255]), Ok(()));
    }

    #[test]
    fn only_gitmodules_may_not_be_a_link() {
        assert!(is_reserved_link(b".gitmodules") && is_reserved_link(b".GitModules"));
        assert!(!is_reserved_link(b"gitmodules") && !is_reserved_link(b".gitattributes"));
    }

    #[test]
    fn paths_never_leave_the_project() {
        for path in [&b"/etc"[..], b"a/../b", b"a//b", b"./a", b"a/.git/config", b"a\0b"] {
            assert!(RelPath::new(path).is_err(), "{}", escape(path));
        }
        let path = RelPath::new(*b"a/b/c").unwrap();
        assert!(path.starts_with(&RelPath::new(*b"a/b").unwrap()));
        assert!(!path.starts_with(&RelPath::new(*b"a/bc").unwrap()));
        assert_eq!(path.split().unwrap().1, b"c");
    }

    #[test]
    fn escaping_shows_what_a_terminal_would_hide() {
        assert_eq!(escape(b"a\x1b[31m\n\xff\xe2\x80\xae"), "a\\u{1b}[31m\\n\\xff\\u{202e}");
    }
}
