//! Brings packs back out of the trash.
//!
//! Collection moves packs nobody needs to `herma/trash/<some directory>/` before it removes them. If one
//! of them holds an object that a live checkpoint needs after all, be it because another copy of it has
//! rotted, the whole pack comes back.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::time::Duration;

use herma_fs::{Dir, FileKind};

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::layout::sweep::kind_of;
use crate::objects::Objects;
use crate::repair::set_aside::SetAside;

/// Moves the packs that hold whole copies of these objects from the trash to their place; returns
/// their names. Fails as busy while packs are being collected.
pub fn bring_back(
    dirs: &StoreDirs,
    wanted: &[ObjectId],
    set_aside: &SetAside,
) -> Result<Vec<String>, StoreError> {
    let herma = dirs.for_writing()?;
    if wanted.is_empty() || herma.trash.entries()?.is_empty() {
        return Ok(Vec::new());
    }
    // Whoever collects moves the same files.
    let _collect = dirs.lock_collect(Duration::ZERO)?;
    bring_back_held(dirs, wanted.iter().copied().collect(), set_aside)
}

/// Like [`bring_back`], while the caller holds the collector's lock.
pub fn bring_back_held(
    dirs: &StoreDirs,
    mut left: BTreeSet<ObjectId>,
    set_aside: &SetAside,
) -> Result<Vec<String>, StoreError> {
    let herma = dirs.for_writing()?;
    let mut back = Vec::new();
    for entry in herma.trash.entries()? {
        if kind_of(&herma.trash, &entry)? != Some(FileKind::Directory) {
            continue;
        }
        for stem in needed(&herma.trash, &entry.name, &mut left)? {
            let from = herma.trash.open_dir(entry.name.as_c_str())?;
            move_back(dirs, &from, &stem, set_aside)?;
            back.push(stem);
        }
    }
    Ok(back)
}

/// The packs of one directory that hold some of the objects, which are then no longer looked for.
fn needed(
    trash: &Dir,
    name: &CStr,
    left: &mut BTreeSet<ObjectId>,
) -> Result<BTreeSet<String>, StoreError> {
    let objects = Objects::in_packs(trash.try_clone()?, name.to_owned());
    let packs = objects.packs()?;
    let mut stems = BTreeSet::new();
    left.retain(|id| {
        let holders = packs.iter().filter(|pack| matches!(pack.index().find(id), Ok(Some(_))));
        let found: Vec<_> = holders.map(|pack| pack.stem().to_owned()).collect();
        if found.is_empty() || objects.is_whole(id).is_err() {
            return true;
        }
        stems.extend(found);
        false
    });
    Ok(stems)
}

fn move_back(
    dirs: &StoreDirs,
    from: &Dir,
    stem: &str,
    set_aside: &SetAside,
) -> Result<(), StoreError> {
    let directory = dirs.objects().open_dir("pack")?;
    let (pack, index) = (format!("{stem}.pack"), format!("{stem}.idx"));
    // ORDER: an index never stands without its pack, neither while the damaged pair goes nor while the
    // whole one comes.
    for name in [&index, &pack] {
        if directory.stat_opt(name.as_str())?.is_some() {
            set_aside.take(&directory, name)?;
        }
    }
    for name in [&pack, &index] {
        from.rename_new(name.as_str(), &directory, name.as_str())?;
        directory.sync()?;
    }
    Ok(from.sync()?)
}
