//! The timeline as people read it: a row for each prompt, restore, save and edit by hand.
//!
//! Every checkpoint is in one of them. That of a step belongs to the row of its unit ([`crate::undo::units`]); what else was
//! saved is a row of its own, and shows what changed since the checkpoint before it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use herma_diff::{Change, StoreSide};
use herma_records::checkpoint::{ChangeCount, Checkpoint, Listed, Origin};
use herma_records::step::id::handle_by_hand;
use herma_records::step::{Step, StepEnd, StepId};
use herma_store::threads::shared_out;
use herma_store::{ObjectId, RelPath};

use crate::engine::history::History;
use crate::engine::operation::Operation;
use crate::error::{ErrorKind, Result};
use crate::save::comparable::{Foreign, may_be_foreign};
use crate::save::publish::count;
use crate::steps::StepChoice;
use crate::timeline::compare::Comparison;
use crate::undo::units::{Mark, Marks, Unit, order_at, order_of};

/// Lines of so many files are counted where nobody has counted them before.
const COUNTED_FILES: usize = 100;

/// A row of the timeline.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// Its number; a unit has the highest of its steps, and none as long as no step of it has one.
    pub id: StepId,
    /// When it ended or was saved, in seconds since 1970.
    pub time: i64,
    /// The steps it is made of, the newest first; none if it is a checkpoint only.
    pub calls: Vec<RowCall>,
    /// The checkpoint that has its number, if that is there and can be read.
    pub checkpoint: Option<Checkpoint>,
    /// Of one of Herma's own moves that undid steps: what it did to which.
    pub told: Option<String>,
    /// What changed, altogether.
    pub changes: RowChanges,
    /// How many of its steps are undone.
    pub undone: usize,
    /// How many of them are undone in part.
    pub in_part: usize,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A prompt with all that followed it, or a step without one.
    Work,
    /// One of Herma's own moves that an undo undoes: a restore, or an undo of something chosen.
    Move,
    /// An undo of what was newest, or a redo.
    Shift,
    /// Saved because somebody asked.
    Saved,
    /// Found changed, by no step, when the next save looked.
    Hand,
}

/// A step of a row.
#[derive(Clone, Debug)]
pub struct RowCall {
    /// The step.
    pub step: Step,
    /// What it changed; `None` if that is not known, or not any more.
    pub changes: Option<RowChanges>,
    /// Is it undone?
    pub undone: bool,
    /// Is it undone but for what is in conflict?
    pub in_part: bool,
}

/// What changed, for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// How many files changed; one that moved is one.
    pub count: usize,
    /// How many of them are gone.
    pub deleted: usize,
    /// Lines that came and that went, if they were counted.
    pub lines: Option<(u64, u64)>,
    /// The files by path, and which of them are gone. Empty where their count is all that a list shows.
    pub files: BTreeMap<RelPath, bool>,
}

impl Row {
    /// Leaves only what was done to these files and directories, and the calls that did it.
    fn keep_within(&mut self, paths: &[RelPath]) {
        if self.calls.is_empty() {
            return self.changes.keep_within(paths);
        }
        self.calls.iter_mut().flat_map(|call| &mut call.changes).for_each(|c| c.keep_within(paths));
        self.calls.retain(|call| call.changes.as_ref().is_none_or(|changes| changes.count > 0));
        self.changes = RowChanges { lines: Some((0, 0)), ..RowChanges::default() };
        for call in self.calls.iter().rev() {
            self.changes.add(call.changes.clone().unwrap_or_default());
        }
        self.id = self.calls.first().map_or(self.id, |call| call.step.id());
        self.undone = self.calls.iter().filter(|call| call.undone).count();
        self.in_part = self.calls.iter().filter(|call| call.in_part).count();
    }
}

impl RowChanges {
    /// What a comparison found.
    pub(crate) fn of(found: &Comparison) -> Result<Self> {
        let few = found.changes.len() <= COUNTED_FILES;
        let counted =
            few.then(|| count(found.changes.clone(), &*found.old_side(), &*found.new_side()));
        Ok(Self::named(&found.changes, counted.transpose()?))
    }

    fn named(changes: &[Change], counted: Option<ChangeCount>) -> Self {
        let is_gone = |change: &Change| change.new.is_none();
        let files = changes.iter().map(|change| (change.path.clone(), is_gone(change))).collect();
        let mut named = Self { files, ..Self::default() };
        named.count_files();
        match counted {
            Some(counted) => Self { files: named.files, ..Self::counted(counted, named.deleted) },
            None => named,
        }
    }

