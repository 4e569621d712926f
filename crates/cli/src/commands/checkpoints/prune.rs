//! `herma checkpoints prune`: plan, show, ask, clean.

use std::io::Write;

use clap::Args;
use herma_core::cleanup::{CleanRequest, Limits, Note, Orphans, Rule};
use herma_core::types::settings::Keeping;
use herma_view::listing::counted;
use herma_view::store::cleaning::Preview;
use herma_view::store::prune::PruneReport;

use super::damage::warn_of_damage;
use super::shown_first;
use crate::command_env::{CommandEnv, Outcome, Result, WithState};
use crate::terminal::{escape, time};

const DAY: f64 = 86_400.0;
const WOULD_REMOVE: &str = "What `herma checkpoints prune` would remove with these limits:";

/// Delete checkpoints beyond the limits and free the space
///
/// Pinned and named checkpoints stay, and the newest of every project that was not deleted. What goes is shown first.
/// Asks about deleted projects on a terminal; elsewhere they stay without `--force`. Limits not given here are those
/// of the settings; a project for which a program asked for more checkpoints keeps more.
#[derive(Args, Debug)]
pub(super) struct PruneArgs {
    /// Days without a save after which a project keeps only its newest; 0: nothing goes by age [default: 30]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    retention_days: Option<i64>,
    /// Megabytes the store may have; 0 is no limit [default: 500]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_size_mb: Option<u64>,
    /// Checkpoints each project may have; 0 is no limit [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_snapshots: Option<usize>,
    /// Keep the checkpoints of projects that were deleted
    #[arg(long)]
    keep_orphans: bool,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long, visible_short_alias = 'y', visible_alias = "yes")]
    force: bool,
}

impl PruneArgs {
    /// The limits of the settings, with those given here in their place.
    fn keeping(&self, settings: Keeping) -> Keeping {
        let days = self.retention_days.map(|days| {
            let days = days.max(0);
            u32::try_from(days).unwrap_or(u32::MAX)
        });
        let bytes = self.max_size_mb.map(|mb| mb.saturating_mul(1 << 20));
        Keeping {
            max_snapshots: self.max_snapshots.or(settings.max_snapshots),
            max_total_size: bytes.or(settings.max_total_size),
            retention_days: days.unwrap_or(settings.retention_days),
            delete_orphans: settings.delete_orphans && !self.keep_orphans,
            ..settings
        }
    }
}

/// One run of the command.
struct Prune<'a> {
    env: &'a CommandEnv,
    args: &'a PruneArgs,
    keeping: Keeping,
    /// Did somebody confirm it?
    clock_is_right: bool,
}

pub(super) fn cmd_prune(env: &CommandEnv, args: &PruneArgs) -> Result<Outcome> {
    let mut keeping = args.keeping(env.engine.settings().keeping);
    if keeping.max_total_size.is_none() {
        keeping.max_total_size = Some(env.engine.size_limit()?);
    }
    let mut prune = Prune { env, args, clock_is_right: false, keeping };
    shown_first(prune.write_header(), args.force || args.dry_run)?;
    let mut preview = prune.look()?;
    if args.dry_run {
        prune.write_preview(&preview)?;
        prune.say_what_will_be_asked(&preview);
        return tell(env, &PruneReport::of_preview(&preview, prune.keeping));
    }
    if prune.is_clock_confirmed(&preview)? {
        prune.clock_is_right = true;
        preview = prune.look()?;
    }
    shown_first(prune.write_preview(&preview), args.force)?;
    let (preview, kept) = prune.settle_orphans(preview)?;
    let report = prune.clean(&preview, kept)?;
    tell(env, &report)
}

