//! One word of a command line: what is known of it before the shell has run.

use bstr::BString;

/// A word as it stands in a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its text, without quotes.
    pub(crate) text: BString,
    /// The places in `text` of `*`, `?` and `[` that no quote protects, ascending.
    pub(crate) active: Vec<usize>,
    /// Does only the shell know what it is (`$x`, `$(…)`, `{a,b}`, `~somebody`)?
    pub(crate) is_unknown: bool,
    /// Does it begin with the user's home directory (`~`)? `text` is what follows.
    pub(crate) from_home: bool,
    /// Was any part of it quoted? Then it is no reserved word and no number before a redirection.
    pub(crate) is_quoted: bool,
}

impl Word {
    /// Its text, if it is that and nothing else.
    pub(crate) fn as_literal(&self) -> Option<&[u8]> {
        let plain = !self.is_unknown && !self.from_home && self.active.is_empty();
        plain.then_some(&self.text)
    }

    /// Is it this text, unquoted?
    pub(crate) fn is_bare(&self, text: &[u8]) -> bool {
        !self.is_quoted && self.as_literal() == Some(text)
    }

    /// The components of a pattern, each with the places of its active characters.
    pub(crate) fn components(&self) -> Vec<Pattern> {
        let mut components = Vec::new();
        let mut start = 0;
        let mut active = self.active.iter().peekable();
        for part in self.text.split(|byte| *byte == b'/') {
            let end = start + part.len();
            let mut pattern = Pattern {
                text: part.into(),
                active: Vec::new(),
            };
            while let Some(place) = active.next_if(|place| **place < end) {
                pattern.active.push(*place - start);
            }
            components.push(pattern);
            start = end + 1;
        }
        components
    }
}

/// One component of a path, with wildcards or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) text: BString,
    active: Vec<usize>,
}

impl Pattern {
    /// Has it wildcards?
    pub(crate) fn is_glob(&self) -> bool {
        !self.active.is_empty()
    }

    /// Is it one this program understands? `**` means different things to different shells, and a set
    /// may hold classes and ranges that depend on the language.
    pub(crate) fn is_simple(&self) -> bool {
        let doubled = self.active.windows(2).any(|pair| {
            pair[1] == pair[0] + 1 && self.text[pair[0]] == b'*' && self.text[pair[1]] == b'*'
        });
        let sets = self.active.iter().filter(|at| self.text[**at] == b'[');
        !doubled && sets.into_iter().all(|at| self.set(*at).is_some())
    }

    /// The characters of the set that begins at `at`, whether it is negated, and where it ends.
    fn set(&self, at: usize) -> Option<(&[u8], bool, usize)> {
        let rest = &self.text[at + 1..];
        let negated = matches!(rest.first(), Some(b'!' | b'^'));
        let start = usize::from(negated);
        let end = rest.iter().skip(start).position(|byte| *byte == b']')? + start;
        let characters = &rest[start..end];
        let simple = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (!characters.is_empty() && characters.iter().all(simple)).then_some((
            characters,
            negated,
            at + 1 + end + 1,
        ))
    }

    /// Does a name match? Names that begin with a dot need a pattern that does.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        if name.first() == Some(&b'.')
            && (self.text.first() != Some(&b'.') || self.active.first() == Some(&0))
        {
            return false;
        }
        // As in every linear matcher: on a mismatch only the last star is given one character more.
        let (mut at, mut place) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        loop {
            let step = self.step(at, name.get(place..).unwrap_or_default());
            match step {
                Step::Star => {
                    star = Some((at + 1, place));
                    at += 1;
                }
                Step::Matched { next, length } => {
                    at = next;
                    place += length;
                }
                Step::End if place == name.len() => return true,
                Step::End | Step::No => match star {
                    Some((after, from)) if from < name.len() => {
                        star = Some((after, from + 1));
                        at = after;
                        place = from + 1;
                    }
                    _ => return false,
                },
            }
        }
    }

    fn step(&self, at: usize, rest: &[u8]) -> Step {
        let Some(byte) = self.text.get(at) else {
            return Step::End;
        };
        let is_active = self.active.binary_search(&at).is_ok();
        if is_active && *byte == b'*' {
            return Step::Star;
        }
        let Some(found) = rest.first() else {
            return Step::No;
        };
        let (fits, next, length) = match byte {
            b'?' if is_active => (true, at + 1, character_length(rest)),
            b'[' if is_active => match self.set(at) {
                Some((characters, negated, next)) => {
                    let length = character_length(rest);
                    let inside = length == 1 && is_in_set(characters, *found);
                    (inside != negated, next, length)
                }
                None => return Step::No,
            },
            _ => (byte == found, at + 1, 1),
        };
        if fits {
            Step::Matched { next, length }
        } else {
            Step::No
        }
    }
}

/// What one element of a pattern says to the rest of a name.
enum Step {
    Star,
    Matched { next: usize, length: usize },
    End,
    No,
}

/// How many bytes the first character has; bytes that are not UTF-8 count one by one.
fn character_length(text: &[u8]) -> usize {
    let (_, length) = bstr::decode_utf8(text);
    length.max(1)
}

/// Is the byte in a set of characters and ranges?
fn is_in_set(characters: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < characters.len() {
        if let [from, b'-', to, ..] = &characters[at..] {
            if (from..=to).contains(&&byte) {
                return true;
            }
            at += 3;
        } else {
            if characters[at] == byte {
                return true;
            }
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        let active = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| matches!(byte, b'*' | b'?' | b'['))
            .map(|(at, _)| at)
            .collect();
        Pattern {
            text: text.into(),
            active,
        }
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
            assert_eq!(
                pattern(text).matches(name.as_bytes()),
                expected,
                "{text} {name}"
            );
        }
    }

    #[test]
    fn patterns_that_shells_read_differently_are_not_simple() {
        for text in ["**", "a**b", "[[:alpha:]]", "[", "[]", "[a"] {
            assert!(!pattern(text).is_simple(), "{text}");
        }
        for text in ["*", "a*b*", "[abc]?", "[!0-9]*"] {
            assert!(pattern(text).is_simple(), "{text}");
        }
    }

    #[test]
    fn many_stars_do_not_take_long() {
        let text = "*a".repeat(200) + "b";
        assert!(!pattern(&text).matches("a".repeat(250).as_bytes()));
    }
}
