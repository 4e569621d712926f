//! The states of a project in their order, and who led from each one to the next.
//!
//! The points of the line are the checkpoints, the two ends of every restore, and the present. A stretch
//! between two neighbours belongs to the steps that were under way from the one to the other. Time plays no
//! part but for steps nobody ended: order is the order of saving, and within it the order of steps.

use std::collections::{BTreeSet, HashMap, HashSet};

use herma_worktree::present::StateIds;

use crate::checkpoint::{Checkpoint, Origin, RestoreOptions};
use crate::step::{Background, LineAuthor, Step, StepEnd, StepId};

/// Where something lies: the newest checkpoint then, and twice the number of the next step, less one where
/// a step ended.
type Order = (i64, i64);

/// A state the project was in.
#[derive(Clone, Debug)]
pub struct Point {
    order: Order,
    /// Its tree and modes.
    pub state: StateIds,
    /// The checkpoint that holds it and says what it vouches for; `None` for the present.
    pub checkpoint: Option<Checkpoint>,
}

/// How a stretch relates to chosen steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// Only to chosen ones.
    Chosen,
    /// To chosen ones and to others.
    Partly,
    /// To others.
    Others,
    /// To no step.
    Hand,
}

/// The states of a project, oldest first, with the present at the end.
pub struct Timeline {
    /// The states.
    pub points: Vec<Point>,
    /// For each stretch, the steps under way; one shorter than `points`.
    covers: Vec<Vec<Cover>>,
}

/// A step that was under way during a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cover {
    /// Its handle.
    pub step: i64,
    /// What it is called.
    pub id: StepId,
    /// Was the step under way during all of the stretch, and does it end where it says?
    pub certain: bool,
    /// Did it only go on in the background? Then it may have changed anything, and nothing is its own.
    pub beside: bool,
}

/// The state after a restore of some paths only, which no checkpoint holds.
pub type AfterMove<'m> = dyn Fn(&Step, &Checkpoint, &Checkpoint) -> Option<StateIds> + 'm;

impl Cover {
    fn of(step: &Step, certain: bool) -> Self {
        Self { step: step.handle, id: step.id(), certain, beside: false }
    }
}

impl Timeline {
    /// Puts together what is known. `checkpoints` are those that can be read, in any order; `after_move`
    /// says where a restore led that did not lead to a checkpoint's state.
    pub fn new(
        checkpoints: &[Checkpoint],
        steps: &[Step],
        present: StateIds,
        after_move: &AfterMove<'_>,
    ) -> Self {
        let mut points: Vec<Point> = checkpoints
            .iter()
            // Herma made it to go there, or was on the way: where it went is what the move says.
            .filter(|checkpoint| !matches!(checkpoint.origin, Origin::Merged | Origin::Interrupted))
            .map(|checkpoint| Point {
                order: (checkpoint.place, 0),
                state: (checkpoint.tree, checkpoint.modes),
                checkpoint: Some(checkpoint.clone()),
            })
            .collect();
        for step in steps.iter().filter(|step| step.kind.is_move()) {
            points.extend(ends_of_move(step, checkpoints, after_move).into_iter().flatten());
        }
        points.sort_by_key(|point| point.order);
        let seen = seen_by_steps(steps, checkpoints, &points);
        points.extend(seen);
        points.sort_by_key(|point| point.order);
        points.push(Point { order: (i64::MAX, i64::MAX), state: present, checkpoint: None });
        let mut line = Self { covers: vec![Vec::new(); points.len() - 1], points };
        for step in steps {
            line.cover(step);
        }
        line.settle(steps);
        line
    }

