//! Three-way merge of texts, line by line, byte for byte as `git merge-file` does it; or with fewer conflicts, where neighbouring
//! lines are nobody else's ([`merge_apart`]).
//!
//! Both sides are compared with the base. What only one side changed is taken from it; what both
//! changed in the same way is taken once. Where they changed the same or touching lines differently
//! there is a conflict (`crate::merge::overlay`), which is then made as small as is useful
//! (`crate::merge::refine`).
//!
//! The comparison is git's default one ([`crate::lines::myers`]), not the one our diffs use: which changes
//! touch, and so what conflicts, depends on every detail of it, and this one has been the same in
//! every version of git.
//!
//! # Limits
//!
//! * Lines are all that is understood: whether a text is one at all
//!   ([`is_binary`](super::lines::is_binary)) is for the caller to ask.
//! * Where that takes too long (`EXACT_WORK`) the faster alignment of our diffs is used. The merge is right then too, but
//!   may show other conflicts than git's.

#[cfg(test)]
mod oracle;
mod overlay;
mod refine;

use std::ops::Range;

use imara_diff::sources::byte_lines;
use imara_diff::{Hunk, Interner, Token};

use crate::lines::align::{changed_ranges, numbered};
use crate::lines::myers::Comparer;
use crate::merge::overlay::{Stretch, Touching, Verdict, overlay};
use crate::merge::refine::{join_near, refine};

/// How many points the exact comparison may look at: a few seconds, and only texts of more than a
/// hundred thousand lines that have little in common come near it.
const EXACT_WORK: u64 = 1 << 29;

/// A merge of two texts that have a common base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge<'a> {
    /// The result from beginning to end.
    pub pieces: Vec<Piece<'a>>,
}

/// A piece of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Lines both sides agree on, or only one of them changed.
    Settled(&'a [u8]),
    /// Lines both sides changed, in different ways.
    Conflict(Conflict<'a>),
}

/// Lines both sides changed, in different ways. Any of the three may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict<'a> {
    /// The lines on our side.
    pub ours: &'a [u8],
    /// Which of our lines these are, counted from 1; where there are none, the one they would follow, and it again.
    pub our_lines: (usize, usize),
    /// What both sides started from. Conflicts that were one before lines in between turned out to be
    /// equal each have the base of the whole.
    pub base: &'a [u8],
    /// The lines on their side.
    pub theirs: &'a [u8],
    /// How lines end here: `\n` or `\r\n`.
    pub line_end: &'static [u8],
}

/// What to do about conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution<'l> {
    /// Take our lines.
    Ours,
    /// Take their lines.
    Theirs,
    /// Write both down, between marker lines.
    Markers(Labels<'l>),
}

/// What the marker lines say about where the lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels<'l> {
    /// After `<<<<<<<`. May be empty.
    pub ours: &'l str,
    /// After `>>>>>>>`. May be empty.
    pub theirs: &'l str,
}

/// Merges what `ours` and `theirs` made of `base`.
pub fn merge<'a>(base: &'a [u8], ours: &'a [u8], theirs: &'a [u8]) -> Merge<'a> {
    merge_within(base, ours, theirs, EXACT_WORK)
}

/// [`merge()`], but where both sides changed neighbouring lines, and none of them both, there is no conflict.
pub fn merge_apart<'a>(base: &'a [u8], ours: &'a [u8], theirs: &'a [u8]) -> Merge<'a> {
    merge_as(base, ours, theirs, EXACT_WORK, Touching::Apart)
}

/// [`merge()`] with so much time for comparing exactly.
pub fn merge_within<'a>(
    base: &'a [u8],
    ours: &'a [u8],
    theirs: &'a [u8],
    exact_work: u64,
) -> Merge<'a> {
    merge_as(base, ours, theirs, exact_work, Touching::Joined)
}

