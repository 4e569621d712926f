//! Stores made of words, for the tests of the rules.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use herma_store::{ObjectId, ProjectId};

use super::bytes::holdings::Shares;
use super::{
    CheckpointFacts, DAY, Limits, Note, Orphans, Plan, Presence, ProjectFacts, StoreFacts, plan,
};
use crate::types::settings::Thinning;

/// Which checkpoint of which project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CheckpointKey {
    pub(super) project: ProjectId,
    pub(super) number: u64,
    pub(super) id: ObjectId,
}

pub(super) const NOW_SECONDS: i64 = 1_794_702_913;
pub(super) const NOW: f64 = NOW_SECONDS as f64;

pub(super) fn days_ago(days: i64) -> i64 {
    NOW_SECONDS - days * 86_400
}

pub(super) fn id(name: &str) -> ProjectId {
    ProjectId::of(Path::new(name))
}

/// Facts, limits, and what every checkpoint holds: pieces with a size, some of them shared.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) facts: StoreFacts,
    pub(super) limits: Limits,
    pub(super) pieces: BTreeMap<CheckpointKey, BTreeMap<u32, u64>>,
    own: u64,
    questions: Cell<usize>,
}

impl Store {
    pub(super) fn new() -> Self {
        let facts = StoreFacts {
            now: NOW,
            last_run: Some(NOW - DAY),
            projects: Vec::new(),
            fixed_bytes: 0,
            object_bytes: 0,
            free_bytes: u64::MAX / 2,
        };
        Self {
            facts,
            limits: Limits::default(),
            pieces: BTreeMap::new(),
            own: 0,
            questions: Cell::new(0),
        }
    }

    fn project(mut self, name: &str, presence: Presence, times: &[i64]) -> Self {
        let checkpoints = (1..).zip(times).map(|(number, time)| CheckpointFacts {
            number,
            place: number as i64,
            id: commit(name, number),
            time: *time,
            pinned: false,
            named: false,
            in_use: false,
            imported: false,
            at_prompt: false,
            readable: true,
        });
        self.facts.projects.push(ProjectFacts {
            missing_since: Some(NOW - 30.0 * super::DAY),
            asked_snapshots: None,
            id: id(name),
            workdir: Some(PathBuf::from(name)),
            presence,
            last_touch: times.last().map(|time| *time as f64),
            checkpoints: checkpoints.collect(),
        });
        self.measured()
    }

    /// A project that is there, with checkpoints at these times, oldest first.
    pub(super) fn live(self, name: &str, times: &[i64]) -> Self {
        self.project(name, Presence::Live, times)
    }

    /// A project that was deleted.
    pub(super) fn gone(self, name: &str, times: &[i64]) -> Self {
        self.project(name, Presence::Gone, times)
    }

    pub(super) fn change(mut self, name: &str, change: impl Fn(&mut ProjectFacts)) -> Self {
        let project = id(name);
        let found = self.facts.projects.iter_mut().find(|p| p.id == project);
        change(found.expect("the test names a project it made"));
        self
    }

    pub(super) fn at(mut self, now: f64) -> Self {
        let keeps_distance = self.facts.last_run == Some(NOW - DAY) && self.facts.now == NOW;
        if keeps_distance && (now - NOW).abs() < 30.0 * DAY {
            self.facts.last_run = Some(now - DAY);
        }
        self.facts.now = now;
        self
    }

    pub(super) fn last_run(mut self, last_run: Option<f64>) -> Self {
        self.facts.last_run = last_run;
        self
    }

    pub(super) fn keep_count(mut self, limit: usize) -> Self {
        self.limits.max_snapshots = Some(limit);
        self
    }

    pub(super) fn keep_days(mut self, days: u32) -> Self {
        self.limits.retention_days = Some(days);
        self
    }

    pub(super) fn thin_out(mut self, whole_days: usize, daily: usize, weekly: usize) -> Self {
        self.limits.thinning = Some(Thinning { whole_days, daily, weekly });
        self
    }

    pub(super) fn orphans(mut self, orphans: Orphans) -> Self {
        self.limits.orphans = orphans;
        self
    }

    pub(super) fn all_orphans(self) -> Self {
        self.orphans(Orphans::All)
    }

    pub(super) fn limit_size(mut self, bytes: u64) -> Self {
        self.limits.max_total_bytes = Some(bytes);
        self
    }

    pub(super) fn floor(mut self, bytes: u64) -> Self {
        self.limits.min_free_bytes = Some(bytes);
        self
    }

