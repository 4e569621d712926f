//! Cleaning: what stays within the limits is decided, then done. Facts → plan → execute.
//!
//! [`Engine::clean`] reads top-down: [`StoreFacts`] say what the store holds, [`Limits`] what the person wants, and
//! [`plan`](plan()) turns both into a [`Plan`]. That is a value, which [`Engine::plan_cleaning`] hands out to be shown
//! and confirmed. `execute` carries it out, project by project under the project's lock, where everything it rests
//! on is looked at once more. Then `room` frees the room of what went. Nothing is planned again because of what that
//! wrote. Nothing goes at all while refs are lost (`repair::lost_refs`).
//!
//! * deciding: `facts`, `presence` (was a project deleted?), `clock` (can it be believed?), `rules`, `bytes`
//!   with `bytes/holdings` (what is free when one goes), `plan`, `notes` (what a person should know)
//! * doing: `execute`, `room`, `clear` (everything goes), `doomed` (what a purge took out and nobody may read any more)
//! * `due`: when it is time, without anybody asking
//!
//! A rule drops only what its limit demands. Order comes from numbers; times are used for age, for thinning
//! and to weigh projects against each other, and only while `clock` finds the clock plausible. A clock that jumped
//! costs one cycle of cleaning, never a checkpoint.

pub(crate) mod bytes;
pub(crate) mod clear;
pub(crate) mod clock;
pub(crate) mod doomed;
pub(crate) mod due;
pub(crate) mod execute;
pub(crate) mod facts;
pub(crate) mod notes;
pub(crate) mod plan;
pub(crate) mod presence;
pub(crate) mod room;
mod rules;

pub use clock::Trust;

#[cfg(test)]
#[path = "tests/clock/jumps.rs"]
mod clock_jumps;
#[cfg(test)]
#[path = "tests/properties.rs"]
mod properties;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::holdings::Lengths;
pub use clear::{CheckpointCounts, Cleared};
pub use due::CleaningRecord;
use execute::{forget_steps, in_words, note_missing, put_right};
pub use facts::{CheckpointFacts, ProjectFacts, StoreFacts};
use herma_store::ProjectId;
use herma_store::gc::{Collected, Thoroughness, trash};
use herma_store::layout::StoreDirs;
pub use notes::{Held, Note, Over, Protection};
pub use plan::{Dropped, ForgottenProject, Limits, Orphans, Plan, Rule, plan};
pub use presence::{Doubt, Presence};
use room::{PackFiles, is_pressed, make_room, store_bytes, urgent};

use crate::engine::open::OpenStore;
use crate::engine::{Engine, Progress, Stage};
use crate::error::{ErrorKind, Result};
use crate::repair::lost_refs::refuse_lost;
pub use crate::types::asked::Due;

/// Seconds in an hour.
const HOUR: f64 = 3600.0;
/// Seconds in a day.
const DAY: f64 = 24.0 * HOUR;

/// What a cleaning is asked to do.
#[derive(Clone, Debug)]
pub struct CleanRequest {
    /// What may stay.
    pub limits: Limits,
    /// Is somebody waiting for it? Then it waits for others.
    pub attended: bool,
    /// Did somebody confirm that the clock is right, although it looks as if it had jumped?
    pub clock_is_right: bool,
}

/// What a cleaning did.
#[derive(Clone, Debug, Default)]
pub struct Cleaned {
    /// How many projects were looked at.
    pub scanned: usize,
    /// The checkpoints that were dropped.
    pub dropped: Vec<Dropped>,
    /// Projects of which nothing is left.
    pub forgotten: Vec<ProjectId>,
    /// How many archives of older repositories were removed.
    pub archives: usize,
    /// The older repositories beside the store that were removed, and by which rule.
    pub repositories: Vec<(ProjectId, Rule)>,
    /// The bytes of both.
    pub archive_bytes: u64,
    /// Things worth telling.
    pub notes: Vec<Note>,
    /// A limit that could not be reached.
    pub over: Option<Over>,
    /// What could not be done, in words; the rest was.
    pub errors: Vec<String>,
    /// Bytes of the store before.
    pub bytes_before: u64,
    /// Bytes of the store after.
    pub bytes_after: u64,
    /// How many of these are in the trash, and free when it is emptied.
    pub trash_bytes: u64,
    /// What collection did.
    pub collected: Collected,
    /// How many checkpoints the plan left.
    pub left: usize,
}

impl Cleaned {
    /// How many projects lost checkpoints to this rule, those in older repositories counted by themselves.
    pub fn projects_by(&self, rule: Rule) -> usize {
        let of_rule = self.dropped.iter().filter(|dropped| dropped.rule == rule);
        let projects: BTreeSet<_> = of_rule.map(|dropped| &dropped.project).collect();
        let older = self.repositories.iter();
        projects.len() + older.filter(|(_, by)| *by == rule).count()
    }