    /// Notes during which stretches a step was under way.
    fn cover(&mut self, step: &Step) {
        let begin: Order = (step.before.place, step.handle.saturating_mul(2));
        if step.kind.is_move()
            && let Some(own) = self.points.iter().position(|point| point.order == begin)
        {
            self.covers[own].push(Cover::of(step, true));
            return;
        }
        let begins_at = self.last_until(begin);
        let first = begins_at.unwrap_or(0);
        let begin_known = begins_at.is_some_and(|at| self.is_at(at, &step.before));
        // One that nobody ended may have been over at any time since.
        let is_told = step.after().is_some();
        let (last, end_known) = match &step.end {
            StepEnd::Open => (self.given_up(step), false),
            StepEnd::Unknown(moment) => (self.first_after(end_order(moment)), false),
            StepEnd::Changed(moment) | StepEnd::Unchanged(moment) => {
                match self.last_until(end_order(moment)) {
                    Some(at) if self.is_at(at, moment) => (at, true),
                    _ => (self.first_after(end_order(moment)), false),
                }
            }
        };
        for stretch in first..last.min(self.covers.len()) {
            let certain =
                is_told && (stretch > first || begin_known) && (stretch + 1 < last || end_known);
            self.covers[stretch].push(Cover::of(step, certain));
        }
        let goes_on = match &step.background {
            None => last,
            Some(Background::Running) => self.covers.len(),
            Some(Background::Until(moment)) => self.first_after(end_order(moment)),
        };
        for covers in self.covers.iter_mut().take(goes_on).skip(last) {
            covers.push(Cover { beside: true, ..Cover::of(step, false) });
        }
    }

    /// A restore is alone in its stretch, and an inner step did what happened while an outer one waited
    /// for it.
    fn settle(&mut self, steps: &[Step]) {
        let by_handle: HashMap<i64, &Step> = steps.iter().map(|step| (step.handle, step)).collect();
        let find = |handle: i64| by_handle.get(&handle).copied();
        for (stretch, covers) in self.covers.iter_mut().enumerate() {
            let from = self.points[stretch].order;
            let own_move = covers.iter().copied().find(|cover| {
                find(cover.step).is_some_and(|step| {
                    step.kind.is_move()
                        && from == (step.before.place, step.handle.saturating_mul(2))
                })
            });
            if let Some(own) = own_move {
                *covers = vec![own];
                continue;
            }
            let mut outer: HashSet<i64> = HashSet::new();
            let mut next: Vec<i64> = covers.iter().map(|cover| cover.step).collect();
            // Each step is part of an earlier one, so this comes to an end.
            while let Some(inner) = next.pop() {
                if let Some(within) = find(inner).and_then(|step| step.start.within)
                    && outer.insert(within)
                {
                    next.push(within);
                }
            }
            covers.retain(|cover| !outer.contains(&cover.step));
        }
    }

    /// The last point at or before a place.
    fn last_until(&self, order: Order) -> Option<usize> {
        self.points.partition_point(|point| point.order <= order).checked_sub(1)
    }

    /// The first point after a place; the present at the latest.
    fn first_after(&self, order: Order) -> usize {
        self.points.partition_point(|point| point.order <= order).min(self.points.len() - 1)
    }

    /// Does a point hold the state a moment speaks of?
    fn is_at(&self, index: usize, moment: &crate::step::Moment) -> bool {
        let Some(here) = &self.points[index].checkpoint else { return false };
        // What a restore led to may be a copy of an older checkpoint, or be held by none.
        here.id == moment.checkpoint
            || self.holds(moment).is_some_and(|state| state == self.points[index].state)
    }

    fn holds(&self, moment: &crate::step::Moment) -> Option<StateIds> {
        let mut checkpoints = self.points.iter().filter_map(|p| p.checkpoint.as_ref());
        let found = checkpoints.find(|checkpoint| checkpoint.id == moment.checkpoint)?;
        Some((found.tree, found.modes))
    }

