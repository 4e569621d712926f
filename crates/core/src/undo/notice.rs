//! What an agent does not know yet: how much of its work was undone, or brought back, since it was last told.
//!
//! Nothing of this is written down when something is undone. The mark of a session says how many of Herma's own moves it was told
//! of; the steps since then say what the moves after those did. So an undo and its redo come to nothing.

use std::collections::{BTreeMap, BTreeSet};

use herma_records::checkpoint::RestoreOptions;
use herma_records::step::log::StepLog;
use herma_records::step::marks::Marks;
use herma_records::step::record::cut_name;
use herma_records::step::{Step, StepEnd, UndoneAs};
use herma_records::timeline::Belongs;
use herma_records::undo::UndoRecord;
use herma_store::{ObjectId, RelPath};

use crate::engine::history::History;
use crate::engine::open::own_state;
use crate::engine::operation::Operation;
use crate::error::Result;
use crate::save::publish::changes_between;
use crate::steps::StepChoice;
use crate::timeline::Ground;
use crate::undo::units::Mark;

/// What a session does not know yet of its own work. Empty if what was moved is none of it.
#[derive(Clone, Debug, Default)]
pub struct Notice {
    /// How many moves of the project this takes in: what `Project::note_told` is given when the session was told.
    pub moves: u64,
    /// What is undone by now, in the order of beginning.
    pub undone: Vec<Step>,
    /// What is undone by now, but not all of it.
    pub in_part: Vec<Step>,
    /// What was undone, and is there again.
    pub back: Vec<Step>,
    /// The files of these steps that are not as the session left them, as last saved.
    pub files: BTreeMap<RelPath, FileNow>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNow {
    /// Whether it is there.
    pub how: HowNow,
    /// Is something in it that a person wrote since?
    pub by_hand: bool,
}

/// Whether a file is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowNow {
    /// It was there, and is not.
    Gone,
    /// It was not there, and is.
    There,
    /// It is another one.
    Differs,
}

impl HowNow {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::There => "there",
            Self::Differs => "differs",
        }
    }
}

impl Notice {
    /// Is there nothing to tell?
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.in_part.is_empty() && self.back.is_empty()
    }
}

impl Operation<'_> {
    /// What a session does not know yet; `None` if nothing was moved since it was told.
    pub(crate) fn notice(&self, session: &str) -> Result<Option<Notice>> {
        let Some(state) = own_state(&self.store, &self.id)? else { return Ok(None) };
        let moves = UndoRecord::read(&state)?.moves;
        let told = Marks::read(&state)?.of_session(session).and_then(|turn| turn.told);
        if moves == 0 || told == Some(moves) {
            return Ok(None);
        }
        let steps = StepLog::open(&state)?.all()?;
        let own = own_steps(&steps, &cut_name(session));
        let last = own.last().copied().unwrap_or(i64::MAX);
        let is_new = |step: &Step| match told {
            Some(told) => step.moves_before.unwrap_or_default() >= told,
            // Nobody has told it anything: then it knows what was so when it last worked.
            None => step.handle > last,
        };
        let first = steps.iter().position(|step| step.kind.is_move() && is_new(step));
        let notice = Notice { moves, ..Notice::default() };
        let Some(first) = first else { return Ok(Some(notice)) };
        let told = Told { operation: self, steps: &steps, own, first };
        Ok(Some(told.compare(notice)))
    }

    /// Notes how many moves a session was told of, if any turn of it was noted.
    pub(crate) fn note_told(&self, session: &str, moves: u64) -> Result<()> {
        let state = self.state_dir()?;
        let mut marks = Marks::read(&state)?;
        if marks.note_told(session, moves) {
            marks.write(self.store.tmp()?, &state)?;
        }
        Ok(())
    }
}

/// The handles of the steps of a session, with those of agents that worked for it.
fn own_steps(steps: &[Step], session: &str) -> BTreeSet<i64> {
    let mut own = BTreeSet::new();
    for step in steps.iter().filter(|step| !step.kind.is_move()) {
        let is_its = step.start.facts.session.as_deref() == Some(session);
        if is_its || step.start.within.is_some_and(|outer| own.contains(&outer)) {
            own.insert(step.handle);
        }
    }
    own
}

/// The steps of a project, and where what a session does not know begins.
struct Told<'t> {
    operation: &'t Operation<'t>,
    steps: &'t [Step],
    own: BTreeSet<i64>,
    first: usize,
}

