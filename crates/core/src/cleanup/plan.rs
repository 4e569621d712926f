//! What a person wants kept, and the plan: exactly what goes, by which rule, and what a person should know about it.
//!
//! While the rules work on it the plan is a `Draft`: every checkpoint with what was decided about it so far.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use herma_store::{ObjectId, ProjectId};

use super::bytes::holdings::Shares;
use super::clock::{AHEAD, Trust, trust};
use super::facts::{CheckpointFacts, ProjectFacts, StoreFacts};
use super::notes::{Note, Over, Protection};
use super::{bytes, rules};
use crate::error::Result;
use crate::types::settings::{Keeping, Thinning};

/// The limits a store is kept within. `None` and zero both turn a limit off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Checkpoints per project (`max_snapshots`). A project for which more was asked keeps more. If nobody set it, what
    /// was asked for a project applies to it alone.
    pub max_snapshots: Option<usize>,
    /// The one project whose checkpoints are counted, by that number and no other; `None` is all of them.
    pub project: Option<ProjectId>,
    /// Days after which a project that was not saved loses its older checkpoints (`retention_days`).
    pub retention_days: Option<u32>,
    /// How densely projects in use are kept.
    pub thinning: Option<Thinning>,
    /// Bytes of the whole store (`max_total_size_mb`).
    pub max_total_bytes: Option<u64>,
    /// Bytes that stay free on the store's disk (`min_free_disk_mb`).
    pub min_free_bytes: Option<u64>,
    /// What happens to projects that were deleted.
    pub orphans: Orphans,
}

impl Limits {
    /// What the settings say, but for projects that were deleted.
    pub fn of(keeping: &Keeping, max_total_bytes: Option<u64>) -> Self {
        Self {
            max_snapshots: keeping.max_snapshots,
            project: None,
            retention_days: Some(keeping.retention_days),
            thinning: keeping.thinning(),
            max_total_bytes,
            min_free_bytes: Some(keeping.min_free_disk),
            orphans: Orphans::Keep,
        }
    }

    /// How many checkpoints this project may have; 0 is no limit.
    pub fn snapshots_of(&self, project: &ProjectId, asked: Option<usize>) -> usize {
        match (&self.project, self.max_snapshots, asked) {
            (Some(only), ..) if only != project => 0,
            (Some(_), most, _) | (None, most, None) => most.unwrap_or(0),
            (None, None, Some(asked)) => asked,
            (None, Some(most), Some(asked)) => larger(most, asked),
        }
    }
}

/// The larger of two limits, of which 0 is none.
pub(crate) fn larger<N: Ord + Default>(a: N, b: N) -> N {
    let none = N::default();
    if a == none || b == none {
        return none;
    }
    a.max(b)
}

/// What happens to the checkpoints of projects that were deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Orphans {
    /// They are treated like any other project's: the newest stays under every rule.
    #[default]
    Keep,
    /// They go if the project is one of these: what was shown to a person, who confirmed it.
    These(BTreeSet<ProjectId>),
    /// They go.
    All,
    /// They go if the project was not saved for so many days; for cleaning that nobody watches.
    Untouched {
        /// The days.
        days: u32,
    },
}

/// What a cleaning will do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The checkpoints that go, by project and then oldest first.
    pub drops: Vec<Dropped>,
    /// Projects left without a checkpoint: their refs, records and own state go too.
    pub forgotten: Vec<ForgottenProject>,
    /// What a person should know, by project.
    pub notes: Vec<Note>,
    /// A byte limit that cannot be reached because what is left must stay.
    pub over: Option<Over>,
    /// The size of the store when this is applied and collected; known if a byte limit was exceeded.
    pub bytes_after: Option<u64>,
}

/// A checkpoint that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Whose it is.
    pub project: ProjectId,
    /// Its place in the project's order.
    pub number: u64,
    /// Its commit.
    pub id: ObjectId,
    /// The rule that drops it.
    pub rule: Rule,
}

/// A project of which nothing is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenProject {
    /// The project.
    pub id: ProjectId,
    /// Where it was.
    pub workdir: Option<PathBuf>,
    /// The rule that took its newest checkpoint, or the empty project itself.
    pub rule: Rule,
}

/// Why a checkpoint goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Its project was deleted.
    Orphan,
    /// Its project was not used for longer than `retention_days`.
    Stale,
    /// It is from days and weeks long past, of which one each stays.
    Thinned,
    /// Its project has more than `max_snapshots`.
    Count,
    /// The store is larger than `max_total_size_mb`.
    TotalSize,
    /// Less than `min_free_disk_mb` are free.
    FreeDisk,
}

