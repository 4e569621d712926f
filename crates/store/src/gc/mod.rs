//! Collection: frees the room of what no checkpoint needs, and packs what they need tightly.
//!
//! It runs beside any number of savers, restorers and readers, and is safe because of one rule: an object
//! is taken away only while nobody is between finding it in the store and publishing a ref to it. Savers
//! hold the shared lock for all of that time.
//!
//! 1. under the shared lock: [`mark`] what is alive, take stock (`inventory`), choose ([`victims`]), and
//!    write one new pack with what is alive in the chosen ones, every object read and checked on the way
//! 2. under the exclusive lock, for some milliseconds: look at the refs again, walk what is new, spare the
//!    packs that turn out to be needed, and rename the others into the [`trash`]
//! 3. without a lock: delete what has been in the trash long enough
//!
//! Killed anywhere, it leaves at most an object stored twice, which the next collection tidies up. It
//! deletes before it writes, so it works on a full disk.

mod damaged_refs;

pub mod dead;
mod inventory;
pub mod litter;
pub mod mark;
mod merging;
mod sweeping;
pub mod trash;
pub mod victims;

use std::collections::BTreeSet;
use std::time::Duration;

pub use damaged_refs::refs_needing;
use inventory::Inventory;
pub use inventory::{LooseFile, loose_files};
use litter::Litter;
use mark::Walk;
use merging::Merge;
use sweeping::Sweep;
pub use victims::Thoroughness;

use crate::layout::StoreDirs;
pub use crate::merge::GcError;
use crate::objects::{ObjectError, Objects};
use crate::repair::set_aside::SetAside;
use crate::{ObjectId, StoreError};

/// How to collect.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// How much to merge.
    pub thoroughness: Thoroughness,
    /// The size a merged pack may have. Writing one again needs that much room, so it is a small part of
    /// what the store may have.
    pub max_pack: u64,
    /// How long the trash is kept.
    pub grace: Duration,
    /// Delete the trash of this very run, too: room is needed now.
    pub at_once: bool,
    /// Go on although something alive cannot be read? The packs that hold what is damaged stay as they are.
    /// Files that only a damaged directory names may be lost with it.
    pub despite_damage: bool,
    /// How long to go on asking for the store when somebody is always using it.
    pub time_limit: Duration,
    /// Threads for compressing; 0 takes one per core.
    pub threads: usize,
    /// What must not be readable any more, unless something alive needs it: it goes at once, whatever it
    /// takes.
    pub doomed: BTreeSet<ObjectId>,
    /// Take away files by which nothing can be read, however young they are? Whoever says so has read
    /// everything that is alive.
    pub litter_at_once: bool,
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self {
            thoroughness: Thoroughness::Usual,
            max_pack: 256 << 20,
            grace: Duration::from_secs(3600),
            at_once: false,
            despite_damage: false,
            time_limit: Duration::from_secs(10),
            threads: 0,
            doomed: BTreeSet::new(),
            litter_at_once: false,
        }
    }
}

/// What came of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The packs there were.
    pub packs_before: usize,
    /// The packs there are.
    pub packs_after: usize,
    /// Objects that were written into a new pack.
    pub merged: u64,
    /// Live objects.
    pub live: u64,
    /// Bytes taken out of use, which are free when the trash is emptied.
    pub trashed_bytes: u64,
    /// Bytes of files that were deleted.
    pub freed_bytes: u64,
    /// Files brought back out of the trash, because something needed them.
    pub brought_back: usize,
    /// Refs that need objects which cannot be read. As long as there are any, nothing is taken away.
    pub damaged: Vec<String>,
    /// Somebody used the store all the time: what was merged is taken away by the next collection.
    pub postponed: bool,
    /// The disk has no room to merge all that was chosen.
    pub unfinished: bool,
    /// What must not be readable any more, is not needed, and is still there.
    pub doomed_left: BTreeSet<ObjectId>,
}

/// What hears how far it has got: stage and objects done; answers whether to go on.
pub type Report<'r> = &'r (dyn Fn(CollectStage, u64) -> bool + Sync);

/// What collection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectStage {
    /// Finding out what is alive.
    Marking,
    /// Writing a new pack.
    Merging,
    /// Taking away what is not needed.
    Removing,
}