fn merge_as<'a>(
    base: &'a [u8],
    ours: &'a [u8],
    theirs: &'a [u8],
    exact_work: u64,
    touching: Touching,
) -> Merge<'a> {
    if ours == base {
        return Merge::settled(theirs);
    }
    if theirs == base || ours == theirs {
        return Merge::settled(ours);
    }
    let mut interner = Interner::new(0);
    let texts = Texts {
        base: Text::new(base, &mut interner),
        ours: Text::new(ours, &mut interner),
        theirs: Text::new(theirs, &mut interner),
    };
    let mut comparer = Comparer::new(interner.num_tokens(), exact_work);
    drop(interner);

    let our_changes = texts.base.changes_to(&texts.ours, &mut comparer);
    let their_changes = texts.base.changes_to(&texts.theirs, &mut comparer);
    let stretches = overlay(&texts, &our_changes, &their_changes, touching);
    let stretches = refine(stretches, &texts, &mut comparer);
    texts.pieces(&join_near(stretches, &texts.ours))
}

impl<'a> Merge<'a> {
    fn settled(text: &'a [u8]) -> Self {
        let mut merge = Self { pieces: Vec::new() };
        merge.push_settled(text);
        merge
    }

    fn push_settled(&mut self, text: &'a [u8]) {
        if !text.is_empty() {
            self.pieces.push(Piece::Settled(text));
        }
    }

    /// The conflicts.
    pub fn conflicts(&self) -> impl Iterator<Item = &Conflict<'a>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Conflict(conflict) => Some(conflict),
            Piece::Settled(_) => None,
        })
    }

    /// The merged text, if there are no conflicts.
    pub fn clean(&self) -> Option<Vec<u8>> {
        self.conflicts().next().is_none().then(|| self.resolve(Resolution::Ours))
    }

    /// The merged text, with all conflicts resolved in the same way.
    pub fn resolve(&self, resolution: Resolution<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &self.pieces {
            match (piece, resolution) {
                (Piece::Settled(lines), _) => text.extend_from_slice(lines),
                (Piece::Conflict(conflict), Resolution::Ours) => {
                    text.extend_from_slice(conflict.ours);
                }
                (Piece::Conflict(conflict), Resolution::Theirs) => {
                    text.extend_from_slice(conflict.theirs);
                }
                (Piece::Conflict(conflict), Resolution::Markers(labels)) => {
                    conflict.write_marked(labels, &mut text);
                }
            }
        }
        text
    }
}

impl Conflict<'_> {
    fn write_marked(&self, labels: Labels<'_>, text: &mut Vec<u8>) {
        self.write_marker(b"<<<<<<<", labels.ours, text);
        self.write_lines(self.ours, text);
        self.write_marker(b"=======", "", text);
        self.write_lines(self.theirs, text);
        self.write_marker(b">>>>>>>", labels.theirs, text);
    }

    fn write_marker(&self, marker: &[u8], label: &str, text: &mut Vec<u8>) {
        text.extend_from_slice(marker);
        if !label.is_empty() {
            text.push(b' ');
            text.extend_from_slice(label.as_bytes());
        }
        text.extend_from_slice(self.line_end);
    }

    fn write_lines(&self, lines: &[u8], text: &mut Vec<u8>) {
        text.extend_from_slice(lines);
        // A marker has to begin a line, even after a text that ends without a newline.
        if !lines.is_empty() && !lines.ends_with(b"\n") {
            text.extend_from_slice(self.line_end);
        }
    }
}

/// A text as lines.
pub(crate) struct Text<'a> {
    bytes: &'a [u8],
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
    /// Equal lines have equal tokens, in all texts of a merge.
    pub(crate) lines: Vec<Token>,
}

impl<'a> Text<'a> {
    fn new(bytes: &'a [u8], interner: &mut Interner<&'a [u8]>) -> Self {
        let mut starts = vec![0];
        let mut lines = Vec::new();
        let mut end = 0;
        for line in byte_lines(bytes) {
            end += line.len();
            starts.push(end);
            lines.push(interner.intern(line));
        }
        Self { bytes, starts, lines }
    }

