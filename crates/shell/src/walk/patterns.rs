//! Wildcards: which names of the project a word stands for.

use bstr::BString;

use crate::options::Argument;
use crate::paths::{LastLink, PathEntry, ProjectFiles, ResolvedPath, resolve};
use crate::walk::Walk;

/// A word as it stands in a command line: what is known of it before the shell has run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its text, without quotes.
    pub(crate) text: BString,
    /// The places in `text` of `*`, `?` and `[` that no quote protects, ascending.
    pub(crate) active: Vec<usize>,
    /// Does only the shell know what it is (`$x`, `$(…)`, `{a,b}`)?
    pub(crate) is_unknown: bool,
    /// Does it begin with a `~` that no quote protects?
    pub(crate) has_tilde: bool,
}

impl Word {
    /// Its text, if it is that and nothing else.
    pub(crate) fn as_literal(&self) -> Option<&[u8]> {
        let is_plain = !self.is_unknown && !self.has_tilde && self.active.is_empty();
        is_plain.then_some(&self.text)
    }

    /// The components of a path, each as a pattern; `None` if one of them is not understood.
    fn components(&self) -> Option<Vec<Pattern<'_>>> {
        let mut start = 0;
        let components = self.text.split(|byte| *byte == b'/').map(|part| {
            let end = start + part.len();
            let active = self.active.iter().filter(|at| (start..end).contains(at));
            let active: Vec<usize> = active.map(|at| at - start).collect();
            start = end + 1;
            Pattern::new(part, &active)
        });
        components.collect()
    }
}

impl Walk<'_> {
    /// The arguments a word stands for in a directory.
    pub(crate) fn expand(&mut self, directory: Option<&BString>, word: &Word) -> Vec<Argument> {
        let literal = Some(word.text.clone());
        match self.files {
            _ if word.is_unknown => vec![None],
            _ if word.active.is_empty() && !word.has_tilde => vec![literal],
            // A name that a wildcard stands for may look like an option.
            None if word.active.first() == Some(&0) => vec![None],
            None => vec![literal],
            Some(files) if word.has_tilde => {
                let rest = &word.text[1..];
                let is_own = word.active.is_empty() && matches!(rest.first(), None | Some(b'/'));
                let home = files.home().filter(|_| is_own);
                vec![home.map(|home| [home, rest].concat().into())]
            }
            Some(files) => match self.matching(files, directory, word) {
                None => vec![None],
                // A pattern that nothing matches stands for itself.
                Some(names) if names.is_empty() => vec![literal],
                Some(names) => names
                    .into_iter()
                    .map(|name| (name.first() != Some(&b'-')).then(|| name.into()))
                    .collect(),
            },
        }
    }

    /// The paths a pattern matches; `None` when that is not known.
    fn matching(
        &mut self,
        files: &dyn ProjectFiles,
        directory: Option<&BString>,
        word: &Word,
    ) -> Option<Vec<Vec<u8>>> {
        let is_absolute = word.text.first() == Some(&b'/');
        let directory: &[u8] = match directory {
            Some(directory) => directory,
            None => is_absolute.then_some(b"/")?,
        };
        let mut found = vec![Vec::new()];
        for (at, component) in word.components()?.iter().enumerate() {
            let mut next = Vec::new();
            for mut start in found {
                if at > 0 {
                    start.push(b'/');
                }
                if component.has_wildcard() {
                    next.extend(self.names_at(files, directory, &start, component)?);
                } else {
                    next.push([&start, component.text].concat());
                }
            }
            found = next;
        }
        found.retain(|path| {
            let (place, _) = resolve(files, directory, path, LastLink::Itself);
            !matches!(place, ResolvedPath::Inside(_, PathEntry::Nothing))
        });
        Some(found)
    }

    /// The paths in the directory `start` that a component matches; `None` when too many were looked at.
    fn names_at(
        &mut self,
        files: &dyn ProjectFiles,
        directory: &[u8],
        start: &[u8],
        component: &Pattern<'_>,
    ) -> Option<Vec<Vec<u8>>> {
        let from: &[u8] = if start.is_empty() { b"." } else { start };
        let path = match resolve(files, directory, from, LastLink::Followed).0 {
            ResolvedPath::Inside(path, PathEntry::Directory) => path,
            // What is in there is not known, and as little covered as the place itself.
            ResolvedPath::Outside(_) | ResolvedPath::Inside(_, PathEntry::LeftOut) => {
                return Some(vec![[start, component.text].concat()]);
            }
            ResolvedPath::Inside(..) => return Some(Vec::new()),
        };
        let names = files.names(&path);
        self.names_to_match = self.names_to_match.checked_sub(names.len() + 1)?;
        let names = names.iter().filter(|name| component.matches(name));
        Some(names.map(|name| [start, name].concat()).collect())
    }
}