    fn counted(counted: ChangeCount, deleted: usize) -> Self {
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            count: size(counted.files),
            deleted: counted.deleted.map_or(deleted, size),
            lines: counted.lines_known.then_some((counted.insertions, counted.deletions)),
            files: BTreeMap::new(),
        }
    }

    fn count_files(&mut self) {
        self.count = self.files.len();
        self.deleted = self.files.values().filter(|is_gone| **is_gone).count();
    }

    /// Leaves only what changed in these files and directories. Lines are not counted for a part.
    fn keep_within(&mut self, paths: &[RelPath]) {
        let all = self.files.len();
        self.files.retain(|path, _| paths.iter().any(|asked| path.starts_with(asked)));
        self.lines = self.lines.filter(|_| self.files.len() == all);
        self.count_files();
    }

    /// What changed in these files and directories; everywhere if there are none.
    pub(crate) fn within(mut self, paths: &[RelPath]) -> Self {
        if !paths.is_empty() {
            self.keep_within(paths);
        }
        self
    }

    fn add(&mut self, later: Self) {
        let sum = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
        let lines = self.lines.zip(later.lines).map(|(one, other)| sum(one, other));
        match (self.count, later.count) {
            (0, _) => *self = later,
            (_, 0) => {}
            _ => {
                self.files.extend(later.files);
                self.count_files();
            }
        }
        self.lines = lines;
    }
}

/// The rows of a project, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Those that fit, as many as were asked for.
    pub rows: Vec<Row>,
    /// How many more fit.
    pub more: usize,
    /// When the oldest checkpoint was saved, and its number.
    pub reach: Option<(i64, u64)>,
    /// How many numbers were given to checkpoints that are not there any more.
    pub removed: u64,
    /// The checkpoints that were read for this, and what is damaged.
    pub listed: Listed,
    /// What is not saved yet, if somebody looked.
    pub unsaved: Option<RowChanges>,
}

impl Operation<'_> {
    /// The state before the checkpoint with this number: where its step began, or else the checkpoint before it.
    pub(crate) fn before(&self, number: u64) -> Result<Option<Checkpoint>> {
        let history = self.load_history()?;
        let step = self.step_log()?.newest(|step| step.number == Some(number))?;
        let began = step.and_then(|step| {
            history.entries.iter().position(|entry| entry.id == step.before.checkpoint)
        });
        let own = history.entries.iter().position(|entry| entry.number == number);
        let before = began.or(own.and_then(|own| own.checked_sub(1)));
        before.map(|index| history.checkpoint(index, &self.store)).transpose()
    }

    /// The rows that fit what is asked for, the newest first.
    pub(crate) fn rows(&self, choice: &StepChoice, most: usize) -> Result<Rows> {
        let history = self.load_history()?;
        let steps = self.all_steps()?;
        let marks = self.marks(&steps);
        let units = || marks.units(&steps);
        let mut window = if choice.is_all() { most.saturating_mul(2) } else { usize::MAX };
        let mut listed = history.newest_ones(window, &self.store)?;
        // A row may be of many checkpoints: more are read until there are rows enough of those.
        while window < history.entries.len()
            && !reaches(&drafts(&listed.checkpoints, &steps, units()), most, &listed)
        {
            window = window.saturating_mul(4).max(1);
            listed = history.newest_ones(window, &self.store)?;
        }
        let drafts = drafts(&listed.checkpoints, &steps, units());
        let ledger =
            Ledger::new(self, (&history, &steps), &listed.checkpoints, !choice.paths.is_empty());
        let oldest = history.entries.first().map(|entry| entry.id);
        let mut found = Rows {
            reach: oldest.and_then(|id| ledger.checkpoint(&id)).map(|c| (c.time.seconds, c.number)),
            removed: removed(&history),
            ..Rows::default()
        };
        let fitting: Vec<_> = drafts.into_iter().filter(|draft| draft.fits(choice)).collect();
        // Whether it is about a path is seen once a row is made.
        let wanted = if choice.paths.is_empty() { first(&fitting, most) } else { fitting.len() };
        found.more = fitting.len() - wanted;
        let mut shown = 0;
        // Some at a time: where paths are asked for, each row names all of its files.
        let parts = fitting[..wanted].chunks(256);
        for row in parts.flat_map(|part| shared_out(part, |draft| ledger.row(draft, &marks))) {
            let mut row = row?;
            if !choice.paths.is_empty() {
                if !self.touches(&row, &choice.paths, oldest)? {
                    continue;
                }
                row.keep_within(&choice.paths);
            }
            // Undos and redos of what was newest come along: they are told only to those who want all.
            if shown < most || row.kind == RowKind::Shift {
                shown += usize::from(row.kind != RowKind::Shift);
                found.rows.push(row);
            } else {
                found.more += 1;
            }
        }
        // Those that were not read are older than all that were, and are only counted.
        let oldest = listed.checkpoints.last().map_or(i64::MAX, |oldest| oldest.place);
        let of_steps: HashSet<u64> = steps.iter().filter_map(|step| step.number).collect();
        let unread = history.entries.iter().filter(|entry| entry.place < oldest);
        found.more += unread.filter(|entry| !of_steps.contains(&entry.number)).count();
        found.listed = listed;
        Ok(found)
    }

    /// Is the row about any of these paths?
    fn touches(&self, row: &Row, paths: &[RelPath], oldest: Option<ObjectId>) -> Result<bool> {
        // What came with the oldest one, nobody knows: it has what it holds.
        let own = row.checkpoint.as_ref().filter(|_| row.calls.is_empty());
        if let Some(own) = own.filter(|own| Some(own.id) == oldest) {
            return paths.iter().try_fold(false, |has, path| Ok(has || self.has(own, path)?));
        }
        let is_asked = |path: &RelPath| paths.iter().any(|asked| path.starts_with(asked));
        Ok(row.changes.files.keys().any(is_asked))
    }
}

