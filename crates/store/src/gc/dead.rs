//! Commits that nothing names any more and that are still in the store: dropped checkpoints.

use std::collections::BTreeSet;

use super::inventory::loose_files;
use super::mark::Walk;
use crate::ObjectId;
use crate::gc::GcError;
use crate::layout::StoreDirs;
use crate::object::Kind;
use crate::objects::Objects;

/// Every commit in the store that the walk did not meet. What cannot be read is passed over: nobody else can
/// read it either.
pub fn dead_commits(
    dirs: &StoreDirs,
    objects: &Objects,
    walk: &Walk<'_>,
) -> Result<BTreeSet<ObjectId>, GcError> {
    let mut dead = BTreeSet::new();
    for pack in objects.packs()? {
        let ids = pack.index().entries().filter_map(Result::ok);
        dead.extend(ids.map(|(id, _)| id).filter(|id| !walk.has(id)));
    }
    let loose = loose_files(dirs.objects(), Some(walk))?;
    dead.extend(loose.iter().filter(|file| !file.is_live).map(|file| file.id));
    dead.retain(|id| matches!(objects.read_header(id), Ok((Kind::Commit, _))));
    Ok(dead)
}
