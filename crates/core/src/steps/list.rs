//! Listing steps: what each one changed, and which others were under way meanwhile.
//!
//! A listing reads records and saved trees only. It does not look at the project's files, so it is quick
//! and says the same whatever has happened since.

use crate::engine::operation::Operation;
use herma_diff::{Change, StoreSide};
use herma_records::checkpoint::ChangeCount;
use herma_records::checkpoint::message::{Message, subject};
use herma_records::step::{Moment, Step, StepEnd, StepId};
use herma_store::refs::scheme::checkpoint_ref;
use herma_store::{ObjectId, RelPath};
use std::cell::OnceCell;
use std::collections::HashMap;

use crate::engine::history::History;
use crate::engine::open::OpenStore;
use crate::error::{ErrorKind, Result};
use crate::save::publish::{changes_between, count};
use crate::steps::StepChoice;

/// So many of the files a step changed are named.
const NAMED_FILES: usize = 20;

/// A step, and what is known of what it did.
#[derive(Clone, Debug)]
pub struct ListedStep {
    /// The step.
    pub step: Step,
    /// The step it is part of.
    pub outer: Option<StepId>,
    /// Is it undone?
    pub undone: bool,
    /// Of one of Herma's own moves: what it did, in words.
    pub told: Option<String>,
    /// What changed from its beginning to its end; `None` when the state after it is not known, or one of
    /// its checkpoints is gone or damaged.
    pub changes: Option<ChangeCount>,
    /// The first files that changed, sorted by path.
    pub files: Vec<RelPath>,
    /// Other steps that were under way at the same time, ascending: what changed meanwhile cannot be
    /// attributed to one of them alone.
    pub shared: Vec<StepId>,
    /// Are the checkpoints before and after it still there?
    pub undoable: bool,
    /// Are they, but one of them cannot be read?
    pub is_damaged: bool,
}

impl Operation<'_> {
    pub(crate) fn has_steps(&self) -> Result<bool> {
        Ok(self.step_log()?.newest(|_| true)?.is_some())
    }

    pub(crate) fn newest_steps(
        &self,
        choice: &StepChoice,
        most: usize,
        with_idle: bool,
    ) -> Result<(Vec<ListedStep>, usize)> {
        let (log, is_wanted) = (self.step_log()?, |step: &Step| with_idle || !step.is_idle());
        let named = choice.ids.len();
        let is_named = |step: &Step| choice.ids.iter().any(|id| step.is(*id));
        let steps = if choice.is_all() {
            log.newest_ones(most, is_wanted)
        } else if named > 0 && choice.turn.is_none() {
            // What is part of a step is newer.
            log.newest_ones(named, is_named)
        } else {
            log.all()
        }?;
        let chosen = choice.pick(&steps);
        let shared = overlaps(&steps);
        let marks = self.marks(&steps);
        let called: HashMap<i64, StepId> = steps.iter().map(|s| (s.handle, s.id())).collect();
        let live = Live { operation: self, all: OnceCell::new() };
        self.look_in_newest_packs();
        let (mut listed, mut passed) = (Vec::new(), 0);
        let all = steps.into_iter().zip(shared).rev();
        for (step, shared) in all.filter(|(step, _)| chosen.contains(&step.handle)) {
            if listed.len() == most {
                break;
            }
            if is_wanted(&step) {
                let outer = step
                    .start
                    .within
                    .map(|outer| called.get(&outer).copied().unwrap_or(StepId::Handle(outer)));
                let step = list(&live, step, shared, &choice.paths)?;
                listed.extend(step.map(|listed| ListedStep {
                    outer,
                    undone: marks.is_undone(listed.step.handle),
                    told: self.told_of(&listed.step, &|handle| called.get(&handle).copied()),
                    ..listed
                }));
            } else {
                passed += 1;
            }
        }
        Ok((listed, passed))
    }
}

impl Operation<'_> {
    /// What one of Herma's moves did: to which steps, or what its own checkpoint says.
    fn told_of(&self, step: &Step, id_of: &dyn Fn(i64) -> Option<StepId>) -> Option<String> {
        if let Some(told) = step.undid.as_ref().and_then(|undid| undid.in_words(id_of)) {
            return Some(told);
        }
        let number = step.number.filter(|_| step.kind.is_move())?;
        let id = self.store.dirs.refs().read(&checkpoint_ref(&self.id, number)).ok()??;
        let commit = self.store.objects.read_commit(&id).ok()?;
        Some(subject(&commit.message).to_string())
    }
}

/// Which checkpoints are there. Each is looked up by its own ref; all refs are read only where that does not tell, so that a
/// short list takes as long whatever there is.
struct Live<'o> {
    operation: &'o Operation<'o>,
    all: OnceCell<History>,
}

impl Live<'_> {
    fn has(&self, moment: &Moment) -> Result<bool> {
        let Operation { store, .. } = self.operation;
        // Its number, unless it was taken over.
        if let Ok(number) = u64::try_from(moment.place) {
            let name = checkpoint_ref(&self.operation.id, number);
            if matches!(store.dirs.refs().read(&name), Ok(Some(id)) if id == moment.checkpoint) {
                return Ok(true);
            }
        }
        if let Some(all) = self.all.get() {
            return Ok(all.contains(&moment.checkpoint));
        }
        let all = self.operation.load_history()?;
        Ok(self.all.get_or_init(|| all).contains(&moment.checkpoint))
    }
}