impl Rule {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Orphan => "orphan",
            Self::Stale => "stale",
            Self::Thinned => "thinned",
            Self::Count => "count",
            Self::TotalSize => "total-size",
            Self::FreeDisk => "free-disk",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orphan => "the project was deleted",
            Self::Stale => "the project was not saved for longer than `retention_days`",
            Self::Thinned => "the older history is thinned out",
            Self::Count => "the project has more than `max_snapshots`",
            Self::TotalSize => "the store is larger than `max_total_size_mb`",
            Self::FreeDisk => "the disk has less room than `min_free_disk_mb`",
        })
    }
}

/// Says what checkpoints hold, and for each of them the piece that is the whole of it. It costs a walk over objects,
/// so it is asked at most once, and only when a byte limit is exceeded.
pub(crate) type Holdings<'h> = &'h mut dyn FnMut(&[ObjectId]) -> Result<(Shares, Vec<u32>)>;

/// Decides what stays within the limits. Asks `holdings` at most once.
pub fn plan(facts: &StoreFacts, limits: &Limits, holdings: Holdings<'_>) -> Result<Plan> {
    let mut draft = Draft::new(facts);
    if !draft.clock.is_trusted() {
        draft.notes.push(Note::ClockDistrusted(draft.clock));
    }
    rules::note_wrong_dates(&mut draft);
    rules::give_up_deleted(&mut draft, limits);
    // Only a deleted project that is given up loses its newest checkpoint.
    rules::keep_newest(&mut draft);
    rules::give_up_unused(&mut draft, limits.retention_days);
    rules::thin_out(&mut draft, limits.thinning);
    rules::keep_count(&mut draft, limits);
    let (bytes_after, over) = bytes::apply(&mut draft, facts, limits, holdings)?;
    let mut notes = draft.notes;
    notes.sort_by(|a, b| a.project().cmp(&b.project()));
    Ok(Plan {
        drops: draft.projects.iter().flat_map(drops).collect(),
        forgotten: draft.projects.iter().filter_map(forgotten).collect(),
        notes,
        over,
        bytes_after,
    })
}

fn drops<'a>(project: &'a ProjectDraft<'_>) -> impl Iterator<Item = Dropped> + 'a {
    project.checkpoints.iter().filter_map(|checkpoint| {
        Some(Dropped {
            project: project.facts.id.clone(),
            number: checkpoint.facts.number,
            id: checkpoint.facts.id,
            rule: checkpoint.dropped?,
        })
    })
}

/// A project that never had a checkpoint is forgotten only if a rule gave it up: it may be about to
/// get its first one.
fn forgotten(project: &ProjectDraft<'_>) -> Option<ForgottenProject> {
    if project.staying() > 0 {
        return None;
    }
    let newest = project.checkpoints.last().and_then(|newest| newest.dropped);
    Some(ForgottenProject {
        id: project.facts.id.clone(),
        workdir: project.facts.workdir.clone(),
        rule: newest.or(project.given_up)?,
    })
}

/// All projects, sorted by id: a plan does not depend on the order in which facts were gathered.
pub(super) struct Draft<'a> {
    pub(super) now: f64,
    pub(super) clock: Trust,
    pub(super) projects: Vec<ProjectDraft<'a>>,
    pub(super) notes: Vec<Note>,
}

/// One project.
pub(super) struct ProjectDraft<'a> {
    pub(super) facts: &'a ProjectFacts,
    /// Oldest first.
    pub(super) checkpoints: Vec<CheckpointDraft<'a>>,
    /// The rule that gave up the whole project, which may have had no checkpoint at all.
    pub(super) given_up: Option<Rule>,
}

/// One checkpoint.
pub(super) struct CheckpointDraft<'a> {
    pub(super) facts: &'a CheckpointFacts,
    /// When it was taken, corrected: no later than any newer one of its project, and not after now.
    pub(super) time: f64,
    pub(super) protection: Option<Protection>,
    pub(super) dropped: Option<Rule>,
}

impl CheckpointDraft<'_> {
    /// Is it still up to the limits whether this one stays?
    pub(super) fn is_free(&self) -> bool {
        self.protection.is_none() && self.dropped.is_none()
    }

    pub(super) fn stays(&self) -> bool {
        self.dropped.is_none()
    }
}

