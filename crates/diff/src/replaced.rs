//! Is a text what others became by replacing parts of it?

use std::borrow::Cow;

use bstr::ByteSlice;

/// A text in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// What was there; `None`: all of it.
    pub old: Option<Vec<u8>>,
    /// What is there now.
    pub new: Vec<u8>,
    /// Wherever it was, and not only where it was first?
    pub all: bool,
}

/// Is the one text what the other becomes by these replacements, one after the other?
pub fn follows(before: &[u8], replacements: &[&Replacement], after: &[u8]) -> bool {
    let mut text = Cow::Borrowed(before);
    for Replacement { old, new, all } in replacements {
        text = match old {
            None => Cow::Owned(new.clone()),
            Some(old) if old.is_empty() && text.is_empty() => Cow::Owned(new.clone()),
            Some(old) if old.is_empty() || !text.contains_str(old) => return false,
            Some(old) if *all => Cow::Owned(text.replace(old, new)),
            Some(old) => Cow::Owned(text.replacen(old, new, 1)),
        };
        // Replacing everywhere, again and again, may make anything of a few bytes.
        if text.len() > after.len().saturating_add(before.len()).saturating_add(MAX_GROWTH) {
            return false;
        }
    }
    *text == *after
}

/// In between, a text is no longer than both ends together and this.
const MAX_GROWTH: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn part(old: &str, new: &str, all: bool) -> Replacement {
        Replacement { old: Some(old.into()), new: new.into(), all }
    }

    #[track_caller]
    fn check(before: &str, replacements: &[Replacement], after: &str, expected: bool) {
        let replacements: Vec<&Replacement> = replacements.iter().collect();
        let found = follows(before.as_bytes(), &replacements, after.as_bytes());
        assert_eq!(found, expected, "{before:?} to {after:?} by {replacements:?}");
    }

    #[test]
    fn a_text_follows_from_another_by_exactly_what_was_replaced() {
        check("a b a\n", &[part("a", "c", false)], "c b a\n", true);
        check("a b a\n", &[part("a", "c", true)], "c b c\n", true);
        check("a b a\n", &[part("a", "c", false)], "c b a\nmore\n", false);
        check("a\n", &[part("a", "b", false), part("b", "c", false)], "c\n", true);
        check("a\n", &[part("gone", "c", false)], "a\n", false);
        check("a\n", &[part("", "c", false)], "ca\n", false);
        check("", &[part("", "new\n", false)], "new\n", true);
        let whole = Replacement { old: None, new: b"all\n".to_vec(), all: false };
        check("a\n", std::slice::from_ref(&whole), "all\n", true);
        check("a\n", &[whole], "all of it\n", false);
    }

    #[test]
    fn replacements_that_explode_are_given_up() {
        let doubled = vec![part("a", "aa", true); 64];
        check("a", &doubled, "b", false);
    }
}