/// A step with what is known of it; `None` if it changed nothing of what is asked for.
fn list(
    live: &Live<'_>,
    step: Step,
    shared: Vec<StepId>,
    paths: &[RelPath],
) -> Result<Option<ListedStep>> {
    let ends = match step.end {
        StepEnd::Changed(after) | StepEnd::Unchanged(after)
            if live.has(&step.before)? && live.has(&after)? =>
        {
            Some((step.before.checkpoint, after.checkpoint))
        }
        _ => None,
    };
    let (mut is_damaged, mut changes, mut files) = (false, None, Vec::new());
    let mut is_asked = paths.is_empty();
    match (&step.end, ends) {
        (StepEnd::Unchanged(_), _) => {
            changes =
                Some(ChangeCount { lines_known: true, deleted: Some(0), ..ChangeCount::default() });
        }
        (_, Some(ends)) => match compare(&live.operation.store, ends, &step, paths) {
            Ok((count, named, is_within)) => {
                (changes, files) = (Some(count), named);
                is_asked |= is_within;
            }
            // `herma list` names what is damaged; a step that needs it cannot be undone.
            Err(e) if e.kind() == ErrorKind::Damaged => is_damaged = true,
            Err(e) => return Err(e),
        },
        (_, None) => {}
    }
    let undoable = ends.is_some() && !is_damaged;
    let listed = ListedStep {
        step,
        outer: None,
        undone: false,
        told: None,
        changes,
        files,
        shared,
        undoable,
        is_damaged,
    };
    Ok(is_asked.then_some(listed))
}

/// What changed between two checkpoints, in the part of the project that the step was about, and whether any of it is within
/// these paths.
fn compare(
    store: &OpenStore,
    ends: (ObjectId, ObjectId),
    step: &Step,
    paths: &[RelPath],
) -> Result<(ChangeCount, Vec<RelPath>, bool)> {
    let side = StoreSide::new(&store.objects);
    let mut changes = changes_between(store, ends, &step.part.paths)?;
    let is_kept = |change: &Change| {
        let mut keep = step.part.keep.iter();
        keep.any(|kept| change.path.starts_with(kept))
    };
    let all = changes.len();
    changes.retain(|change| !is_kept(change) && step.may_have_changed(&change.path));
    let recorded = recorded(store, ends, &changes);
    let recorded = recorded.filter(|_| changes.len() == all && step.part.paths.is_empty());
    let files = changes.iter().map(|change| change.path.clone());
    let files = files.take(NAMED_FILES).collect();
    let is_asked = |change: &Change| paths.iter().any(|path| change.path.starts_with(path));
    let is_within = changes.iter().any(is_asked);
    let count = recorded.map_or_else(|| count(changes, &side, &side), Ok)?;
    Ok((count, files, is_within))
}

/// What the checkpoint after says of these changes, if it was counted from the one before: what is in the files, which may be
/// anywhere in the store, need not be read again. Of files that moved, or that a purge took away, it says another number.
fn recorded(
    store: &OpenStore,
    (before, after): (ObjectId, ObjectId),
    changes: &[Change],
) -> Option<ChangeCount> {
    let commit = store.objects.read_commit(&after).ok()?;
    let counted = Message::parse(&commit.message).changes?;
    let gone = changes.iter().filter(|change| change.new.is_none()).count();
    let is_of_these = commit.parents.first() == Some(&before)
        && counted.files == changes.len() as u64
        && counted.deleted == Some(gone as u64);
    (is_of_these && counted.lines_known).then_some(counted)
}

/// For each of these steps, which come oldest first, the others that were under way at the same time.
/// Herma's own moves wait for nobody and nobody is under way during them; a step and its parts are no
/// strangers.
fn overlaps(steps: &[Step]) -> Vec<Vec<StepId>> {
    let mut shared = vec![Vec::new(); steps.len()];
    for (earlier, first) in steps.iter().enumerate() {
        if first.kind.is_move() {
            continue;
        }
        for (later, second) in steps.iter().enumerate().skip(earlier + 1) {
            if !was_under_way(first, second) {
                // A step that began later still began after the end of the first one, too, unless the
                // first has no known end and only time speaks.
                if first.is_open() {
                    continue;
                }
                break;
            }
            let is_stranger = !second.kind.is_move() && !is_part(steps, second, first.handle);
            if is_stranger && first.may_meet(second) {
                shared[earlier].push(second.id());
                shared[later].push(first.id());
            }
        }
    }
    for ids in &mut shared {
        ids.sort_unstable();
    }
    shared
}

/// Was the first of two steps under way when the second one began? Numbers are given under the project's
/// lock, so the number that was next when a step ended tells, whatever the clock did.
fn was_under_way(first: &Step, second: &Step) -> bool {
    match first.end.moment() {
        Some(moment) => second.handle < moment.next_step,
        None => second.started <= first.given_up_at(),
    }
}

/// Is a step part of the one with this number, be it through others?
fn is_part(steps: &[Step], step: &Step, outer: i64) -> bool {
    let mut above = step.start.within;
    while let Some(number) = above.filter(|number| *number > outer) {
        let found = steps.binary_search_by_key(&number, |step| step.handle);
        // Each step is part of an earlier one, so this comes to an end.
        above = found.ok().and_then(|index| steps[index].start.within);
    }
    above == Some(outer)
}
