//! Which lines of a file differ.
//!
//! Lines keep their terminators, so `\r\n` against `\n`, or a missing last newline, is a difference
//! like any other. The algorithm is git's histogram; where a block could slide up or down, it is put
//! where the indentation suggests, as git does.

pub mod align;
pub mod hunks;
pub mod myers;
mod myers_prune;
pub mod origins;
mod slide;

use std::ops::Range;

use imara_diff::InternedInput;

use crate::lines::align::{changed_ranges, numbered};

/// Does git take this for a binary file: is there a NUL in the first 8,000 bytes?
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8000)].contains(&0)
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// It is on both sides.
    Context,
    /// It is only on the old side.
    Removed,
    /// It is only on the new side.
    Added,
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// What happened to it.
    pub kind: LineKind,
    /// Its bytes with their terminator; only a file's last line may have none.
    pub bytes: &'a [u8],
}

/// Changed lines that stand close together, with the unchanged lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The first line on the old side, counted from 1; with no lines there, the line before it.
    pub old_start: u32,
    /// How many lines of the old side it covers.
    pub old_count: u32,
    /// The first line on the new side, counted as `old_start`.
    pub new_start: u32,
    /// How many lines of the new side it covers.
    pub new_count: u32,
    /// The line above that names where it is, such as the head of a function. May be empty.
    pub section: &'a [u8],
    /// The lines, in the order a patch shows them.
    pub lines: Vec<Line<'a>>,
}

/// How many lines were added, and how many removed.
pub fn count(old: &[u8], new: &[u8]) -> (u64, u64) {
    let (old, new) = differing_lines(old, new);
    let input = numbered(old, new);
    let changed = changed_ranges(&input);
    let added = changed.iter().map(|range| range.after.len() as u64).sum();
    let removed = changed.iter().map(|range| range.before.len() as u64).sum();
    (added, removed)
}

/// Two texts without the whole lines they begin and end with alike. Lines are not numbered to find that out: most edits
/// leave most of a file alone.
fn differing_lines<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = alike(old.iter().zip(new));
    let newline = old[..start].iter().rposition(|b| *b == b'\n');
    let start = newline.map_or(0, |at| at + 1);
    let (old, new) = (&old[start..], &new[start..]);
    let end = alike(old.iter().rev().zip(new.iter().rev()));
    let is_line_start = |text: &[u8]| match text.len() - end {
        0 => true,
        before => text[before - 1] == b'\n',
    };
    let end = if is_line_start(old) && is_line_start(new) {
        end
    } else {
        let alike = &old[old.len() - end..];
        let newline = alike.iter().position(|b| *b == b'\n');
        newline.map_or(0, |at| end - (at + 1))
    };
    (&old[..old.len() - end], &new[..new.len() - end])
}

/// How many bytes are alike from the first pair on.
fn alike<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

/// The differences between two texts with up to `context` unchanged lines around each.
pub fn hunks<'a>(old: &'a [u8], new: &'a [u8], context: usize) -> Vec<Hunk<'a>> {
    let input = numbered(old, new);
    let context = u32::try_from(context).unwrap_or(u32::MAX);
    let changes = changed_ranges(&input);

    let mut hunks = Vec::new();
    let mut sections = Sections { input: &input, searched: 0, found: b"" };
    let mut rest = changes.as_slice();
    while !rest.is_empty() {
        let length = group_length(rest, context);
        let (group, others) = rest.split_at(length);
        hunks.push(hunk(&input, group, context, &mut sections));
        rest = others;
    }
    hunks
}

/// How many of the next changes share a hunk: those whose context would touch.
fn group_length(changes: &[imara_diff::Hunk], context: u32) -> usize {
    let far = |pair: &[imara_diff::Hunk]| {
        pair[1].before.start - pair[0].before.end > context.saturating_mul(2)
    };
    changes.windows(2).position(far).map_or(changes.len(), |position| position + 1)
}

fn hunk<'a>(
    input: &InternedInput<&'a [u8]>,
    group: &[imara_diff::Hunk],
    context: u32,
    sections: &mut Sections<'_, 'a>,
) -> Hunk<'a> {
    let first = &group[0];
    let last = &group[group.len() - 1];
    let lead = context.min(first.before.start).min(first.after.start);
    let left = input.before.len() as u32 - last.before.end;
    let tail = context.min(left).min(input.after.len() as u32 - last.after.end);
    let old = first.before.start - lead..last.before.end + tail;
    let new = first.after.start - lead..last.after.end + tail;

    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut position = old.start;
    for change in group {
        push(&mut lines, input, LineKind::Context, position..change.before.start);
        push(&mut lines, input, LineKind::Removed, change.before.clone());
        push(&mut lines, input, LineKind::Added, change.after.clone());
        position = change.before.end;
    }
    push(&mut lines, input, LineKind::Context, position..old.end);

    let start = |range: &Range<u32>| range.start + u32::from(!range.is_empty());
    Hunk {
        old_start: start(&old),
        old_count: old.len() as u32,
        new_start: start(&new),
        new_count: new.len() as u32,
        section: sections.above(old.start),
        lines,
    }
}

fn push<'a>(
    lines: &mut Vec<Line<'a>>,
    input: &InternedInput<&'a [u8]>,
    kind: LineKind,
    range: Range<u32>,
) {
    let tokens = if kind == LineKind::Added { &input.after } else { &input.before };
    for token in &tokens[range.start as usize..range.end as usize] {
        lines.push(Line { kind, bytes: input.interner[*token] });
    }
}

