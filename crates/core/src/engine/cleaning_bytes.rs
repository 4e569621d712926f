//! The byte limits: what is exceeded, what a plan rests on, and room to work on a full disk.

use super::Progress;
use super::Stage;
use super::open::OpenStore;
use crate::collect::holdings::Lengths;
use crate::collect::holdings::StoreHoldings;
use crate::error::Error;
use crate::retention;
use crate::retention::CheckpointKey;
use crate::retention::Holdings;
use crate::retention::Limits;
use crate::retention::Plan;
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

pub(super) fn is_exceeded(dirs: &StoreDirs, limits: &Limits) -> Result<bool, Error> {
    if let Some(most) = limits.max_total_bytes
        && store_bytes(dirs)? > most
    {
        return Ok(true);
    }
    match limits.min_free_bytes {
        Some(least) => Ok(dirs.store().free_bytes()? < least),
        None => Ok(false),
    }
}

pub(super) fn plan_with_bytes(
    store: &OpenStore,
    facts: &mut StoreFacts,
    limits: &Limits,
    progress: &dyn Progress,
) -> Result<Plan, Error> {
    let lengths = Lengths::read(&store.dirs, &store.objects)?;
    facts.object_bytes = lengths.total;
    facts.fixed_bytes = store_bytes(&store.dirs)?.saturating_sub(lengths.total);
    progress.stage(Stage::Marking);
    let go_on = |count| {
        progress.files(count, None);
        !progress.is_cancelled()
    };
    let mut holdings = StoreHoldings::new(&store.objects, &lengths, &go_on);
    retention::plan(facts, limits, &mut holdings)
}

/// For plans without byte limits.
pub(super) struct NoBytes;

impl Holdings for NoBytes {
    fn added_bytes(&mut self, order: &[CheckpointKey]) -> Result<Vec<u64>, Error> {
        Ok(vec![0; order.len()])
    }
}
