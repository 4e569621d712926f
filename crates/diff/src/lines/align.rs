//! Which lines of two texts belong together.
//!
//! Git's histogram algorithm does the work. For each block it matches it looks at the whole rest
//! again, which takes seconds at forty thousand lines and hours at a few million. So where the two
//! texts differ over more than `REGION_LINES`, the lines that occur once on each side are lined up
//! first, and histogram only sees what is between them. Should a text have no such lines, the two
//! sides are cut into as many equal parts: the result is longer than it could be, still exact, and
//! in time.

use std::collections::HashMap;
use std::ops::Range;

use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, Hunk, IndentHeuristic, IndentLevel, InternedInput, Token};

/// How many lines histogram is given at once; a bad case of this size takes a twentieth of a second.
const REGION_LINES: u32 = 5_000;

/// Both texts as numbered lines.
///
/// Not through `InternedInput::new`: it reserves memory by the length of the first lines, and a file
/// that opens with twenty empty lines would make it ask for gigabytes.
pub(crate) fn numbered<'a>(old: &'a [u8], new: &'a [u8]) -> InternedInput<&'a [u8]> {
    let mut input = InternedInput::default();
    input.update_before(byte_lines(old));
    input.update_after(byte_lines(new));
    input
}

/// The ranges of lines that were replaced, in order, never touching each other.
pub(crate) fn changed_ranges(input: &InternedInput<&[u8]>) -> Vec<Hunk> {
    let middle = differing_middle(&input.before, &input.after);
    if longer_side(&middle) <= REGION_LINES {
        let mut diff = Diff::compute(Algorithm::Histogram, input);
        diff.postprocess_lines(input);
        return diff.hunks().collect();
    }
    let mut changed = Vec::new();
    let (mut old, mut new) = (middle.before.start, middle.after.start);
    let end = (middle.before.end, middle.after.end);
    for (old_anchor, new_anchor) in anchors(input, &middle).into_iter().chain([end]) {
        for part in parts(&region(old..old_anchor, new..new_anchor)) {
            compare_part(input, &part, &mut changed);
        }
        (old, new) = (old_anchor + 1, new_anchor + 1);
    }
    changed
}

fn region(before: Range<u32>, after: Range<u32>) -> Hunk {
    Hunk { before, after }
}

fn longer_side(region: &Hunk) -> u32 {
    region.before.len().max(region.after.len()) as u32
}

/// What is left without the lines both texts begin and end with.
pub(crate) fn differing_middle(before: &[Token], after: &[Token]) -> Hunk {
    let same = |(a, b): &(&Token, &Token)| a == b;
    let prefix = before.iter().zip(after).take_while(same).count();
    let (before_rest, after_rest) = (&before[prefix..], &after[prefix..]);
    let suffix = before_rest.iter().rev().zip(after_rest.iter().rev()).take_while(same).count();
    let range = |tokens: &[Token]| prefix as u32..(tokens.len() - suffix) as u32;
    region(range(before), range(after))
}

/// Lines that occur exactly once on each side of the region, as many as keep their order, as pairs of
/// line numbers.
fn anchors(input: &InternedInput<&[u8]>, region: &Hunk) -> Vec<(u32, u32)> {
    let tokens = input.interner.num_tokens() as usize;
    let old_places = single_places(&input.before, &region.before, tokens);
    let new_places = single_places(&input.after, &region.after, tokens);
    let pairs: Vec<(u32, u32)> = region
        .before
        .clone()
        .filter_map(|line| {
            let token = input.before[line as usize].0 as usize;
            old_places[token]?;
            Some((line, new_places[token]?))
        })
        .collect();
    longest_ascent(&pairs)
}

/// For each token the line it is on, if it is on one only.
fn single_places(lines: &[Token], range: &Range<u32>, tokens: usize) -> Vec<Option<u32>> {
    let mut places = vec![None; tokens];
    let mut seen = vec![false; tokens];
    for line in range.clone() {
        let token = lines[line as usize].0 as usize;
        places[token] = if seen[token] { None } else { Some(line) };
        seen[token] = true;
    }
    places
}

/// The longest selection of pairs in which both numbers ascend; the first ones already do.
fn longest_ascent(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each length the pair that ends such a selection lowest, and each pair's predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; pairs.len()];
    for (position, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        previous[position] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(position);
        } else {
            ends[length] = position;
        }
    }
    let mut selection = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(position) = next {
        selection.push(pairs[position]);
        next = previous[position];
    }
    selection.reverse();
    selection
}