    /// The bytes of some lines.
    pub(crate) fn bytes_of(&self, lines: &Range<usize>) -> &'a [u8] {
        let start = self.starts.get(lines.start);
        let end = self.starts.get(lines.end);
        start.zip(end).and_then(|(start, end)| self.bytes.get(*start..*end)).unwrap_or_default()
    }

    fn changes_to(&self, other: &Text<'_>, comparer: &mut Comparer) -> Vec<Hunk> {
        let (all, all_other) = (0..self.lines.len(), 0..other.lines.len());
        self.changes(&all, other, &all_other, comparer)
    }

    /// What changed from these lines to those of another text, counted from the beginning of each.
    pub(crate) fn changes(
        &self,
        lines: &Range<usize>,
        other: &Text<'_>,
        other_lines: &Range<usize>,
        comparer: &mut Comparer,
    ) -> Vec<Hunk> {
        let (old, new) = (&self.lines[lines.clone()], &other.lines[other_lines.clone()]);
        comparer.shortest_ranges(old, new).unwrap_or_else(|| {
            let (old, new) = (self.bytes_of(lines), other.bytes_of(other_lines));
            changed_ranges(&numbered(old, new))
        })
    }

    /// Does this line end in `\r\n`? A last line without an end is judged by the one before it.
    fn has_carriage_return(&self, line: usize) -> Option<bool> {
        let bytes = self.bytes_of(&(line..line + 1));
        if bytes.ends_with(b"\n") {
            return Some(bytes.ends_with(b"\r\n"));
        }
        let previous = line.checked_sub(1)?;
        Some(self.bytes_of(&(previous..line)).ends_with(b"\r\n"))
    }
}

/// What is merged.
pub(crate) struct Texts<'a> {
    pub(crate) base: Text<'a>,
    pub(crate) ours: Text<'a>,
    pub(crate) theirs: Text<'a>,
}

impl<'a> Texts<'a> {
    fn pieces(&self, stretches: &[Stretch]) -> Merge<'a> {
        let mut merge = Merge { pieces: Vec::new() };
        let mut position = 0;
        for stretch in stretches {
            let piece = match stretch.verdict {
                // They read on in our text, like everything nobody changed.
                Verdict::Ours | Verdict::Equal => continue,
                Verdict::Theirs => Piece::Settled(self.theirs.bytes_of(&stretch.theirs)),
                Verdict::Conflict => Piece::Conflict(self.conflict(stretch)),
            };
            merge.push_settled(self.ours.bytes_of(&(position..stretch.ours.start)));
            if piece != Piece::Settled(b"") {
                merge.pieces.push(piece);
            }
            position = stretch.ours.end;
        }
        merge.push_settled(self.ours.bytes_of(&(position..self.ours.lines.len())));
        merge
    }

    fn conflict(&self, stretch: &Stretch) -> Conflict<'a> {
        Conflict {
            ours: self.ours.bytes_of(&stretch.ours),
            our_lines: (
                (stretch.ours.start + 1).min(stretch.ours.end.max(1)),
                stretch.ours.end.max(1),
            ),
            base: self.base.bytes_of(&stretch.base),
            theirs: self.theirs.bytes_of(&stretch.theirs),
            line_end: self.line_end(stretch),
        }
    }

    /// Markers end in `\r\n` only where no text says otherwise: the line above on each side, then the
    /// first line of the base.
    fn line_end(&self, stretch: &Stretch) -> &'static [u8] {
        let above = |text: &Text<'_>, line: usize| text.has_carriage_return(line.saturating_sub(1));
        let votes = [
            above(&self.ours, stretch.ours.start),
            above(&self.theirs, stretch.theirs.start),
            self.base.has_carriage_return(0),
        ];
        // The base decides last, and where it cannot, nobody has asked for more than `\n`.
        if votes[..2].contains(&Some(false)) || votes[2] != Some(true) { b"\n" } else { b"\r\n" }
    }
}
