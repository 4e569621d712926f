//! What a session, a turn or a step changed, and nothing else.
//!
//! The states along the timeline also hold what others did meanwhile. So the steps' own changes are put on
//! top of each other, beginning with each file as it was before the first of them that touched it: what comes
//! out is the project as it would be had nobody else touched these files since. Neither of the two states was
//! ever saved; what is new in them is kept in memory.

use std::collections::{BTreeMap, BTreeSet};

use herma_diff::{Change, Pending, StoreSide};
use herma_reversal as reversal;
use herma_reversal::{Content, Decided, Outcome, Reversed, Run, StateView};
use herma_store::error::StoreError;
use herma_store::object::{EntryMode, Kind};
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;
use herma_worktree::present::{Present, StateIds};
use herma_worktree::reason::Reason;

use crate::engine::open::OpenStore;
use crate::engine::{Progress, Project};
use crate::error::Error;
use crate::history::History;
use crate::records::step::{Step, StepEnd};
use crate::steps::StepChoice;
use crate::timeline::compare::Comparison;
use crate::timeline::partition::Sorted;
use crate::timeline::states::Belongs;
use crate::timeline::{StateParts, Story, present_parts};
use crate::types::asked::WhichStep;

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
    pub uncertain: Vec<u64>,
    /// Steps whose checkpoints are not kept any more: what they changed is not in the comparison.
    pub forgotten: Vec<u64>,
    /// Files whose changes could not be put on top of each other; only a part of them is in the
    /// comparison.
    pub incomplete: BTreeSet<RelPath>,
    /// What one of the states says nothing about.
    pub left_out: Vec<(RelPath, Reason)>,
}

/// Everything a composition is made from.
struct Ground<'g> {
    store: &'g OpenStore,
    story: &'g Story,
    /// The present and its objects, where it belongs to a chosen step.
    present: Option<&'g Present>,
    pending: &'g Pending<'g>,
}

impl Project {
    /// Compares what was before the chosen steps with what they made of it, within `scope` if that is not
    /// empty. What others did in between is not part of it.
    pub fn session_changes(
        &self,
        choice: &StepChoice,
        scope: &[RelPath],
        renames: bool,
        progress: &dyn Progress,
    ) -> Result<SessionChanges, Error> {
        let store = self.read_store()?;
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        // Steps that are over say all there is to know: the present does not matter.
        let newest = history.readable(&store.dirs, &store.objects, &self.id)?;
        let newest =
            newest.first().ok_or_else(|| Error::NoCheckpoints { root: self.root.clone() })?;
        let told = self.story(&store, &history, (newest.tree, newest.modes))?;
        let chosen = choose(&told, choice)?;
        let last = told.line.stretches() - 1;
        let reaches_now =
            matches!(told.line.belongs(last, &chosen), Belongs::Chosen | Belongs::Partly);
        if !reaches_now {
            let ground =
                Ground { store: &store, story: &told, present: None, pending: &|_| Ok(None) };
            let mut changes = self.compose(&ground, &chosen, scope, renames)?;
            changes.comparison.keep(store, told.made);
            return Ok(changes);
        }
        drop((told, store));
        self.compose_with_present(choice, scope, renames, progress)
    }

    /// The same where a chosen step is under way, or nobody said how it ended.
    fn compose_with_present(
        &self,
        choice: &StepChoice,
        scope: &[RelPath],
        renames: bool,
        progress: &dyn Progress,
    ) -> Result<SessionChanges, Error> {
        let store = self.engine.open_for_writing()?;
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        // Dropped in the end: what is new in the present is needed only to look at it.
        let writer = PackWriter::new(&store.dirs, &store.objects)?;
        let cache = self.load_cache(&store, &history);
        let present = self.scan(Some(&store), cache, false, &writer, progress)?;
        let told = self.story(&store, &history, (present.tree, present.modes))?;
        let chosen = choose(&told, choice)?;
        let pending = |id: &ObjectId| writer.read(id);
        let ground =
            Ground { store: &store, story: &told, present: Some(&present), pending: &pending };
        let mut changes = self.compose(&ground, &chosen, scope, renames)?;
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
        changes.comparison.keep(store, told.made);
        Ok(changes)
    }

