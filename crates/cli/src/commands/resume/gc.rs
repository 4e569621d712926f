//! `herma resume gc`

use std::io::Write;

use clap::Args;
use herma_sessions::resume::gc::{Collected, Plan, Rule};
use herma_sessions::resume::{ResumeStore, gc};
use herma_view::json::{list, object};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::shown;

/// Remove records that are out of date
///
/// Records of completed tasks go after a day, others after a week; those without a time stay. Damaged and foreign
/// files are moved to `checkpoints/set-aside` and named.
#[derive(Args, Debug)]
pub(super) struct GcArgs {
    /// Keep records of unfinished tasks this many days
    #[arg(long, value_name = "DAYS", default_value_t = gc::DEFAULT_DAYS)]
    days: u32,
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn cmd_gc(env: &CommandEnv, args: &GcArgs) -> Result<Outcome> {
    let now = env.local_now();
    let store = ResumeStore::open(&env.home)?;
    let plan = match &store {
        Some(store) => gc::plan(store, &now, args.days)?,
        None => Plan::default(),
    };
    let done = store.filter(|_| !args.dry_run).map(|store| plan.apply(&store, &now));
    let outcome = match &done {
        Some(done) if !done.failed.is_empty() => Outcome::Problems,
        _ => Outcome::Done,
    };
    tell(env, &plan, done.as_ref(), args.dry_run)?;
    Ok(outcome)
}

fn tell(env: &CommandEnv, plan: &Plan, done: Option<&Collected>, dry_run: bool) -> Result<()> {
    let was_removed = |session| done.is_none_or(|done| done.removed.contains(session));
    let removed = plan.expired.iter().filter(|expired| was_removed(&expired.session));
    let removed: Vec<_> = removed.collect();
    let place = |file: &str| {
        let (_, to) = done?.set_aside.iter().find(|(name, _)| name == file)?;
        Some(to.as_str())
    };
    let set_aside = plan.useless.iter().map(|odd| (odd, place(&odd.file)));
    let set_aside = set_aside.filter(|(_, to)| done.is_none() || to.is_some());
    let failed = done.map_or(&[][..], |done| &done.failed);
    if env.ui.json {
        return env.ui.write_json(&object! {
            schema: "herma.resume-gc/1",
            dry_run,
            removed: list(removed.iter().map(|expired| object! {
                session: expired.session.as_str(),
                rule: expired.rule.word(),
            })),
            set_aside: list(set_aside.map(|(odd, to)| object! {
                file: &odd.file,
                to,
                what: odd.problem.to_string(),
            })),
            left_alone: list(plan.foreign.iter().map(|odd| object! {
                file: &odd.file,
                what: odd.problem.to_string(),
            })),
            failed: list(failed.iter().map(|(file, error)| object! {
                file,
                what: error.to_string(),
            })),
            kept: plan.kept,
        });
    }
    let mut out = env.ui.data();
    for expired in &removed {
        let why = match expired.rule {
            Rule::Completed => "completed",
            Rule::Stale => "not written for long",
        };
        writeln!(out, "{}  {why}", expired.session)?;
    }
    out.finish()?;
    for (odd, to) in set_aside {
        let (file, what) = (shown(&odd.file), shown(odd.problem.to_string()));
        match to.map(shown) {
            Some(to) => env.ui.warning(format_args!("{file} is now checkpoints/{to}: {what}")),
            None => env.ui.warning(format_args!("{file} would be set aside: {what}")),
        }
    }
    for odd in &plan.foreign {
        let (file, what) = (shown(&odd.file), shown(odd.problem.to_string()));
        env.ui.status(format_args!("{file}: {what}"));
    }
    for (file, error) in failed {
        let (file, what) = (shown(file), shown(error.to_string()));
        env.ui.warning(format_args!("{file} could not be dealt with: {what}"));
    }
    let records = counted(removed.len(), "record");
    let verb = if dry_run { "would be removed" } else { "removed" };
    env.ui.status(format_args!("{records} {verb}, {} kept.", plan.kept));
    Ok(())
}
