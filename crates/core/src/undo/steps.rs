//! Taking back what agents did, and keeping what a person did.
//!
//! Planning walks the timeline from the present back: stretches that belong to chosen steps are taken back,
//! all others stay. What comes out is a state that never was. Carrying a plan out makes that state a
//! checkpoint and restores it, so that everything that holds for a restore (a save before it, a journal, a
//! check after it, undo) holds for this as well.

use std::collections::{BTreeMap, BTreeSet};

use herma_diff::merge::Labels;
use herma_diff::{Pending, StoreSide};
use herma_reversal as reversal;
use herma_reversal::{Outcome, Request, Reversed, Run};
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::Present;

use crate::engine::open::OpenStore;
use crate::engine::{Progress, Project, Stage};
use crate::error::Error;
use crate::history::History;
use crate::records::step::{Doubt, OutsideOfStep, Step, StepEnd};
use crate::records::undo::Move;
use crate::restore::plan::requested;
use crate::restore::run::{Task, before};
use crate::restore::{Requested, Then};
use crate::save::{Draft, vouches_for_absence};
use crate::timeline::partition::Sorted;
use crate::timeline::{StateParts, Story, parts_of, present_parts};
use crate::types::asked::{RestoreOptions, WhichStep};
use crate::types::checkpoint::{Checkpoint, Origin};
use crate::undo::plan::{TakeBack, TakeBackPlan, TakenBack};
use crate::undo::stretches::Stretches;

/// What markers say about the two sides of a conflict.
const LABELS: Labels<'static> = Labels { ours: "now", theirs: "taken back" };

impl Project {
    /// Works out what taking back would do. Nothing is changed.
    pub fn plan_take_back(
        &self,
        asked: &TakeBack,
        progress: &dyn Progress,
    ) -> Result<TakeBackPlan, Error> {
        self.read_store()?;
        let store = self.engine.open_for_writing()?;
        self.check_whole(&store)?;
        let history = History::load(&store.dirs, &store.objects, &self.id)?;
        // Dropped in the end: what is new in the present is needed only to look at it.
        let writer = PackWriter::new(&store.dirs, &store.objects)?;
        let held = self.held_for(&store, asked)?;
        let present = self.scan_holding(&store, &history, &held, &writer, progress)?;
        let pending = |id: &ObjectId| writer.read(id);
        let mut plan = self.work_out(&store, &history, asked, &present, &pending)?;
        plan.held = held;
        plan.seen = Some(present.cache);
        Ok(plan)
    }

    /// Works out what taking back does, and does it. The present is saved first.
    pub fn take_back(&self, asked: &TakeBack, progress: &dyn Progress) -> Result<TakenBack, Error> {
        self.read_store()?;
        progress.stage(Stage::Waiting);
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        self.check_whole(&store)?;
        let held = self.held_for(&store, asked)?;
        // One look serves the plan and the save.
        let draft = self.draft(&store, false, &held, progress)?;
        let pending = |id: &ObjectId| draft.writer.read(id);
        let plan = self.work_out(&store, &draft.history, asked, &draft.present, &pending)?;
        self.take_back_over(&store, draft, plan, progress)
    }

    /// Carries out a plan that somebody saw. The present is saved first. Refused if files changed since it was made.
    pub fn take_back_as_planned(
        &self,
        plan: TakeBackPlan,
        progress: &dyn Progress,
    ) -> Result<TakenBack, Error> {
        progress.stage(Stage::Waiting);
        let store = self.engine.open_for_writing()?;
        let _lock = self.lock(&store.dirs)?;
        self.check_whole(&store)?;
        let draft = self.draft(&store, false, &plan.held, progress)?;
        if (draft.present.tree, draft.present.modes) != plan.present && !plan.is_empty() {
            return Err(Error::ChangedSincePlan);
        }
        self.take_back_over(&store, draft, plan, progress)
    }

