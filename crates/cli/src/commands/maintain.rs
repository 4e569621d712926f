//! `herma maintain`: what a save starts in the background when a limit is near.

use herma_core::engine::Cleaned;
use herma_core::engine::NoProgress;
use serde::Serialize;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;

#[derive(Serialize)]
struct MaintainJson {
    schema: &'static str,
    cleaned: bool,
    busy: bool,
    dropped: usize,
    store_bytes_before: u64,
    store_bytes_after: u64,
    bytes_freed: u64,
    problems: Vec<String>,
    damaged_refs: Vec<String>,
}

/// Keeps the store within its limits, silently. Nobody reads what it prints: what went wrong is in the
/// store's record, which `herma checkpoints status` and `herma doctor` show.
pub(crate) fn cmd_maintain(env: &CommandEnv) -> Result<Outcome, CommandError> {
    herma_fs::background::become_background();
    let done = env.engine.maintain(&NoProgress)?;
    let is_busy = done.is_none() && env.engine.has_store()?;
    if env.ui.json {
        env.ui.write_json(&to_json(done, is_busy))?;
    }
    Ok(if is_busy {
        Outcome::Busy
    } else {
        Outcome::Done
    })
}

fn to_json(done: Option<Cleaned>, busy: bool) -> MaintainJson {
    let cleaned = done.is_some();
    let done = done.unwrap_or_default();
    MaintainJson {
        schema: "herma.maintain/1",
        cleaned,
        busy,
        dropped: done.dropped.len(),
        store_bytes_before: done.bytes_before,
        store_bytes_after: done.bytes_after,
        bytes_freed: done.bytes_freed(),
        problems: done.errors,
        damaged_refs: done.collected.damaged,
    }
}