    /// Where a step that nobody ended is taken to have ended.
    fn given_up(&self, step: &Step) -> usize {
        let until = step.given_up_at();
        let late = |point: &Point| {
            point.order > (step.before.place, step.handle.saturating_mul(2))
                && point
                    .checkpoint
                    .as_ref()
                    .is_some_and(|checkpoint| checkpoint.time.seconds > until)
        };
        let found = self.points.iter().position(late);
        found.unwrap_or(self.points.len() - 1)
    }

    /// Who was under way during a stretch.
    pub fn covers(&self, stretch: usize) -> &[Cover] {
        &self.covers[stretch]
    }

    /// Makes several stretches of one: where each ends, and who led there. None is as it was.
    pub fn divide(&mut self, stretch: usize, parts: &[(StateIds, Vec<Cover>)]) {
        let Some(((_, last), others)) = parts.split_last() else { return };
        let from = self.points[stretch].clone();
        let between = others.iter().map(|(state, _)| Point { state: *state, ..from.clone() });
        let to = self.points.split_off(stretch + 1);
        self.points.extend(between);
        self.points.extend(to);
        let covers = others.iter().map(|(_, covers)| covers.clone()).chain([last.clone()]);
        self.covers.splice(stretch..=stretch, covers);
    }

    /// How many stretches there are. Stretch `n` leads from point `n` to point `n + 1`.
    pub fn stretches(&self) -> usize {
        self.covers.len()
    }

    /// Is anything different at its two ends?
    pub fn changes(&self, stretch: usize) -> bool {
        self.points[stretch].state != self.points[stretch + 1].state
    }

    /// Who led through a stretch.
    pub fn author(&self, stretch: usize) -> LineAuthor {
        match self.covers[stretch][..] {
            [] => LineAuthor::Hand,
            [only] if only.certain => LineAuthor::Step(only.id),
            _ => LineAuthor::Unattributed(self.ids_in(stretch).collect()),
        }
    }

    /// The steps under way during a stretch, as they are called.
    pub fn ids_in(&self, stretch: usize) -> impl Iterator<Item = StepId> {
        self.covers[stretch].iter().map(|cover| cover.id)
    }

    /// The same by their handles, without those that only went on in the background.
    pub fn steps_in(&self, stretch: usize) -> impl Iterator<Item = i64> {
        self.at_work(stretch).map(|cover| cover.step)
    }

    fn at_work(&self, stretch: usize) -> impl Iterator<Item = &Cover> {
        self.covers[stretch].iter().filter(|cover| !cover.beside)
    }

    /// Steps under way during a stretch of which it is not known where they began or ended.
    pub fn uncertain_in(&self, stretch: usize) -> impl Iterator<Item = i64> {
        let uncertain = self.covers[stretch].iter().filter(|cover| !cover.certain);
        uncertain.map(|cover| cover.step)
    }

    /// How a stretch relates to chosen steps.
    pub fn belongs(&self, stretch: usize, chosen: &BTreeSet<i64>) -> Belongs {
        let is_chosen = |cover: &Cover| chosen.contains(&cover.step);
        let covers = &self.covers[stretch];
        if covers.is_empty() {
            Belongs::Hand
        } else if self.at_work(stretch).next().is_some() && self.at_work(stretch).all(is_chosen) {
            Belongs::Chosen
        } else if covers.iter().any(is_chosen) {
            Belongs::Partly
        } else {
            Belongs::Others
        }
    }

    /// The point a checkpoint is.
    pub fn point_of(&self, checkpoint: &Checkpoint) -> Option<usize> {
        let own = (checkpoint.place, 0);
        let is_it =
            |point: &Point| point.checkpoint.as_ref().is_some_and(|c| c.id == checkpoint.id);
        let at_own = self.points.iter().position(|point| point.order == own);
        at_own.or_else(|| self.points.iter().position(is_it))
    }

    /// The first stretch in which one of these steps was under way.
    pub fn first_stretch(&self, chosen: &BTreeSet<i64>) -> Option<usize> {
        let has_chosen = |covers: &Vec<Cover>| covers.iter().any(|c| chosen.contains(&c.step));
        self.covers.iter().position(has_chosen)
    }
}

