//! The shortest way from one text to another, found as git finds it by default.
//!
//! Merging compares each side with the base and then asks which changes touch. Several alignments may
//! be equally short, and each would make other conflicts, so ours has to be the very one git chooses:
//! the same lines left out beforehand (`crate::lines::myers_prune`), the same middle of the way, the same
//! point at which looking for the best way is given up for a good one, and the same sliding of blocks
//! (`crate::lines::slide`).
//!
//! The search is Eugene Myers's: walk from both ends at once, one edit further in each round, until
//! the two fronts meet; then do the same with the two halves.

use imara_diff::{Hunk, Token};

use crate::lines::myers_prune::{Kept, Occurrences, prune, rough_root};
use crate::lines::slide::{Marked, marked_ranges, slide_blocks};

/// A run of so many equal lines is a reason to believe in the way that passes it.
const LONG_RUN: isize = 20;
/// From so many edits on, a believable way is taken without looking for a shorter one.
const MANY_EDITS: isize = 256;
/// How far a way must have come, in lines per edit, to be believable.
const LINES_PER_EDIT: isize = 4;

/// More lines than this are not searched: the fronts would take more memory than the texts.
const MAX_LINES: usize = 4_000_000;

/// Compares texts again and again, as long as it may.
pub(crate) struct Comparer {
    occurrences: Occurrences,
    /// How many points of the search may still be looked at.
    work_left: u64,
}

impl Comparer {
    /// For texts whose tokens are all below `tokens`, and so much work in all comparisons together.
    pub(crate) fn new(tokens: u32, work: u64) -> Self {
        Self { occurrences: Occurrences::new(tokens), work_left: work }
    }

    /// The ranges of lines that were replaced, in order, never touching each other; `None` if finding
    /// them takes more work than is left.
    pub(crate) fn shortest_ranges(
        &mut self,
        before: &[Token],
        after: &[Token],
    ) -> Option<Vec<Hunk>> {
        let (mut old, mut new) = (Marked::unchanged(before), Marked::unchanged(after));
        let (old_kept, new_kept) = prune(&mut old, &mut new, &mut self.occurrences);
        if old_kept.lines.len() + new_kept.lines.len() > MAX_LINES {
            return None;
        }
        let mut fronts = Fronts::new(old_kept.lines.len(), new_kept.lines.len(), self.work_left);
        let found = mark_changes(&mut old, &old_kept, &mut new, &new_kept, &mut fronts);
        self.work_left = fronts.work_left;
        found?;
        slide_blocks(&mut old, &mut new);
        Some(marked_ranges(&old, &new))
    }
}

/// A part of both texts for which the way is still to be found.
struct Region {
    old: (usize, usize),
    new: (usize, usize),
    /// It is known that a short way exists, so it is looked for however long that takes.
    exact: bool,
}

/// Marks what changed; `None` when the work is used up.
fn mark_changes(
    old: &mut Marked<'_>,
    old_kept: &Kept,
    new: &mut Marked<'_>,
    new_kept: &Kept,
    fronts: &mut Fronts,
) -> Option<()> {
    let (old_lines, new_lines) = (&old_kept.lines, &new_kept.lines);
    let mut regions =
        vec![Region { old: (0, old_lines.len()), new: (0, new_lines.len()), exact: false }];
    while let Some(region) = regions.pop() {
        let region = without_equal_ends(region, old_lines, new_lines);
        let (old_start, old_end) = region.old;
        let (new_start, new_end) = region.new;
        if old_start == old_end {
            new_kept.mark(new_start..new_end, new);
            continue;
        }
        if new_start == new_end {
            old_kept.mark(old_start..old_end, old);
            continue;
        }
        let search =
            Search { old: &old_lines[old_start..old_end], new: &new_lines[new_start..new_end] };
        let middle = search.middle(fronts, region.exact)?;
        let (old_middle, new_middle) = (old_start + middle.old, new_start + middle.new);
        regions.push(Region {
            old: (old_middle, old_end),
            new: (new_middle, new_end),
            exact: middle.exact_after,
        });
        regions.push(Region {
            old: (old_start, old_middle),
            new: (new_start, new_middle),
            exact: middle.exact_before,
        });
    }
    Some(())
}

fn without_equal_ends(mut region: Region, old: &[Token], new: &[Token]) -> Region {
    let both_left = |region: &Region| region.old.0 < region.old.1 && region.new.0 < region.new.1;
    while both_left(&region) && old[region.old.0] == new[region.new.0] {
        region.old.0 += 1;
        region.new.0 += 1;
    }
    while both_left(&region) && old[region.old.1 - 1] == new[region.new.1 - 1] {
        region.old.1 -= 1;
        region.new.1 -= 1;
    }
    region
}