    pub(super) fn fixed(mut self, bytes: u64) -> Self {
        self.facts.fixed_bytes = bytes;
        self
    }

    pub(super) fn free_space(mut self, bytes: u64) -> Self {
        self.facts.free_bytes = bytes;
        self
    }

    pub(super) fn objects(mut self, bytes: u64) -> Self {
        self.facts.object_bytes = bytes;
        self
    }

    /// Every checkpoint holds so many bytes that no other holds.
    pub(super) fn own_bytes(mut self, bytes: u64) -> Self {
        self.own = bytes;
        self.measured()
    }

    fn measured(mut self) -> Self {
        self.facts.object_bytes = self.weigh(&self.keys()).into_iter().fold(0, u64::saturating_add);
        self
    }

    /// All checkpoints.
    pub(super) fn keys(&self) -> Vec<CheckpointKey> {
        let of = |project: &ProjectFacts| -> Vec<CheckpointKey> {
            let key = |checkpoint: &CheckpointFacts| CheckpointKey {
                project: project.id.clone(),
                number: checkpoint.number,
                id: checkpoint.id,
            };
            project.checkpoints.iter().map(key).collect()
        };
        self.facts.projects.iter().flat_map(of).collect()
    }

    /// What each adds to those before it.
    pub(super) fn weigh(&self, order: &[CheckpointKey]) -> Vec<u64> {
        let mut seen = BTreeSet::new();
        let added = |key: &CheckpointKey| {
            let pieces = self.pieces.get(key).into_iter().flatten();
            let new = pieces.filter(|(piece, _)| seen.insert(**piece));
            new.map(|(_, bytes)| bytes).sum::<u64>().saturating_add(self.own)
        };
        order.iter().map(added).collect()
    }

    pub(super) fn plan(&self) -> Plan {
        plan(&self.facts, &self.limits, &mut |ids| Ok(self.shares(ids)))
            .expect("these holdings never fail")
    }

    fn shares(&self, ids: &[ObjectId]) -> (Shares, Vec<u32>) {
        self.questions.set(self.questions.get() + 1);
        let (mut shares, mut known) = (Shares::default(), BTreeMap::new());
        let keys = self.keys();
        let mut whole = |id: &ObjectId| {
            let key = keys.iter().find(|key| key.id == *id);
            let pieces = key.and_then(|key| self.pieces.get(key)).into_iter().flatten();
            let parts = pieces
                .map(|(piece, bytes)| *known.entry(*piece).or_insert_with(|| shares.add(*bytes)));
            let parts = parts.collect();
            let whole = shares.add(self.own);
            shares.set_parts(whole, parts);
            whole
        };
        let pieces = ids.iter().map(&mut whole).collect();
        (shares, pieces)
    }

    /// How often holdings were asked for.
    pub(super) fn questions(&self) -> usize {
        self.questions.get()
    }

    /// The numbers of the checkpoints that go; the first of a project is 1.
    pub(super) fn dropped(&self, name: &str) -> Vec<u64> {
        let project = id(name);
        let drops = self.plan().drops.into_iter();
        let drops = drops.filter(|drop| drop.project == project);
        drops.map(|drop| drop.number).collect()
    }

    /// The store after the plan was applied, records were set right, and all was collected.
    pub(super) fn after(&self, plan: &Plan) -> Self {
        let mut store = self.clone();
        for project in &mut store.facts.projects {
            for note in plan.notes.iter().filter(|n| n.project() == Some(&project.id)) {
                match note {
                    Note::FutureTouch { .. } | Note::EarlyTouch { .. } => {
                        project.last_touch = Some(store.facts.now);
                    }
                    _ => {}
                }
            }
            let id = project.id.clone();
            project.checkpoints.retain(|checkpoint| {
                let goes =
                    |drop: &super::Dropped| drop.project == id && drop.number == checkpoint.number;
                !plan.drops.iter().any(goes)
            });
        }
        let gone = |project: &ProjectFacts| plan.forgotten.iter().any(|f| f.id == project.id);
        store.facts.projects.retain(|project| !gone(project));
        let before = store.facts.object_bytes;
        store = store.measured();
        let freed = before.saturating_sub(store.facts.object_bytes);
        store.facts.free_bytes = store.facts.free_bytes.saturating_add(freed);
        store
    }
}

/// An id that differs from project to project and from number to number.
pub(super) fn commit(name: &str, number: u64) -> ObjectId {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&id(name).as_str().as_bytes()[..8]);
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    ObjectId::from_bytes(bytes)
}
