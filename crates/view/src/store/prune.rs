//! What a cleaning did, or would do, in Hermes's lines and in JSON.

use std::io;
use std::io::Write;

use herma_core::cleanup::{Cleaned, Rule};
use herma_core::types::settings::Keeping;
use herma_core::{Error, LegacyArchive, RemovedLegacy};

use super::cleaning::Preview;
use super::{limits, write_trash};
use crate::here::shown;
use crate::json::{PathJson, Serialize, list, object};
use crate::listing::counted;
use crate::units::size;

/// What was done, or would be.
pub struct PruneReport<'p> {
    preview: &'p Preview,
    keeping: Keeping,
    /// What went, or would go.
    pub cleaned: Cleaned,
    dry_run: bool,
    clock_distrusted: bool,
    /// Were deleted projects kept because nobody could be asked?
    pub orphans_kept: bool,
    /// The archives of version 1 that were to go, and whether they went.
    archives: Vec<(&'p LegacyArchive, bool)>,
    deleted_stale: usize,
    bytes_freed: u64,
    errors: usize,
}

impl<'p> PruneReport<'p> {
    /// What would be done.
    pub fn of_preview(preview: &'p Preview, keeping: Keeping) -> Self {
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
        let report = Self::new(preview, keeping, cleaned);
        Self {
            dry_run: true,
            bytes_freed: 0,
            deleted_stale: report.deleted_stale + preview.stale.len(),
            archives: preview.stale.iter().map(|archive| (archive, false)).collect(),
            ..report
        }
    }

    /// What was done.
    pub fn new(preview: &'p Preview, keeping: Keeping, cleaned: Cleaned) -> Self {
        Self {
            preview,
            keeping,
            dry_run: false,
            clock_distrusted: keeping.retention_days > 0 && preview.distrusts_clock(),
            orphans_kept: false,
            archives: Vec::new(),
            deleted_stale: cleaned.projects_by(Rule::Stale) + cleaned.archives,
            bytes_freed: cleaned.bytes_freed(),
            errors: cleaned.errors.len(),
            cleaned,
        }
    }

    /// Adds an archive of version 1 that was to be removed, with what came of it if it was still there.
    pub fn add_archive(
        &mut self,
        archive: &'p LegacyArchive,
        tried: Option<Result<RemovedLegacy, Error>>,
    ) {
        let name = shown(&archive.name);
        let deleted = match tried {
            None => true,
            Some(Ok(removed)) => {
                self.deleted_stale += usize::from(removed.deleted);
                self.bytes_freed += removed.bytes_freed;
                if !removed.deleted {
                    let text = "stays: names in it are taken beside the store";
                    self.cleaned.errors.push(format!("{name} {text}"));
                }
                removed.deleted
            }
            Some(Err(error)) => {
                self.errors += 1;
                self.cleaned.errors.push(format!("{name}: {error}"));
                false
            }
        };
        self.archives.push((archive, deleted));
    }

    /// The same for programs.
    pub fn to_json(&self) -> impl Serialize {
        let cleaned = &self.cleaned;
        let bytes_after = Some(cleaned.bytes_after).filter(|_| !self.dry_run);
        object! {
            schema: "herma.checkpoints-prune/2",
            dry_run: self.dry_run,
            limits: limits::to_json(&self.keeping),
            scanned: cleaned.scanned,
            deleted_orphan: cleaned.projects_by(Rule::Orphan),
            deleted_stale: self.deleted_stale,
            errors: self.errors,
            problems: &cleaned.errors,
            bytes_freed: self.bytes_freed,
            trash_bytes: cleaned.trash_bytes,
            store_bytes_before: cleaned.bytes_before,
            store_bytes_after: bytes_after.or(self.preview.plan.bytes_after),
            dropped: list(cleaned.dropped.iter().map(|dropped| object! {
                project: dropped.project.to_string(),
                workdir: self.preview.workdir(&dropped.project).map(PathJson::of),
                number: dropped.number,
                id: dropped.id.to_hex(),
                rule: dropped.rule.word(),
            })),
            forgotten: list(cleaned.forgotten.iter().map(ToString::to_string)),
            orphans_kept: self.orphans_kept,
            clock_distrusted: self.clock_distrusted,
            legacy_archives: list(self.archives.iter().map(|(archive, deleted)| object! {
                name: PathJson::of(&archive.name),
                size_bytes: archive.size_bytes,
                deleted: *deleted,
                other: list(archive.other.iter().map(PathJson::of)),
            })),
            pre_v2_deleted: list(cleaned.repositories.iter().map(|(old, _)| old.to_string())),
            notes: list(cleaned.notes.iter().map(ToString::to_string)),
            over: cleaned.over.as_ref().map(ToString::to_string),
            damaged_refs: &cleaned.collected.damaged,
        }
    }

