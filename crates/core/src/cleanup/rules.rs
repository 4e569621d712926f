//! The rules, in the order in which the plan asks them.
//!
//! 1. What stays whatever the limits say: pinned and named checkpoints, what an undo or an interrupted restore needs,
//!    and the newest checkpoint of every project, with the newest that can be read beside it: one that lay idle for
//!    months, or is not there, can still be brought back. Only the rule for deleted projects takes these last two.
//! 2. Projects that were deleted lose their checkpoints, if that is wanted. Deleted means [`Presence::Gone`], which
//!    takes positive evidence. One that is gone with the directories it was in counts only if it was not saved for
//!    `retention_days`, whoever asks: it may have been moved with them. One that is merely not there is named in a
//!    note. Cleaning that nobody watches waits besides: from the last save, and from the first time it found the
//!    project missing.
//! 3. A project that was not used for a long time gives up its older checkpoints. Age is counted per project, from its
//!    last save, as in Hermes; an old checkpoint of a project in use is not old. The rule rests on the clock more than
//!    any other, so it waits while the clock is doubtful, and asks the checkpoints whether the record can be right.
//! 4. A project in use keeps its history densely as far as somebody may still remember it, and sparsely before that:
//!    [`thin_out`].
//! 5. A project keeps so many checkpoints, if somebody set how many. Protected ones count, so the limit is the length of
//!    the list a person sees; only if more are protected than it allows does the list stay longer.
//!
//! # Dense now, sparse later
//!
//! Where a limit of count, size or disk requires something to go, a project gives up first what lies close to something
//! newer:
//!
//! * everything of the last hour is kept,
//! * of the last day, the last checkpoint of each hour,
//! * of the last week, the last checkpoint of each day,
//! * before that, the last checkpoint of each week.
//!
//! What this leaves over is given up first, the oldest of it before the rest. Only when nothing is left
//! over do the plainly oldest go. So twenty saves within an hour behave exactly as "keep the last
//! twenty", and over days and weeks the same twenty places reach back days and weeks.
//!
//! Hours, days and weeks are those of the calendar (UTC, weeks from Monday), so what was once the last of
//! its hour stays the last of its hour while time goes on. Times are corrected first: a checkpoint is
//! no later than the next newer one, and none is later than now. With a clock that is not believed
//! nothing is thinned out, and the oldest go.

use std::collections::{BTreeMap, HashMap};

use herma_store::ProjectId;

use super::clock::Trust;
use super::facts::CheckpointFacts;
use super::notes::{Note, Protection};
use super::plan::{Draft, LastUse, Limits, Orphans, ProjectDraft, Rule};
use super::presence::{Doubt, Presence};
use super::{DAY, HOUR};
use crate::types::settings::Thinning;

/// Marks the newest of every project that the rule for deleted ones has not given up.
pub(super) fn keep_newest(draft: &mut Draft<'_>) {
    let projects = draft.projects.iter_mut();
    for project in projects.filter(|project| project.given_up != Some(Rule::Orphan)) {
        let [newest, readable] = project.facts.last_resort();
        for checkpoint in &mut project.checkpoints {
            if Some(checkpoint.facts) == newest {
                checkpoint.protection = Some(Protection::Newest);
            } else if Some(checkpoint.facts) == readable {
                checkpoint.protection = Some(Protection::NewestReadable);
            }
        }
    }
}

/// Gives up deleted projects.
pub(super) fn give_up_deleted(draft: &mut Draft<'_>, limits: &Limits) {
    let orphans = &limits.orphans;
    if *orphans == Orphans::Keep {
        return;
    }
    let (now, trusted) = (draft.now, draft.clock.is_trusted());
    let days = limits.retention_days.unwrap_or(0).max(1);
    let long_ago = now - f64::from(days) * DAY;
    for project in &mut draft.projects {
        let id = &project.facts.id;
        let doubt = match &project.facts.presence {
            Presence::Gone => None,
            Presence::GoneWithParents => {
                let is_long_ago = trusted && project.last_use(now).is_before(long_ago);
                (!is_long_ago).then_some(Doubt::ParentGone)
            }
            Presence::OutOfReach(doubt) => Some(doubt.clone()),
            Presence::Live | Presence::Unknown => continue,
        };
        if let Some(doubt) = doubt {
            draft.notes.push(Note::OutOfReach {
                project: id.clone(),
                workdir: project.facts.workdir.clone(),
                doubt,
            });
            continue;
        }
        let missing_since = project.facts.missing_since;
        let (last_use, seen) = (project.last_use(now), missing_since);
        if !is_wanted(orphans, id, last_use, seen, now, trusted) {
            continue;
        }
        project.give_up(Rule::Orphan);
        let staying = project.staying();
        if staying > 0 {
            draft.notes.push(Note::OrphanStays { project: id.clone(), checkpoints: staying });
        }
    }
}

