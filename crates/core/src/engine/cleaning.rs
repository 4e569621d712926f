//! Cleaning: what the limits require is dropped, and what nothing needs any more is collected.
//!
//! A plan is made once, from facts; it is a value, which [`Engine::plan_cleaning`] hands out and
//! [`Engine::clean`] carries out, project by project under the project's lock, where everything it rests on is
//! looked at once more. Then the room of what went is freed. Nothing is planned again because of what that wrote.

use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

use super::Engine;
use super::Progress;
use super::Stage;
use super::cleaning_apply::forget_steps;
use super::cleaning_apply::in_words;
use super::cleaning_apply::note_missing;
use super::cleaning_apply::put_right;
use super::cleaning_bytes::is_pressed;
use super::cleaning_bytes::make_room;
use super::cleaning_bytes::plan;
use super::cleaning_bytes::store_bytes;
use super::cleaning_record::CleaningRecord;
use super::cleaning_record::PackFilesFacts;
use super::facts::asked_size;
use super::lost_refs::refuse_lost;
use super::open::OpenStore;
use super::patience::Patient;
use crate::collect;
use crate::collect::CollectOptions;
use crate::collect::CollectStage;
use crate::collect::Collected;
use crate::collect::Thoroughness;
use crate::collect::trash;
use crate::error::Error;
use crate::error::ErrorKind;
use crate::id::ProjectId;
use crate::purge::doomed;
use crate::retention::Dropped;
use crate::retention::Limits;
use crate::retention::Note;
use crate::retention::Over;
use crate::retention::Plan;
use crate::retention::Rule;
use crate::retention::StoreFacts;
use crate::store::layout;
use crate::store::layout::StoreDirs;
use crate::store::locks::Guard;

const DAY: f64 = 86_400.0;

/// A merged pack takes no more than this share of what the store may have.
const PACKS_PER_STORE: u64 = 20;

/// However little the store may have, a merged pack may have so much.
const SMALLEST_PACK: u64 = 256 << 10;

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

/// How hard to try to free room.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    thoroughness: Thoroughness,
    at_once: bool,
    despite_damage: bool,
    litter_at_once: bool,
}

impl Effort {
    const USUAL: Self = Self {
        thoroughness: Thoroughness::Usual,
        at_once: false,
        despite_damage: false,
        litter_at_once: false,
    };

    /// What must not be readable any more goes, and nothing else that takes long.
    pub(super) const fn purging(litter_at_once: bool) -> Self {
        Self {
            thoroughness: Thoroughness::Quick,
            at_once: true,
            litter_at_once,
            ..Self::USUAL
        }
    }