/// The region, cut so that no part is longer than histogram may be given.
fn parts(region: &Hunk) -> Vec<Hunk> {
    let count = longer_side(region).div_ceil(REGION_LINES);
    let cut = |range: &Range<u32>, number: u32| {
        range.start + (range.len() as u64 * u64::from(number) / u64::from(count)) as u32
    };
    let part = |range: &Range<u32>, number| cut(range, number)..cut(range, number + 1);
    (0..count)
        .map(|number| Hunk {
            before: part(&region.before, number),
            after: part(&region.after, number),
        })
        .collect()
}

fn compare_part(input: &InternedInput<&[u8]>, part: &Hunk, changed: &mut Vec<Hunk>) {
    if part.before.is_empty() || part.after.is_empty() {
        push_joined(changed, part.clone());
        return;
    }
    // Histogram keeps a table of all tokens: numbered for the whole file, thousands of small parts
    // would each pay for all of it.
    let mut numbers = HashMap::new();
    let mut lines = Vec::new();
    let mut renumber = |tokens: &[Token]| -> Vec<Token> {
        let number = |token: &Token| {
            *numbers.entry(token.0).or_insert_with(|| {
                lines.push(input.interner[*token]);
                Token(lines.len() as u32 - 1)
            })
        };
        tokens.iter().map(number).collect()
    };
    let slice = |range: &Range<u32>| range.start as usize..range.end as usize;
    let before = renumber(&input.before[slice(&part.before)]);
    let after = renumber(&input.after[slice(&part.after)]);

    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Histogram, &before, &after, lines.len() as u32);
    let indent =
        |token: Token| IndentLevel::for_ascii_line(lines[token.0 as usize].iter().copied(), 8);
    diff.postprocess_with(&before, &after, IndentHeuristic::new(indent));
    let shift = |range: Range<u32>, by: u32| range.start + by..range.end + by;
    for hunk in diff.hunks() {
        let before = shift(hunk.before, part.before.start);
        push_joined(changed, region(before, shift(hunk.after, part.after.start)));
    }
}

/// Adds a range; where parts were cut, what touches on both sides is one change.
fn push_joined(changed: &mut Vec<Hunk>, next: Hunk) {
    match changed.last_mut() {
        Some(last)
            if last.before.end == next.before.start && last.after.end == next.after.start =>
        {
            last.before.end = next.before.end;
            last.after.end = next.after.end;
        }
        _ if next.before.is_empty() && next.after.is_empty() => {}
        _ => changed.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbered_lines;

    /// The ranges must cover all differences: what is between them is the same on both sides.
    fn check(old: &str, new: &str) -> (usize, usize) {
        let input = numbered(old.as_bytes(), new.as_bytes());
        let changed = changed_ranges(&input);
        let (mut before, mut after) = (0, 0);
        let end = region(input.before.len() as u32..u32::MAX, input.after.len() as u32..u32::MAX);
        for range in changed.iter().chain([&end]) {
            let old = &input.before[before..range.before.start as usize];
            assert_eq!(old, &input.after[after..range.after.start as usize]);
            (before, after) = (range.before.end as usize, range.after.end as usize);
        }
        let touch = |pair: &[Hunk]| pair[0].before.end == pair[1].before.start;
        assert!(!changed.windows(2).any(touch));
        let sum = |side: fn(&Hunk) -> usize| changed.iter().map(side).sum();
        (sum(|range| range.after.len()), sum(|range| range.before.len()))
    }

    #[test]
    fn long_texts_with_lines_of_their_own_lose_nothing() {
        let old = numbered_lines(0..30_000, |n| format!("keep {n}\nold {n}"));
        let new = numbered_lines(0..30_000, |n| format!("keep {n}\nnew {n}"));
        assert_eq!(check(&old, &new), (30_000, 30_000));
    }

    #[test]
    fn a_block_that_moved_far_is_one_insertion_and_one_deletion() {
        let lines = |range| numbered_lines(range, |n| format!("line {n}"));
        let old = lines(0..30_000);
        let new = lines(100..20_000) + &lines(0..100) + &lines(20_000..30_000);
        assert_eq!(check(&old, &new), (100, 100));
    }

    #[test]
    fn long_texts_without_lines_of_their_own_are_cut_and_stay_exact() {
        let old = numbered_lines(0..50_000, |n| format!("x {}", n * 7919 % 101));
        let new = numbered_lines(0..60_000, |n| format!("x {}", n * 5021 % 103));
        let (insertions, deletions) = check(&old, &new);
        assert_eq!(insertions - deletions, 10_000);
        assert_eq!(check(&old, ""), (0, 50_000));
        assert_eq!(check("", &old), (50_000, 0));
    }

    #[test]
    fn the_longest_ascent_is_found() {
        let pairs = [(0, 5), (1, 1), (2, 6), (3, 2), (4, 3), (5, 0)];
        assert_eq!(longest_ascent(&pairs), [(1, 1), (3, 2), (4, 3)]);
        assert!(longest_ascent(&[]).is_empty());
    }
}