/// Are the first of these rows, so many, all of checkpoints that were read?
fn reaches(drafts: &[Draft<'_>], most: usize, listed: &Listed) -> bool {
    let oldest = listed.checkpoints.last().map(|oldest| order_at(oldest.place));
    let wanted = &drafts[..first(drafts, most)];
    let has_all = |last: &Draft<'_>| wanted.len() < drafts.len() && Some(last.order) >= oldest;
    wanted.last().is_none_or(has_all)
}

/// How many drafts there are up to the last of so many rows.
fn first(drafts: &[Draft<'_>], most: usize) -> usize {
    let counted = (1..).zip(drafts).filter(|(_, draft)| draft.kind != RowKind::Shift);
    let mut ends = std::iter::once(0).chain(counted.map(|(end, _)| end));
    ends.nth(most).unwrap_or(drafts.len())
}

/// How many numbers belong to no checkpoint any more.
fn removed(history: &History) -> u64 {
    let given = history.next_number().saturating_sub(1);
    given.saturating_sub(history.entries.len() as u64)
}

/// A row of which nothing was compared yet.
struct Draft<'r> {
    kind: RowKind,
    unit: Option<Unit>,
    step: Option<&'r Step>,
    checkpoint: Option<&'r Checkpoint>,
    order: i64,
}

/// All rows in their order, the newest first.
fn drafts<'r>(
    checkpoints: &'r [Checkpoint],
    steps: &'r [Step],
    units: Vec<Unit>,
) -> Vec<Draft<'r>> {
    let of_steps: HashSet<u64> = steps.iter().filter_map(|step| step.number).collect();
    let by_number: HashMap<u64, &Checkpoint> =
        checkpoints.iter().map(|checkpoint| (checkpoint.number, checkpoint)).collect();
    let in_units: HashSet<i64> =
        units.iter().flat_map(|unit| unit.steps.iter().map(|step| step.handle)).collect();
    let at = |id: StepId| id.number().and_then(|number| by_number.get(&number).copied());
    let mut drafts: Vec<Draft<'r>> = Vec::new();
    for unit in units {
        let is_move = unit.steps.iter().any(|step| step.kind.is_move());
        let kind = if is_move { RowKind::Move } else { RowKind::Work };
        let (checkpoint, order) = (at(unit.id), unit.order());
        drafts.push(Draft { kind, unit: Some(unit), step: None, checkpoint, order });
    }
    let shifts = steps.iter().filter(|s| s.kind.is_move() && !in_units.contains(&s.handle));
    for step in shifts {
        let checkpoint = at(step.id());
        let order = order_of(step);
        let (kind, step) = (RowKind::Shift, Some(step));
        drafts.push(Draft { kind, unit: None, step, checkpoint, order });
    }
    let others = checkpoints.iter().filter(|c| !of_steps.contains(&c.number));
    for checkpoint in others.filter(|c| c.origin != Origin::Merged) {
        let facts = &checkpoint.facts;
        // Where an agent's session begins, what is found is what a person did before.
        let is_by_hook = facts.agent.is_some() && facts.session.is_some();
        let is_in_work = facts.tool.is_some() || facts.turn.is_some() || is_by_hook;
        let is_asked_for = checkpoint.origin == Origin::Saved && !is_in_work
            || checkpoint.origin == Origin::Hermes;
        let kind = if is_asked_for { RowKind::Saved } else { RowKind::Hand };
        let order = order_at(checkpoint.place);
        drafts.push(Draft { kind, unit: None, step: None, checkpoint: Some(checkpoint), order });
    }
    let number = |draft: &Draft<'_>| draft.checkpoint.map(|checkpoint| checkpoint.number);
    drafts.sort_by_key(|draft| std::cmp::Reverse((draft.order, number(draft))));
    drafts
}