    fn compose(
        &self,
        ground: &Ground<'_>,
        chosen: &BTreeSet<u64>,
        scope: &[RelPath],
        renames: bool,
    ) -> Result<SessionChanges, Error> {
        let story = ground.story;
        let is_chosen = |step: &&Step| chosen.contains(&step.number);
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
        answer.uncertain = sorted.uncertain.iter().copied().collect();
        answer.unattributed = ground.partly_theirs(&sorted, scope)?;
        let pending = story.pending(ground.pending);
        let side = StoreSide::with_pending(&ground.store.objects, &pending);
        let parts = self.parts_of_runs(ground, &sorted, first)?;
        let view = |point: usize| parts[&point].view(story.line.points[point].state.0, &side);
        let runs: Vec<Run<'_>> =
            sorted.runs.iter().map(|(from, to)| Run { from: view(*from), to: view(*to) }).collect();
        let untouched = before_touched(&view(first), &runs, scope)?;
        let old = story.made.state(&view(first), &untouched)?;
        let base = StateParts {
            modes: Modes::read_pending(&ground.store.objects, &pending, old.1)?,
            left_out: {
                let mut left_out = parts[&first].left_out.clone();
                left_out.retain(|path, _| !untouched.changes.keys().any(|p| p.as_bytes() == path));
                left_out
            },
        };
        let composed = reversal::compose(base.view(old.0, &side), &runs, scope)?;
        let new = story.made.state(&base.view(old.0, &side), &composed)?;
        self.check_scope(&[(&side, old.0), (&side, new.0)], scope)?;
        answer.comparison.changes = changes_between(&side, old, new, scope, renames)?;
        answer.comparison.modes_differ = old.1 != new.1;
        note_gaps(&mut answer, composed);
        Ok(answer)
    }

    /// What belongs to each state that is needed, beside its tree.
    fn parts_of_runs(
        &self,
        ground: &Ground<'_>,
        sorted: &Sorted,
        first: usize,
    ) -> Result<BTreeMap<usize, StateParts>, Error> {
        let last = ground.story.line.points.len() - 1;
        let mut parts = BTreeMap::new();
        let ends = sorted.runs.iter().flat_map(|(from, to)| [*from, *to]);
        for point in ends.chain([first]) {
            if parts.contains_key(&point) {
                continue;
            }
            let of_point = match ground.present {
                Some(present) if point == last => {
                    present_parts(ground.store, present, ground.pending)?
                }
                _ => ground.story.parts(self, ground.store, point)?,
            };
            parts.insert(point, of_point);
        }
        Ok(parts)
    }
}

impl Ground<'_> {
    /// The files that changed while chosen steps and others were under way.
    fn partly_theirs(
        &self,
        sorted: &Sorted,
        scope: &[RelPath],
    ) -> Result<BTreeSet<RelPath>, Error> {
        let pending = self.story.pending(self.pending);
        let side = StoreSide::with_pending(&self.store.objects, &pending);
        let points = &self.story.line.points;
        let mut paths = BTreeSet::new();
        for (stretch, belongs) in &sorted.others {
            if *belongs == Belongs::Partly {
                let (old, new) = (points[*stretch].state, points[*stretch + 1].state);
                let mut changes = changes_between(&side, old, new, scope, /*renames*/ false)?;
                let story = self.story;
                story.take_out_foreign(self.store, *stretch, self.present, &mut changes);
                paths.extend(changes.into_iter().map(|change| change.path));
            }
        }
        Ok(paths)
    }
}

/// The numbers of the chosen steps; an error if there are none.
fn choose(story: &Story, choice: &StepChoice) -> Result<BTreeSet<u64>, Error> {
    for number in &choice.numbers {
        if story.step(*number).is_none() {
            return Err(Error::NoSuchStep(WhichStep::Number(*number)));
        }
    }
    let chosen = choice.pick(&story.steps);
    if chosen.is_empty() {
        return Err(Error::NoSteps);
    }
    Ok(chosen)
}

/// Steps that changed something, of which a checkpoint is gone and nothing can be told any more.
fn forgotten(story: &Story, chosen: &BTreeSet<u64>) -> Vec<u64> {
    let is_kept = |id: ObjectId| story.checkpoints.iter().any(|c| c.id == id);
    let is_forgotten = |step: &&Step| match step.end {
        StepEnd::Changed(after) | StepEnd::Unknown(after) => {
            let own = BTreeSet::from([step.number]);
            story.line.first_stretch(&own).is_none()
                && !(is_kept(step.before.checkpoint) && is_kept(after.checkpoint))
        }
        StepEnd::Open | StepEnd::Unchanged(_) => false,
    };
    let steps = story.steps.iter().filter(|s| chosen.contains(&s.number));
    steps.filter(is_forgotten).map(|step| step.number).collect()
}

/// How the state that each file was in before one of the runs touched it differs from the first one.
fn before_touched(
    first: &StateView<'_>,
    runs: &[Run<'_>],
    scope: &[RelPath],
) -> Result<Reversed, Error> {
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

fn full_mode(modes: &Modes, path: &RelPath, mode: EntryMode) -> u32 {
    match mode {
        EntryMode::File => modes.file(path, /*executable*/ false),
        EntryMode::Executable => modes.file(path, /*executable*/ true),
        EntryMode::Symlink | EntryMode::Nested | EntryMode::Directory => 0,
    }
}

fn changes_between(
    side: &StoreSide<'_>,
    old: StateIds,
    new: StateIds,
    scope: &[RelPath],
    renames: bool,
) -> Result<Vec<Change>, Error> {
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