/// Collects. The caller holds the collector's lock, and no other lock of the store.
pub fn collect(
    dirs: &StoreDirs,
    options: &CollectOptions,
    report: Report<'_>,
) -> Result<Collected, GcError> {
    let mut collected = Collected { doomed_left: options.doomed.clone(), ..Collected::default() };
    // The longest wait a shared lock can have is for another collector, and we are the only one.
    let shared = dirs.lock_shared(options.time_limit)?;
    if !shared.is_locked() {
        return Err(StoreError::NoLocks.into());
    }
    let objects = Objects::open(dirs.objects().try_clone()?);
    let marking = |count| report(CollectStage::Marking, count);
    let (mut walk, mut inventory) =
        mark_all(dirs, &objects, &marking, &options.doomed, &mut collected)?;
    collected.packs_before = inventory.packs.len();
    collected.packs_after = collected.packs_before;
    collected.live = walk.order().len() as u64;
    let mut lost: BTreeSet<ObjectId> = walk.unreadable().iter().copied().collect();
    if !lost.is_empty() {
        collected.damaged = damaged(dirs, &objects, &lost)?;
        if !options.despite_damage {
            return Ok(collected);
        }
        inventory.keep_packs_with(&objects, &lost)?;
    }
    // ORDER: deleting comes before writing, and marking before deleting: what marking found missing has
    // been brought back out of the trash by now.
    collected.freed_bytes += trash::empty(dirs, options.grace)?;
    walk.settle();
    drop(shared);
    loop {
        let done =
            replace_packs(dirs, &objects, &inventory, &mut walk, options, report, &mut collected);
        match done {
            Ok(()) => break,
            // Marking does not read files: that one is damaged shows only when it is to be written again.
            Err(GcError::Object(ObjectError::Missing { id } | ObjectError::Damaged { id, .. }))
                if lost.insert(id) =>
            {
                collected.damaged = damaged(dirs, &objects, &lost)?;
                if !options.despite_damage {
                    return Ok(collected);
                }
                inventory = Inventory::take(dirs, &objects, &walk, &options.doomed)?;
                inventory.keep_packs_with(&objects, &lost)?;
            }
            Err(e) => return Err(e),
        }
    }
    collected.packs_after = objects.packs()?.len();
    // A pack that cannot be read may hold anything, and so may litter.
    let is_hidden = !options.doomed.is_empty() && Litter::look(dirs)?.may_be_needed();
    let is_there = |id: &ObjectId| is_hidden || objects.contains(id).unwrap_or(true);
    let doomed = options.doomed.iter().copied();
    collected.doomed_left = doomed.filter(|id| !walk.has(id) && is_there(id)).collect();
    Ok(collected)
}

/// Merges one group of packs after the other, and takes away what that makes superfluous.
fn replace_packs(
    dirs: &StoreDirs,
    objects: &Objects,
    inventory: &Inventory,
    walk: &mut Walk<'_>,
    options: &CollectOptions,
    report: Report<'_>,
    collected: &mut Collected,
) -> Result<(), GcError> {
    let mut merge = Merge::new(dirs, objects, inventory, options, report);
    loop {
        let shared = dirs.lock_shared(options.time_limit)?;
        let plan = merge.next(walk, collected)?;
        drop(shared);
        let Some(plan) = plan else { return Ok(()) };
        let sweep =
            Sweep { dirs, objects, inventory, plan: &plan, litter_at_once: options.litter_at_once };
        report(CollectStage::Removing, 0);
        sweep.run(walk, options.time_limit, collected)?;
        if options.at_once || !options.doomed.is_empty() {
            collected.freed_bytes += trash::empty(dirs, Duration::ZERO)?;
        }
        if collected.postponed {
            return Ok(());
        }
    }
}

/// Walks everything and takes stock; what is missing but still in the trash is brought back first.
fn mark_all<'a>(
    dirs: &StoreDirs,
    objects: &'a Objects,
    go_on: &'a (dyn Fn(u64) -> bool + Sync),
    doomed: &BTreeSet<ObjectId>,
    collected: &mut Collected,
) -> Result<(Walk<'a>, Inventory), GcError> {
    loop {
        let mut walk = Walk::new(objects, dirs.shallow().read()?, go_on);
        let refs = dirs.refs().list("refs")?.refs;
        walk.refs(&refs)?;
        let inventory = Inventory::take(dirs, objects, &walk, doomed)?;
        let mut missing: BTreeSet<ObjectId> = walk.unreadable().iter().copied().collect();
        missing.extend(inventory.missing(&walk));
        if missing.is_empty() {
            return Ok((walk, inventory));
        }
        let set_aside = SetAside::open(dirs, "collection".to_owned())?;
        let brought = trash::bring_back(dirs, &missing, &set_aside)?;
        collected.brought_back += brought;
        if brought == 0 {
            walk.note_missing(&missing);
            return Ok((walk, inventory));
        }
    }
}

/// The refs that need one of these objects, which cannot be read; never none.
pub fn damaged(
    dirs: &StoreDirs,
    objects: &Objects,
    lost: &BTreeSet<ObjectId>,
) -> Result<Vec<String>, GcError> {
    let mut names = refs_needing(dirs, objects, lost)?;
    if names.is_empty() {
        names.extend(lost.iter().map(|id| format!("object {id}")));
    }
    Ok(names)
}