impl Draft<'_> {
    fn time(&self) -> i64 {
        let steps = self.unit.iter().flat_map(|unit| &unit.steps).chain(self.step);
        let ended = steps.map(|step| step.ended.unwrap_or(step.started)).max();
        ended.or(self.checkpoint.map(|c| c.time.seconds)).unwrap_or_default()
    }

    /// Does a list name its files? It does where nobody said anything, and counts those once that several steps changed.
    fn names_files(&self) -> bool {
        let changed = |step: &&Step| matches!(step.end, StepEnd::Changed(_));
        let steps = self.unit.iter().flat_map(|unit| &unit.steps);
        steps.filter(changed).count() > 1
            || self.kind == RowKind::Hand
            || self.checkpoint.is_some_and(|c| self.kind == RowKind::Saved && c.is_unsaid())
    }

    fn fits(&self, choice: &StepChoice) -> bool {
        let time = self.time();
        let step = self.unit.as_ref().and_then(|unit| unit.steps.first()).or(self.step);
        let facts = step.map(|step| &step.start.facts);
        let facts =
            facts.or(self.checkpoint.filter(|_| self.kind == RowKind::Saved).map(|c| &c.facts));
        let agent = step.map(Step::agent).or(facts.and_then(|facts| facts.agent.as_deref()));
        let session = facts.and_then(|facts| facts.session.as_deref());
        choice.since.is_none_or(|since| time >= since)
            && choice.until.is_none_or(|until| time <= until)
            && choice.agent.as_deref().is_none_or(|wanted| agent == Some(wanted))
            && choice.session.as_deref().is_none_or(|wanted| session == Some(wanted))
    }
}

/// What changes are looked up in.
struct Ledger<'l> {
    operation: &'l Operation<'l>,
    history: &'l History,
    steps: &'l [Step],
    /// Where those that were read are, by id.
    places: HashMap<ObjectId, usize>,
    read: &'l [Checkpoint],
    /// Are all files named, whether or not the list shows them?
    names_all: bool,
}

impl<'l> Ledger<'l> {
    fn new(
        operation: &'l Operation<'l>,
        (history, steps): (&'l History, &'l [Step]),
        read: &'l [Checkpoint],
        names_all: bool,
    ) -> Self {
        let places = read.iter().enumerate().map(|(at, c)| (c.id, at)).collect();
        Self { operation, history, steps, places, read, names_all }
    }