fn is_wanted(
    orphans: &Orphans,
    id: &ProjectId,
    last_use: LastUse,
    missing_since: Option<f64>,
    now: f64,
    trusted: bool,
) -> bool {
    match orphans {
        Orphans::Keep => false,
        Orphans::All => true,
        Orphans::These(confirmed) => confirmed.contains(id),
        Orphans::Untouched { days } => {
            let cutoff = now - f64::from(*days) * DAY;
            // Somebody who moves a project must have time to find out, however long ago it was saved.
            let is_known = missing_since.is_some_and(|since| since <= cutoff);
            trusted && is_known && last_use.is_before(cutoff)
        }
    }
}

/// Gives up projects that were not used for `days`; none and zero mean never.
pub(super) fn give_up_unused(draft: &mut Draft<'_>, days: Option<u32>) {
    let Some(days) = days.filter(|days| *days > 0) else { return };
    if !draft.clock.is_trusted() {
        return;
    }
    let cutoff = draft.now - f64::from(days) * DAY;
    for project in &mut draft.projects {
        let stale = project.last_use(draft.now).is_before(cutoff);
        if stale && project.given_up.is_none() {
            project.give_up(Rule::Stale);
        }
    }
}

/// Names the projects whose record, or newest checkpoint, cannot have the date it has.
pub(super) fn note_wrong_dates(draft: &mut Draft<'_>) {
    if !draft.clock.is_trusted() {
        return;
    }
    for project in &draft.projects {
        let id = || project.facts.id.clone();
        match project.last_use(draft.now) {
            LastUse::At(_) | LastUse::Unknown => {}
            LastUse::Later(last_use) => {
                draft.notes.push(Note::EarlyTouch { project: id(), last_use });
            }
            LastUse::FutureTouch => draft.notes.push(Note::FutureTouch { project: id() }),
            LastUse::FutureCheckpoint => {
                draft.notes.push(Note::FutureCheckpoint { project: id() });
            }
        }
    }
}

/// Thins out the older history of projects in use.
///
/// Everything of the newest days of work stays; of each of the days before, and then of each of the weeks before, one
/// checkpoint; what lies further back goes. The one that stays is the newest in which a user's prompt began or ended, else
/// the newest; one that cannot be read only if none can. Protected ones stay besides: a name costs no other its place.
///
/// A **day of work** is a date (UTC) on which the project was saved, and has checkpoints left. Days are counted, not the time
/// that passed: nobody loses history by being away. They stand in the order of their newest checkpoint, so
/// a save with a wrong date makes a day of its own and moves no other. A **week of work** is a week from Monday with such
/// days, of those that are no longer counted by the day.
pub(super) fn thin_out(draft: &mut Draft<'_>, thinning: Option<Thinning>) {
    let Some(thinning) = thinning.filter(|_| draft.clock.is_trusted()) else { return };
    for project in &mut draft.projects {
        for (place, indexes) in places(project, &thinning) {
            let worth = |index: &usize| {
                let CheckpointFacts { readable, at_prompt, .. } = project.checkpoints[*index].facts;
                (*readable, *at_prompt, *index)
            };
            let stays =
                indexes.iter().copied().max_by_key(worth).filter(|_| place != Place::Beyond);
            for index in indexes.into_iter().filter(|index| Some(*index) != stays) {
                let checkpoint = &mut project.checkpoints[index];
                if checkpoint.is_free() {
                    checkpoint.dropped = Some(Rule::Thinned);
                }
            }
        }
    }
}

/// Where a checkpoint stands that is not among those of which everything stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// On a day of work, the newest being 0.
    Day(usize),
    /// In a week of work, the newest being 0.
    Week(usize),
    /// Further back.
    Beyond,
}

