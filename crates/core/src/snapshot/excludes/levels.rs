//! Patterns with several `**`, matched level by level.
//!
//! The glob of git tries every way to share the levels of a path among the `**` of a pattern; with
//! sixteen of them and a deep path one comparison takes a second, with thirty it never ends. An ignore
//! file of a foreign project must not be able to stop a save, so from the second `**` on a pattern is
//! compared component by component, which needs no more than levels times components.

/// One component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Level {
    /// `**`: any number of directories.
    Any,
    /// A glob for one name.
    Name(Box<[u8]>),
}

/// A pattern with several `**`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels(Vec<Level>);

impl Levels {
    /// Splits a pattern; `None` if it has at most one `**`, which the glob handles well.
    pub(super) fn of(pattern: &[u8]) -> Option<Self> {
        let mut levels: Vec<Level> = components(pattern).into_iter().map(Level::of).collect();
        if levels.iter().filter(|level| **level == Level::Any).count() < 2 {
            return None;
        }
        // `a/**` is what is inside of `a`, not `a` itself.
        if levels.last() == Some(&Level::Any) {
            levels.push(Level::Name((*b"*").into()));
        }
        Some(Self(levels))
    }

    /// Does the pattern match the whole path? `glob` compares one name.
    pub(super) fn matches(&self, path: &[u8], glob: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let names: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        let (mut level, mut at) = (0, 0);
        // Where to go on when a name does not fit: behind the last `**`, one name later.
        let mut retry = None;
        while at < names.len() {
            match self.0.get(level) {
                Some(Level::Any) => {
                    level += 1;
                    retry = Some((level, at));
                }
                Some(Level::Name(name)) if glob(name, names[at]) => {
                    level += 1;
                    at += 1;
                }
                _ => {
                    let Some((behind, start)) = retry else {
                        return false;
                    };
                    retry = Some((behind, start + 1));
                    (level, at) = (behind, start + 1);
                }
            }
        }
        level == self.0.len()
    }
}

impl Level {
    fn of(component: Vec<u8>) -> Self {
        if is_any(&component) {
            Self::Any
        } else {
            Self::Name(component.into())
        }
    }
}

fn is_any(component: &[u8]) -> bool {
    component.len() > 1 && component.iter().all(|b| *b == b'*')
}

/// The parts between slashes, escaped or not. A slash in a bracket separates nothing.
fn components(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut components = vec![Vec::new()];
    let mut rest = pattern;
    while let Some(byte) = rest.first() {
        let length = match byte {
            b'[' => bracket_length(rest),
            b'\\' => 2.min(rest.len()),
            _ => 1,
        };
        let (part, behind) = rest.split_at(length);
        rest = behind;
        let last = components
            .last_mut()
            .expect("there is always a last component");
        match part {
            // Behind an escaped slash `**` stands for one directory at least.
            b"\\/" if is_any(last) => components.extend([b"*".to_vec(), Vec::new()]),
            b"/" | b"\\/" => components.push(Vec::new()),
            _ => last.extend_from_slice(part),
        }
    }
    components
}

/// How long the bracket is that `pattern` begins with. One that does not end matches nothing, wherever
/// it is cut.
fn bracket_length(pattern: &[u8]) -> usize {
    let mut at = 1 + usize::from(matches!(pattern.get(1), Some(b'!' | b'^')));
    // A bracket that closes at once is a member of the class.
    at += usize::from(pattern.get(at) == Some(&b']'));
    while let Some(byte) = pattern.get(at) {
        match (byte, pattern.get(at + 1)) {
            (b']', _) => return at + 1,
            (b'\\', _) => at += 2,
            (b'[', Some(b':')) => {
                let named = pattern[at + 2..].windows(2).position(|pair| pair == b":]");
                at += named.map_or(1, |length| length + 4);
            }
            _ => at += 1,
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &[u8], text: &[u8]) -> bool {
        let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        gix_glob::wildmatch(pattern.as_bstr(), text.as_bstr(), mode)
    }

    fn joined(parts: &'static [&'static str], count: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(parts.to_vec()), 1..count)
            .prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]
        #[test]
        fn level_by_level_is_the_same_as_the_glob(
            pattern in joined(&["**", "**", "**", "***", "*", "a", "a*", "b", "?", "[ab]", "\\a", "a\\", "**\\", "***\\"], 7),
            path in joined(&["a", "b", "ab", "c"], 7),
        ) {
            if let Some(levels) = Levels::of(pattern.as_bytes()) {
                let expected = glob(pattern.as_bytes(), path.as_bytes());
                prop_assert_eq!(levels.matches(path.as_bytes(), glob), expected);
            }
        }
    }

    #[test]
    fn many_stars_and_a_deep_path_come_to_an_end() {
        let path = vec!["a"; 3000].join("/");
        for pattern in ["**/", "*/**/", "**/a*/", "**\\/"] {
            let levels = Levels::of(format!("{}b", pattern.repeat(300)).as_bytes()).unwrap();
            assert!(!levels.matches(path.as_bytes(), glob));
        }
    }

    #[test]
    fn a_slash_in_a_bracket_separates_nothing() {
        for (pattern, path, expected) in [
            ("**/[/[ab]/**", "b/x", true),
            ("**/[/[ab]/**", "c/x", false),
            ("**/[]/]/**", "]/x", true),
            ("**/[[:alpha:]/]/**", "q/x", true),
            ("**/[a/**", "a/x", false),
        ] {
            let levels = Levels::of(pattern.as_bytes()).unwrap();
            let found = levels.matches(path.as_bytes(), glob);
            assert_eq!(found, expected, "{pattern} on {path}");
            assert_eq!(
                found,
                glob(pattern.as_bytes(), path.as_bytes()),
                "git on {pattern}"
            );
        }
    }
}