    /// A checkpoint, also one that was not read for the list.
    fn checkpoint(&self, id: &ObjectId) -> Option<Cow<'l, Checkpoint>> {
        if let Some(at) = self.places.get(id) {
            return Some(Cow::Borrowed(&self.read[*at]));
        }
        let index = self.history.entries.iter().position(|entry| entry.id == *id)?;
        let read = self.history.checkpoint(index, &self.operation.store);
        read.ok().map(Cow::Owned)
    }

    /// What the step with this handle is called.
    fn id_of(&self, handle: i64) -> Option<StepId> {
        let found = self.steps.binary_search_by_key(&handle, |step| step.handle);
        found.ok().map(|at| self.steps[at].id())
    }

    /// The one before a checkpoint in the order of saving.
    fn previous(&self, of: &Checkpoint) -> Option<Cow<'l, Checkpoint>> {
        if let Some(next) = self.places.get(&of.id).and_then(|at| self.read.get(at + 1)) {
            return Some(Cow::Borrowed(next));
        }
        let index = self.history.entries.iter().position(|entry| entry.id == of.id)?;
        let before = self.history.entries.get(index.checked_sub(1)?)?;
        self.checkpoint(&before.id)
    }

    fn row(&self, draft: &Draft<'_>, marks: &Marks) -> Result<Row> {
        let time = draft.time();
        let names = self.names_all || draft.names_files();
        let steps = draft.unit.iter().flat_map(|unit| &unit.steps).chain(draft.step);
        let mut calls = Vec::new();
        let mut changes = RowChanges { lines: Some((0, 0)), ..RowChanges::default() };
        for step in steps {
            let own = self.of_step(step, names)?;
            changes.add(own.clone().unwrap_or_default());
            let undone = marks.is_undone(step.handle);
            let in_part = marks.is_in_part(step.handle);
            calls.push(RowCall { step: step.clone(), changes: own, undone, in_part });
        }
        if let (true, Some(checkpoint)) = (calls.is_empty(), draft.checkpoint) {
            changes = match self.previous(checkpoint) {
                Some(before) => self.between(&before, checkpoint, None, names)?,
                None => RowChanges::default(),
            };
        }
        calls.reverse();
        let undid = calls.first().and_then(|call| call.step.undid.as_ref());
        let told = undid.and_then(|undid| undid.in_words(&|handle| self.id_of(handle)));
        let own = draft.checkpoint.map_or(StepId::Number(0), |c| StepId::Number(c.number));
        let id =
            draft.unit.as_ref().map(|unit| unit.id).or(draft.step.map(Step::id)).unwrap_or(own);
        let by_hand = draft.checkpoint.filter(|_| calls.is_empty());
        let by_hand = by_hand.and_then(|c| marks.of(handle_by_hand(c.number)));
        let count = |mark, of_calls: usize| of_calls + usize::from(by_hand == Some(mark));
        let undone = count(Mark::Undone, calls.iter().filter(|call| call.undone).count());
        let in_part = count(Mark::InPart, calls.iter().filter(|call| call.in_part).count());
        let checkpoint = draft.checkpoint.cloned();
        Ok(Row { kind: draft.kind, id, time, calls, checkpoint, told, changes, undone, in_part })
    }

    fn of_step(&self, step: &Step, names: bool) -> Result<Option<RowChanges>> {
        match step.end {
            StepEnd::Changed(_) => {}
            StepEnd::Unchanged(_) => {
                return Ok(Some(RowChanges { lines: Some((0, 0)), ..RowChanges::default() }));
            }
            StepEnd::Open | StepEnd::Unknown(_) => return Ok(None),
        }
        let mut entries = self.history.entries.iter();
        let own = entries.find(|entry| Some(entry.number) == step.number);
        let after = own.and_then(|own| self.checkpoint(&own.id));
        let after = after.or_else(|| self.checkpoint(&step.after()?));
        let before = self.checkpoint(&step.before.checkpoint);
        let Some((before, after)) = before.zip(after) else { return Ok(None) };
        self.between(&before, &after, Some(step), names).map(Some)
    }

    fn between(
        &self,
        before: &Checkpoint,
        after: &Checkpoint,
        step: Option<&Step>,
        names: bool,
    ) -> Result<RowChanges> {
        let is_all = step.is_none_or(|step| step.part.paths.is_empty() && step.is_all_its());
        let is_next = || self.previous(after).is_some_and(|b| b.id == before.id);
        let counted = after.changes.filter(|_| is_all && is_next());
        if let Some((counted, deleted)) =
            counted.filter(|_| !names).and_then(|c| Some((c, c.deleted?)))
        {
            return Ok(RowChanges::counted(counted, deleted as usize));
        }
        match self.compare(before, after, step, counted) {
            // What is damaged is named by the list beside its rows.
            Err(e) if e.kind() == ErrorKind::Damaged => Ok(RowChanges::default()),
            compared => compared,
        }
    }

    fn compare(
        &self,
        before: &Checkpoint,
        after: &Checkpoint,
        step: Option<&Step>,
        counted: Option<ChangeCount>,
    ) -> Result<RowChanges> {
        let objects = &self.operation.store.objects;
        let side = StoreSide::new(objects);
        let ends = (Some((&side as _, before.tree)), Some((&side as _, after.tree)));
        let scope = step.map_or(&[][..], |step| &step.part.paths);
        let mut changes = herma_diff::compare(ends.0, ends.1, scope)?;
        changes.retain(|change| step.is_none_or(|step| step.may_have_changed(&change.path)));
        if may_be_foreign(&changes) {
            let mut foreign = Foreign::default();
            foreign.add_receipt(objects, before.extra);
            foreign.add_receipt(objects, after.extra);
            foreign.take_out(&mut changes);
        }
        let counted = match counted {
            None if changes.len() <= COUNTED_FILES => Some(count(changes.clone(), &side, &side)?),
            counted => counted,
        };
        Ok(RowChanges::named(&changes, counted))
    }
}
