//! What `herma checkpoints prune` did, or would do, in Hermes's lines and in JSON.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use herma_core::cleanup::{Cleaned, Dropped, Rule};
use herma_core::types::settings::Keeping;
use herma_core::{Error, LegacyArchive, RemovedLegacy};
use herma_store::path::escape;
use serde::Serialize;

use super::limits::LimitsJson;
use super::name;
use super::preview::Preview;
use crate::command_env::{CommandEnv, Outcome};
use crate::command_error::CommandError;
use crate::render::json::PathJson;
use crate::render::listing::counted;
use crate::terminal::units::size;

/// What was done, or would be.
#[derive(Serialize)]
pub(super) struct PruneReport {
    schema: &'static str,
    dry_run: bool,
    limits: LimitsJson,
    scanned: usize,
    deleted_orphan: usize,
    deleted_stale: usize,
    errors: usize,
    problems: Vec<String>,
    bytes_freed: u64,
    trash_bytes: u64,
    store_bytes_before: u64,
    store_bytes_after: Option<u64>,
    dropped: Vec<DroppedJson>,
    forgotten: Vec<String>,
    /// Were deleted projects kept because nobody could be asked?
    pub(super) orphans_kept: bool,
    clock_distrusted: bool,
    legacy_archives: Vec<ArchiveJson>,
    pre_v2_deleted: Vec<String>,
    notes: Vec<String>,
    over: Option<String>,
    damaged_refs: Vec<String>,
}

#[derive(Serialize)]
struct DroppedJson {
    project: String,
    workdir: Option<PathJson>,
    sequence: u64,
    id: String,
    rule: &'static str,
}

#[derive(Serialize)]
struct ArchiveJson {
    name: PathJson,
    size_bytes: u64,
    deleted: bool,
    other: Vec<PathJson>,
}

impl ArchiveJson {
    fn new(archive: &LegacyArchive, deleted: bool) -> Self {
        let other = archive.other.iter();
        Self {
            name: PathJson::new(archive.name.as_bytes()),
            size_bytes: archive.size_bytes,
            deleted,
            other: other.map(|name| PathJson::new(name.as_bytes())).collect(),
        }
    }
}

/// The word programs know a rule by.
fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::Orphan => "orphan",
        Rule::Stale => "stale",
        Rule::Count => "count",
        Rule::TotalSize => "total-size",
        Rule::FreeDisk => "free-disk",
    }
}

impl PruneReport {
    /// What would be done.
    pub(super) fn of_preview(preview: &Preview, limits: LimitsJson, keeping: Keeping) -> Self {
        let plan = &preview.plan;
        let going = preview.repositories.iter();
        let cleaned = Cleaned {
            scanned: preview.facts.projects.len(),
            dropped: plan.drops.clone(),
            forgotten: plan.forgotten.iter().map(|p| p.id.clone()).collect(),
            notes: plan.notes.clone(),
            over: plan.over.clone(),
            repositories: going.map(|(old, rule)| (old.project.clone(), *rule)).collect(),
            bytes_before: preview.facts.fixed_bytes + preview.facts.object_bytes,
            ..Cleaned::default()
        };
        let archives = preview.stale.iter();
        let archives: Vec<_> = archives.map(|one| ArchiveJson::new(one, false)).collect();
        let mut report = Self::new(preview, limits, keeping, cleaned);
        report.dry_run = true;
        report.bytes_freed = 0;
        report.store_bytes_after = plan.bytes_after;
        report.deleted_stale += archives.len();
        report.legacy_archives = archives;
        report
    }

