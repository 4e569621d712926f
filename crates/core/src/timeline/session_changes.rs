//! What a session, a turn or a step changed, and nothing else.
//!
//! The states along the timeline also hold what others did meanwhile. So the steps' own changes are put on
//! top of each other, beginning with each file as it was before the first of them that touched it: what comes
//! out is the project as it would be had nobody else touched these files since. Neither of the two states was
//! ever saved; what is new in them is kept in memory.

use crate::engine::operation::Operation;
use std::collections::BTreeSet;

use herma_diff::{Change, StoreSide};
use herma_records::step::{Step, StepEnd, StepId};
use herma_records::timeline::Belongs;
use herma_reversal as reversal;
use herma_reversal::{Content, Decided, Outcome, Reversed, Run, StateView};
use herma_store::error::StoreError;
use herma_store::object::Kind;
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;
use herma_worktree::present::StateIds;
use herma_worktree::reason::Reason;

use crate::error::{Error, Result};
use crate::steps::StepChoice;
use crate::timeline::compare::Comparison;
use crate::timeline::partition::Sorted;
use crate::timeline::{Ground, StateParts, Story, full_mode};

/// What chosen steps changed.
pub struct SessionChanges {
    /// From the files as they were before the first of them that touched each, to the same files with their
    /// changes on top.
    pub comparison: Comparison,
    /// The steps that were chosen, ascending.
    pub steps: Vec<Step>,
    /// Changed while chosen steps and others were under way. Nobody can tell whose it is: it is not in the
    /// comparison.
    pub unattributed: BTreeSet<RelPath>,
    /// Steps of which nobody said how they ended: what changed until the next checkpoint counts as theirs.
    pub uncertain: Vec<StepId>,
    /// Steps whose checkpoints are not kept any more: what they changed is not in the comparison.
    pub forgotten: Vec<StepId>,
    /// Files whose changes could not be put on top of each other; only a part of them is in the
    /// comparison.
    pub incomplete: BTreeSet<RelPath>,
    /// What one of the states says nothing about.
    pub left_out: Vec<(RelPath, Reason)>,
}

impl Operation<'_> {
    pub(crate) fn session_changes(
        self,
        choice: &StepChoice,
        scope: &[RelPath],
        renames: bool,
    ) -> Result<SessionChanges> {
        let history = self.load_history()?;
        // Steps that are over say all there is to know: the present does not matter.
        let newest = history.readable(&self.store)?;
        let newest =
            newest.first().ok_or_else(|| Error::NoCheckpoints { root: self.root.clone() })?;
        let told = self.story(&history, (newest.tree, newest.modes), choice)?;
        let chosen = choose(&told, choice)?;
        let last = told.line.stretches() - 1;
        if matches!(told.line.belongs(last, &chosen), Belongs::Chosen | Belongs::Partly) {
            let (project, progress) = (self.project, self.progress);
            drop((told, self));
            return project.writing(progress)?.compose_with_present(choice, scope, renames);
        }
        let pending = &|_: &ObjectId| Ok(None);
        let ground = Ground { operation: &self, told: &told, present: None, pending };
        let mut changes = ground.compose(&chosen, scope, renames)?;
        changes.comparison.keep(self.store, told.made);
        Ok(changes)
    }

    /// The same where a chosen step is under way, or nobody said how it ended.
    fn compose_with_present(
        self,
        choice: &StepChoice,
        scope: &[RelPath],
        renames: bool,
    ) -> Result<SessionChanges> {
        let history = self.load_history()?;
        // Dropped in the end: what is new in the present is needed only to look at it.
        let writer = PackWriter::new(&self.store.dirs, &self.store.objects)?;
        let cache = self.load_cache(&history);
        let present = self.scan(Some(&self.store), cache, false, &writer, self.progress)?;
        let told = self.story(&history, (present.tree, present.modes), choice)?;
        let chosen = choose(&told, choice)?;
        let pending = |id: &ObjectId| writer.read(id);
        let ground =
            Ground { operation: &self, told: &told, present: Some(&present), pending: &pending };
        let mut changes = ground.compose(&chosen, scope, renames)?;
        for change in &changes.comparison.changes {
            let Some(new) = change.new else { continue };
            match writer.read(&new.id) {
                Ok(Some(object)) => {
                    told.made.add(Kind::Blob, &object.data)?;
                }
                // Too much to be shown as well.
                Ok(None) | Err(StoreError::TooLarge { .. }) => {}
                Err(e) => return Err(e.into()),
            }
        }
        drop(writer);
        changes.comparison.keep(self.store, told.made);
        Ok(changes)
    }
}

