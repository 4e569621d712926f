//! Undoing what agents did, and keeping what a person did.
//!
//! Planning walks the timeline from the present back: stretches that belong to chosen steps are undone,
//! all others stay. What comes out is a state that never was. Carrying a plan out makes that state a
//! checkpoint and restores it, so that everything that holds for a restore (a save before it, a journal, a
//! check after it, undo) holds for this as well.

use crate::engine::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};

use herma_diff::merge::Labels;
use herma_diff::{Change, Pending, StoreSide};
use herma_records::checkpoint::RestoreOptions;
use herma_records::checkpoint::{Checkpoint, Origin};
use herma_records::step::{Doubt, Moment, OutsideOfStep, Step, StepId, Undid, UndoneAs};
use herma_records::undo::Move;
use herma_reversal as reversal;
use herma_reversal::{Outcome, Request, Reversed, Run};
use herma_store::pack::write::PackWriter;
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::Present;

use crate::engine::history::History;
use crate::error::{Error, Result};
use crate::restore::plan::requested;
use crate::restore::run::{Task, before};
use crate::restore::{Requested, Then};
use crate::save::{Draft, vouches_for_absence};
use crate::timeline::partition::Sorted;
use crate::timeline::session_changes::forgotten;
use crate::timeline::{Ground, Story};
use crate::undo::plan::{Extent, StepsUndone, UndoPlan, UndoSteps};

/// What markers say about the two sides of a conflict.
const LABELS: Labels<'static> = Labels { ours: "now", theirs: "undone" };

/// The project as it is, for a plan.
pub(crate) struct Looked<'s> {
    pub(crate) history: History,
    pub(crate) present: Present,
    held: Vec<ObjectId>,
    /// Dropped in the end: what is new in the present is needed only to look at it.
    writer: PackWriter<'s>,
}

