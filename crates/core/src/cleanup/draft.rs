//! The plan while the rules work on it: every checkpoint with what was decided about it so far.

use super::clock::AHEAD;
use super::clock::Trust;
use super::clock::trust;
use super::facts::CheckpointFacts;
use super::facts::ProjectFacts;
use super::facts::StoreFacts;
use super::notes::Note;
use super::notes::Protection;
use super::plan::Rule;

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
        let mut projects: Vec<_> = facts
            .projects
            .iter()
            .map(|project| ProjectDraft::new(project, facts.now))
            .collect();
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
                protection: None,
                dropped: None,
            })
            .collect();
        checkpoints.sort_by_key(|checkpoint| (checkpoint.facts.sequence, checkpoint.facts.id));
        let mut latest = now;
        for checkpoint in checkpoints.iter_mut().rev() {
            checkpoint.time = checkpoint.time.min(latest);
            latest = checkpoint.time;
        }
        Self {
            facts,
            checkpoints,
            given_up: None,
        }
    }

    /// The latest time that anything of this project shows.
    fn newest_record(&self) -> Option<f64> {
        let newest = self.checkpoints.last().map(|last| last.facts.time as f64);
        [self.recorded_touch(), newest]
            .into_iter()
            .flatten()
            .reduce(f64::max)
    }

    /// Hermes writes zero for "never".
    fn recorded_touch(&self) -> Option<f64> {
        self.facts
            .last_touch
            .filter(|touch| touch.is_finite() && *touch > 0.0)
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
