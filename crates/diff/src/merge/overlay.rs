//! The changes of two sides laid over each other.
//!
//! Changes that do not touch stand for themselves. Those that do become one stretch, and unless all of
//! it is the work of one side, a conflict. Changes both sides made in the same way leave no trace: the
//! text of our side has them already.
//!
//! Where touching changes are to stay apart, two that replace or remove neighbouring lines stand for themselves as well. An insertion
//! that touches a change does not: it may belong to those lines or to the next.

use std::ops::Range;

use imara_diff::Hunk;

use crate::merge::{Text, Texts};

/// What becomes of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Conflict,
    /// Only we changed it.
    Ours,
    /// Only they changed it.
    Theirs,
    /// Both sides are equal after all.
    Equal,
}

/// What becomes of changes of both sides that only touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touching {
    /// They are one, as for git.
    Joined,
    /// They stand for themselves.
    Apart,
}

impl Touching {
    fn are_apart(self, first: &Range<usize>, next: &Range<usize>) -> bool {
        self == Self::Apart && !first.is_empty() && !next.is_empty() && first.end <= next.start
    }
}

/// Lines that at least one side changed, and where they are in each text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) verdict: Verdict,
    pub(crate) base: Range<usize>,
    pub(crate) ours: Range<usize>,
    pub(crate) theirs: Range<usize>,
}

/// Lays the changes of both sides over each other.
pub(crate) fn overlay(
    texts: &Texts<'_>,
    our_changes: &[Hunk],
    their_changes: &[Hunk],
    touching: Touching,
) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut our_rest, mut their_rest) = (our_changes.iter(), their_changes.iter());
    let (mut our_next, mut their_next) = (our_rest.next(), their_rest.next());
    loop {
        let ends_before = |change: &Hunk, next: Option<&Hunk>| {
            next.is_none_or(|next| {
                let is_apart = touching.are_apart(&lines(&change.before), &lines(&next.before));
                is_apart || change.before.end < next.before.start
            })
        };
        match (our_next, their_next) {
            (Some(our), _) if ends_before(our, their_next) => {
                let base = lines(&our.before);
                let theirs = texts.carried_over(&base, their_next, &texts.theirs);
                add(&mut stretches, Verdict::Ours, base, lines(&our.after), theirs, touching);
                our_next = our_rest.next();
            }
            (_, Some(their)) if ends_before(their, our_next) => {
                let base = lines(&their.before);
                let ours = texts.carried_over(&base, our_next, &texts.ours);
                add(&mut stretches, Verdict::Theirs, base, ours, lines(&their.after), touching);
                their_next = their_rest.next();
            }
            (Some(our), Some(their)) => {
                if !texts.is_same_change(our, their) {
                    add_conflict(&mut stretches, our, their, touching);
                }
                let (our_end, their_end) = (our.before.end, their.before.end);
                if our_end >= their_end {
                    their_next = their_rest.next();
                }
                if their_end >= our_end {
                    our_next = our_rest.next();
                }
            }
            // Nothing is left: had one side a change more, it would end before the other's next.
            _ => return stretches,
        }
    }
}

impl Texts<'_> {
    fn is_same_change(&self, our: &Hunk, their: &Hunk) -> bool {
        our.before == their.before
            && self.ours.lines[lines(&our.after)] == self.theirs.lines[lines(&their.after)]
    }

    /// Where lines of the base are in a text that did not change them, seen from its next change.
    fn carried_over(
        &self,
        base: &Range<usize>,
        next_change: Option<&Hunk>,
        text: &Text<'_>,
    ) -> Range<usize> {
        let ends = (self.base.lines.len(), text.lines.len());
        let (base_start, text_start) = next_change
            .map_or(ends, |next| (next.before.start as usize, next.after.start as usize));
        // Lines that overlap an earlier change may not exist there; only their end counts then.
        let place = |line: usize| (text_start + line).saturating_sub(base_start);
        place(base.start)..place(base.end)
    }
}

fn add_conflict(stretches: &mut Vec<Stretch>, our: &Hunk, their: &Hunk, touching: Touching) {
    let start = our.before.start.min(their.before.start);
    let end = our.before.end.max(their.before.end);
    let widened = |change: &Hunk| {
        let from = (change.after.start).saturating_sub(change.before.start - start);
        lines(&(from..change.after.end + (end - change.before.end)))
    };
    let (ours, theirs) = (widened(our), widened(their));
    add(stretches, Verdict::Conflict, lines(&(start..end)), ours, theirs, touching);
}

/// Adds a stretch, or extends the last one if they touch.
fn add(
    stretches: &mut Vec<Stretch>,
    verdict: Verdict,
    base: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
    touching: Touching,
) {
    match stretches.last_mut() {
        Some(last) if touching.are_apart(&last.base, &base) => {
            stretches.push(Stretch { verdict, base, ours, theirs });
        }
        Some(last) if ours.start <= last.ours.end || theirs.start <= last.theirs.end => {
            if last.verdict != verdict {
                last.verdict = Verdict::Conflict;
            }
            last.base.end = base.end;
            last.ours.end = ours.end;
            last.theirs.end = theirs.end;
        }
        _ => stretches.push(Stretch { verdict, base, ours, theirs }),
    }
}

fn lines(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
