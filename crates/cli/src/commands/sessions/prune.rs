//! `herma sessions prune`

use std::io::Write;

use clap::Args;
use herma_fs::Dir;
use herma_sessions::prune::{Kept, Removed};
use herma_sessions::reap::Reaped;
use herma_sessions::vacuum::Vacuumed;
use herma_sessions::{Access, Database, Filter, orphans, prune, reap, vacuum};
use herma_view::json::lazy_object;
use herma_view::listing::counted;

use super::filters::FilterArgs;
use super::{removed_json, tell_left};
use crate::command_env::{CommandEnv, Outcome, Result, WithState};
use crate::conversations;
use crate::terminal::{SHOWN_NAMES, shown, size, time};

/// The age if no filter asks for one; the help names it.
const DAYS: u32 = 90;
const DAY: f64 = 86_400.0;

/// Delete ended sessions without recent activity, with their messages and files
///
/// Without a filter of time, those go that had no activity for 90 days, in the database or in their files. Active
/// sessions are never touched; `--reap` ends those of dead processes: no activity for a week, and not listed by the
/// gateway.
#[derive(Args, Debug)]
pub(super) struct PruneArgs {
    #[command(flatten)]
    filters: FilterArgs,
    /// End sessions of processes that died; a later run can delete them
    #[arg(long)]
    reap: bool,
    /// Days without activity after which a session counts as dead
    #[arg(long, value_name = "DAYS", default_value_t = reap::DEFAULT_DAYS, requires = "reap")]
    reap_after: u32,
    /// Remove files of sessions that are not in the database
    #[arg(long)]
    orphan_files: bool,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// What was done, or would be.
#[derive(Default)]
struct Report {
    reaped: u64,
    orphan_files: u64,
    orphan_bytes: u64,
    vacuumed: bool,
    removed: Removed,
}

/// One run of the command.
struct Prune<'a> {
    env: &'a CommandEnv,
    args: &'a PruneArgs,
    dir: Option<Dir>,
    filter: Filter,
    /// The age the question names, if it is one.
    days: Option<u32>,
    now: f64,
}

pub(super) fn cmd_prune(env: &CommandEnv, args: &PruneArgs) -> Result<Outcome> {
    let now = env.now().as_float();
    let mut filter = args.filters.filter(now);
    let mut days = args.filters.older_than;
    if !args.filters.has_age() {
        days = Some(DAYS);
        filter.idle_since = Some(now - f64::from(DAYS) * DAY);
    }
    let prune = Prune { env, args, dir: conversations::directory(&env.home)?, filter, days, now };
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let mut database = conversations::open(&env.home, access)?;
    // Who does not want to be asked does not wait for the counting either; what was taken for dead is shown,
    // and a list of the gateway that cannot be read is found before anything is changed.
    let mut in_use = Vec::new();
    if !args.yes || args.dry_run || args.reap {
        let (report, reaped) = prune.look(&database)?;
        prune.show(&report, &reaped);
        if args.dry_run {
            return prune.tell_preview(report, reaped);
        }
        if !args.yes && !prune.is_confirmed(&report)? {
            env.ui.print("Cancelled.")?;
            return Ok(Outcome::Aborted);
        }
        in_use = reaped.kept;
    }
    prune.apply(&mut database, in_use)
}