/// The checkpoints on the days and in the weeks of work of which one stays each, and beyond them.
fn places(project: &ProjectDraft<'_>, thinning: &Thinning) -> BTreeMap<Place, Vec<usize>> {
    let (mut days, mut weeks) = (HashMap::new(), HashMap::new());
    let mut places: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    let single_days = thinning.whole_days.saturating_add(thinning.daily);
    for (index, checkpoint) in project.checkpoints.iter().enumerate().rev() {
        let date = checkpoint.facts.time.div_euclid(DAY as i64);
        let day = nth(&mut days, date);
        let place = if day < thinning.whole_days {
            continue;
        } else if day < single_days {
            Place::Day(day)
        } else {
            let week = nth(&mut weeks, (date + MONDAY_OF_1970).div_euclid(7));
            if week < thinning.weekly { Place::Week(week) } else { Place::Beyond }
        };
        places.entry(place).or_default().push(index);
    }
    places
}

/// How many others were met before this one.
fn nth(met: &mut HashMap<i64, usize>, one: i64) -> usize {
    let next = met.len();
    *met.entry(one).or_insert(next)
}

/// Drops what is too many for each project.
pub(super) fn keep_count(draft: &mut Draft<'_>, limits: &Limits) {
    for project in &mut draft.projects {
        let limit = limits.snapshots_of(&project.facts.id, project.facts.asked_snapshots);
        let excess = project.staying().saturating_sub(limit);
        if limit == 0 || excess == 0 {
            continue;
        }
        let order = giving_order(project, draft.now, draft.clock);
        for index in order.all().take(excess) {
            project.checkpoints[index].dropped = Some(Rule::Count);
        }
        let staying = project.staying();
        if staying > limit {
            draft.notes.push(Note::OverCount {
                project: project.facts.id.clone(),
                checkpoints: staying,
                limit,
            });
        }
    }
}

const WEEK: f64 = 7.0 * DAY;
/// 1970 began on a Thursday, so many days after a Monday.
const MONDAY_OF_1970: i64 = 3;

/// The order in which a project gives up what is not protected, as indexes into its checkpoints.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// What lies close to something newer, oldest first.
    pub(super) spare: Vec<usize>,
    /// The others, oldest first.
    pub(super) rest: Vec<usize>,
}

impl Order {
    /// First the spare ones, then the others.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.spare.iter().chain(&self.rest).copied()
    }
}

/// The order for the checkpoints of `project` that are still there.
pub(super) fn giving_order(project: &ProjectDraft<'_>, now: f64, clock: Trust) -> Order {
    let mut order = Order::default();
    let mut newer_kept: Option<f64> = None;
    for (index, checkpoint) in project.checkpoints.iter().enumerate().rev() {
        if !checkpoint.stays() {
            continue;
        }
        let time = checkpoint.time;
        let close = newer_kept.is_some_and(|newer| share_a_place(time, newer, now));
        if checkpoint.is_free() && close && clock.is_trusted() {
            order.spare.push(index);
            continue;
        }
        newer_kept = Some(time);
        if checkpoint.is_free() {
            order.rest.push(index);
        }
    }
    order.spare.reverse();
    order.rest.reverse();
    order
}

/// Is `time` so long ago that it needs no place of its own beside `newer`?
fn share_a_place(time: f64, newer: f64, now: f64) -> bool {
    let age = now - time;
    if age <= HOUR {
        false
    } else if age <= DAY {
        same(time, newer, 0.0, HOUR)
    } else if age <= WEEK {
        same(time, newer, 0.0, DAY)
    } else {
        same(time, newer, MONDAY_OF_1970 as f64 * DAY, WEEK)
    }
}

fn same(a: f64, b: f64, start: f64, length: f64) -> bool {
    ((a + start) / length).floor().total_cmp(&((b + start) / length).floor()).is_eq()
}

#[cfg(test)]
#[path = "tests/rules/protect.rs"]
mod protect_tests;

#[cfg(test)]
#[path = "tests/rules/orphans.rs"]
mod orphans_tests;

#[cfg(test)]
#[path = "tests/rules/age.rs"]
mod age_tests;

#[cfg(test)]
#[path = "tests/rules/reach.rs"]
mod reach_tests;

#[cfg(test)]
#[path = "tests/rules/count.rs"]
mod count_tests;

#[cfg(test)]
#[path = "tests/rules/thinning.rs"]
mod thinning_tests;
