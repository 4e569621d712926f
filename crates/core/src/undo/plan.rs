//! What undoing would do, as a value: printed, chosen from, and carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use herma_records::checkpoint::Checkpoint;
use herma_records::checkpoint::RestoreOptions;
use herma_records::step::{Doubt, OutsideOfStep, StepId, UndoneAs};
use herma_reversal::{ConflictWhy, Conflicts, Content, Outcome, Reversed};
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::StateIds;
use herma_worktree::reason::Reason;
use herma_worktree::stat_cache::StatCache;

use crate::restore::Plan;
use crate::restore::run::Restored;
use crate::steps::StepChoice;

/// What to undo.
#[derive(Clone, Debug, Default)]
pub struct UndoSteps {
    /// What these steps did; all of them if nothing is said.
    pub steps: StepChoice,
    /// Only what was done since this checkpoint.
    pub since: Option<Checkpoint>,
    /// Only in these files and directories; empty means everywhere.
    pub paths: Vec<RelPath>,
    /// Not in these files and directories.
    pub keep: Vec<RelPath>,
    /// What a later undo or redo makes of it.
    pub how: UndoneAs,
    /// What to do where something else was changed in the same place since.
    pub conflicts: Conflicts,
    /// Work out each file even if the result is a checkpoint's state, because somebody chooses among them.
    pub file_by_file: bool,
}

impl UndoSteps {
    /// The part of the project it is about.
    pub(crate) fn part(&self) -> RestoreOptions {
        RestoreOptions { paths: self.paths.clone(), keep: self.keep.clone() }
    }
}

/// What undoing would do. Nothing is changed before `Project::undo_as_planned`.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// What was asked for.
    pub asked: UndoSteps,
    /// The steps that are undone, ascending.
    pub steps: Vec<StepId>,
    /// How the project will differ from now.
    pub reversed: Reversed,
    /// Changed by a person since, and kept.
    pub by_hand: BTreeSet<RelPath>,
    /// Changed by other steps since, and kept.
    pub by_others: BTreeSet<RelPath>,
    /// Changed while chosen steps and others were under way. Nobody can tell whose it is: it is kept.
    pub unattributed: BTreeSet<RelPath>,
    /// Steps among those undone of which it is not known where they began or ended, and why.
    pub doubts: Vec<(StepId, Doubt)>,
    /// What the steps changed that no checkpoint holds, and so is not undone.
    pub outside: Vec<OutsideOfStep>,
    /// Other projects in which the same calls are recorded, too. Nothing is undone there.
    pub also_in: BTreeSet<String>,
    /// If nothing has to be kept, this is a restore like any other, which does this.
    pub exact: Option<Box<Plan>>,
    /// What each of the chosen steps changed, as far as it is asked for.
    pub(crate) touched: BTreeMap<StepId, BTreeSet<RelPath>>,
    /// Those of them that changed something else, too.
    pub(crate) beyond: BTreeSet<StepId>,
    /// Chosen, but of what they changed others have left nothing: it is not undone by this.
    pub(crate) superseded: BTreeSet<StepId>,
    /// What somebody did not want after all, or wanted otherwise.
    pub(crate) declined: BTreeSet<RelPath>,
    /// The checkpoints that were held when the present was looked at: see [`herma_worktree::held`].
    pub(crate) held: Vec<ObjectId>,
    /// The state all of this was worked out for.
    pub(crate) present: StateIds,
    /// What the look found that all of this was worked out from, if it is only to be seen.
    pub(crate) seen: Option<Arc<StatCache>>,
}

/// What becomes of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// Its number.
    pub step: StepId,
    /// How much of it is undone.
    pub extent: Extent,
    /// What it changed and stays as it is, and why, sorted by path.
    pub left: Vec<(RelPath, WhyLeft)>,
}

/// How much of a step is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All that is not as before it already.
    Whole,
    /// Some of its files are left as they are.
    Part,
    /// All of its files are.
    Nothing,
}

impl Extent {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Whole => "undone",
            Self::Part => "partly",
            Self::Nothing => "not-undone",
        }
    }
}

/// Why something a step changed stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyLeft {
    /// It was changed again since.
    Conflict(ConflictWhy),
    /// A checkpoint says nothing about it.
    NotSaved(Reason),
    /// Other steps were under way when it changed.
    Unattributed,
    /// Somebody chose that it stays.
    Declined,
}

impl UndoPlan {
    /// Is there anything to do?
    pub fn is_empty(&self) -> bool {
        self.exact.is_none() && self.reversed.changes.is_empty()
    }

    /// Is there nothing to do, and nothing that could have been done?
    pub fn leaves_all(&self) -> bool {
        self.is_empty()
            && self.reversed.conflicts.is_empty()
            && self.outcomes().iter().all(|one| one.left.is_empty())
    }

    /// The steps of which it is not known where they began or ended.
    pub fn uncertain(&self) -> Vec<StepId> {
        self.doubts.iter().map(|(step, _)| *step).collect()
    }

