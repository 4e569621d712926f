//! `herma maintain`: what a save starts in the background when a limit is near.

use herma_core::cleanup::Cleaned;
use herma_core::engine::NoProgress;
use herma_sessions::auto::AutoPruned;
use herma_sessions::resume::gc::Collected;
use herma_sessions::resume::{ResumeError, ResumeStore, gc};
use herma_sessions::{Access, auto};
use herma_view::json::{Serialize, object};

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::conversations;

/// Keeps the store within its limits, silently. Nobody reads what it prints: what went wrong is in the
/// store's record, which `herma checkpoints status` and `herma doctor` show.
pub(crate) fn cmd_maintain(env: &CommandEnv) -> Result<Outcome> {
    herma_fs::process::background::become_background();
    let sessions = prune_sessions(env);
    let records = collect_records(env);
    let done = env.engine.maintain(&NoProgress)?;
    let is_busy = done.is_none() && env.engine.has_store()?;
    env.ui.answer_json(|| to_json(done, is_busy, sessions, records))?;
    Ok(if is_busy { Outcome::Busy } else { Outcome::Done })
}

/// Cleans up the sessions if the settings ask for it and are right. The checkpoints are looked after
/// whatever comes of it.
fn prune_sessions(env: &CommandEnv) -> Result<AutoPruned, String> {
    let Some(settings) = env.settings.sessions() else { return Ok(AutoPruned::default()) };
    let mut problems = env.settings.problems.iter();
    if let Some(problem) = problems.find(|problem| problem.concerns_sessions()) {
        return Err(problem.to_string());
    }
    let prune = || -> Result<AutoPruned> {
        let dir = conversations::directory(&env.home)?;
        let mut database = match conversations::open(&env.home, Access::Write) {
            Ok(database) => database,
            Err(error) if error.kind == Kind::NoStore => return Ok(AutoPruned::default()),
            Err(error) => return Err(error),
        };
        let now = env.now().as_float();
        Ok(auto::prune_and_vacuum(&mut database, dir.as_ref(), &settings, now)?)
    };
    prune().map_err(|error| error.message)
}

/// Removes the resume records that have served their time, once a day; returns how many, and what went wrong.
fn collect_records(env: &CommandEnv) -> Result<(usize, Vec<String>), String> {
    let collect = || -> Result<Collected, ResumeError> {
        let Some(store) = ResumeStore::open(&env.home)? else { return Ok(Collected::default()) };
        Ok(gc::collect_if_due(&store, &env.local_now())?.unwrap_or_default())
    };
    let collected = collect().map_err(|error| CommandError::from(error).message)?;
    let failed = collected.failed.into_iter();
    let failed = failed.map(|(file, error)| format!("{file}: {error}"));
    Ok((collected.removed.len(), failed.collect()))
}

fn to_json(
    done: Option<Cleaned>,
    busy: bool,
    sessions: Result<AutoPruned, String>,
    records: Result<(usize, Vec<String>), String>,
) -> impl Serialize {
    let cleaned = done.is_some();
    let (sessions_pruned, mut problems) = match sessions {
        Ok(pruned) => (pruned.removed.sessions, pruned.notes),
        Err(problem) => (0, vec![problem]),
    };
    let (resume_removed, failed) = records.unwrap_or_else(|problem| (0, vec![problem]));
    problems.extend(failed);
    let done = done.unwrap_or_default();
    problems.extend(done.errors.iter().cloned());
    object! {
        schema: "herma.maintain/1",
        cleaned,
        busy,
        dropped: done.dropped.len(),
        store_bytes_before: done.bytes_before,
        store_bytes_after: done.bytes_after,
        bytes_freed: done.bytes_freed(),
        sessions_pruned,
        resume_removed,
        problems,
        damaged_refs: done.collected.damaged,
    }
}
