//! Divides what happened between two states by what is known of single files.
//!
//! That steps were under way from one state to the next says who may have changed something. Their records may say more: what a
//! tool edits, and what changed before it began. Then the way from the one state to the other is told as several: what was
//! done by hand first, then what each did. The states in between never were, and are kept in memory.

use std::collections::{BTreeMap, HashMap};

use herma_diff::{Change, StoreSide};
use herma_records::step::Step;
use herma_records::timeline::{Cover, Point, Timeline};
use herma_reversal::{Content, Outcome, Reversed};
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::StateIds;

use crate::engine::operation::Operation;
use crate::error::{ErrorKind, Result};
use crate::timeline::{Made, full_mode};

/// The steps of a story by their handles.
struct Steps<'s>(HashMap<i64, &'s Step>);

impl Steps<'_> {
    /// Do their records say more about a stretch than that they were under way?
    fn tell_more(&self, covers: &[Cover]) -> bool {
        let is_sure = matches!(covers, [only] if only.certain);
        covers.iter().filter_map(|cover| self.0.get(&cover.step)).any(|step| {
            let is_sure = is_sure || step.start.edits.is_none();
            !(is_sure && step.is_all_its())
        })
    }

    /// Those of the steps under way that may have changed this.
    fn authors(&self, covers: &[Cover], path: &RelPath) -> Vec<Cover> {
        let of = |cover: &Cover| {
            let Some(step) = self.0.get(&cover.step) else { return Some(*cover) };
            let certain = cover.certain && !step.is_unclear(path);
            step.may_have_changed(path).then_some(Cover { certain, ..*cover })
        };
        let mut authors: Vec<Cover> = covers.iter().filter_map(of).collect();
        let is_sure =
            |cover: &Cover| self.0.get(&cover.step).is_some_and(|s| s.surely_changed(path));
        if authors.iter().any(is_sure) {
            authors.retain(is_sure);
        }
        // What a tool says it edits is not taken for the work of a command that goes on beside it.
        let edits = |cover: &Cover| {
            !cover.beside && self.0.get(&cover.step).is_some_and(|s| s.start.edits.is_some())
        };
        if authors.iter().any(edits) {
            authors.retain(|author| !author.beside);
        }
        authors
    }
}

impl Operation<'_> {
    /// Divides the stretches of a line of which is known by paths who did what. Not the last one: it leads to a present that is
    /// not stored.
    pub(crate) fn divide(&self, line: &mut Timeline, steps: &[Step], made: &Made) -> Result<()> {
        let steps = Steps(steps.iter().map(|step| (step.handle, step)).collect());
        for stretch in (0..line.stretches().saturating_sub(1)).rev() {
            if line.changes(stretch) && steps.tell_more(line.covers(stretch)) {
                let [from, to] = [&line.points[stretch], &line.points[stretch + 1]];
                match self.parts_of_stretch(&steps, line.covers(stretch), [from, to], made) {
                    Ok(parts) => line.divide(stretch, &parts),
                    // What is damaged there costs what needs it, and nothing else.
                    Err(error) if error.kind() == ErrorKind::Damaged => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The states in which the parts of a stretch end, and who led there.
    fn parts_of_stretch(
        &self,
        steps: &Steps<'_>,
        covers: &[Cover],
        [from, to]: [&Point; 2],
        made: &Made,
    ) -> Result<Vec<(StateIds, Vec<Cover>)>> {
        let pending = |id: &ObjectId| Ok(made.read(id));
        let side = StoreSide::with_pending(&self.store.objects, &pending);
        let ends = (Some((&side as _, from.state.0)), Some((&side as _, to.state.0)));
        let mut groups: BTreeMap<Vec<Cover>, Vec<Change>> = BTreeMap::new();
        for change in herma_diff::compare(ends.0, ends.1, &[])? {
            groups.entry(steps.authors(covers, &change.path)).or_default().push(change);
        }
        let (Some(before), Some(after)) = (&from.checkpoint, &to.checkpoint) else {
            return Ok(Vec::new());
        };
        let before = self.parts_of(before, from.state.1, &pending)?;
        let modes = self.parts_of(after, to.state.1, &pending)?.modes;
        let mut so_far = Reversed::default();
        let mut parts = Vec::new();
        let count = groups.len();
        for (covers, changes) in groups {
            if parts.len() + 1 == count {
                parts.push((to.state, covers));
                break;
            }
            so_far.changes.extend(changes.into_iter().map(|change| {
                let outcome = change.new.map_or(Outcome::Gone, |state| Outcome::File {
                    mode: state.mode,
                    content: Content::Stored(state.id),
                    full_mode: full_mode(&modes, &change.path, state.mode),
                });
                (change.path, outcome)
            }));
            parts.push((made.state(&before.view(from.state.0, &side), &so_far)?, covers));
        }
        Ok(parts)
    }
}