impl Told<'_> {
    fn compare(&self, mut notice: Notice) -> Notice {
        let (before, after) =
            (self.operation.marks(&self.steps[..self.first]), self.operation.marks(self.steps));
        let moves = self.steps[self.first..].iter().filter(|step| step.kind.is_move());
        let moves: Vec<&Step> = moves.filter(|step| !after.is_undone(step.handle)).collect();
        let (partly, redone) = (self.taken_in_part(&moves), self.redone_in_part(&moves));
        for step in self.steps.iter().filter(|step| self.own.contains(&step.handle)) {
            let (handle, step) = (step.handle, step.clone());
            match (before.of(handle), after.of(handle)) {
                (None | Some(Mark::InPart), Some(Mark::Undone)) => notice.undone.push(step),
                (None | Some(Mark::Undone), Some(Mark::InPart)) => notice.in_part.push(step),
                (Some(_), None) => notice.back.push(step),
                (None, None) if partly.contains(&handle) => notice.in_part.push(step),
                (None, None) if redone.contains(&handle) => notice.back.push(step),
                _ => {}
            }
        }
        if !notice.is_empty() {
            // Where a checkpoint is gone, which steps they are is all there is to tell.
            notice.files = self.files(&notice).unwrap_or_default();
        }
        notice
    }

    /// The steps of which these moves undid some files.
    fn taken_in_part(&self, moves: &[&Step]) -> BTreeSet<i64> {
        let undid = moves.iter().filter_map(|step| step.undid.as_ref());
        let mut partly: BTreeSet<i64> = undid.flat_map(|undid| undid.part.clone()).collect();
        for step in moves.iter().filter(|step| step.undid.is_none()) {
            if step.part == RestoreOptions::default() {
                continue;
            }
            let mut paths = self.changes(step, &step.part.paths);
            paths.retain(|path| !step.part.keep.iter().any(|keep| path.starts_with(keep)));
            let earlier = self.steps.iter().filter(|own| own.handle < step.handle);
            let earlier = earlier.filter(|own| self.own.contains(&own.handle));
            let touches = |own: &&Step| !paths.is_empty() && !self.changes(own, &paths).is_empty();
            partly.extend(earlier.filter(touches).map(|own| own.handle));
        }
        partly
    }

    /// The steps of which these moves brought back what an undo the session knows of had undone in some files.
    fn redone_in_part(&self, moves: &[&Step]) -> BTreeSet<i64> {
        let undid = moves.iter().filter_map(|step| step.undid.as_ref());
        let redid = undid.filter(|undid| undid.how == UndoneAs::Redo);
        let undos: BTreeSet<i64> = redid.flat_map(|undid| undid.steps.clone()).collect();
        let known = self.steps[..self.first].iter().filter(|step| undos.contains(&step.handle));
        known.filter_map(|step| step.undid.as_ref()).flat_map(|undid| undid.part.clone()).collect()
    }

    /// What a step changed, as far as that can be told.
    fn changes(&self, step: &Step, scope: &[RelPath]) -> Vec<RelPath> {
        let Some(ends) = ends_of(step) else { return Vec::new() };
        let changes = changes_between(&self.operation.store, ends, scope).unwrap_or_default();
        changes.into_iter().map(|change| change.path).collect()
    }

    /// The files of the steps that are told of which are not as the session's last step left them.
    fn files(&self, notice: &Notice) -> Result<BTreeMap<RelPath, FileNow>> {
        let mut steps: Vec<&Step> =
            [&notice.undone, &notice.in_part, &notice.back].into_iter().flatten().collect();
        steps.sort_unstable_by_key(|step| step.handle);
        let touched = steps.iter().flat_map(|step| self.changes(step, &[]));
        let touched: BTreeSet<RelPath> = touched.collect();
        let scope: Vec<RelPath> = touched.iter().cloned().collect();
        let history = self.operation.load_history()?;
        let own = self.steps.iter().rev().filter(|step| self.own.contains(&step.handle));
        let last = own.filter(|step| !step.is_idle()).find_map(ends_of).map(|(_, after)| after);
        let (Some(last), Some(now), false) = (last, history.newest(), scope.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        let by_hand = match steps.first() {
            Some(first) => self.by_hand(&history, first, &scope).unwrap_or_default(),
            None => BTreeSet::new(),
        };
        let mut changes = changes_between(&self.operation.store, (last, now.id), &scope)?;
        changes.retain(|change| touched.contains(&change.path));
        let told = changes.into_iter().map(|change| {
            let how = match (change.old, change.new) {
                (_, None) => HowNow::Gone,
                (None, Some(_)) => HowNow::There,
                (Some(_), Some(_)) => HowNow::Differs,
            };
            let by_hand = how != HowNow::Gone && by_hand.contains(&change.path);
            (change.path, FileNow { how, by_hand })
        });
        Ok(told.collect())
    }

    /// The files among these that a person has changed since this step began, and that are not as they were then.
    fn by_hand(
        &self,
        history: &History,
        since: &Step,
        scope: &[RelPath],
    ) -> Result<BTreeSet<RelPath>> {
        let operation = self.operation;
        let Some(newest) = history.entries.len().checked_sub(1) else {
            return Ok(BTreeSet::new());
        };
        let now = history.checkpoint(newest, &operation.store)?;
        let told = operation.story(history, (now.tree, now.modes), &StepChoice::default())?;
        let pending = &|_: &ObjectId| Ok(None);
        let ground = Ground { operation, told: &told, present: None, pending };
        let own = BTreeSet::from([since.handle]);
        let first = told.line.first_stretch(&own).unwrap_or(usize::MAX);
        let mut by_hand = BTreeSet::new();
        for stretch in first..told.line.stretches() {
            if told.line.changes(stretch) && told.line.belongs(stretch, &own) == Belongs::Hand {
                by_hand.extend(ground.changes_in(stretch, scope)?);
            }
        }
        let ends = (since.before.checkpoint, now.id);
        let differ = changes_between(&operation.store, ends, scope)?.into_iter();
        let differ: BTreeSet<RelPath> = differ.map(|change| change.path).collect();
        Ok(by_hand.intersection(&differ).cloned().collect())
    }
}

/// The checkpoints before and after a step, or the one that was there when nobody knew how it ended.
fn ends_of(step: &Step) -> Option<(ObjectId, ObjectId)> {
    match step.end {
        StepEnd::Open | StepEnd::Unchanged(_) => None,
        StepEnd::Changed(after) | StepEnd::Unknown(after) => {
            Some((step.before.checkpoint, after.checkpoint))
        }
    }
}