/// Where a way is cut in two.
struct Middle {
    old: usize,
    new: usize,
    exact_before: bool,
    exact_after: bool,
}

impl Middle {
    fn new(old: isize, new: isize, exact_before: bool, exact_after: bool) -> Self {
        Self { old: old as usize, new: new as usize, exact_before, exact_after }
    }
}

/// How far the two walks have come, for each diagonal: the old line reached on it. A diagonal is the
/// old line's number minus the new line's.
struct Fronts {
    forward: Vec<isize>,
    backward: Vec<isize>,
    /// After so many edits the search takes the furthest point it has reached.
    max_edits: isize,
    work_left: u64,
}

impl Fronts {
    fn new(old: usize, new: usize, work_left: u64) -> Self {
        let diagonals = old + new + 3;
        Self {
            forward: vec![0; diagonals],
            backward: vec![0; diagonals],
            max_edits: (rough_root(diagonals) as isize).max(MANY_EDITS),
            work_left,
        }
    }
}

/// The diagonals a walk is on: every second one from `low` to `high`.
#[derive(Clone, Copy)]
struct Span {
    low: isize,
    high: isize,
}

impl Span {
    fn contains(self, diagonal: isize) -> bool {
        self.low <= diagonal && diagonal <= self.high
    }

    fn descending(self) -> impl Iterator<Item = isize> {
        let count = (self.high - self.low) / 2 + 1;
        (0..count).map(move |step| self.high - 2 * step)
    }
}

/// Two texts without common ends, neither of them empty.
struct Search<'t> {
    old: &'t [Token],
    new: &'t [Token],
}

