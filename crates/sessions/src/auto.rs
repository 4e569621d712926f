//! Keeps the database small by itself, from time to time.
//!
//! `state_meta.last_auto_prune` is shared with Hermes: whoever comes first after the interval does it. A
//! mark in the future was made by a wrong clock and does not stop anything for long. A clock that runs
//! ahead makes every session look old, so nothing is pruned unless something happened in some session
//! within the time that is kept.

use herma_fs::Dir;

use crate::db::vacuum::Vacuumed;
use crate::db::{Database, vacuum};
use crate::error::Result;
use crate::filters::Filter;
use crate::list;
use crate::removal::prune;
use crate::removal::prune::Removed;

/// The key of `state_meta` with the time of the last run, as Hermes has it.
pub const MARKER: &str = "last_auto_prune";

/// The settings `sessions.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoSettings {
    /// Sessions without activity for longer go; 0 is never.
    pub retention_days: u32,
    /// Hours between two runs.
    pub min_interval_hours: u32,
    /// Shrink the database afterwards?
    pub vacuum: bool,
    /// Days between two shrinkings.
    pub min_vacuum_interval_days: u32,
}

impl Default for AutoSettings {
    fn default() -> Self {
        Self {
            retention_days: 90,
            min_interval_hours: 24,
            vacuum: true,
            min_vacuum_interval_days: 30,
        }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoPruned {
    /// The last run was not long ago.
    pub skipped: bool,
    /// What was removed.
    pub removed: Removed,
    /// Was the database made smaller?
    pub vacuumed: bool,
    /// Why something was not done.
    pub notes: Vec<String>,
}

/// Prunes and shrinks, unless that was done less than the interval ago. The mark is set when it is done,
/// also if there was nothing to do, and not when it failed.
pub fn prune_and_vacuum(
    database: &mut Database,
    files: Option<&Dir>,
    settings: &AutoSettings,
    now: f64,
) -> Result<AutoPruned> {
    let interval = f64::from(settings.min_interval_hours) * 3600.0;
    let last: Option<f64> = database.meta(MARKER)?.and_then(|text| text.trim().parse().ok());
    if last.is_some_and(|last| last <= now && now - last < interval) {
        return Ok(AutoPruned { skipped: true, ..AutoPruned::default() });
    }
    let mut done = AutoPruned::default();
    let cutoff = now - f64::from(settings.retention_days) * 86_400.0;
    if settings.retention_days > 0 {
        if is_clock_plausible(database, cutoff)? {
            let filter = Filter { idle_since: Some(cutoff), ..Filter::default() };
            done.removed = prune::prune(database, files, &filter)?;
        } else {
            done.notes.push(format!(
                "no session is younger than {} days, so the clock is not trusted and nothing was pruned",
                settings.retention_days
            ));
        }
    }
    if settings.vacuum && done.removed.sessions > 0 {
        let days = f64::from(settings.min_vacuum_interval_days);
        match vacuum::vacuum(database, days, now)? {
            Vacuumed::Yes { .. } => done.vacuumed = true,
            Vacuumed::NotNeeded => {}
            Vacuumed::NotNow(why) => done.notes.push(format!("not made smaller: {why}")),
        }
    }
    database.set_meta(MARKER, &now.to_string())?;
    Ok(done)
}

fn is_clock_plausible(database: &Database, cutoff: f64) -> Result<bool> {
    let recent = Filter { active_since: Some(cutoff), ..Filter::default() };
    let is_empty = list::count(database, &Filter::default())? == 0;
    Ok(is_empty || list::count(database, &recent)? > 0)
}