/// Finds the nearest line above a hunk that looks like a heading, as git does without knowing the
/// language: it begins with a letter, `_` or `$`.
struct Sections<'i, 'a> {
    input: &'i InternedInput<&'a [u8]>,
    /// Lines before this one were looked at for an earlier hunk.
    searched: usize,
    found: &'a [u8],
}

impl<'a> Sections<'_, 'a> {
    fn above(&mut self, line: u32) -> &'a [u8] {
        let tokens = &self.input.before[self.searched..line as usize];
        let is_heading = |text: &&'a [u8]| {
            text.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$'))
        };
        let lines = tokens.iter().rev().map(|token| self.input.interner[*token]);
        if let Some(heading) = lines.into_iter().find(is_heading) {
            self.found = heading[..heading.len().min(80)].trim_ascii_end();
        }
        self.searched = line as usize;
        self.found
    }
}

/// What a line of a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchLineKind {
    /// Which file, and what happened to it as a whole.
    Header,
    /// `@@ -1,2 +3,4 @@ section`
    HunkHeader,
    /// An unchanged line, after a space.
    Context,
    /// A new line, after a plus sign.
    Added,
    /// A removed line, after a minus sign.
    Removed,
    /// `\ No newline at end of file`
    NoNewline,
    /// Part of a binary patch, or the statement that binary files differ.
    Binary,
}

/// One line of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchLine<'a> {
    /// What it is.
    pub kind: PatchLineKind,
    /// Its bytes, marker included, without the newline that ends every line of a patch. File content
    /// is in here as it is: escape it before it reaches a terminal.
    pub bytes: &'a [u8],
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::numbered_lines;

    /// Applies hunks the way a patch tool does, checking what it passes.
    fn apply(old: &[u8], hunks: &[Hunk<'_>]) -> Vec<u8> {
        let lines: Vec<&[u8]> = old.split_inclusive(|b| *b == b'\n').collect();
        let mut result = Vec::new();
        let mut position = 0;
        for hunk in hunks {
            let start = hunk.old_start as usize - usize::from(hunk.old_count > 0);
            result.extend_from_slice(&lines[position..start]);
            position = start;
            let new_start = hunk.new_start as usize - usize::from(hunk.new_count > 0);
            assert_eq!(result.len(), new_start);
            for line in &hunk.lines {
                if line.kind != LineKind::Added {
                    assert_eq!(lines[position], line.bytes);
                    position += 1;
                }
                if line.kind != LineKind::Removed {
                    result.push(line.bytes);
                }
            }
            assert_eq!(position - start, hunk.old_count as usize);
            assert_eq!(result.len() - new_start, hunk.new_count as usize);
        }
        result.extend_from_slice(&lines[position..]);
        result.concat()
    }

    #[test]
    fn a_nul_in_the_first_eight_thousand_bytes_is_binary() {
        let mut bytes = vec![b'a'; 8001];
        bytes[8000] = 0;
        assert!(!is_binary(&bytes));
        bytes[7999] = 0;
        assert!(is_binary(&bytes));
        assert!(!is_binary(b""));
    }

    #[test]
    fn changes_whose_context_touches_share_a_hunk() {
        let old = numbered_lines(0..20, |n| n.to_string());
        let near = old.replace("\n3\n", "\nx\n").replace("\n10\n", "\ny\n");
        assert_eq!(hunks(old.as_bytes(), near.as_bytes(), 3).len(), 1);
        let far = old.replace("\n3\n", "\nx\n").replace("\n11\n", "\ny\n");
        assert_eq!(hunks(old.as_bytes(), far.as_bytes(), 3).len(), 2);
        assert_eq!(hunks(old.as_bytes(), far.as_bytes(), usize::MAX).len(), 1);
    }

    #[test]
    fn nothing_against_nothing_has_no_hunks() {
        assert!(hunks(b"", b"", 3).is_empty());
        assert!(hunks(b"a\nb", b"a\nb", 3).is_empty());
        let created = hunks(b"", b"a", 3);
        assert_eq!((created[0].old_start, created[0].new_start), (0, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn hunks_turn_the_old_text_into_the_new(
            old in "[ab\n]{0,60}",
            new in "[abc\n ]{0,60}",
            context in 0_usize..5,
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let hunks = hunks(old, new, context);
            prop_assert_eq!(apply(old, &hunks), new);
            let lines = |kind| hunks.iter().flat_map(|h| &h.lines).filter(|l| l.kind == kind).count();
            let counted = (lines(LineKind::Added) as u64, lines(LineKind::Removed) as u64);
            prop_assert_eq!(count(old, new), counted);
        }

        #[test]
        fn lines_around_an_edit_are_counted_as_if_they_were_compared(
            before in "([ab]{0,9}\n){0,30}[ab]{0,3}",
            edits in ("[ab\n]{0,20}", "[ab\n]{0,20}"),
            after in "[ab]{0,3}(\n[ab]{0,9}){0,30}",
        ) {
            let (old, new) = (format!("{before}{}{after}", edits.0), format!("{before}{}{after}", edits.1));
            let changed = changed_ranges(&numbered(old.as_bytes(), new.as_bytes()));
            let added: usize = changed.iter().map(|range| range.after.len()).sum();
            let removed: usize = changed.iter().map(|range| range.before.len()).sum();
            prop_assert_eq!(count(old.as_bytes(), new.as_bytes()), (added as u64, removed as u64));
        }
    }
}