impl Prune<'_> {
    fn reap_cutoff(&self) -> f64 {
        self.now - f64::from(self.args.reap_after) * DAY
    }

    /// The filters without the age: a dead session need not be that old to be ended.
    fn reap_filter(&self) -> Filter {
        Filter { idle_since: None, ..self.filter.clone() }
    }

    /// What would be done, and the sessions that would end.
    fn look(&self, database: &Database) -> Result<(Report, Reaped)> {
        let dir = self.dir.as_ref();
        let removed = prune::plan(database, dir, &self.filter)?;
        let (mut report, mut reaped) = (Report { removed, ..Report::default() }, Reaped::default());
        if self.args.reap {
            let (filter, cutoff) = (self.reap_filter(), self.reap_cutoff());
            reaped = reap::find(database, dir, &filter, cutoff, SHOWN_NAMES as u64)
                .with_state("Nothing was changed.")?;
            report.reaped = reaped.count;
        }
        if let (true, Some(dir)) = (self.args.orphan_files, dir) {
            let found = orphans::find(database, dir, self.now)?;
            (report.orphan_files, report.orphan_bytes) = (found.files, found.bytes);
        }
        Ok((report, reaped))
    }

    fn show(&self, report: &Report, reaped: &Reaped) {
        let plan = &report.removed;
        self.env.ui.status(format_args!(
            "{}, {}, {} ({}).",
            counted(plan.sessions, "session"),
            counted(plan.messages, "message"),
            counted(plan.files, "file"),
            size(plan.bytes)
        ));
        if self.args.reap {
            self.show_reaped(reaped);
        }
        if self.args.orphan_files {
            self.env.ui.status(format_args!(
                "{} ({}) of sessions that are not in the database.",
                counted(report.orphan_files, "file"),
                size(report.orphan_bytes)
            ));
        }
    }

    fn show_reaped(&self, reaped: &Reaped) {
        let ui = &self.env.ui;
        let count = counted(reaped.count, "session");
        ui.status(format_args!(
            "{count} never ended, and nothing happened in them for {} days; ended now, deleted by a later run:",
            self.args.reap_after
        ));
        for session in &reaped.shown {
            let age = session.last_active.map(|time| time::age(time as i64, self.env.now()));
            let age = age.unwrap_or_default();
            ui.status(format_args!("  {}  {age}", shown(&session.id)));
        }
        let more = reaped.count.saturating_sub(reaped.shown.len() as u64);
        if more > 0 {
            ui.status(format_args!("  and {more} more"));
        }
    }

    fn tell_preview(&self, mut report: Report, reaped: Reaped) -> Result<Outcome> {
        report.removed.kept.extend(reaped.kept);
        tell_left(self.env, &report.removed);
        self.tell(&report)?;
        Ok(Outcome::Done)
    }

    fn tell(&self, report: &Report) -> Result<()> {
        let Report { reaped, orphan_files, orphan_bytes, vacuumed, removed } = report;
        let dry_run = self.args.dry_run;
        let json = lazy_object! {
            schema: "herma.sessions-prune/1",
            dry_run,
            reaped,
            orphan_files,
            orphan_bytes,
            vacuumed,
            #[serde(flatten)]
            removed: removed_json(removed),
        };
        let [end, prune] = if dry_run { ["Would end", "Would prune"] } else { ["Ended", "Pruned"] };
        self.env.ui.answer(json, |out| {
            if self.args.reap {
                writeln!(out, "{end} {reaped} session(s).")?;
            }
            writeln!(out, "{prune} {} session(s).", removed.sessions)?;
            if self.args.orphan_files && !dry_run {
                writeln!(out, "Removed {orphan_files} file(s) without a session.")?;
            }
            Ok(())
        })
    }

    fn is_confirmed(&self, report: &Report) -> Result<bool> {
        let ui = &self.env.ui;
        let reaped = report.reaped;
        let mut would = format!("{} would be deleted", counted(report.removed.sessions, "session"));
        if reaped > 0 {
            would = format!("{would}, and {} ended", counted(reaped, "session"));
        }
        ui.must_ask(would, "`herma sessions prune --yes`")?;
        let source = self.args.filters.source.as_deref().map(shown);
        let source = source.map(|source| format!(" from '{source}'"));
        let source = source.unwrap_or_default();
        let age = self.days.map(|days| format!(" older than {days} days"));
        let age = age.unwrap_or_default();
        let rest = if self.args.filters.is_special() { " that the filters mean" } else { "" };
        let delete = if reaped > 0 {
            format!("End {}, and delete", counted(reaped, "session"))
        } else {
            "Delete".to_owned()
        };
        Ok(ui.ask(&format!("{delete} all ended sessions{age}{source}{rest}? [y/N] "))?)
    }

    fn apply(&self, database: &mut Database, in_use: Vec<Kept>) -> Result<Outcome> {
        let dir = self.dir.as_ref();
        let mut removed = prune::prune(database, dir, &self.filter).with_state(
            "What was deleted before that stays deleted; the next prune finishes it.",
        )?;
        removed.kept.extend(in_use);
        let mut reaped = 0;
        if self.args.reap {
            // ORDER: after the deletion, so that what is ended here is not deleted in the same run: nobody
            // was asked about that.
            reaped = reap::reap(database, dir, &self.reap_filter(), self.reap_cutoff())?;
        }
        let mut gone = Removed::default();
        if let (true, Some(dir)) = (self.args.orphan_files, dir) {
            gone = orphans::remove(database, dir, self.now)?;
            removed.files_left.append(&mut gone.files_left);
            removed.more_files_left += gone.more_files_left;
        }
        let vacuumed = self.vacuum(database, &mut removed);
        let (orphan_files, orphan_bytes) = (gone.files, gone.bytes);
        let report = Report { reaped, orphan_files, orphan_bytes, vacuumed, removed };
        self.tell(&report)?;
        Ok(tell_left(self.env, &report.removed))
    }

    /// Makes the database smaller if the settings want that and it pays; what hinders it is a note.
    fn vacuum(&self, database: &mut Database, removed: &mut Removed) -> bool {
        let Some(days) = self.env.settings.vacuum_interval_days() else { return false };
        if removed.sessions == 0 {
            return false;
        }
        let why_not = match vacuum::vacuum(database, f64::from(days), self.now) {
            Ok(Vacuumed::Yes { .. }) => return true,
            Ok(Vacuumed::NotNeeded) => return false,
            Ok(Vacuumed::NotNow(why)) => why,
            Err(error) => error.to_string(),
        };
        removed.notes.push(format!("the database was not made smaller: {why_not}"));
        false
    }
}