impl Operation<'_> {
    pub(crate) fn plan_undo_steps(&self, asked: &UndoSteps) -> Result<UndoPlan> {
        self.plan_from(self.look_for(asked)?, asked)
    }

    /// Looks at the project, by the rules under which the steps were seen, too.
    pub(crate) fn look_for(&self, asked: &UndoSteps) -> Result<Looked<'_>> {
        self.check_whole()?;
        let history = self.load_history()?;
        let writer = PackWriter::new(&self.store.dirs, &self.store.objects)?;
        let held = self.held_for(&history, asked)?;
        let present = self.scan_holding(&history, &held, &writer)?;
        Ok(Looked { history, present, held, writer })
    }

    /// Works out what undoing this would do to what was seen.
    pub(crate) fn plan_from(&self, looked: Looked<'_>, asked: &UndoSteps) -> Result<UndoPlan> {
        let Looked { history, present, held, writer } = looked;
        let pending = |id: &ObjectId| writer.read(id);
        let mut plan = self.work_out(&history, asked, &present, &pending)?;
        plan.held = held;
        plan.seen = Some(present.cache);
        Ok(plan)
    }

    pub(crate) fn undo_steps(&self, asked: &UndoSteps) -> Result<StepsUndone> {
        self.check_whole()?;
        let held = self.held_for(&self.load_history()?, asked)?;
        // One look serves the plan and the save.
        let draft = self.draft(false, &held)?;
        let pending = |id: &ObjectId| draft.writer.read(id);
        let plan = self.work_out(&draft.history, asked, &draft.present, &pending)?;
        self.undo_over(draft, plan)
    }

    pub(crate) fn undo_as_planned(&self, plan: UndoPlan) -> Result<StepsUndone> {
        self.check_whole()?;
        let draft = self.draft(false, &plan.held)?;
        if (draft.present.tree, draft.present.modes) != plan.present && !plan.is_empty() {
            return Err(Error::ChangedSincePlan);
        }
        self.undo_over(draft, plan)
    }

    /// Carries out a plan for the present that `draft` found.
    fn undo_over<'s>(&'s self, mut draft: Draft<'s>, plan: UndoPlan) -> Result<StepsUndone> {
        if plan.is_empty() {
            return Ok(StepsUndone { plan, restored: None });
        }
        let (target, options);
        if let Some(exact) = &plan.exact {
            (target, options) = (exact.target.clone(), plan.asked.part());
        } else {
            (draft, target) = self.make_target(draft, &plan.reversed, plan.reason(), true)?;
            options = RestoreOptions::default();
        }
        let task = Task::New(Move::Restore, Some(self.undid_by(&plan)?));
        let restored = self.restore_over(draft, &target, &options, &task)?;
        Ok(StepsUndone { plan, restored: Some(Box::new(restored)) })
    }

    /// What carrying this out undoes, for those that come after.
    fn undid_by(&self, plan: &UndoPlan) -> Result<Undid> {
        let asked = &plan.asked;
        let is_everywhere = asked.part() == RestoreOptions::default();
        let how = if asked.since.is_some() { UndoneAs::Restore } else { asked.how };
        let mut steps = self.steps_for(&self.load_history()?, &asked.steps)?;
        let chosen = asked.steps.pick(&steps);
        steps.retain(|step| match how {
            UndoneAs::Restore => plan.steps.contains(&step.id()),
            _ => chosen.contains(&step.handle) && !plan.superseded.contains(&step.id()),
        });
        // What changed nothing but the files that were named is undone as a whole.
        let is_by_paths = asked.since.is_none() && asked.keep.is_empty();
        let is_all_of_it = |step: &Step| {
            let (id, touched) = (step.id(), &plan.touched);
            is_everywhere || is_by_paths && touched.contains_key(&id) && !plan.beyond.contains(&id)
        };
        let (steps, mut part): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_all_of_it);
        part.retain(|step| plan.touched.get(&step.id()).is_some_and(|paths| !paths.is_empty()));
        let outcomes = plan.outcomes();
        let extent = |step: &Step| outcomes.iter().find(|one| step.is(one.step)).map(|o| o.extent);
        let is_whole = |step: &Step| {
            !plan.has_declined(step.id()) && extent(step).is_none_or(|it| it == Extent::Whole)
        };
        let (mut steps, mut left): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_whole);
        // What one of Herma's own moves had marked is as before it, whatever stays of its files.
        let in_part = |step: &&Step| step.kind.is_move() && extent(step) == Some(Extent::Part);
        steps.extend(left.iter().filter(in_part).cloned());
        steps.sort_unstable_by_key(|step| step.handle);
        // Who asked for the last prompt has been at all of it, and goes on to the one before; a prompt of which nothing could
        // be undone is still the next.
        let prompt =
            |step: &Step| step.start.facts.session.clone().zip(step.start.facts.turn.clone());
        let in_part = left.iter().filter(|step| extent(step) == Some(Extent::Part));
        let begun: BTreeSet<_> = steps.iter().chain(in_part).filter_map(prompt).collect();
        left.retain(|step| {
            let is_begun = prompt(step).is_some_and(|prompt| begun.contains(&prompt));
            how == UndoneAs::Last && is_begun || extent(step) == Some(Extent::Part)
        });
        let (not_redone, redone_in_part) = self.not_redone(plan, &steps)?;
        left.extend(not_redone);
        if how == UndoneAs::Redo { &mut part } else { &mut left }.extend(redone_in_part);
        let handles = |steps: Vec<Step>| steps.iter().map(|step| step.handle).collect();
        Ok(Undid { steps: handles(steps), left: handles(left), part: handles(part), how })
    }

    /// The steps that one of these moves undid, and of which all files stay as it left them; and those of which some do.
    fn not_redone(&self, plan: &UndoPlan, moves: &[Step]) -> Result<(Vec<Step>, Vec<Step>)> {
        let is_move = |id: StepId| moves.iter().any(|step| step.is(id) && step.kind.is_move());
        let outcomes = plan.outcomes().into_iter().filter(|outcome| is_move(outcome.step));
        let left: Vec<RelPath> = outcomes.flat_map(|one| one.left).map(|(path, _)| path).collect();
        let mut found = self.all_steps()?;
        if left.is_empty() {
            found.clear();
        }
        let undid: BTreeSet<i64> = moves
            .iter()
            .filter_map(|step| step.undid.as_ref())
            .flat_map(|undid| undid.steps.iter().copied())
            .collect();
        let side = StoreSide::new(&self.store.objects);
        let tree = |id: ObjectId| Some((&side as _, self.state_of_checkpoint(&id)?.0));
        let (mut not_redone, mut in_part) = (Vec::new(), Vec::new());
        for step in found.into_iter().filter(|step| undid.contains(&step.handle)) {
            let ends = tree(step.before.checkpoint).zip(step.after().and_then(tree));
            let Some((from, to)) = ends else { continue };
            let changes = herma_diff::compare(Some(from), Some(to), &[])?;
            let stays = |change: &Change| left.iter().any(|left| change.path.starts_with(left));
            if changes.iter().all(stays) {
                not_redone.push(step);
            } else if changes.iter().any(stays) {
                in_part.push(step);
            }
        }
        Ok((not_redone, in_part))
    }

    /// The checkpoints that say what undoing this is about: the two ends of every chosen step, and where it leads.
    fn held_for(&self, history: &History, asked: &UndoSteps) -> Result<Vec<ObjectId>> {
        let steps = self.steps_for(history, &asked.steps)?;
        let chosen = asked.steps.pick(&steps);
        let mut held: Vec<ObjectId> = asked.since.iter().map(|since| since.id).collect();
        for step in steps.iter().filter(|step| chosen.contains(&step.handle)) {
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
    pub(crate) fn check_whole(&self) -> Result<()> {
        match self.records()? {
            (Some(_), _) => Err(Error::RestoreUnfinished),
            (None, _) => Ok(()),
        }
    }

    /// Saves the present, and makes the checkpoint that the project is to be brought to, or finds one if it may be an `old` one.
    pub(crate) fn make_target<'s>(
        &'s self,
        mut draft: Draft<'s>,
        reversed: &Reversed,
        reason: String,
        old: bool,
    ) -> Result<(Draft<'s>, Checkpoint)> {
        let (history, present) = (&draft.history, &draft.present);
        if draft.is_anew || self.saved_before(history, present, &[])?.is_none() {
            let (held, options) = (draft.held.clone(), before(&reason));
            let kept = self.keep(draft, &options, Origin::Safety)?;
            draft = self.draft_of_stored(kept.present, held, kept.saved.lost.packs)?;
        }
        // What the new checkpoint says about the present, beside its files, may not be stored yet.
        let (present, writer) = (&draft.present, &draft.writer);
        let pending = |id: &ObjectId| writer.read(id);
        let parts = self.present_parts(present, &pending)?;
        let side = StoreSide::with_pending(&self.store.objects, &pending);
        let view = parts.view(present.tree, &side);
        let add = |kind, data: &[u8]| writer.add(kind, data).map_err(Error::from);
        let state = reversal::write_state(&view, reversed, &add)?;
        drop(parts);
        let all = draft.history.readable(&self.store)?;
        let changes = reversed.changes.iter();
        let gone = changes.filter(|(_, outcome)| **outcome == Outcome::Gone);
        let gone: Vec<RelPath> = gone.map(|(path, _)| path.clone()).collect();
        // One that left open what was at a path cannot have it removed.
        let same = |c: &Checkpoint| {
            let is_same = c.vouches_for_all() && (c.tree, c.modes) == state;
            is_same && vouches_for_absence(&self.store, c, &gone)
        };
        if let Some(found) = all.into_iter().filter(|_| old).find(same) {
            return Ok((draft, found));
        }
        let Draft { history, present, writer, held, losses, .. } = draft;
        let made = self.publish_merged(&history, &present, state, writer, reason)?;
        Ok((self.draft_of_stored(present, held, losses.packs)?, made))
    }

    /// Works out what undoing would do to a present whose objects are in the store or pending.
    fn work_out(
        &self,
        history: &History,
        asked: &UndoSteps,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<UndoPlan> {
        let told = self.story(history, (present.tree, present.modes), &asked.steps)?;
        let ground = Ground { operation: self, told: &told, present: Some(present), pending };
        let mut plan = self.work_out_along(&ground, history, asked, present)?;
        let meant = match asked.since {
            Some(_) => plan.steps.clone(),
            None => told.ids(&asked.steps.pick(&told.steps)),
        };
        let meant = told.steps.into_iter().filter(|step| meant.contains(&step.id()));
        plan.also_in = meant.flat_map(|step| step.start.also_in).collect();
        Ok(plan)
    }

    /// The same along this story.
    fn work_out_along(
        &self,
        ground: &Ground<'_>,
        history: &History,
        asked: &UndoSteps,
        present: &Present,
    ) -> Result<UndoPlan> {
        let told = ground.told;
        asked.steps.check(&told.steps)?;
        let chosen = asked.steps.pick(&told.steps);
        let mut plan = UndoPlan {
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
            beyond: BTreeSet::new(),
            superseded: BTreeSet::new(),
            declined: BTreeSet::new(),
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
            None => {
                let first = told.line.first_stretch(&chosen);
                if first.is_none() {
                    let forgotten = forgotten(told, &chosen);
                    let is_known = forgotten.is_empty();
                    return if is_known { Ok(plan) } else { Err(Error::StepsForgotten(forgotten)) };
                }
                first
            }
        };
        let sorted = first.map(|first| Sorted::new(told, &chosen, first));
        if let Some(since) = &asked.since {
            let keeps_anything = sorted.as_ref().is_some_and(|sorted| sorted.keeps_anything);
            let has_work = told.steps.iter().any(|step| !step.kind.is_move());
            if asked.steps.is_all() && !(keeps_anything && has_work) {
                if let Some(sorted) = sorted {
                    plan.steps = told.ids(&sorted.steps);
                    plan.doubts = doubts_of(told, &sorted.uncertain);
                }
                if asked.file_by_file {
                    plan.reversed = self.whole(since, asked, present, ground.pending)?;
                    self.name_not_held(since, present, &mut plan)?;
                    plan.leave_all(&asked.keep);
                } else {
                    let part = asked.part();
                    let exact = self.plan_over(history, since, &part, present)?;
                    plan.exact = Some(Box::new(exact));
                }
                return Ok(plan);
            }
        }
        let Some(sorted) = sorted else { return Err(Error::NoSteps) };
        ground.name_what_goes(&sorted, &chosen, &mut plan)?;
        ground.name_what_stays(&sorted, &mut plan)?;
        plan.reversed = ground.reverse(&sorted, asked)?;
        let begins = first.and_then(|first| told.line.points[first].checkpoint.as_ref());
        if let Some(from) = asked.since.as_ref().or(begins) {
            self.name_not_held(from, present, &mut plan)?;
        }
        plan.leave_all(&asked.keep);
        let Sorted { steps, uncertain, .. } = sorted;
        plan.steps = told.ids(&steps);
        let is_by_number = !asked.steps.ids.is_empty();
        if asked.how == UndoneAs::Chosen && asked.since.is_none() && !is_by_number {
            plan.forget_superseded(&present.cache);
        }
        plan.doubts = doubts_of(told, &uncertain);
        let is_meant = |step: &StepId| {
            let touched = plan.touched.get(step);
            touched.map_or(!plan.superseded.contains(step), |paths| !paths.is_empty())
        };
        // What only comes back goes over nothing of anybody's.
        let goes_over = |step: &StepId| {
            let mut touched = plan.touched.get(step).into_iter().flatten();
            touched.any(|path| {
                let is_there = present.cache.entry_at(path.as_bytes()).is_some();
                is_there && plan.reversed.changes.contains_key(path)
            })
        };
        plan.doubts.retain(|(step, doubt)| {
            is_meant(step) && (*doubt != Doubt::Unclear || goes_over(step))
        });
        Ok(plan)
    }

    /// Names the paths that were asked for and cannot be brought back, because the state that is gone back to says
    /// nothing about them. Refused if there are no others.
    fn name_not_held(
        &self,
        from: &Checkpoint,
        present: &Present,
        plan: &mut UndoPlan,
    ) -> Result<()> {
        if plan.asked.paths.is_empty() {
            return Ok(());
        }
        let prepared = self.prepare(from, &plan.asked.part(), present)?;
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
        target: &Checkpoint,
        asked: &UndoSteps,
        present: &Present,
        pending: &Pending<'_>,
    ) -> Result<Reversed> {
        let side = StoreSide::with_pending(&self.store.objects, pending);
        let target_parts = self.parts_of(target, target.modes, pending)?;
        let present_parts = self.present_parts(present, pending)?;
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

    pub(crate) fn has_work(&self) -> Result<bool> {
        Ok(self.step_log()?.newest(|step| !step.kind.is_move())?.is_some())
    }
}

impl Ground<'_> {
    /// Takes the runs out of the present.
    fn reverse(&self, sorted: &Sorted, asked: &UndoSteps) -> Result<Reversed> {
        let pending = self.told.pending(self.pending);
        let side = StoreSide::with_pending(&self.operation.store.objects, &pending);
        let points = &self.told.line.points;
        let last = points.len() - 1;
        let parts = self.parts_of_runs(sorted, last)?;
        let view = |point: usize| parts[&point].view(points[point].state.0, &side);
        let runs = sorted.runs.iter().rev();
        let runs: Vec<Run<'_>> =
            runs.map(|(from, to)| Run { from: view(*from), to: view(*to) }).collect();
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
fn outside_of(told: &Story, chosen: &BTreeSet<i64>, asked: &UndoSteps) -> Vec<OutsideOfStep> {
    let since = asked.since.as_ref().map_or(i64::MIN, |since| since.place);
    let is_meant = |step: &&Step| chosen.contains(&step.handle) && step.before.place >= since;
    let meant = told.steps.iter().filter(is_meant);
    meant.filter_map(|step| OutsideOfStep::of(step, &asked.paths)).collect()
}

/// Do all steps that name this checkpoint lie before another one?
fn is_before(steps: &[Step], id: &ObjectId, other: &Checkpoint) -> bool {
    let moments = steps.iter().flat_map(|step| [Some(&step.before), step.end.moment()]);
    let mut named = moments.flatten().filter(|moment| moment.checkpoint == *id);
    named.all(|moment| moment.place < other.place)
}

fn doubts_of(told: &Story, steps: &BTreeSet<i64>) -> Vec<(StepId, Doubt)> {
    let is_there = |moment: &Moment| told.checkpoints.iter().any(|one| one.id == moment.checkpoint);
    let doubt = |step: &Step| {
        let has_both = is_there(&step.before) && step.end.moment().is_some_and(is_there);
        (step.id(), step.doubt(has_both))
    };
    steps.iter().filter_map(|handle| told.step(*handle)).map(doubt).collect()
}