/// One component of a path, with wildcards or without.
struct Pattern<'w> {
    text: &'w [u8],
    parts: Vec<Part<'w>>,
}

/// One element of a pattern.
enum Part<'w> {
    Byte(u8),
    AnyCharacter,
    Star,
    Set { characters: &'w [u8], negated: bool },
}

impl<'w> Pattern<'w> {
    /// `None` for what different shells read differently: `**`, and sets with classes or ranges that depend on the
    /// language.
    fn new(text: &'w [u8], active: &[usize]) -> Option<Self> {
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let is_active = active.contains(&at);
            at += 1;
            parts.push(match byte {
                b'*' if is_active && matches!(parts.last(), Some(Part::Star)) => return None,
                b'*' if is_active => Part::Star,
                b'?' if is_active => Part::AnyCharacter,
                b'[' if is_active => {
                    let negated = matches!(text.get(at), Some(b'!' | b'^'));
                    let rest = &text[at + usize::from(negated)..];
                    let end = rest.iter().position(|byte| *byte == b']')?;
                    at += usize::from(negated) + end + 1;
                    let characters = &rest[..end];
                    let is_simple =
                        |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
                    if characters.is_empty() || !characters.iter().all(is_simple) {
                        return None;
                    }
                    Part::Set { characters, negated }
                }
                byte => Part::Byte(*byte),
            });
        }
        Some(Self { text, parts })
    }

    fn has_wildcard(&self) -> bool {
        !self.parts.iter().all(|part| matches!(part, Part::Byte(_)))
    }

    /// Does a name match? Names that begin with a dot need a pattern that does.
    fn matches(&self, name: &[u8]) -> bool {
        if name.first() == Some(&b'.') && !matches!(self.parts.first(), Some(Part::Byte(b'.'))) {
            return false;
        }
        // As in every linear matcher: on a mismatch only the last star is given one character more.
        let (mut at, mut place) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        loop {
            let part = self.parts.get(at);
            if matches!(part, Some(Part::Star)) {
                at += 1;
                star = Some((at, place));
            } else if let Some(length) = part.and_then(|part| part.length_in(&name[place..])) {
                at += 1;
                place += length;
            } else if part.is_none() && place == name.len() {
                return true;
            } else if let Some((after, from)) = star.filter(|(_, from)| *from < name.len()) {
                star = Some((after, from + 1));
                (at, place) = (after, from + 1);
            } else {
                return false;
            }
        }
    }
}

impl Part<'_> {
    /// How many bytes at the beginning of `rest` it stands for; `None` if it does not fit.
    fn length_in(&self, rest: &[u8]) -> Option<usize> {
        let first = rest.first()?;
        // Bytes that are not UTF-8 count one by one.
        let character = bstr::decode_utf8(rest).1.max(1);
        match self {
            Self::Byte(byte) => (byte == first).then_some(1),
            Self::AnyCharacter => Some(character),
            Self::Set { characters, negated } => {
                let is_inside = character == 1 && is_in_set(characters, *first);
                (is_inside != *negated).then_some(character)
            }
            Self::Star => None,
        }
    }
}

/// Is the byte in a set of characters and ranges?
fn is_in_set(characters: &[u8], byte: u8) -> bool {
    match characters {
        [from, b'-', to, rest @ ..] => (from..=to).contains(&&byte) || is_in_set(rest, byte),
        [one, rest @ ..] => *one == byte || is_in_set(rest, byte),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Option<Pattern<'_>> {
        let wild = text.match_indices(['*', '?', '[']).map(|(at, _)| at);
        Pattern::new(text.as_bytes(), &wild.collect::<Vec<_>>())
    }

    #[test]
    fn wildcards_match_as_in_a_shell() {
        let cases = [
            ("*", "a.txt", true),
            ("*", ".hidden", false),
            (".*", ".hidden", true),
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.bak", false),
            ("a?c", "abc", true),
            ("a?c", "aäc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "dx", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("*a*b*c*", "xxaxxcxxbxx", false),
        ];
        for (text, name, expected) in cases {
            let pattern = pattern(text).unwrap();
            assert_eq!(pattern.matches(name.as_bytes()), expected, "{text} {name}");
        }
    }

    #[test]
    fn patterns_that_shells_read_differently_are_not_simple() {
        for text in ["**", "a**b", "[[:alpha:]]", "[", "[]", "[a"] {
            assert!(pattern(text).is_none(), "{text}");
        }
        for text in ["*", "a*b*", "[abc]?", "[!0-9]*"] {
            assert!(pattern(text).is_some(), "{text}");
        }
    }

    #[test]
    fn many_stars_do_not_take_long() {
        let text = "*a".repeat(200) + "b";
        assert!(!pattern(&text).unwrap().matches("a".repeat(250).as_bytes()));
    }
}