impl Prune<'_> {
    fn write_header(&self) -> Result<()> {
        if self.env.ui.json {
            return Ok(());
        }
        let keeping = &self.keeping;
        let days = self.args.retention_days;
        let days = days.unwrap_or_else(|| keeping.retention_days.into());
        let word = if keeping.delete_orphans { "True" } else { "False" };
        let mut out = self.env.ui.data();
        writeln!(
            out,
            "{}",
            if self.args.dry_run { WOULD_REMOVE } else { "Pruning checkpoint store…" }
        )?;
        writeln!(out, "  retention_days:    {days}")?;
        writeln!(out, "  delete_orphans:    {word}")?;
        writeln!(out, "  max_total_size_mb: {}", keeping.max_total_size.unwrap_or(0) >> 20)?;
        writeln!(out, "  max_snapshots:     {}", keeping.max_snapshots.unwrap_or(0))?;
        writeln!(out)?;
        Ok(out.finish()?)
    }

    fn limits(&self, orphans: Orphans) -> Limits {
        Limits { orphans, ..Limits::of(&self.keeping, self.keeping.max_total_size) }
    }

    fn request(&self, orphans: Orphans) -> CleanRequest {
        CleanRequest {
            limits: self.limits(orphans),
            attended: true,
            clock_is_right: self.clock_is_right,
        }
    }

    /// What the limits demand, all orphans included if they are to go.
    fn look(&self) -> Result<Preview> {
        self.look_with(if self.keeping.delete_orphans { Orphans::All } else { Orphans::Keep })
    }

    fn look_with(&self, orphans: Orphans) -> Result<Preview> {
        let engine = &self.env.engine;
        let (facts, plan) = self
            .env
            .ui
            .during(|progress| engine.plan_cleaning(&self.request(orphans.clone()), progress))?;
        let mut preview = Preview { facts, plan, stale: Vec::new(), repositories: Vec::new() };
        let days = self.keeping.retention_days;
        if !preview.distrusts_clock() {
            let limits = self.limits(orphans);
            preview.repositories = engine.pre_v2_to_go(&limits, preview.facts.now)?;
        }
        if days > 0 && !preview.distrusts_clock() {
            let cutoff = preview.facts.now - f64::from(days) * DAY;
            preview.stale = engine.stale_legacy(cutoff)?;
        }
        Ok(preview)
    }

    fn write_preview(&self, preview: &Preview) -> Result<()> {
        if self.env.ui.json {
            return Ok(());
        }
        let mut out = self.env.ui.data();
        preview.write(&mut out)?;
        writeln!(out)?;
        Ok(out.finish()?)
    }

    /// What is shown does not all go by itself.
    fn say_what_will_be_asked(&self, preview: &Preview) {
        let ui = &self.env.ui;
        if !preview.orphans().is_empty() && !self.args.force {
            ui.hint(
                "Deleted projects go only with `--force`, or when you confirm it on a terminal.",
            );
        }
        if self.keeping.retention_days > 0 && preview.distrusts_clock() {
            ui.hint("Run on a terminal and without `--force`, it asks whether the clock is right.");
        }
    }

    /// A clock that jumped is not believed, unless somebody is there to say that it is right.
    fn is_clock_confirmed(&self, preview: &Preview) -> Result<bool> {
        let ui = &self.env.ui;
        let matters = self.keeping.retention_days > 0 && preview.distrusts_clock();
        if !matters || self.args.force || !ui.can_ask() {
            return Ok(false);
        }
        let mut notes = preview.plan.notes.iter();
        let note = notes.find(|note| matches!(note, Note::ClockDistrusted(_)));
        if let Some(note) = note {
            ui.warning(escape(note.to_string().as_bytes()));
        }
        let now = time::local(self.env.now());
        Ok(ui.ask(&format!("Is it {now} now? [y/N]: "))?)
    }

    /// Deleted projects go only if they were shown and somebody agreed, or force was asked for. Returns
    /// what will be done, and whether projects are kept because nobody could be asked.
    fn settle_orphans(&self, shown: Preview) -> Result<(Preview, bool)> {
        let ui = &self.env.ui;
        if shown.orphans().is_empty() || self.args.force {
            return Ok((shown, false));
        }
        let could_ask = ui.can_ask();
        if could_ask && ui.ask("Remove all that is stored of these deleted projects? [y/N]: ")? {
            return Ok((shown, false));
        }
        if !could_ask {
            let count = counted(shown.orphans().len(), "deleted project");
            ui.warning(format_args!(
                "{count} kept: there is no terminal to ask on, and no `--force`."
            ));
        }
        let without = self.look_with(Orphans::Keep)?;
        let others = |preview: &Preview| {
            let drops = preview.plan.drops.iter();
            drops.filter(|d| d.rule != Rule::Orphan).cloned().collect()
        };
        let (before, now): (Vec<_>, Vec<_>) = (others(&shown), others(&without));
        if before != now {
            shown_first(self.write_preview(&without), true)?;
        }
        Ok((without, !could_ask))
    }

    fn clean<'p>(&self, preview: &'p Preview, kept: bool) -> Result<PruneReport<'p>> {
        let engine = &self.env.engine;
        let request = self.request(Orphans::These(preview.orphans()));
        let cleaned = self.env.ui.during(|progress| engine.clean(&request, progress)).with_state("If checkpoints were dropped before that, they stay dropped; everything else is as it was.")?;
        let mut report = PruneReport::new(preview, self.keeping, cleaned);
        report.orphans_kept = kept;
        let left = engine.legacy()?;
        for archive in &preview.stale {
            let is_left = left.iter().any(|other| other.name == archive.name);
            // Without a store nobody has tried yet; with one, this tells why it is still there.
            let tried = is_left.then(|| engine.remove_legacy(&archive.name));
            report.add_archive(archive, tried);
        }
        Ok(report)
    }
}

/// Tells people or programs.
fn tell(env: &CommandEnv, report: &PruneReport<'_>) -> Result<Outcome> {
    let damaged = &report.cleaned.collected.damaged;
    if env.ui.json {
        env.ui.write_json(&report.to_json())?;
    } else {
        let mut out = env.ui.data();
        report.write(&mut out)?;
        out.finish()?;
        for problem in report.problems() {
            env.ui.warning(escape(problem.as_bytes()));
        }
        warn_of_damage(env, damaged);
    }
    Ok(match (damaged.is_empty(), report.is_partial()) {
        (false, _) => Outcome::Damaged,
        (true, true) => Outcome::LeftOut,
        (true, false) => Outcome::Done,
    })
}