    /// A limit is exceeded: what is damaged must not make the store grow without end.
    const fn urgent(thoroughness: Thoroughness) -> Self {
        Self {
            thoroughness,
            at_once: true,
            despite_damage: true,
            litter_at_once: false,
        }
    }
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
    ) -> Result<(StoreFacts, Plan), Error> {
        let Some(store) = self.open_for_reading()? else {
            return Ok((self.no_facts(), Plan::default()));
        };
        refuse_lost(&store)?;
        self.plan_in(&store, request, progress)
    }

    fn plan_in(
        &self,
        store: &OpenStore,
        request: &CleanRequest,
        progress: &dyn Progress,
    ) -> Result<(StoreFacts, Plan), Error> {
        let mut facts = self.facts(store)?;
        if request.clock_is_right {
            facts.last_run = Some(facts.now);
        }
        let plan = plan(store, &mut facts, &request.limits, progress)?;
        Ok((facts, plan))
    }

    /// Drops what the limits require and frees its room.
    pub fn clean(&self, request: &CleanRequest, progress: &dyn Progress) -> Result<Cleaned, Error> {
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
            let quick = Effort::urgent(Thoroughness::Quick);
            let collected = self.collect_locked(&dirs, quick, progress)?;
            cleaned.note(collected);
        }
        let store = self.open_for_writing()?;
        let (facts, plan) = self.plan_in(&store, request, progress)?;
        self.carry_out(&store, request, &facts, &plan, &mut cleaned)?;
        drop(store);
        self.free_room(
            &dirs,
            request,
            plan.bytes_after.is_some(),
            progress,
            &mut cleaned,
        )?;
        (cleaned.notes, cleaned.over) = (plan.notes, plan.over);
        dirs.restore_reserve()?;
        let limit = request.limits.max_total_bytes.unwrap_or(0);
        self.record_cleaning(&dirs, started.elapsed(), limit, &mut cleaned)?;
        Ok(cleaned)
    }

    /// Takes out of use what nothing needs, and merges packs, without dropping anything. What it takes is deleted by a
    /// collection after the trash's period, or by this one if room is short.
    pub fn collect(
        &self,
        thoroughness: Thoroughness,
        progress: &dyn Progress,
    ) -> Result<Cleaned, Error> {
        self.collect_with(thoroughness, /*empty_trash*/ false, progress)
    }

    /// The same, and the trash is emptied now.
    pub fn collect_and_empty_trash(
        &self,
        thoroughness: Thoroughness,
        progress: &dyn Progress,
    ) -> Result<Cleaned, Error> {
        self.collect_with(thoroughness, /*empty_trash*/ true, progress)
    }

    fn collect_with(
        &self,
        thoroughness: Thoroughness,
        empty_trash: bool,
        progress: &dyn Progress,
    ) -> Result<Cleaned, Error> {
        let mut cleaned = Cleaned::default();
        let Some(dirs) = self.open_for_cleaning()? else {
            return Ok(cleaned);
        };
        let _collector = self.lock_collector(&dirs, true)?;
        self.check_refs()?;
        cleaned.bytes_before = store_bytes(&dirs)?;
        dirs.use_reserve()?;
        let effort = Effort {
            thoroughness,
            at_once: empty_trash || self.is_tight(&dirs, None)?,
            litter_at_once: self.may_finish_purge(&dirs, progress)?,
            ..Effort::USUAL
        };
        let collected = self.collect_locked(&dirs, effort, progress)?;
        cleaned.note(collected);
        dirs.restore_reserve()?;
        cleaned.bytes_after = store_bytes(&dirs)?;
        cleaned.trash_bytes = trash::bytes(&dirs)?;
        Ok(cleaned)
    }

    /// Opens the store for writing if there is one.
    pub(super) fn open_for_cleaning(&self) -> Result<Option<StoreDirs>, Error> {
        if self.open_for_reading()?.is_none() {
            return Ok(None);
        }
        let stamp = super::open::stamp(&self.options.clock.now());
        Ok(Some(layout::create_or_open(&self.base(), &stamp)?))
    }

    pub(super) fn lock_collector(&self, dirs: &StoreDirs, attended: bool) -> Result<Guard, Error> {
        let wait = if attended {
            self.options.settings.lock_wait
        } else {
            // A save that asks whether somebody is at it holds the lock for an instant.
            Duration::from_millis(100)
        };
        Ok(dirs.lock_collect(wait)?)
    }

    /// Has the store so little room left that the trash cannot be kept for a while?
    fn is_tight(&self, dirs: &StoreDirs, limit: Option<u64>) -> Result<bool, Error> {
        let limit = match limit {
            Some(limit) => limit,
            None => self.size_limit_of(dirs)?,
        };
        let bytes = store_bytes(dirs)?;
        Ok(limit > 0 && bytes > limit / 2 || dirs.store().free_bytes()? < bytes)
    }

    /// Does what the plan says.
    fn carry_out(
        &self,
        store: &OpenStore,
        request: &CleanRequest,
        facts: &StoreFacts,
        plan: &Plan,
        cleaned: &mut Cleaned,
    ) -> Result<(), Error> {
        cleaned.scanned = facts.projects.len();
        let checkpoints = facts
            .projects
            .iter()
            .map(|project| project.checkpoints.len());
        cleaned.left = checkpoints.sum::<usize>().saturating_sub(plan.drops.len());
        // ORDER: a record that is wrong is put right before the checkpoint that proves it goes.
        for note in &plan.notes {
            if let Err(e) = put_right(store, note, facts.now) {
                cleaned.errors.push(in_words(&e));
            }
        }
        self.apply(store, plan, request.attended, cleaned);
        let distrusted = |note: &Note| matches!(note, Note::ClockDistrusted(_));
        if !request.attended && !plan.notes.iter().any(distrusted) {
            let left = facts.projects.iter();
            for project in left.filter(|project| !cleaned.forgotten.contains(&project.id)) {
                if let Err(e) = note_missing(store, project, facts.now) {
                    cleaned.errors.push(in_words(&e));
                }
            }
        }
        for project in &facts.projects {
            match forget_steps(store, &project.id, facts.now as i64) {
                // Records take little room: those of a project at work can wait for the next cleaning.
                Err(e) if e.kind() != ErrorKind::Busy => cleaned.errors.push(in_words(&e)),
                _ => {}
            }
        }
        // Nobody but a person can tell whether the history in them is still wanted.
        if request.attended && !plan.notes.iter().any(distrusted) {
            self.sweep_legacy(&request.limits, facts.now, cleaned)?;
        }
        Ok(())
    }

    /// Archives of older repositories go by age, what else was swept into them stays; and so do the repositories
    /// beside the store, or with their projects.
    fn sweep_legacy(&self, limits: &Limits, now: f64, cleaned: &mut Cleaned) -> Result<(), Error> {
        cleaned.scanned += self.pre_v2_projects()?.len();
        for (old, rule) in self.pre_v2_to_go(limits, now)? {
            match self.remove_pre_v2(&old.project) {
                Ok(bytes) => {
                    cleaned.archive_bytes += bytes;
                    cleaned.repositories.push((old.project, rule));
                }
                Err(e) => cleaned.errors.push(in_words(&e)),
            }
        }
        let days = limits.retention_days.unwrap_or(0);
        if days == 0 {
            return Ok(());
        }
        for archive in self.stale_legacy(now - f64::from(days) * DAY)? {
            match self.remove_legacy(&archive.name) {
                Ok(removed) => {
                    cleaned.archives += usize::from(removed.deleted);
                    cleaned.archive_bytes += removed.bytes_freed;
                }
                Err(e) => cleaned.errors.push(in_words(&e)),
            }
        }
        Ok(())
    }

    /// Frees the room of what was dropped. If a byte limit is near, what is dead goes first: that is quick, and
    /// makes room for the rest.
    fn free_room(
        &self,
        dirs: &StoreDirs,
        request: &CleanRequest,
        is_weighed: bool,
        progress: &dyn Progress,
        cleaned: &mut Cleaned,
    ) -> Result<(), Error> {
        if is_weighed {
            let quick = Effort::urgent(Thoroughness::Quick);
            cleaned.note(self.collect_locked(dirs, quick, progress)?);
        }
        let effort = if is_pressed(dirs, &request.limits, store_bytes(dirs)?)? {
            Effort::urgent(Thoroughness::Full)
        } else {
            Effort {
                at_once: is_weighed || self.is_tight(dirs, request.limits.max_total_bytes)?,
                ..Effort::USUAL
            }
        };
        let limit = request.limits.max_total_bytes.unwrap_or(0);
        let patient = Patient::new(progress, dirs, if request.attended { 0 } else { limit })?;
        let collected = match self.collect_locked(dirs, effort, &patient) {
            // Savers do not wait for it, so it makes way for the next round.
            Err(e) if e.kind() == ErrorKind::Cancelled && !progress.is_cancelled() => {
                self.collect_locked(dirs, Effort::urgent(Thoroughness::Quick), progress)?
            }
            collected => collected?,
        };
        cleaned.note(collected);
        Ok(())
    }

    pub(super) fn collect_locked(
        &self,
        dirs: &StoreDirs,
        effort: Effort,
        progress: &dyn Progress,
    ) -> Result<Collected, Error> {
        // ORDER: before anything is taken away that an interrupted purge is about to name.
        self.finish_purges(dirs)?;
        self.check_refs()?;
        let settings = &self.options.settings;
        let mut options = CollectOptions {
            thoroughness: effort.thoroughness,
            at_once: effort.at_once,
            despite_damage: effort.despite_damage,
            litter_at_once: effort.litter_at_once,
            threads: settings.threads,
            ..CollectOptions::default()
        };
        let limit = self.size_limit_of(dirs)?;
        if limit > 0 {
            let share = (limit / PACKS_PER_STORE).max(SMALLEST_PACK);
            options.max_pack = options.max_pack.min(share);
        }
        let report = |stage, done| {
            progress.stage(match stage {
                CollectStage::Marking => Stage::Marking,
                CollectStage::Merging => Stage::Merging,
                CollectStage::Removing => Stage::Removing,
            });
            progress.files(done, None);
            !progress.is_cancelled()
        };
        options.doomed = doomed::read(dirs)?;
        if !options.doomed.is_empty() {
            doomed::forget_indexes(dirs, &options.doomed)?;
        }
        let collected = collect::collect(dirs, &options, &report)?;
        if !options.doomed.is_empty() {
            doomed::write(dirs, &collected.doomed_left)?;
        }
        Ok(collected)
    }

    fn record_cleaning(
        &self,
        dirs: &StoreDirs,
        took: Duration,
        limit: u64,
        cleaned: &mut Cleaned,
    ) -> Result<(), Error> {
        cleaned.bytes_after = store_bytes(dirs)?;
        cleaned.trash_bytes = trash::bytes(dirs)?;
        cleaned.note_size(limit);
        let counted = PackFilesFacts::of(dirs)?.bytes + cleaned.trash_bytes;
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
            asked_size: asked_size(dirs)?,
            packs: cleaned.collected.packs_after,
            dropped: cleaned.dropped.len(),
            freed_bytes: cleaned.bytes_freed(),
            took: took.as_secs_f64(),
            failed: !cleaned.errors.is_empty(),
            problem,
            ..CleaningRecord::default()
        };
        if let Err(e) = record.write(dirs) {
            cleaned.errors.push(in_words(&e));
        }
        Ok(())
    }

    fn no_facts(&self) -> StoreFacts {
        StoreFacts {
            now: self.options.clock.now().as_float(),
            last_run: None,
            projects: Vec::new(),
            fixed_bytes: 0,
            object_bytes: 0,
            free_bytes: u64::MAX,
        }
    }
}

impl Cleaned {
    /// Adds what a later round did.
    pub(super) fn add(&mut self, round: Self) {
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