    /// What a dry run comes to, in a sentence. What there is none of is not worth a word.
    fn would(&self) -> String {
        let cleaned = &self.cleaned;
        let kinds = [
            (cleaned.dropped.len(), "checkpoint"),
            (cleaned.forgotten.len(), "whole project"),
            (self.archives.len(), "legacy archive"),
            (cleaned.repositories.len(), "version 1 repository"),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let going: Vec<_> = kinds.map(|(count, noun)| counted(*count, noun)).collect();
        let going = if going.is_empty() { "nothing".to_owned() } else { going.join(", ") };
        format!("Dry run: nothing was removed. Without `--dry-run` it removes {going}.")
    }

    /// Did something stay that was to go?
    pub fn is_partial(&self) -> bool {
        self.orphans_kept
            || self.clock_distrusted
            || self.cleaned.over.is_some()
            || !self.cleaned.errors.is_empty()
    }

    /// Prints what came of it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.dry_run {
            return writeln!(out, "{}", self.would());
        }
        let dropped = counted(self.cleaned.dropped.len(), "checkpoint");
        writeln!(out, "Scanned:         {}", self.cleaned.scanned)?;
        writeln!(out, "Deleted orphan:  {}", self.cleaned.projects_by(Rule::Orphan))?;
        writeln!(out, "Deleted stale:   {}", self.deleted_stale)?;
        writeln!(out, "Errors:          {}", self.errors)?;
        writeln!(out, "Bytes reclaimed: {}", size(self.bytes_freed))?;
        writeln!(out, "Dropped:         {dropped}")?;
        write_trash(out, self.cleaned.trash_bytes)
    }

    /// What could not be done, and what is still too large.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let done = !self.dry_run;
        let over = self.cleaned.over.as_ref().map(ToString::to_string);
        self.cleaned.errors.iter().cloned().chain(over).filter(move |_| done)
    }
}

#[cfg(test)]
mod tests {
    use herma_core::cleanup::{Plan, StoreFacts};

    use super::*;

    #[test]
    fn an_archive_that_stays_is_named_once_with_what_keeps_it() {
        let preview = Preview {
            facts: StoreFacts::default(),
            plan: Plan::default(),
            stale: Vec::new(),
            repositories: Vec::new(),
        };
        let archive = LegacyArchive {
            name: "legacy-1".into(),
            size_bytes: 0,
            mtime: 0.0,
            repositories: 0,
            other: Vec::new(),
        };
        let problems = |tried: Option<Result<RemovedLegacy, Error>>| {
            let mut report = PruneReport::new(&preview, Keeping::default(), Cleaned::default());
            report.add_archive(&archive, tried);
            report.cleaned.errors
        };
        assert_eq!(problems(None), [""; 0]);
        assert_eq!(problems(Some(Err(Error::ChangedSincePlan))).len(), 1);
        let kept = problems(Some(Ok(RemovedLegacy::default())));
        assert_eq!(kept, ["legacy-1 stays: names in it are taken beside the store"]);
    }
}