fn end_order(moment: &crate::step::Moment) -> Order {
    let after = moment.next_step.saturating_mul(2);
    (moment.place, after.saturating_sub(1))
}

/// What steps saw when they began and ended, where nothing else tells of it: after a step that ended nobody
/// knows how, for no further can it have reached; and where somebody had brought back the state of the newest
/// checkpoint by hand after a restore, so that no checkpoint was made of it. `points` are in order.
fn seen_by_steps(steps: &[Step], checkpoints: &[Checkpoint], points: &[Point]) -> Vec<Point> {
    let work = steps.iter().filter(|step| !step.kind.is_move());
    let mut looks: Vec<Point> = work.flat_map(|step| looked_at(step, checkpoints)).collect();
    looks.sort_by_key(|point| point.order);
    let mut unknown: Vec<Order> = steps
        .iter()
        .filter_map(|step| match &step.end {
            StepEnd::Unknown(moment) => Some(end_order(moment)),
            _ => None,
        })
        .collect();
    unknown.sort_unstable();
    let mut seen: Vec<Point> = Vec::new();
    let (mut told, mut ends) = (points.iter().peekable(), unknown.into_iter().peekable());
    let mut state = None;
    for look in looks {
        while let Some(point) = told.next_if(|point| point.order <= look.order) {
            state = Some(point.state);
        }
        let mut is_first_after_unknown = false;
        while ends.next_if(|end| *end < look.order).is_some() {
            is_first_after_unknown = true;
        }
        if is_first_after_unknown || state != Some(look.state) {
            state = Some(look.state);
            seen.push(look);
        }
    }
    seen
}

/// The states somebody looked at when a step began and ended. Nothing may have changed since the last
/// checkpoint then, so that there is no other trace of it.
fn looked_at(step: &Step, checkpoints: &[Checkpoint]) -> Vec<Point> {
    let begin = ((step.before.place, step.handle.saturating_mul(2)), &step.before);
    let end = match &step.end {
        StepEnd::Changed(moment) | StepEnd::Unchanged(moment) => Some((end_order(moment), moment)),
        StepEnd::Open | StepEnd::Unknown(_) => None,
    };
    let mut points = Vec::new();
    for (order, moment) in std::iter::once(begin).chain(end) {
        let is_it = |c: &&Checkpoint| c.id == moment.checkpoint && c.place == moment.place;
        points.extend(checkpoints.iter().find(is_it).map(|checkpoint| Point {
            order,
            state: (checkpoint.tree, checkpoint.modes),
            checkpoint: Some(checkpoint.clone()),
        }));
    }
    points
}

/// The states before and after one of Herma's own moves, if both can still be told.
fn ends_of_move(
    step: &Step,
    checkpoints: &[Checkpoint],
    after_move: &AfterMove<'_>,
) -> Option<[Point; 2]> {
    let find = |id| checkpoints.iter().find(|checkpoint| checkpoint.id == id);
    let moment = step.end.moment()?;
    let (before, after) = (find(step.before.checkpoint)?, find(moment.checkpoint)?);
    // One that others had a part in is a point of its own.
    let is_own = |c: &&Checkpoint| step.number == Some(c.number) && c.origin == Origin::Merged;
    let own = checkpoints.iter().find(is_own);
    let (state, vouching) = match own {
        Some(own) => ((own.tree, own.modes), own),
        // What lies outside the part that was brought back is as it was.
        None if step.part != RestoreOptions::default() => {
            (after_move(step, before, after)?, before)
        }
        None => (after_move(step, before, after)?, after),
    };
    let order = (step.before.place, step.handle.saturating_mul(2));
    Some([
        Point { order, state: (before.tree, before.modes), checkpoint: Some(before.clone()) },
        Point { order: (order.0, order.1 + 1), state, checkpoint: Some(vouching.clone()) },
    ])
}