impl Search<'_> {
    fn old_end(&self) -> isize {
        self.old.len() as isize
    }

    fn new_end(&self) -> isize {
        self.new.len() as isize
    }

    /// Where in a front the value of a diagonal is.
    fn slot(&self, diagonal: isize) -> usize {
        (diagonal + self.new_end() + 1) as usize
    }

    fn middle(&self, fronts: &mut Fronts, exact: bool) -> Option<Middle> {
        let last_diagonal = self.old_end() - self.new_end();
        let meets_forward = last_diagonal % 2 != 0;
        let mut forward = Span { low: 0, high: 0 };
        let mut backward = Span { low: last_diagonal, high: last_diagonal };
        let (first, last) = (self.slot(0), self.slot(last_diagonal));
        fronts.forward[first] = 0;
        fronts.backward[last] = self.old_end();

        let mut edits = 0;
        loop {
            edits += 1;
            fronts.work_left = fronts.work_left.checked_sub(edits as u64)?;
            forward = self.widened(forward, &mut fronts.forward, -1);
            let meeting = meets_forward.then_some(backward);
            let mut saw_run = match self.step_forward(fronts, forward, meeting) {
                Step::Met(old, new) => return Some(Middle::new(old, new, true, true)),
                Step::Apart { saw_run } => saw_run,
            };
            backward = self.widened(backward, &mut fronts.backward, isize::MAX);
            let meeting = (!meets_forward).then_some(forward);
            saw_run |= match self.step_backward(fronts, backward, meeting) {
                Step::Met(old, new) => return Some(Middle::new(old, new, true, true)),
                Step::Apart { saw_run } => saw_run,
            };
            if exact {
                continue;
            }
            if saw_run && edits > MANY_EDITS {
                if let Some((old, new)) = self.believable_forward(fronts, forward, edits) {
                    return Some(Middle::new(old, new, true, false));
                }
                if let Some((old, new)) = self.believable_backward(fronts, backward, edits) {
                    return Some(Middle::new(old, new, false, true));
                }
            }
            if edits >= fronts.max_edits {
                return Some(self.furthest(fronts, forward, backward));
            }
        }
    }

    /// One diagonal more at each end, or one less where the texts end. `outside` is what no walk
    /// would continue from.
    fn widened(&self, span: Span, front: &mut [isize], outside: isize) -> Span {
        let Span { mut low, mut high } = span;
        if low > -self.new_end() {
            low -= 1;
            front[self.slot(low - 1)] = outside;
        } else {
            low += 1;
        }
        if high < self.old_end() {
            high += 1;
            front[self.slot(high + 1)] = outside;
        } else {
            high -= 1;
        }
        Span { low, high }
    }

    fn step_forward(&self, fronts: &mut Fronts, span: Span, meeting: Option<Span>) -> Step {
        let mut saw_run = false;
        for diagonal in span.descending() {
            let slot = self.slot(diagonal);
            let (below, above) = (fronts.forward[slot - 1], fronts.forward[slot + 1]);
            let start = if below >= above { below + 1 } else { above };
            let run = self.equal_from(start, start - diagonal);
            let reached = start + run;
            saw_run |= run > LONG_RUN;
            fronts.forward[slot] = reached;
            fronts.work_left = fronts.work_left.saturating_sub(run as u64);
            let meets = meeting.is_some_and(|span| span.contains(diagonal));
            if meets && fronts.backward[slot] <= reached {
                return Step::Met(reached, reached - diagonal);
            }
        }
        Step::Apart { saw_run }
    }

    fn step_backward(&self, fronts: &mut Fronts, span: Span, meeting: Option<Span>) -> Step {
        let mut saw_run = false;
        for diagonal in span.descending() {
            let slot = self.slot(diagonal);
            let (below, above) = (fronts.backward[slot - 1], fronts.backward[slot + 1]);
            let start = if below < above { below } else { above - 1 };
            let run = self.equal_before(start, start - diagonal);
            let reached = start - run;
            saw_run |= run > LONG_RUN;
            fronts.backward[slot] = reached;
            fronts.work_left = fronts.work_left.saturating_sub(run as u64);
            let meets = meeting.is_some_and(|span| span.contains(diagonal));
            if meets && reached <= fronts.forward[slot] {
                return Step::Met(reached, reached - diagonal);
            }
        }
        Step::Apart { saw_run }
    }

    /// How many lines are equal from here on.
    fn equal_from(&self, old: isize, new: isize) -> isize {
        let old = self.old.get(old as usize..).unwrap_or_default();
        let new = self.new.get(new as usize..).unwrap_or_default();
        old.iter().zip(new).take_while(|(a, b)| a == b).count() as isize
    }

    /// How many lines are equal before this point.
    fn equal_before(&self, old: isize, new: isize) -> isize {
        let old = self.old.get(..old as usize).unwrap_or_default();
        let new = self.new.get(..new as usize).unwrap_or_default();
        let lines = old.iter().rev().zip(new.iter().rev());
        lines.take_while(|(a, b)| a == b).count() as isize
    }

    /// The point that has come furthest from the start, straying little, with a long run behind it.
    fn believable_forward(
        &self,
        fronts: &Fronts,
        span: Span,
        edits: isize,
    ) -> Option<(isize, isize)> {
        let (mut best, mut found) = (LINES_PER_EDIT * edits, None);
        for diagonal in span.descending() {
            let old = fronts.forward[self.slot(diagonal)];
            let new = old - diagonal;
            let progress = old + new - diagonal.abs();
            let inside = (LONG_RUN..self.old_end()).contains(&old)
                && (LONG_RUN..self.new_end()).contains(&new);
            if progress > best && inside && self.equal_before(old, new) >= LONG_RUN {
                (best, found) = (progress, Some((old, new)));
            }
        }
        found
    }

    /// The same for the walk from the end.
    fn believable_backward(
        &self,
        fronts: &Fronts,
        span: Span,
        edits: isize,
    ) -> Option<(isize, isize)> {
        let (mut best, mut found) = (LINES_PER_EDIT * edits, None);
        let last_diagonal = self.old_end() - self.new_end();
        for diagonal in span.descending() {
            let old = fronts.backward[self.slot(diagonal)];
            let new = old - diagonal;
            let straying = (diagonal - last_diagonal).abs();
            let progress = (self.old_end() - old) + (self.new_end() - new) - straying;
            let inside = (1..=self.old_end() - LONG_RUN).contains(&old)
                && (1..=self.new_end() - LONG_RUN).contains(&new);
            if progress > best && inside && self.equal_from(old, new) >= LONG_RUN {
                (best, found) = (progress, Some((old, new)));
            }
        }
        found
    }

    /// The point furthest from where its walk began.
    fn furthest(&self, fronts: &Fronts, forward: Span, backward: Span) -> Middle {
        let (mut ahead, mut ahead_old) = (-1, -1);
        for diagonal in forward.descending() {
            let reached = fronts.forward[self.slot(diagonal)];
            let old = reached.min(self.old_end()).min(self.new_end() + diagonal);
            if ahead < 2 * old - diagonal {
                (ahead, ahead_old) = (2 * old - diagonal, old);
            }
        }
        let (mut behind, mut behind_old) = (isize::MAX, isize::MAX);
        for diagonal in backward.descending() {
            let old = fronts.backward[self.slot(diagonal)].max(0).max(diagonal);
            if 2 * old - diagonal < behind {
                (behind, behind_old) = (2 * old - diagonal, old);
            }
        }
        if self.old_end() + self.new_end() - behind < ahead {
            Middle::new(ahead_old, ahead - ahead_old, true, false)
        } else {
            Middle::new(behind_old, behind - behind_old, false, true)
        }
    }
}

/// What one more edit led to.
enum Step {
    /// The walks meet here.
    Met(isize, isize),
    Apart {
        /// Did the walk pass a long run of equal lines?
        saw_run: bool,
    },
}
