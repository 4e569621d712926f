//! Which lines the search for the shortest way need not look at.
//!
//! Lines the other text does not have are changed whatever the way. Lines it has very often, such as
//! closing braces, say little: amid lines of the first kind they are given up as well, or a brace
//! would tie together what has nothing to do with each other.

use std::ops::Range;

use imara_diff::Token;

use crate::lines::align::differing_middle;
use crate::lines::slide::Marked;

/// From so many occurrences on, a line is called frequent however long the text.
const FREQUENT_AT_MOST: usize = 1024;
/// How far around a frequent line its surroundings are judged.
const SURROUNDINGS: usize = 100;
/// Frequent lines go when there are more than this many unmatched lines to each of them.
const UNMATCHED_PER_FREQUENT: usize = 3;

/// The lines that are left for the search.
pub(crate) struct Kept {
    pub(crate) lines: Vec<Token>,
    /// Where each of them is in its text.
    places: Vec<u32>,
}

impl Kept {
    /// Marks lines, given by their position among the kept ones, as changed.
    pub(crate) fn mark(&self, range: Range<usize>, side: &mut Marked<'_>) {
        for place in &self.places[range] {
            side.changed[*place as usize] = true;
        }
    }
}

/// How often each line occurs in the two texts compared. Empty between comparisons, so that many
/// small ones do not pay for all lines of the file.
pub(crate) struct Occurrences {
    old: Vec<u32>,
    new: Vec<u32>,
}

impl Occurrences {
    /// For comparing texts whose tokens are all below `tokens`.
    pub(crate) fn new(tokens: u32) -> Self {
        Self { old: vec![0; tokens as usize], new: vec![0; tokens as usize] }
    }
}

/// Marks the lines that go, and returns those that stay.
pub(crate) fn prune(
    old: &mut Marked<'_>,
    new: &mut Marked<'_>,
    occurrences: &mut Occurrences,
) -> (Kept, Kept) {
    for line in old.lines {
        occurrences.old[line.0 as usize] += 1;
    }
    for line in new.lines {
        occurrences.new[line.0 as usize] += 1;
    }
    let middle = differing_middle(old.lines, new.lines);
    let old_kept = prune_side(old, &middle.before, &occurrences.new);
    let new_kept = prune_side(new, &middle.after, &occurrences.old);
    for line in old.lines {
        occurrences.old[line.0 as usize] = 0;
    }
    for line in new.lines {
        occurrences.new[line.0 as usize] = 0;
    }
    (old_kept, new_kept)
}

/// What the other text has of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Nothing,
    Some,
    Frequent,
}

fn prune_side(side: &mut Marked<'_>, middle: &Range<u32>, in_other: &[u32]) -> Kept {
    let middle = middle.start as usize..middle.end as usize;
    let frequent = rough_root(side.lines.len()).min(FREQUENT_AT_MOST);
    let matches: Vec<Match> = side.lines[middle.clone()]
        .iter()
        .map(|line| match in_other[line.0 as usize] as usize {
            0 => Match::Nothing,
            count if count >= frequent => Match::Frequent,
            _ => Match::Some,
        })
        .collect();
    let mut kept = Kept { lines: Vec::new(), places: Vec::new() };
    for (position, found) in matches.iter().enumerate() {
        let goes = match found {
            Match::Nothing => true,
            Match::Some => false,
            Match::Frequent => is_lost(&matches, position),
        };
        let place = middle.start + position;
        if goes {
            side.changed[place] = true;
        } else {
            kept.lines.push(side.lines[place]);
            kept.places.push(place as u32);
        }
    }
    kept
}

/// Is a frequent line surrounded, on both sides, mostly by lines that have no match?
fn is_lost(matches: &[Match], position: usize) -> bool {
    let before = &matches[position.saturating_sub(SURROUNDINGS)..position];
    let end = matches.len().min(position + SURROUNDINGS + 1);
    let after = &matches[position + 1..end];
    let (unmatched_before, frequent_before) = count_until_match(before.iter().rev());
    if unmatched_before == 0 {
        return false;
    }
    let (unmatched_after, frequent_after) = count_until_match(after.iter());
    // Counted from either side, the line itself is one of the frequent ones, so it counts twice.
    let frequent = frequent_before + frequent_after + 2;
    unmatched_after > 0 && frequent * UNMATCHED_PER_FREQUENT < unmatched_before + unmatched_after
}

/// The lines without a match and the frequent ones, up to the first that has a telling match.
fn count_until_match<'m>(matches: impl Iterator<Item = &'m Match>) -> (usize, usize) {
    let (mut unmatched, mut frequent) = (0, 0);
    for found in matches {
        match found {
            Match::Nothing => unmatched += 1,
            Match::Frequent => frequent += 1,
            Match::Some => break,
        }
    }
    (unmatched, frequent)
}

/// A power of two near the square root.
pub(crate) fn rough_root(number: usize) -> usize {
    let bits = usize::BITS - number.leading_zeros();
    1 << bits.div_ceil(2)
}