    /// Carries out a plan for the present that `draft` found.
    fn take_back_over<'s>(
        &self,
        store: &'s OpenStore,
        mut draft: Draft<'s>,
        plan: TakeBackPlan,
        progress: &dyn Progress,
    ) -> Result<TakenBack, Error> {
        if plan.is_empty() {
            return Ok(TakenBack { plan, restored: None });
        }
        let (target, options);
        if let Some(exact) = &plan.exact {
            (target, options) = (exact.target.clone(), plan.asked.part());
        } else {
            (draft, target) = self.make_target(store, draft, &plan, progress)?;
            options = RestoreOptions::default();
        }
        let task = Task::New(Move::Restore);
        let restored = self.restore_over(store, draft, &target, &options, &task, progress)?;
        Ok(TakenBack { plan, restored: Some(Box::new(restored)) })
    }

    /// The checkpoints that say what taking this back is about: the two ends of every chosen step, and where it leads.
    fn held_for(&self, store: &OpenStore, asked: &TakeBack) -> Result<Vec<ObjectId>, Error> {
        let steps = self.all_steps(store)?;
        let chosen = asked.steps.pick(&steps);
        let mut held: Vec<ObjectId> = asked.since.iter().map(|since| since.id).collect();
        for step in steps.iter().filter(|step| chosen.contains(&step.number)) {
            held.push(step.before.checkpoint);
            held.extend(step.after());
        }
        if let Some(since) = &asked.since {
            // What happened before does not matter.
            held.retain(|id| *id == since.id || !is_before(&steps, id, since));
        }
        held.sort_unstable();
        held.dedup();
        Ok(held)
    }

    /// Refuses to work out anything from files that an interrupted restore left part old, part new.
    fn check_whole(&self, store: &OpenStore) -> Result<(), Error> {
        match self.records(store)? {
            (Some(_), _) => Err(Error::RestoreUnfinished),
            (None, _) => Ok(()),
        }
    }

    /// Saves the present, and finds or makes the checkpoint that the project is to be brought to.
    fn make_target<'s>(
        &self,
        store: &'s OpenStore,
        mut draft: Draft<'s>,
        plan: &TakeBackPlan,
        progress: &dyn Progress,
    ) -> Result<(Draft<'s>, Checkpoint), Error> {
        let (history, present) = (&draft.history, &draft.present);
        if draft.is_anew || self.saved_before(store, history, present, &[])?.is_none() {
            let (held, options) = (draft.held.clone(), before(&plan.reason()));
            let kept = self.keep(store, draft, &options, Origin::Safety, progress)?;
            draft = self.draft_of_stored(store, kept.present, held, kept.saved.lost.packs)?;
        }
        // What the new checkpoint says about the present, beside its files, may not be stored yet.
        let (present, writer) = (&draft.present, &draft.writer);
        let pending = |id: &ObjectId| writer.read(id);
        let parts = present_parts(store, present, &pending)?;
        let side = StoreSide::with_pending(&store.objects, &pending);
        let view = parts.view(present.tree, &side);
        let add = |kind, data: &[u8]| writer.add(kind, data).map_err(Error::from);
        let state = reversal::write_state(&view, &plan.reversed, &add)?;
        drop(parts);
        let all = draft.history.readable(&store.dirs, &store.objects, &self.id)?;
        let changes = plan.reversed.changes.iter();
        let gone = changes.filter(|(_, outcome)| **outcome == Outcome::Gone);
        let gone: Vec<RelPath> = gone.map(|(path, _)| path.clone()).collect();
        // One that left open what was at a path cannot have it removed.
        let same = |c: &Checkpoint| {
            let is_same = c.vouches_for_all() && (c.tree, c.modes) == state;
            is_same && vouches_for_absence(store, c, &gone)
        };
        if let Some(found) = all.into_iter().find(same) {
            return Ok((draft, found));
        }
        let Draft { history, present, writer, held, losses, .. } = draft;
        let made = self.publish_merged(store, &history, &present, state, writer, plan.reason())?;
        Ok((self.draft_of_stored(store, present, held, losses.packs)?, made))
    }

    /// Works out what taking back would do to a present whose objects are in the store or pending.
    fn work_out(
        &self,
        store: &OpenStore,
        history: &History,
        asked: &TakeBack,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<TakeBackPlan, Error> {
        let told = self.story(store, history, (present.tree, present.modes))?;
        let mut plan = self.work_out_along(&told, store, history, asked, present, pending)?;
        let meant = match asked.since {
            Some(_) => plan.steps.iter().copied().collect(),
            None => asked.steps.pick(&told.steps),
        };
        let meant = told.steps.into_iter().filter(|step| meant.contains(&step.number));
        plan.also_in = meant.flat_map(|step| step.start.also_in).collect();
        Ok(plan)
    }

    /// The same along this story.
    fn work_out_along(
        &self,
        told: &Story,
        store: &OpenStore,
        history: &History,
        asked: &TakeBack,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<TakeBackPlan, Error> {
        for number in &asked.steps.numbers {
            if told.step(*number).is_none() {
                return Err(Error::NoSuchStep(WhichStep::Number(*number)));
            }
        }
        let chosen = asked.steps.pick(&told.steps);
        let mut plan = TakeBackPlan {
            asked: asked.clone(),
            steps: Vec::new(),
            reversed: Reversed::default(),
            by_hand: BTreeSet::new(),
            by_others: BTreeSet::new(),
            unattributed: BTreeSet::new(),
            doubts: Vec::new(),
            outside: outside_of(told, &chosen, asked),
            also_in: BTreeSet::new(),
            exact: None,
            touched: BTreeMap::new(),
            held: Vec::new(),
            present: (present.tree, present.modes),
            seen: None,
        };
        let first = match &asked.since {
            Some(since) => {
                history.entry(&since.id)?;
                told.line.point_of(since)
            }
            None if chosen.is_empty() => return Err(Error::NoSteps),
            None => match told.line.first_stretch(&chosen) {
                Some(first) => Some(first),
                None if told
                    .steps
                    .iter()
                    .all(|step| !chosen.contains(&step.number) || is_idle(step)) =>
                {
                    return Ok(plan);
                }
                // What they did is forgotten.
                None => return Err(Error::StepsForgotten(chosen.into_iter().collect())),
            },
        };
        let sorted = first.map(|first| Sorted::new(told, &chosen, first));
        if let Some(since) = &asked.since {
            let keeps_anything = sorted.as_ref().is_some_and(|sorted| sorted.keeps_anything);
            let is_work = |number: &u64| told.step(*number).is_some_and(|s| !s.kind.is_move());
            let has_work = sorted.as_ref().is_some_and(|sorted| sorted.steps.iter().any(is_work));
            if asked.steps.is_all() && !(keeps_anything && has_work) {
                if let Some(sorted) = sorted {
                    plan.steps = sorted.steps.into_iter().collect();
                    plan.doubts = doubts_of(told, &sorted.uncertain);
                }
                if asked.file_by_file {
                    plan.reversed = self.whole(store, since, asked, present, pending)?;
                    self.name_not_held(store, since, present, &mut plan)?;
                    plan.leave_all(&asked.keep);
                } else {
                    let part = asked.part();
                    let exact = self.plan_over(store, history, since, &part, present)?;
                    plan.exact = Some(Box::new(exact));
                }
                return Ok(plan);
            }
        }
        let Some(sorted) = sorted else { return Err(Error::NoSteps) };
        let stretches = Stretches { project: self, store, told, present, pending };
        stretches.name_what_stays(&sorted, &mut plan)?;
        stretches.name_what_goes(&sorted, &chosen, &mut plan)?;
        plan.reversed = self.reverse(store, told, &sorted, asked, present, pending)?;
        let begins = first.and_then(|first| told.line.points[first].checkpoint.as_ref());
        if let Some(from) = asked.since.as_ref().or(begins) {
            self.name_not_held(store, from, present, &mut plan)?;
        }
        plan.leave_all(&asked.keep);
        let Sorted { steps, uncertain, .. } = sorted;
        plan.steps = steps.into_iter().collect();
        plan.doubts = doubts_of(told, &uncertain);
        Ok(plan)
    }

    /// Names the paths that were asked for and cannot be brought back, because the state that is gone back to says
    /// nothing about them. Refused if there are no others.
    fn name_not_held(
        &self,
        store: &OpenStore,
        from: &Checkpoint,
        present: &Present,
        plan: &mut TakeBackPlan,
    ) -> Result<(), Error> {
        if plan.asked.paths.is_empty() {
            return Ok(());
        }
        let prepared = self.prepare(store, from, &plan.asked.part(), present)?;
        // A path that came and went between steps is known all the same.
        if plan.asked.since.is_some() {
            prepared.check_known()?;
        }
        let mut requested = prepared.plan.requested;
        for one in &mut requested {
            let mut changes = plan.reversed.changes.keys();
            if changes.any(|path| path.starts_with(&one.path)) {
                one.then = Then::Held;
            }
        }
        requested::check(&requested)?;
        let kept = &mut plan.reversed.kept;
        for missing in requested.iter().filter_map(Requested::not_held) {
            let is_named = kept.iter().any(|(path, _)| *path == missing.path);
            kept.extend(missing.why.reason().filter(|_| !is_named).map(|why| (missing.path, why)));
        }
        kept.sort_unstable();
        Ok(())
    }

    /// Everything that leads from the present to a checkpoint, file by file.
    fn whole(
        &self,
        store: &OpenStore,
        target: &Checkpoint,
        asked: &TakeBack,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<Reversed, Error> {
        let side = StoreSide::with_pending(&store.objects, pending);
        let target_parts = parts_of(self, store, target, target.modes, pending)?;
        let present_parts = present_parts(store, present, pending)?;
        let now = present_parts.view(present.tree, &side);
        let run = Run { from: target_parts.view(target.tree, &side), to: now };
        let request = Request {
            present: now,
            runs: &[run],
            scope: &asked.paths,
            conflicts: asked.conflicts,
            labels: LABELS,
        };
        Ok(reversal::reverse(&request)?)
    }

    /// Is work of agents remembered that was done after this checkpoint? Without looking at the files.
    pub fn has_steps_since(&self, checkpoint: &Checkpoint) -> Result<bool, Error> {
        let store = self.read_store()?;
        let is_later = |step: &Step| {
            let ends_later = match step.end {
                StepEnd::Open => true,
                // It counts until the checkpoint after that.
                StepEnd::Unknown(end) => end.sequence >= checkpoint.sequence,
                StepEnd::Changed(end) | StepEnd::Unchanged(end) => {
                    end.sequence > checkpoint.sequence
                }
            };
            ends_later && !step.kind.is_move()
        };
        Ok(self.all_steps(&store)?.iter().any(is_later))
    }

    fn reverse(
        &self,
        store: &OpenStore,
        told: &Story,
        sorted: &Sorted,
        asked: &TakeBack,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<Reversed, Error> {
        let pending = told.pending(pending);
        let side = StoreSide::with_pending(&store.objects, &pending);
        let last = told.line.points.len() - 1;
        let mut parts: BTreeMap<usize, StateParts> = BTreeMap::new();
        for point in sorted.runs.iter().flat_map(|(from, to)| [*from, *to]) {
            if !parts.contains_key(&point) && point != last {
                parts.insert(point, told.parts(self, store, point)?);
            }
        }
        parts.insert(last, present_parts(store, present, &pending)?);
        let view = |point: usize| parts[&point].view(told.line.points[point].state.0, &side);
        let runs: Vec<Run<'_>> = sorted
            .runs
            .iter()
            .rev()
            .map(|(from, to)| Run { from: view(*from), to: view(*to) })
            .collect();
        let request = Request {
            present: view(last),
            runs: &runs,
            scope: &asked.paths,
            conflicts: asked.conflicts,
            labels: LABELS,
        };
        Ok(reversal::reverse(&request)?)
    }
}

/// What the chosen steps changed outside checkpoints, within what was asked for.
fn outside_of(told: &Story, chosen: &BTreeSet<u64>, asked: &TakeBack) -> Vec<OutsideOfStep> {
    let since = asked.since.as_ref().map_or(0, |since| since.sequence);
    let is_meant = |step: &&Step| chosen.contains(&step.number) && step.before.sequence >= since;
    let meant = told.steps.iter().filter(is_meant);
    meant.filter_map(|step| OutsideOfStep::of(step, &asked.paths)).collect()
}

/// Do all steps that name this checkpoint lie before another one?
fn is_before(steps: &[Step], id: &ObjectId, other: &Checkpoint) -> bool {
    let moments = steps.iter().flat_map(|step| [Some(&step.before), step.end.moment()]);
    let mut named = moments.flatten().filter(|moment| moment.checkpoint == *id);
    named.all(|moment| moment.sequence < other.sequence)
}

fn is_idle(step: &Step) -> bool {
    matches!(step.end, StepEnd::Unchanged(_))
}

fn doubts_of(told: &Story, steps: &BTreeSet<u64>) -> Vec<(u64, Doubt)> {
    let step = |number: &u64| Some((*number, told.step(*number)?.doubt()));
    steps.iter().filter_map(step).collect()
}