/// What is known about the last time a project was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LastUse {
    /// Then; not in the future.
    At(f64),
    /// Then or later: the clock was behind when it was last saved, so nobody knows when that was.
    Later(f64),
    /// Its record is wrong: the checkpoints show no such time.
    FutureTouch,
    /// Its newest checkpoint is dated in the future.
    FutureCheckpoint,
    /// Nobody knows.
    Unknown,
}

impl LastUse {
    /// Was it certainly last used before `moment`?
    pub(super) fn is_before(self, moment: f64) -> bool {
        matches!(self, Self::At(time) if time < moment)
    }
}

impl<'a> Draft<'a> {
    /// Nothing decided yet.
    pub(super) fn new(facts: &'a StoreFacts) -> Self {
        let mut projects: Vec<_> =
            facts.projects.iter().map(|project| ProjectDraft::new(project, facts.now)).collect();
        projects.sort_by(|a, b| a.facts.id.cmp(&b.facts.id));
        let newest = projects.iter().filter_map(ProjectDraft::newest_record);
        let newest = newest.reduce(f64::max);
        Self {
            now: facts.now,
            clock: trust(facts.now, facts.last_run, newest),
            projects,
            notes: Vec::new(),
        }
    }
}

impl<'a> ProjectDraft<'a> {
    fn new(facts: &'a ProjectFacts, now: f64) -> Self {
        let mut checkpoints: Vec<_> = facts
            .checkpoints
            .iter()
            .map(|checkpoint| CheckpointDraft {
                facts: checkpoint,
                time: checkpoint.time as f64,
                protection: checkpoint.protection(),
                dropped: None,
            })
            .collect();
        checkpoints.sort_by_key(|checkpoint| (checkpoint.facts.place, checkpoint.facts.id));
        let mut latest = now;
        for checkpoint in checkpoints.iter_mut().rev() {
            checkpoint.time = checkpoint.time.min(latest);
            latest = checkpoint.time;
        }
        Self { facts, checkpoints, given_up: None }
    }

    /// The latest time that anything of this project shows.
    fn newest_record(&self) -> Option<f64> {
        let newest = self.checkpoints.last().map(|last| last.facts.time as f64);
        [self.recorded_touch(), newest].into_iter().flatten().reduce(f64::max)
    }

    /// Hermes writes zero for "never".
    fn recorded_touch(&self) -> Option<f64> {
        self.facts.last_touch.filter(|touch| touch.is_finite() && *touch > 0.0)
    }

    /// When the project was last used, as far as its record and its checkpoints agree.
    pub(super) fn last_use(&self, now: f64) -> LastUse {
        let newest = self.checkpoints.last().map(|last| last.facts.time as f64);
        let newest_is_ahead = newest.is_some_and(|time| time > now + AHEAD);
        match self.recorded_touch().or(newest) {
            None => LastUse::Unknown,
            Some(touch) if touch > now + AHEAD && newest_is_ahead => LastUse::FutureCheckpoint,
            Some(touch) if touch > now + AHEAD => LastUse::FutureTouch,
            Some(touch) => match self.contradiction(now) {
                Some(later) if later > touch => LastUse::Later(later),
                // A record that is older than a checkpoint is a wrong record.
                _ => LastUse::At(newest.map_or(touch, |newest| newest.min(now).max(touch))),
            },
        }
    }

    /// If an older checkpoint has a clearly later time than the newest, the clock was set back when the
    /// newest was taken and the record written, and both are too early. It was used then, or later.
    fn contradiction(&self, now: f64) -> Option<f64> {
        let times = self.checkpoints.iter().map(|c| c.facts.time as f64);
        let latest = times.filter(|time| *time <= now + AHEAD).reduce(f64::max);
        let newest = self.checkpoints.last()?.facts.time as f64;
        latest.filter(|latest| *latest > newest + AHEAD)
    }

    /// Gives up everything that is not protected.
    pub(super) fn give_up(&mut self, rule: Rule) {
        self.given_up = Some(rule);
        for checkpoint in &mut self.checkpoints {
            if checkpoint.is_free() {
                checkpoint.dropped = Some(rule);
            }
        }
    }

    /// How many checkpoints stay.
    pub(super) fn staying(&self) -> usize {
        self.checkpoints.iter().filter(|c| c.stays()).count()
    }
}

#[cfg(test)]
#[path = "tests/plan/limits.rs"]
mod limits_tests;

#[cfg(test)]
#[path = "tests/plan/plan.rs"]
mod plan_tests;
