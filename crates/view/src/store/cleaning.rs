//! What a cleaning will do, shown before it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;
use std::path::Path;

use herma_core::cleanup::{Note, Plan, Presence, ProjectFacts, Rule, StoreFacts};
use herma_core::{LegacyArchive, PreV2Project, ProjectId};
use herma_store::path::escape;

use super::place;
use crate::here::shown;
use crate::listing::{counted, ranges};
use crate::units::{short_age, size};

/// What a cleaning will do.
pub struct Preview {
    /// What is known of the store.
    pub facts: StoreFacts,
    /// What goes, by which rule.
    pub plan: Plan,
    /// Archives of version 1 that are older than projects may be.
    pub stale: Vec<LegacyArchive>,
    /// Repositories of version 1 that go, and by which rule.
    pub repositories: Vec<(PreV2Project, Rule)>,
}

impl Preview {
    /// The deleted projects it will clean up after: what a person confirms.
    pub fn orphans(&self) -> BTreeSet<ProjectId> {
        let dropped = self.plan.drops.iter();
        let dropped = dropped.filter(|dropped| dropped.rule == Rule::Orphan);
        let forgotten = self.plan.forgotten.iter();
        let forgotten = forgotten.filter(|project| project.rule == Rule::Orphan);
        let mut orphans: BTreeSet<_> = dropped.map(|dropped| dropped.project.clone()).collect();
        orphans.extend(forgotten.map(|project| project.id.clone()));
        let older = self.repositories.iter();
        let older = older.filter(|(_, rule)| *rule == Rule::Orphan);
        orphans.extend(older.map(|(old, _)| old.project.clone()));
        orphans
    }

    /// Is the clock not believed?
    pub fn distrusts_clock(&self) -> bool {
        let mut notes = self.plan.notes.iter();
        notes.any(|note| matches!(note, Note::ClockDistrusted(_)))
    }

    /// Where a project is, in words.
    pub fn place(&self, id: &ProjectId) -> String {
        place(self.workdir(id), id)
    }

    /// Where a project is, if that is known.
    pub fn workdir(&self, id: &ProjectId) -> Option<&Path> {
        self.project(id)?.workdir.as_deref()
    }

    /// What is known about a project.
    fn project(&self, id: &ProjectId) -> Option<&ProjectFacts> {
        self.facts.projects.iter().find(|project| project.id == *id)
    }

    /// Shows what goes, by which rule, and what a person should know about it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_drops(out)?;
        self.write_orphans(out)?;
        if !self.stale.is_empty() {
            writeln!(out, "Legacy archives past their time:")?;
            for archive in &self.stale {
                let bytes = size(archive.size_bytes);
                writeln!(out, "  {:<40}  {bytes:>10}", shown(&archive.name))?;
            }
        }
        if !self.repositories.is_empty() {
            writeln!(out, "Repositories of version 1 to delete:")?;
            for (old, rule) in &self.repositories {
                let of = place(old.workdir.as_deref(), &old.project);
                writeln!(out, "  {of}: {}, {rule}", size(old.size_bytes))?;
            }
        }
        let nothing_else = self.stale.is_empty() && self.repositories.is_empty();
        if self.plan.drops.is_empty() && self.plan.forgotten.is_empty() && nothing_else {
            writeln!(out, "No checkpoint has to go.")?;
        }
        for note in &self.plan.notes {
            writeln!(out, "Note: {}", escape(note.to_string().as_bytes()))?;
        }
        if let Some(over) = &self.plan.over {
            writeln!(out, "Note: {}", escape(over.to_string().as_bytes()))?;
        }
        Ok(())
    }

    fn write_drops(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut numbers: BTreeMap<(String, Rule), Vec<u64>> = BTreeMap::new();
        for dropped in &self.plan.drops {
            if dropped.rule != Rule::Orphan {
                let key = (self.place(&dropped.project), dropped.rule);
                numbers.entry(key).or_default().push(dropped.number);
            }
        }
        if numbers.is_empty() {
            return Ok(());
        }
        writeln!(out, "Checkpoints to remove:")?;
        for ((place, rule), numbers) in &mut numbers {
            numbers.sort_unstable();
            let count = counted(numbers.len(), "checkpoint");
            writeln!(out, "  {place}: {count} ({}): {rule}", ranges(numbers.iter().copied()))?;
        }
        Ok(())
    }

    fn write_orphans(&self, out: &mut dyn Write) -> io::Result<()> {
        let orphans = self.orphans();
        if orphans.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "Projects whose directory was deleted ({}), to remove altogether:",
            orphans.len()
        )?;
        let by_place: BTreeSet<_> = orphans.iter().map(|id| (self.place(id), id)).collect();
        for (place, id) in by_place {
            let known = self.project(id);
            let count = known.map_or(0, |project| project.checkpoints.len());
            let used = short_age(known.and_then(|project| project.last_touch), self.facts.now);
            writeln!(
                out,
                "  {place}: {}, last used {used}{}",
                counted(count, "checkpoint"),
                match known.map(|project| &project.presence) {
                    Some(Presence::GoneWithParents) => "; so was the directory it was in",
                    _ => "",
                },
            )?;
        }
        Ok(())
    }
}
