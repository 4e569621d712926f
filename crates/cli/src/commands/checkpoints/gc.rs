//! `herma checkpoints gc`

use std::io::Write;

use clap::Args;
use herma_store::gc::Thoroughness;
use herma_view::json::lazy_object;
use herma_view::store::write_trash;

use super::damage::warn_of_damage;
use super::require_store;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::size;

/// Free what no checkpoint needs, and pack the rest
///
/// Drops no checkpoint, and may run while others save. What it removes stays in the trash for an hour, from where
/// `herma checkpoints repair` can bring it back, unless space is short. Exits 12 when damage keeps it from removing
/// anything.
#[derive(Args, Debug)]
pub(super) struct GcArgs {
    /// Delete what is in the trash now, instead of after an hour
    #[arg(long)]
    empty_trash: bool,
}

pub(super) fn cmd_gc(env: &CommandEnv, args: &GcArgs) -> Result<Outcome> {
    require_store(env)?;
    let (engine, full) = (&env.engine, Thoroughness::Full);
    let cleaned = env.ui.during(|progress| engine.collect(full, args.empty_trash, progress))?;
    let collected = &cleaned.collected;
    let json = lazy_object! {
        schema: "herma.checkpoints-gc/1",
        packs_before: collected.packs_before,
        packs_after: collected.packs_after,
        store_bytes_before: cleaned.bytes_before,
        store_bytes_after: cleaned.bytes_after,
        bytes_freed: cleaned.bytes_freed(),
        trash_bytes: cleaned.trash_bytes,
        merged_objects: collected.merged,
        live_objects: collected.live,
        postponed: collected.postponed,
        unfinished: collected.unfinished,
        damaged_refs: &collected.damaged,
    };
    env.ui.answer(json, |out| {
        let (before, after) = (collected.packs_before, collected.packs_after);
        writeln!(out, "Packs:           {before} → {after}")?;
        let (before, after) = (size(cleaned.bytes_before), size(cleaned.bytes_after));
        writeln!(out, "Store size:      {before} → {after}")?;
        writeln!(out, "Bytes reclaimed: {}", size(cleaned.bytes_freed()))?;
        write_trash(out, cleaned.trash_bytes)
    })?;
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
        env.ui.warning("there was not enough room on the disk to merge everything");
    }
    Ok(if collected.postponed || collected.unfinished { Outcome::LeftOut } else { Outcome::Done })
}
