//! `herma resume gc`

use std::io::Write;

use clap::Args;
use herma_sessions::resume::gc::{Collected, Odd, Plan, Rule};
use herma_sessions::resume::{ResumeStore, gc};
use herma_store::path::escape;
use serde::Serialize;

use crate::command_env::{CommandEnv, Outcome};
use crate::command_error::CommandError;
use crate::render::listing::counted;

/// Remove records that are out of date
///
/// Records of completed tasks go after a day, others after a week; those without a time stay. Files that are
/// damaged or no records are moved to `checkpoints/set-aside` and named.
#[derive(Args, Debug)]
pub(super) struct GcArgs {
    /// Keep records of unfinished tasks this many days
    #[arg(long, value_name = "DAYS", default_value_t = gc::DEFAULT_DAYS)]
    days: u32,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct GcJson<'a> {
    schema: &'static str,
    dry_run: bool,
    removed: Vec<RemovedJson<'a>>,
    set_aside: Vec<SetAsideJson<'a>>,
    left_alone: Vec<OddJson<'a>>,
    failed: Vec<OddJson<'a>>,
    kept: usize,
}

#[derive(Serialize)]
struct RemovedJson<'a> {
    session: &'a str,
    rule: &'static str,
}

#[derive(Serialize)]
struct SetAsideJson<'a> {
    file: &'a str,
    to: Option<&'a str>,
    what: String,
}

#[derive(Serialize)]
struct OddJson<'a> {
    file: &'a str,
    what: String,
}

pub(super) fn cmd_gc(env: &CommandEnv, args: &GcArgs) -> Result<Outcome, CommandError> {
    let now = env.local_now();
    let store = ResumeStore::open(&env.home)?;
    let plan = match &store {
        Some(store) => gc::plan(store, &now, args.days)?,
        None => Plan::default(),
    };
    let collected = match &store {
        Some(store) if !args.dry_run => Some(plan.apply(store, &now)),
        _ => None,
    };
    let outcome = match &collected {
        Some(collected) if !collected.failed.is_empty() => Outcome::Problems,
        _ => Outcome::Done,
    };
    if env.ui.json {
        let json = to_json(&plan, collected.as_ref(), args.dry_run);
        env.ui.write_json(&json)?;
        return Ok(outcome);
    }
    tell(env, &plan, collected.as_ref(), args.dry_run)?;
    Ok(outcome)
}

fn to_json<'a>(plan: &'a Plan, done: Option<&'a Collected>, dry_run: bool) -> GcJson<'a> {
    let was_removed = |session| done.is_none_or(|done| done.removed.contains(session));
    let removed = plan.expired.iter();
    let removed = removed.filter(|expired| was_removed(&expired.session));
    let place = |file: &str| {
        let mut moved = done?.set_aside.iter();
        let (_, to) = moved.find(|(name, _)| name == file)?;
        Some(to.as_str())
    };
    let odd = |odd: &'a Odd| OddJson { file: &odd.file, what: odd.problem.to_string() };
    let failed = done.map(|done| done.failed.as_slice()).unwrap_or_default();
    GcJson {
        schema: "herma.resume-gc/1",
        dry_run,
        removed: removed
            .map(|expired| RemovedJson {
                session: expired.session.as_str(),
                rule: expired.rule.word(),
            })
            .collect(),
        set_aside: plan
            .useless
            .iter()
            .filter(|odd| done.is_none() || place(&odd.file).is_some())
            .map(|odd| SetAsideJson {
                file: &odd.file,
                to: place(&odd.file),
                what: odd.problem.to_string(),
            })
            .collect(),
        left_alone: plan.foreign.iter().map(odd).collect(),
        failed: failed
            .iter()
            .map(|(file, error)| OddJson { file, what: error.to_string() })
            .collect(),
        kept: plan.kept,
    }
}

fn tell(
    env: &CommandEnv,
    plan: &Plan,
    done: Option<&Collected>,
    dry_run: bool,
) -> Result<(), CommandError> {
    let json = to_json(plan, done, dry_run);
    let mut out = env.ui.data();
    for removed in &json.removed {
        let why = match removed.rule {
            word if word == Rule::Completed.word() => "completed",
            _ => "not written for long",
        };
        writeln!(out, "{}  {why}", removed.session)?;
    }
    out.finish()?;
    let verb = |would: &'static str, did: &'static str| if dry_run { would } else { did };
    for odd in &json.set_aside {
        let file = escape(odd.file.as_bytes());
        let what = escape(odd.what.as_bytes());
        match odd.to {
            Some(to) => env.ui.warning(format_args!(
                "{file} is now checkpoints/{}: {what}",
                escape(to.as_bytes())
            )),
            None => env.ui.warning(format_args!("{file} would be set aside: {what}")),
        }
    }
    for odd in &json.left_alone {
        let (file, what) = (escape(odd.file.as_bytes()), escape(odd.what.as_bytes()));
        env.ui.status(format_args!("{file}: {what}"));
    }
    for odd in &json.failed {
        let (file, what) = (escape(odd.file.as_bytes()), escape(odd.what.as_bytes()));
        env.ui.warning(format_args!("{file} could not be dealt with: {what}"));
    }
    env.ui.status(format_args!(
        "{} {}, {} kept.",
        counted(json.removed.len(), "record"),
        verb("would be removed", "removed"),
        json.kept
    ));
    Ok(())
}
