//! `herma checkpoints gc`

use std::io::Write;

use herma_core::collect::Thoroughness;
use serde::Serialize;

use super::damage::warn_of_damage;
use super::require_store;
use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::units::size;

#[derive(Serialize)]
struct GcJson<'a> {
    schema: &'static str,
    packs_before: usize,
    packs_after: usize,
    store_bytes_before: u64,
    store_bytes_after: u64,
    bytes_freed: u64,
    merged_objects: u64,
    live_objects: u64,
    postponed: bool,
    unfinished: bool,
    damaged_refs: &'a [String],
}

pub(super) fn cmd_gc(env: &CommandEnv) -> Result<Outcome, CommandError> {
    require_store(env)?;
    let progress = env.ui.progress();
    let cleaned = env.engine.collect(Thoroughness::Full, &progress)?;
    drop(progress);
    let collected = &cleaned.collected;
    if env.ui.json {
        env.ui.write_json(&GcJson {
            schema: "herma.checkpoints-gc/1",
            packs_before: collected.packs_before,
            packs_after: collected.packs_after,
            store_bytes_before: cleaned.bytes_before,
            store_bytes_after: cleaned.bytes_after,
            bytes_freed: cleaned.bytes_freed(),
            merged_objects: collected.merged,
            live_objects: collected.live,
            postponed: collected.postponed,
            unfinished: collected.unfinished,
            damaged_refs: &collected.damaged,
        })?;
    } else {
        let mut out = env.ui.data();
        let (before, after) = (collected.packs_before, collected.packs_after);
        writeln!(out, "Packs:           {before} → {after}")?;
        let (before, after) = (size(cleaned.bytes_before), size(cleaned.bytes_after));
        writeln!(out, "Store size:      {before} → {after}")?;
        writeln!(out, "Bytes reclaimed: {}", size(cleaned.bytes_freed()))?;
        out.finish()?;
    }
    if !collected.damaged.is_empty() {
        warn_of_damage(env, &collected.damaged);
        return Ok(Outcome::Damaged);
    }
    if collected.postponed {
        env.ui.warning(
            "the store was in use all the time, so what was merged is still there twice; the next cleaning removes it",
        );
    }
    if collected.unfinished {
        env.ui
            .warning("there was not enough room on the disk to merge everything");
    }
    Ok(if collected.postponed || collected.unfinished {
        Outcome::LeftOut
    } else {
        Outcome::Done
    })
}