    /// What was done.
    pub(super) fn new(
        preview: &Preview,
        limits: LimitsJson,
        keeping: Keeping,
        cleaned: Cleaned,
    ) -> Self {
        let dropped = |dropped: &Dropped| DroppedJson {
            project: dropped.project.to_string(),
            workdir: preview
                .project(&dropped.project)
                .and_then(|project| project.workdir.as_deref())
                .map(PathJson::of),
            sequence: dropped.sequence,
            id: dropped.id.to_hex(),
            rule: word(dropped.rule),
        };
        let repositories = cleaned.repositories.iter();
        let repositories = repositories.map(|(project, _)| project.to_string());
        Self {
            schema: "herma.checkpoints-prune/1",
            dry_run: false,
            limits,
            scanned: cleaned.scanned,
            deleted_orphan: cleaned.projects_by(Rule::Orphan),
            deleted_stale: cleaned.projects_by(Rule::Stale) + cleaned.archives,
            errors: cleaned.errors.len(),
            bytes_freed: cleaned.bytes_freed(),
            trash_bytes: cleaned.trash_bytes,
            store_bytes_before: cleaned.bytes_before,
            store_bytes_after: Some(cleaned.bytes_after),
            dropped: cleaned.dropped.iter().map(dropped).collect(),
            forgotten: cleaned.forgotten.iter().map(ToString::to_string).collect(),
            orphans_kept: false,
            clock_distrusted: keeping.retention_days > 0 && preview.distrusts_clock(),
            legacy_archives: Vec::new(),
            pre_v2_deleted: repositories.collect(),
            notes: cleaned.notes.iter().map(ToString::to_string).collect(),
            over: cleaned.over.map(|over| over.to_string()),
            problems: cleaned.errors,
            damaged_refs: cleaned.collected.damaged,
        }
    }

    /// Adds an archive of version 1 that was to be removed, with what came of it if it was still there.
    pub(super) fn add_archive(
        &mut self,
        archive: &LegacyArchive,
        tried: Option<Result<RemovedLegacy, Error>>,
    ) {
        let name = name(&archive.name);
        let deleted = match tried {
            None => true,
            Some(Ok(removed)) => {
                self.deleted_stale += usize::from(removed.deleted);
                self.bytes_freed += removed.bytes_freed;
                removed.deleted
            }
            Some(Err(error)) => {
                self.errors += 1;
                self.problems.push(format!("{name}: {error}"));
                false
            }
        };
        if !deleted {
            let text = "stays: names in it are taken beside the store";
            self.problems.push(format!("{name} {text}"));
        }
        self.legacy_archives.push(ArchiveJson::new(archive, deleted));
    }

    fn outcome(&self) -> Outcome {
        let is_partial = self.orphans_kept
            || self.clock_distrusted
            || self.over.is_some()
            || !self.problems.is_empty();
        match (self.damaged_refs.is_empty(), is_partial) {
            (false, _) => Outcome::Damaged,
            (true, true) => Outcome::LeftOut,
            (true, false) => Outcome::Done,
        }
    }

    /// Tells people or programs.
    pub(super) fn tell(&self, env: &CommandEnv) -> Result<Outcome, CommandError> {
        if env.ui.json {
            env.ui.write_json(self)?;
            return Ok(self.outcome());
        }
        let mut out = env.ui.data();
        let dropped = counted(self.dropped.len(), "checkpoint");
        if self.dry_run {
            let projects = counted(self.forgotten.len(), "project");
            let archives = counted(self.legacy_archives.len(), "legacy archive");
            writeln!(
                out,
                "Dry run, nothing was changed. To go: {dropped}, {projects} altogether, {archives}."
            )?;
            out.finish()?;
            return Ok(self.outcome());
        }
        writeln!(out, "Scanned:         {}", self.scanned)?;
        writeln!(out, "Deleted orphan:  {}", self.deleted_orphan)?;
        writeln!(out, "Deleted stale:   {}", self.deleted_stale)?;
        writeln!(out, "Errors:          {}", self.errors)?;
        writeln!(out, "Bytes reclaimed: {}", size(self.bytes_freed))?;
        writeln!(out, "Dropped:         {dropped}")?;
        super::gc::tell_of_trash(&mut out, self.trash_bytes)?;
        out.finish()?;
        for problem in &self.problems {
            env.ui.warning(escape(problem.as_bytes()));
        }
        if let Some(over) = &self.over {
            env.ui.warning(escape(over.as_bytes()));
        }
        super::damage::warn_of_damage(env, &self.damaged_refs);
        Ok(self.outcome())
    }
}