    /// How many bytes are free now that were not.
    pub fn bytes_freed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after) + self.archive_bytes
    }
}

impl Engine {
    /// What a cleaning drops. Nothing is changed.
    pub fn plan_cleaning(
        &self,
        request: &CleanRequest,
        progress: &dyn Progress,
    ) -> Result<(StoreFacts, Plan)> {
        let Some(store) = self.open_for_reading()? else {
            let facts = StoreFacts {
                now: self.options.clock.now().as_float(),
                free_bytes: u64::MAX,
                ..StoreFacts::default()
            };
            return Ok((facts, Plan::default()));
        };
        refuse_lost(&store)?;
        self.plan_in(&store, request, progress)
    }

    /// The plan, with what checkpoints hold if a byte limit is near: that takes a walk over all objects.
    fn plan_in(
        &self,
        store: &OpenStore,
        request: &CleanRequest,
        progress: &dyn Progress,
    ) -> Result<(StoreFacts, Plan)> {
        let (OpenStore { dirs, objects, .. }, limits) = (store, &request.limits);
        let mut facts = self.facts(store)?;
        if request.clock_is_right {
            facts.last_run = Some(facts.now);
        }
        let bytes = store_bytes(dirs)?;
        // What is in the trash is as good as free.
        facts.object_bytes = trash::bytes(dirs)?;
        let plan = if is_pressed(dirs, limits, bytes)? {
            let lengths = Lengths::read(dirs, objects)?;
            facts.object_bytes += lengths.total;
            facts.fixed_bytes = bytes.saturating_sub(facts.object_bytes);
            progress.stage(Stage::Marking);
            let go_on = |done| progress.goes_on(done);
            plan(&facts, limits, &mut |ids| lengths.shares(objects, ids, &go_on))?
        } else {
            facts.fixed_bytes = bytes.saturating_sub(facts.object_bytes);
            let limits = Limits { max_total_bytes: None, min_free_bytes: None, ..limits.clone() };
            plan(&facts, &limits, &mut |_| Ok(Default::default()))?
        };
        Ok((facts, plan))
    }

    /// Drops what the limits require and frees its room.
    pub fn clean(&self, request: &CleanRequest, progress: &dyn Progress) -> Result<Cleaned> {
        let mut cleaned = Cleaned::default();
        let Some(dirs) = self.open_for_cleaning()? else {
            if request.attended {
                let now = self.options.clock.now().as_float();
                self.sweep_legacy(&request.limits, now, &mut cleaned)?;
            }
            return Ok(cleaned);
        };
        let _collector = self.lock_collector(&dirs, request.attended)?;
        // ORDER: before the first thing goes.
        self.check_refs()?;
        let started = Instant::now();
        cleaned.bytes_before = store_bytes(&dirs)?;
        if dirs.use_reserve()? {
            // On a full disk, what can be deleted goes before anything is written.
            make_room(&dirs)?;
            let quick = urgent(Thoroughness::Quick);
            let collected = self.collect_locked(&dirs, quick, progress)?;
            cleaned.note(collected);
        }
        let store = self.open_for_writing()?;
        let (facts, plan) = self.plan_in(&store, request, progress)?;
        self.carry_out(&store, request, &facts, &plan, &mut cleaned)?;
        drop(store);
        self.free_room(&dirs, request, plan.bytes_after.is_some(), progress, &mut cleaned)?;
        (cleaned.notes, cleaned.over) = (plan.notes, plan.over);
        dirs.restore_reserve()?;
        let limit = request.limits.max_total_bytes.unwrap_or(0);
        self.record_cleaning(&dirs, started.elapsed(), limit, &mut cleaned)?;
        Ok(cleaned)
    }

