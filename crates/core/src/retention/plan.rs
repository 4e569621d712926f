//! The plan: exactly what goes, by which rule, and what a person should know about it.

use std::fmt;
use std::path::PathBuf;

use super::age;
use super::bytes;
use super::count;
use super::draft::Draft;
use super::draft::ProjectDraft;
use super::facts::Holdings;
use super::facts::StoreFacts;
use super::limits::Limits;
use super::notes::Note;
use super::notes::Over;
use super::orphans;
use super::protect;
use crate::error::Error;
use crate::id::ObjectId;
use crate::id::ProjectId;

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

/// Decides what stays within the limits. Asks `holdings` at most once.
pub fn plan(
    facts: &StoreFacts,
    limits: &Limits,
    holdings: &mut dyn Holdings,
) -> Result<Plan, Error> {
    let mut draft = Draft::new(facts);
    if !draft.clock.is_trusted() {
        draft.notes.push(Note::ClockDistrusted(draft.clock));
    }
    protect::keep_marked(&mut draft);
    age::note_wrong_dates(&mut draft);
    orphans::apply(&mut draft, limits);
    // Only a deleted project that is given up loses its newest checkpoint.
    protect::keep_newest(&mut draft);
    age::apply(&mut draft, limits.retention_days);
    count::apply(&mut draft, limits);
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
mod tests {
    use super::super::testing::Store;
    use super::super::testing::days_ago;
    use super::*;

    #[test]
    fn without_limits_nothing_goes() {
        let store = Store::new()
            .live("a", &[900, 800, 700].map(days_ago))
            .gone("b", &[900, 800].map(days_ago));
        assert_eq!(store.plan(), Plan::default());
    }

    #[test]
    fn an_empty_store_has_an_empty_plan() {
        let store = Store::new().keep_days(7).keep_count(1).limit_size(1);
        assert_eq!(store.all_orphans().objects(10).plan().drops, []);
    }

    #[test]
    fn every_rule_says_why() {
        let rules = [
            Rule::Orphan,
            Rule::Stale,
            Rule::Count,
            Rule::TotalSize,
            Rule::FreeDisk,
        ];
        for rule in rules {
            let said = rule.to_string();
            assert!(said.starts_with("the ") && !said.ends_with('.'), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_weighed_is_an_error_and_no_plan() {
        struct Broken;
        impl Holdings for Broken {
            fn shares(
                &mut self,
                _: &[super::super::CheckpointKey],
            ) -> Result<(super::super::Shares, Vec<u32>), Error> {
                Err(Error::NothingToUndo)
            }
        }
        let store = Store::new().live("a", &[2, 1].map(days_ago));
        let store = store.limit_size(1).objects(10);
        assert!(plan(&store.facts, &store.limits, &mut Broken).is_err());
    }
}
