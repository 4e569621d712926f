//! Conflicts as small as is useful.
//!
//! Two sides may have changed the same place in almost the same way. Comparing their versions with
//! each other leaves only what really differs in conflict. Then the opposite: conflicts with hardly
//! anything between them are easier to read as one.

use crate::lines::myers::Comparer;
use crate::merge::overlay::{Stretch, Verdict};
use crate::merge::{Text, Texts};

/// Two conflicts with at most so many lines between them become one.
const FEW_LINES: usize = 3;

/// Takes the lines on which both sides agree out of the conflicts.
pub(crate) fn refine(
    stretches: Vec<Stretch>,
    texts: &Texts<'_>,
    comparer: &mut Comparer,
) -> Vec<Stretch> {
    let mut refined = Vec::with_capacity(stretches.len());
    for stretch in stretches {
        let one_side_empty = stretch.ours.is_empty() || stretch.theirs.is_empty();
        if stretch.verdict != Verdict::Conflict || one_side_empty {
            refined.push(stretch);
            continue;
        }
        let (ours, theirs) = (&stretch.ours, &stretch.theirs);
        let differences = texts.ours.changes(ours, &texts.theirs, theirs, comparer);
        if differences.is_empty() {
            // It stays in the list: conflicts are not joined across it.
            refined.push(Stretch { verdict: Verdict::Equal, ..stretch });
            continue;
        }
        refined.extend(differences.into_iter().map(|difference| {
            let (our, their) = (difference.before, difference.after);
            Stretch {
                verdict: Verdict::Conflict,
                base: stretch.base.clone(),
                ours: ours.start + our.start as usize..ours.start + our.end as usize,
                theirs: theirs.start + their.start as usize..theirs.start + their.end as usize,
            }
        }));
    }
    refined
}

/// Joins conflicts that have only a few lines between them, or none that says anything.
pub(crate) fn join_near(stretches: Vec<Stretch>, ours: &Text<'_>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::with_capacity(stretches.len());
    for stretch in stretches {
        match joined.last_mut() {
            Some(last) if are_near(last, &stretch, ours) => {
                last.base.end = stretch.base.end;
                last.ours.end = stretch.ours.end;
                last.theirs.end = stretch.theirs.end;
            }
            _ => joined.push(stretch),
        }
    }
    joined
}

fn are_near(first: &Stretch, second: &Stretch, ours: &Text<'_>) -> bool {
    let both_conflicts = [first, second].iter().all(|stretch| stretch.verdict == Verdict::Conflict);
    let between = first.ours.end..second.ours.start;
    both_conflicts
        && (between.len() <= FEW_LINES
            || !ours.bytes_of(&between).iter().any(u8::is_ascii_alphanumeric))
}