    /// What becomes of each of the steps that have anything to be undone, ascending.
    pub fn outcomes(&self) -> Vec<StepOutcome> {
        let outcome = |(step, touched): (&StepId, &BTreeSet<RelPath>)| {
            let why = |path: &RelPath| Some((self.told_of(path)?, self.why_left(path)?));
            let left: BTreeMap<RelPath, WhyLeft> = touched.iter().filter_map(why).collect();
            let mut changes = touched.iter();
            let extent = if left.is_empty() && !self.has_declined(*step) {
                Extent::Whole
            } else if changes.any(|path| self.reversed.changes.contains_key(path)) {
                Extent::Part
            } else {
                Extent::Nothing
            };
            StepOutcome { step: *step, extent, left: left.into_iter().collect() }
        };
        self.touched.iter().map(outcome).collect()
    }

    /// The path under which it is told what becomes of something that stays.
    fn told_of(&self, path: &RelPath) -> Option<RelPath> {
        let left = self.reversed.left.get(path).or_else(|| self.unattributed.get(path));
        let is_declined = self.is_declined(path) && !self.reversed.changes.contains_key(path);
        left.or_else(|| is_declined.then_some(path)).cloned()
    }

    fn why_left(&self, path: &RelPath) -> Option<WhyLeft> {
        let Some(told) = self.reversed.left.get(path) else {
            let why = self.unattributed.get(path).map(|_| WhyLeft::Unattributed);
            return why.or(Some(WhyLeft::Declined));
        };
        let mut conflicts = self.reversed.conflicts.iter();
        if let Some(found) = conflicts.find(|conflict| conflict.path == *told) {
            return Some(WhyLeft::Conflict(found.why.clone()));
        }
        let mut kept = self.reversed.kept.iter();
        let found = kept.find(|(at, _)| at == told);
        found.map(|(_, reason)| WhyLeft::NotSaved(*reason))
    }

    /// Leaves a file or directory as it is.
    pub fn leave(&mut self, path: &RelPath) {
        self.declined.insert(path.clone());
        self.reversed.changes.retain(|at, _| !at.starts_with(path));
        let moved = |(now, then): &(RelPath, RelPath)| now == path || then == path;
        let both = self.reversed.renamed.iter().filter(|pair| moved(pair));
        let ends: Vec<RelPath> = both.flat_map(|(now, then)| [now.clone(), then.clone()]).collect();
        self.reversed.changes.retain(|at, _| !ends.contains(at));
        self.reversed.renamed.retain(|pair| !moved(pair));
    }

    /// Did somebody not want all that would have been done about what this step changed?
    pub(crate) fn has_declined(&self, step: StepId) -> bool {
        let mut touched = self.touched.get(&step).into_iter().flatten();
        touched.any(|path| self.is_declined(path))
    }

    /// Did somebody choose that this stays, or how it becomes?
    pub fn is_declined(&self, path: &RelPath) -> bool {
        self.declined.iter().any(|declined| path.starts_with(declined))
    }

    /// Forgets the steps that have nothing there any more, because others changed all of it since. A file that is gone
    /// may have been moved, and what was in it with it.
    pub(crate) fn forget_superseded(&mut self, present: &StatCache) {
        let Self { touched, reversed, by_hand, by_others, superseded, .. } = self;
        let is_there = |path: &RelPath| {
            let is_changed = reversed.changes.contains_key(path);
            let is_replaced =
                by_others.contains(path) && present.entry_at(path.as_bytes()).is_some();
            is_changed || reversed.left.contains_key(path) || !is_replaced
        };
        touched.retain(|step, paths| {
            let stays = paths.is_empty() || paths.iter().any(is_there);
            superseded.extend((!stays).then_some(*step));
            stays
        });
        self.steps.retain(|step| !superseded.contains(step));
        for named in [by_hand, by_others] {
            named.retain(|path| touched.values().any(|paths| paths.contains(path)));
        }
    }

    /// Leaves what is below these paths as it is: nothing there is to be decided.
    pub(crate) fn leave_all(&mut self, paths: &[RelPath]) {
        for path in paths {
            self.leave(path);
            self.reversed.conflicts.retain(|conflict| !conflict.path.starts_with(path));
        }
    }

    /// Gives a file other content than was worked out. Only for files that are there now and stay.
    pub fn set_content(&mut self, path: &RelPath, bytes: &[u8]) {
        if let Some(Outcome::File { content, .. }) = self.reversed.changes.get_mut(path) {
            *content = Content::Merged(bytes.into());
            self.declined.insert(path.clone());
        }
    }

    /// What this is, in words for the list of checkpoints.
    pub(crate) fn reason(&self) -> String {
        let numbers = |steps: &[StepId]| {
            let words: Vec<String> = steps.iter().map(StepId::to_string).collect();
            words.join(", ")
        };
        match (&self.asked.since, &self.steps[..]) {
            (Some(since), _) => {
                format!("restore to {} that keeps other edits", since.number)
            }
            (None, [one]) => format!("undo of step {one}"),
            (None, many) => format!("undo of steps {}", numbers(many)),
        }
    }
}

/// What undoing did.
#[derive(Clone, Debug)]
pub struct StepsUndone {
    /// What was to be done.
    pub plan: UndoPlan,
    /// What was done; none if there was nothing to do.
    pub restored: Option<Box<Restored>>,
}