impl Ground<'_> {
    fn compose(
        &self,
        chosen: &BTreeSet<i64>,
        scope: &[RelPath],
        renames: bool,
    ) -> Result<SessionChanges> {
        let story = self.told;
        let is_chosen = |step: &&Step| chosen.contains(&step.handle);
        let mut answer = SessionChanges {
            comparison: Comparison::default(),
            steps: story.steps.iter().filter(is_chosen).cloned().collect(),
            unattributed: BTreeSet::new(),
            uncertain: Vec::new(),
            forgotten: forgotten(story, chosen),
            incomplete: BTreeSet::new(),
            left_out: Vec::new(),
        };
        let Some(first) = story.line.first_stretch(chosen) else { return Ok(answer) };
        let sorted = Sorted::new(story, chosen, first);
        answer.uncertain = story.ids(&sorted.uncertain);
        answer.unattributed = self.partly_theirs(&sorted, scope)?;
        let pending = story.pending(self.pending);
        let side = StoreSide::with_pending(&self.operation.store.objects, &pending);
        let parts = self.parts_of_runs(&sorted, first)?;
        let view = |point: usize| parts[&point].view(story.line.points[point].state.0, &side);
        let runs: Vec<Run<'_>> =
            sorted.runs.iter().map(|(from, to)| Run { from: view(*from), to: view(*to) }).collect();
        let untouched = before_touched(&view(first), &runs, scope)?;
        let old = story.made.state(&view(first), &untouched)?;
        let base = StateParts {
            modes: Modes::read_pending(&self.operation.store.objects, &pending, old.1)?,
            left_out: {
                let mut left_out = parts[&first].left_out.clone();
                left_out.retain(|path, _| !untouched.changes.keys().any(|p| p.as_bytes() == path));
                left_out
            },
        };
        let composed = reversal::compose(base.view(old.0, &side), &runs, scope)?;
        let new = story.made.state(&base.view(old.0, &side), &composed)?;
        self.operation.check_scope(&[(&side, old.0), (&side, new.0)], scope)?;
        answer.comparison.changes = changes_between(&side, old, new, scope, renames)?;
        answer.comparison.modes_differ = old.1 != new.1;
        note_gaps(&mut answer, composed);
        Ok(answer)
    }

    /// The files that changed while chosen steps and others were under way.
    fn partly_theirs(&self, sorted: &Sorted, scope: &[RelPath]) -> Result<BTreeSet<RelPath>> {
        let mut paths = BTreeSet::new();
        for (stretch, _) in sorted.others.iter().filter(|(_, whose)| *whose == Belongs::Partly) {
            paths.extend(self.changes_in(*stretch, scope)?);
        }
        Ok(paths)
    }
}

/// The numbers of the chosen steps; an error if there are none.
fn choose(story: &Story, choice: &StepChoice) -> Result<BTreeSet<i64>> {
    choice.check(&story.steps)?;
    let chosen = choice.pick(&story.steps);
    if chosen.is_empty() {
        return Err(Error::NoSteps);
    }
    Ok(chosen)
}

/// Steps that changed something, of which a checkpoint is gone and nothing can be told any more.
pub(crate) fn forgotten(story: &Story, chosen: &BTreeSet<i64>) -> Vec<StepId> {
    let is_kept = |id: ObjectId| story.checkpoints.iter().any(|c| c.id == id);
    let is_forgotten = |step: &&Step| match step.end {
        StepEnd::Changed(after) | StepEnd::Unknown(after) => {
            let own = BTreeSet::from([step.handle]);
            story.line.first_stretch(&own).is_none()
                && !(is_kept(step.before.checkpoint) && is_kept(after.checkpoint))
        }
        StepEnd::Open | StepEnd::Unchanged(_) => false,
    };
    let steps = story.steps.iter().filter(|s| chosen.contains(&s.handle));
    steps.filter(is_forgotten).map(Step::id).collect()
}

/// How the state that each file was in before one of the runs touched it differs from the first one.
fn before_touched(first: &StateView<'_>, runs: &[Run<'_>], scope: &[RelPath]) -> Result<Reversed> {
    let compare = |old: &StateView<'_>, new: &StateView<'_>| {
        herma_diff::compare(Some((old.side, old.tree)), Some((new.side, new.tree)), scope)
    };
    let mut touched = BTreeSet::new();
    let mut before = Reversed::default();
    for run in runs {
        let own = compare(&run.from, &run.to)?.into_iter();
        let own: BTreeSet<RelPath> =
            own.map(|change| change.path).filter(|path| touched.insert(path.clone())).collect();
        for change in compare(first, &run.from)? {
            if own.contains(&change.path) {
                let outcome = change.new.map_or(Outcome::Gone, |state| Outcome::File {
                    mode: state.mode,
                    content: Content::Stored(state.id),
                    full_mode: full_mode(run.from.modes, &change.path, state.mode),
                });
                before.changes.insert(change.path, outcome);
            }
        }
    }
    Ok(before)
}

fn changes_between(
    side: &StoreSide<'_>,
    old: StateIds,
    new: StateIds,
    scope: &[RelPath],
    renames: bool,
) -> Result<Vec<Change>> {
    let changes = herma_diff::compare(Some((side, old.0)), Some((side, new.0)), scope)?;
    if !renames {
        return Ok(changes);
    }
    let options = herma_diff::renames::RenameOptions::default();
    Ok(herma_diff::renames::detect(changes, side, side, &options)?.changes)
}

/// Notes what is not, or not wholly, in the comparison.
fn note_gaps(answer: &mut SessionChanges, composed: Reversed) {
    let left = composed.conflicts.into_iter();
    let left = left.filter(|conflict| conflict.decided == Decided::Left);
    answer.incomplete = left.map(|conflict| conflict.path).collect();
    answer.left_out = composed.kept;
}
