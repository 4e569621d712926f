//! Is a text what another became by replacing parts of it?

use std::borrow::Cow;
use std::collections::HashSet;

use bstr::ByteSlice;

use crate::{Change, DiffError, Side};

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

/// Larger files are not read for this.
const MAX_BYTES: u64 = 1 << 20;

/// What became of what a tool says it put into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Nothing else changed in it.
    Exactly,
    /// Something else changed in it.
    Otherwise,
    /// Nothing of it is there.
    Nothing,
    /// Nothing speaks against it: nobody says what was put there, or there it is written a little differently.
    Perhaps,
}

/// What became of these replacements, one after the other, in the file that changed.
pub fn became<'r>(
    side: &dyn Side,
    change: &Change,
    replacements: impl Iterator<Item = &'r Replacement>,
) -> Result<Became, DiffError> {
    let all: Vec<&Replacement> = replacements.collect();
    let Some(new) = change.new.filter(|_| !all.is_empty()) else { return Ok(Became::Perhaps) };
    let text = |id| side.content(&change.path, &id, MAX_BYTES);
    let before = change.old.map_or(Ok(Some(Vec::new())), |old| text(old.id))?;
    let Some((before, after)) = before.zip(text(new.id)?) else { return Ok(Became::Perhaps) };
    Ok(match judge(&before, &all, &after) {
        Became::Exactly if change.old.is_some_and(|old| old.mode != new.mode) => Became::Perhaps,
        became => became,
    })
}

fn judge(before: &[u8], replacements: &[&Replacement], after: &[u8]) -> Became {
    let expected = replaced(before, replacements, after.len());
    if expected.as_deref() == Some(after) {
        return Became::Exactly;
    }
    let is_missing = |one: &&Replacement| {
        let was_there =
            one.old.as_ref().is_some_and(|old| !old.is_empty() && after.contains_str(old));
        was_there && !one.new.is_empty() && !after.contains_str(&one.new)
    };
    if replacements.iter().all(is_missing) {
        return Became::Nothing;
    }
    let (was, is) = (lines([before]), lines([after]));
    let put = lines(replacements.iter().map(|one| &one.new[..]));
    let expected = expected.as_deref().map(|text| lines([text])).unwrap_or_default();
    let is_foreign =
        |line: &&[u8]| !was.contains(line) && !put.contains(line) && !expected.contains(line);
    let is_missed = |line: &&[u8]| !is.contains(line) && expected.contains(line);
    if is.iter().any(is_foreign) || was.iter().any(is_missed) {
        return Became::Otherwise;
    }
    Became::Perhaps
}

/// The lines of texts, without what ends them.
fn lines<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> HashSet<&'t [u8]> {
    texts.into_iter().flat_map(|text| text.lines()).map(ByteSlice::trim_end).collect()
}

/// The text with these replacements, one after the other; `None` if one is not about it, or it would become much longer than so many
/// bytes.
fn replaced<'t>(
    before: &'t [u8],
    replacements: &[&Replacement],
    length: usize,
) -> Option<Cow<'t, [u8]>> {
    // Replacing everywhere, again and again, may make anything of a few bytes.
    let longest = length.saturating_add(before.len()).saturating_add(MAX_GROWTH);
    let mut text = Cow::Borrowed(before);
    for Replacement { old, new, all } in replacements {
        let Some(old) = old.as_ref().filter(|old| !(old.is_empty() && text.is_empty())) else {
            text = Cow::Owned(new.clone());
            continue;
        };
        let places = if old.is_empty() { 0 } else { text.find_iter(old).count() };
        let most = if *all { places } else { places.min(1) };
        if most == 0 || most.saturating_mul(new.len()).saturating_add(text.len()) > longest {
            return None;
        }
        text = Cow::Owned(text.replacen(old, new, most));
    }
    Some(text)
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
    fn check(before: &str, replacements: &[Replacement], after: &str, expected: Became) {
        let replacements: Vec<&Replacement> = replacements.iter().collect();
        let found = judge(before.as_bytes(), &replacements, after.as_bytes());
        assert_eq!(found, expected, "{before:?} to {after:?} by {replacements:?}");
    }

    #[test]
    fn a_text_follows_from_another_by_exactly_what_was_replaced() {
        use Became::{Exactly, Nothing, Otherwise, Perhaps};
        let (once, all) = (|| part("a", "c", false), || part("a", "c", true));
        check("a b a\n", &[once()], "c b a\n", Exactly);
        check("a b a\n", &[all()], "c b c\n", Exactly);
        check("a b a\n", &[once()], "c b a\nmore\n", Otherwise);
        check("a b a\nx\n", &[once()], "c b a\n", Otherwise);
        check("a\n", &[part("a", "b", false), part("b", "c", false)], "c\n", Exactly);
        check("a\nb\n", &[once()], "a\nb\nmore\n", Nothing);
        check("a\n", &[part("gone", "c", false)], "c\r\n", Perhaps);
        check("a\n", &[part("gone", "c", false)], "c\nmore\n", Otherwise);
        check("a\n", &[part("", "c", false)], "ca\n", Otherwise);
        check("", &[part("", "new\n", false)], "new\n", Exactly);
        let whole = Replacement { old: None, new: b"all\n".to_vec(), all: false };
        check("a\n", std::slice::from_ref(&whole), "all\n", Exactly);
        check("a\n", &[whole], "all of it\n", Otherwise);
    }

    #[test]
    fn replacements_that_explode_are_given_up() {
        check("a", &vec![part("a", "aa", true); 64], "b", Became::Otherwise);
        let bomb = part("a", &"b".repeat(1 << 20), true);
        check(&"a".repeat(1 << 20), &[bomb], "b", Became::Otherwise);
    }
}
