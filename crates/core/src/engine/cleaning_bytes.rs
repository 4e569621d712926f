//! The byte limits: what is exceeded, what a plan rests on, and room to work on a full disk.

use super::Progress;
use super::Stage;
use super::open::OpenStore;
use crate::collect::holdings::Lengths;
use crate::collect::holdings::StoreHoldings;
use crate::collect::trash;
use crate::error::Error;
use crate::retention;
use crate::retention::CheckpointKey;
use crate::retention::Holdings;
use crate::retention::Limits;
use crate::retention::Plan;
use crate::retention::Shares;
use crate::retention::StoreFacts;
use crate::store::layout::StoreDirs;
use crate::store::lock_file::remove_if_there;

/// On a full disk not even a checkpoint can be dropped, because git must be told where history ends. So the
/// stat caches go first, which cost nothing but the time of the next save.
pub(super) fn make_room(dirs: &StoreDirs) -> Result<(), Error> {
    let projects = &dirs.for_writing()?.projects;
    for entry in projects.entries()? {
        if let Ok(project) = projects.open_dir(entry.name.as_c_str()) {
            remove_if_there(&project, "stat-cache")?;
        }
    }
    Ok(())
}

/// The size of the store on disk, as Hermes counts it: all regular files.
pub(super) fn store_bytes(dirs: &StoreDirs) -> Result<u64, Error> {
    Ok(dirs.base().tree_bytes(c"store")?)
}

/// Is a byte limit so near that something has to be done?
pub(super) fn is_pressed(dirs: &StoreDirs, limits: &Limits, bytes: u64) -> Result<bool, Error> {
    let least = limits.min_free_bytes.unwrap_or(0);
    let is_near = retention::is_near(bytes, limits.max_total_bytes.unwrap_or(0));
    Ok(is_near || least > 0 && dirs.store().free_bytes()? < least)
}

/// The plan, with what checkpoints hold if a byte limit is near: that takes a walk over all objects.
pub(super) fn plan(
    store: &OpenStore,
    facts: &mut StoreFacts,
    limits: &Limits,
    progress: &dyn Progress,
) -> Result<Plan, Error> {
    let bytes = store_bytes(&store.dirs)?;
    // What is in the trash is as good as free.
    facts.object_bytes = trash::bytes(&store.dirs)?;
    facts.fixed_bytes = bytes.saturating_sub(facts.object_bytes);
    if !is_pressed(&store.dirs, limits, bytes)? {
        let limits = Limits {
            max_total_bytes: None,
            min_free_bytes: None,
            ..limits.clone()
        };
        return retention::plan(facts, &limits, &mut NoHoldings);
    }
    let lengths = Lengths::read(&store.dirs, &store.objects)?;
    facts.object_bytes += lengths.total;
    facts.fixed_bytes = bytes.saturating_sub(facts.object_bytes);
    progress.stage(Stage::Marking);
    let go_on = |count| {
        progress.files(count, None);
        !progress.is_cancelled()
    };
    let mut holdings = StoreHoldings::new(&store.objects, &lengths, &go_on);
    retention::plan(facts, limits, &mut holdings)
}

/// For plans without byte limits, which ask for none.
struct NoHoldings;

impl Holdings for NoHoldings {
    fn shares(&mut self, checkpoints: &[CheckpointKey]) -> Result<(Shares, Vec<u32>), Error> {
        let mut shares = Shares::default();
        let pieces = checkpoints.iter().map(|_| shares.add(0)).collect();
        Ok((shares, pieces))
    }
}
