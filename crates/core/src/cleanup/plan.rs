//! What a person wants kept, and the plan: exactly what goes, by which rule, and what a person should know about it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use herma_store::ObjectId;
use herma_store::ProjectId;

use super::bytes;
use super::draft::Draft;
use super::draft::ProjectDraft;
use super::facts::StoreFacts;
use super::holdings::Shares;
use super::notes::Note;
use super::notes::Over;
use super::rules;
use crate::error::Error;

/// The limits a store is kept within. `None` and zero both turn a limit off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Checkpoints per project (`max_snapshots`). A project for which more was asked keeps more.
    pub max_snapshots: Option<usize>,
    /// Did nobody set that number? Then what was asked for a project applies to it, even if it is less.
    pub is_usual: bool,
    /// The one project whose checkpoints are counted, by that number and no other; `None` is all of them.
    pub project: Option<ProjectId>,
    /// Days after which a project that was not saved loses its older checkpoints (`retention_days`).
    pub retention_days: Option<u32>,
    /// Bytes of the whole store (`max_total_size_mb`).
    pub max_total_bytes: Option<u64>,
    /// Bytes that stay free on the store's disk (`min_free_disk_mb`).
    pub min_free_bytes: Option<u64>,
    /// What happens to projects that were deleted.
    pub orphans: Orphans,
}

impl Limits {
    /// How many checkpoints this project may have; 0 is no limit.
    pub fn snapshots_of(&self, project: &ProjectId, asked: Option<usize>) -> usize {
        let Some(most) = self.max_snapshots else {
            return 0;
        };
        match (&self.project, asked) {
            (Some(only), _) if only != project => 0,
            (Some(_), _) | (None, None) => most,
            (None, Some(asked)) if self.is_usual => asked,
            (None, Some(asked)) => larger(most, asked),
        }
    }
}

/// The larger of two limits, of which 0 is none.
pub fn larger<N: Ord + Default>(a: N, b: N) -> N {
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
    pub sequence: u64,
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
    /// Its project has more than `max_snapshots`.
    Count,
    /// The store is larger than `max_total_size_mb`.
    TotalSize,
    /// Less than `min_free_disk_mb` are free.
    FreeDisk,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orphan => "the project was deleted",
            Self::Stale => "the project was not used for a long time",
            Self::Count => "the project has too many checkpoints",
            Self::TotalSize => "the store is over its size limit",
            Self::FreeDisk => "the disk is nearly full",
        })
    }
}

/// Says what checkpoints hold, and for each of them the piece that is the whole of it. It costs a walk over objects,
/// so it is asked at most once, and only when a byte limit is exceeded.
pub type Holdings<'h> = &'h mut dyn FnMut(&[ObjectId]) -> Result<(Shares, Vec<u32>), Error>;

/// Decides what stays within the limits. Asks `holdings` at most once.
pub fn plan(facts: &StoreFacts, limits: &Limits, holdings: Holdings<'_>) -> Result<Plan, Error> {
    let mut draft = Draft::new(facts);
    if !draft.clock.is_trusted() {
        draft.notes.push(Note::ClockDistrusted(draft.clock));
    }
    rules::keep_marked(&mut draft);
    rules::note_wrong_dates(&mut draft);
    rules::give_up_deleted(&mut draft, limits);
    // Only a deleted project that is given up loses its newest checkpoint.
    rules::keep_newest(&mut draft);
    rules::give_up_unused(&mut draft, limits.retention_days);
    rules::keep_count(&mut draft, limits);
    let outcome = bytes::apply(&mut draft, facts, limits, holdings)?;
    let mut notes = draft.notes;
    notes.sort_by(|a, b| a.project().cmp(&b.project()));
    Ok(Plan {
        drops: draft.projects.iter().flat_map(drops).collect(),
        forgotten: draft.projects.iter().filter_map(forgotten).collect(),
        notes,
        over: outcome.over,
        bytes_after: outcome.bytes_after,
    })
}

fn drops<'a>(project: &'a ProjectDraft<'_>) -> impl Iterator<Item = Dropped> + 'a {
    project.checkpoints.iter().filter_map(|checkpoint| {
        Some(Dropped {
            project: project.facts.id.clone(),
            sequence: checkpoint.facts.sequence,
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

#[cfg(test)]
#[path = "tests/limits.rs"]
mod limits_tests;

#[cfg(test)]
#[path = "tests/plan.rs"]
mod plan_tests;