    /// Does what the plan says.
    fn carry_out(
        &self,
        store: &OpenStore,
        request: &CleanRequest,
        facts: &StoreFacts,
        plan: &Plan,
        cleaned: &mut Cleaned,
    ) -> Result<()> {
        cleaned.scanned = facts.projects.len();
        let checkpoints = facts.projects.iter().map(|p| p.checkpoints.len());
        cleaned.left = checkpoints.sum::<usize>().saturating_sub(plan.drops.len());
        // ORDER: a record that is wrong is put right before the checkpoint that proves it goes.
        for note in &plan.notes {
            cleaned.attempt(put_right(store, note, facts.now));
        }
        self.apply(store, plan, request.attended, cleaned);
        let is_doubt = |note: &Note| matches!(note, Note::ClockDistrusted(_));
        let clock_is_trusted = !plan.notes.iter().any(is_doubt);
        if !request.attended && clock_is_trusted {
            for project in &facts.projects {
                if !cleaned.forgotten.contains(&project.id) {
                    cleaned.attempt(note_missing(store, project, facts.now));
                }
            }
        }
        for project in &facts.projects {
            let forgotten = forget_steps(store, &project.id, facts.now as i64);
            // Records take little room: those of a project at work can wait for the next cleaning.
            if !matches!(&forgotten, Err(e) if e.kind() == ErrorKind::Busy) {
                cleaned.attempt(forgotten);
            }
        }
        // Nobody but a person can tell whether the history in them is still wanted.
        if request.attended && clock_is_trusted {
            self.sweep_legacy(&request.limits, facts.now, cleaned)?;
        }
        Ok(())
    }

    /// Archives of older repositories go by age, what else was swept into them stays; and so do the repositories
    /// beside the store, or with their projects.
    fn sweep_legacy(&self, limits: &Limits, now: f64, cleaned: &mut Cleaned) -> Result<()> {
        cleaned.scanned += self.pre_v2_projects()?.len();
        for (old, rule) in self.pre_v2_to_go(limits, now)? {
            if let Some(bytes) = cleaned.attempt(self.remove_pre_v2(&old.project)) {
                cleaned.archive_bytes += bytes;
                cleaned.repositories.push((old.project, rule));
            }
        }
        let days = limits.retention_days.unwrap_or(0);
        if days == 0 {
            return Ok(());
        }
        for archive in self.stale_legacy(now - f64::from(days) * DAY)? {
            if let Some(removed) = cleaned.attempt(self.remove_legacy(&archive.name)) {
                cleaned.archives += usize::from(removed.deleted);
                cleaned.archive_bytes += removed.bytes_freed;
            }
        }
        Ok(())
    }

    fn record_cleaning(
        &self,
        dirs: &StoreDirs,
        took: Duration,
        limit: u64,
        cleaned: &mut Cleaned,
    ) -> Result<()> {
        cleaned.bytes_after = store_bytes(dirs)?;
        cleaned.trash_bytes = trash::bytes(dirs)?;
        cleaned.note_size(limit);
        let counted = PackFiles::of(dirs)?.bytes + cleaned.trash_bytes;
        let problem = cleaned.errors.first().cloned().or_else(|| {
            let first = cleaned.collected.damaged.first()?;
            Some(format!(
                "objects that {first} needs cannot be read; packs that hold what is damaged stay as they are"
            ))
        });
        let record = CleaningRecord {
            at: self.options.clock.now().as_float(),
            store_bytes: cleaned.bytes_after,
            fixed_bytes: cleaned.bytes_after.saturating_sub(counted),
            asked_size: facts::asked_size(dirs)?,
            packs: cleaned.collected.packs_after,
            dropped: cleaned.dropped.len(),
            freed_bytes: cleaned.bytes_freed(),
            took: took.as_secs_f64(),
            failed: !cleaned.errors.is_empty(),
            problem,
            ..CleaningRecord::default()
        };
        cleaned.attempt(record.write(dirs));
        Ok(())
    }
}

impl Cleaned {
    /// What came of something that need not stop the rest; a failure is noted.
    fn attempt<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|e| self.errors.push(in_words(&e))).ok()
    }

    /// Adds what a later round did.
    pub(crate) fn add(&mut self, round: Self) {
        self.scanned = round.scanned;
        self.dropped.extend(round.dropped);
        self.forgotten.extend(round.forgotten);
        self.notes = round.notes;
        self.over = round.over;
        self.left = round.left;
        self.errors.extend(round.errors);
        self.bytes_after = round.bytes_after;
        self.trash_bytes = round.trash_bytes;
        self.note(round.collected);
    }

    /// A store that is larger than it may be, although the plan had it otherwise, is not called clean.
    fn note_size(&mut self, limit: u64) {
        if limit > 0 && self.bytes_after > limit && self.over.is_none() {
            self.over = Some(Over {
                limit: Rule::TotalSize,
                bytes: self.bytes_after - limit,
                could_free: 0,
                held: Vec::new(),
            });
        }
    }

    /// Adds what a collection did.
    fn note(&mut self, collected: Collected) {
        let before = std::mem::take(&mut self.collected);
        self.collected = Collected {
            packs_before: before.packs_before.max(collected.packs_before),
            merged: before.merged + collected.merged,
            trashed_bytes: before.trashed_bytes + collected.trashed_bytes,
            freed_bytes: before.freed_bytes + collected.freed_bytes,
            brought_back: before.brought_back + collected.brought_back,
            ..collected
        };
    }
}
