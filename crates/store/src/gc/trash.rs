//! The trash: what collection takes out of use lies here for a while before it is deleted.
//!
//! Each collection has a directory of its own, `herma/trash/<number>/`, with the files under the names they
//! had. They are deleted by a later collection, once a grace period has passed. Should something in them
//! be needed after all (a program that does not know our locks may have relied on it), the later
//! collection finds that out while marking, and moves it back: nothing but a rename.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::time::Duration;

use herma_fs::{Dir, FileKind};

use crate::ObjectId;
use crate::gc::GcError;
use crate::layout::{HermaDirs, StoreDirs};
use crate::repair::recover;
use crate::repair::set_aside::SetAside;

/// What belongs to a pack, in the order in which it is taken away: the index first, because a pack counts
/// only while its index is there.
const PARTS: [&str; 5] = ["idx", "rev", "bitmap", "mtimes", "pack"];

/// Numbers of collections have no more digits: there is always one after the last.
const MAX_DIGITS: usize = 18;

/// The trash of one collection; its directory is made when something is put in.
pub struct Trash<'a> {
    herma: &'a HermaDirs,
    number: u64,
    dir: Option<Dir>,
    /// How many bytes were put in.
    pub bytes: u64,
}

impl<'a> Trash<'a> {
    /// Begins the trash of a new collection.
    pub fn begin(dirs: &'a StoreDirs) -> Result<Self, GcError> {
        let herma = dirs.for_writing()?;
        let number = 1 + numbers(herma)?.into_iter().max().unwrap_or(0);
        Ok(Self { herma, number, dir: None, bytes: 0 })
    }

    /// Takes a file out of use. On a disk that has no room even for that it is deleted.
    pub fn put(&mut self, from: &Dir, name: &CStr, new: &CStr) -> Result<(), GcError> {
        let Some(stat) = from.stat_opt(name)? else { return Ok(()) };
        if self.dir.is_none() {
            let name = format!("{:08}", self.number);
            self.dir = self.herma.trash.ensure_private(name.as_str()).ok();
        }
        let moved = self.dir.as_ref().map(|to| from.rename_new(name, to, new)).transpose();
        match moved {
            Ok(Some(())) => self.bytes += stat.size,
            Err(e) if e.is_not_found() => {}
            Ok(None) | Err(_) => from.remove_file(name)?,
        }
        Ok(())
    }

    /// Takes a pack out of use.
    pub fn put_pack(&mut self, packs: &Dir, stem: &str) -> Result<(), GcError> {
        for part in PARTS {
            let name = CString::new(format!("{stem}.{part}"));
            if let Ok(name) = name {
                self.put(packs, &name, &name)?;
            }
        }
        Ok(())
    }
}

/// The numbers of the directories in the trash.
fn numbers(herma: &HermaDirs) -> Result<Vec<u64>, GcError> {
    let entries = herma.trash.entries()?;
    let names = entries.iter().filter_map(|entry| entry.name.to_str().ok());
    // Anything longer was not named by a collection.
    let ours = names.filter(|name| name.len() <= MAX_DIGITS);
    Ok(ours.filter_map(|name| name.parse().ok()).collect())
}

/// The directories in the trash: their names, and open.
fn directories(herma: &HermaDirs) -> Result<Vec<(CString, Dir)>, GcError> {
    let mut found = Vec::new();
    for entry in herma.trash.entries()? {
        let stat = herma.trash.stat_opt(entry.name.as_c_str())?;
        if stat.is_some_and(|stat| stat.kind == FileKind::Directory) {
            let dir = herma.trash.open_dir(entry.name.as_c_str())?;
            found.push((entry.name, dir));
        }
    }
    Ok(found)
}

/// How many bytes are in the trash.
pub fn bytes(dirs: &StoreDirs) -> Result<u64, GcError> {
    let Some(herma) = dirs.herma() else { return Ok(0) };
    let mut sum = 0;
    for (_, dir) in directories(herma)? {
        for entry in dir.entries()? {
            let stat = dir.stat_opt(entry.name.as_c_str())?;
            sum += stat.map_or(0, |stat| stat.size);
        }
    }
    Ok(sum)
}

/// The directories in the trash, beginning at the store's own directory.
pub fn paths(dirs: &StoreDirs) -> Result<Vec<PathBuf>, GcError> {
    let Some(herma) = dirs.herma() else { return Ok(Vec::new()) };
    let path = |name: &CStr| PathBuf::from(format!("store/herma/trash/{}", name.to_string_lossy()));
    Ok(directories(herma)?.iter().map(|(name, _)| path(name)).collect())
}

/// Deletes what has been in the trash for at least `grace`; says how many bytes that were.
pub fn empty(dirs: &StoreDirs, grace: Duration) -> Result<u64, GcError> {
    let herma = dirs.for_writing()?;
    let now = herma_fs::process::file_clock();
    let grace = i64::try_from(grace.as_nanos()).unwrap_or(i64::MAX);
    let mut freed = 0;
    let mut is_synced = false;
    for (name, dir) in directories(herma)? {
        // A time in the future says that the clock was set back; the wait is over then, because what
        // really protects savers is the lock under which these files were put here.
        let age = now.saturating_sub(dir.stat_self()?.mtime);
        if (0..grace).contains(&age) {
            continue;
        }
        if !std::mem::replace(&mut is_synced, true) {
            // ORDER: whatever made these files superfluous is durable before they go, also if another
            // program did it.
            dirs.store().sync_file_system()?;
        }
        drop(dir);
        freed += herma.trash.remove_tree(&name)?;
    }
    Ok(freed)
}

/// Moves packs and loose objects back that hold one of these objects; says how many files that were.
pub fn bring_back(
    dirs: &StoreDirs,
    missing: &BTreeSet<ObjectId>,
    set_aside: &SetAside,
) -> Result<usize, GcError> {
    let herma = dirs.for_writing()?;
    let mut brought = 0;
    for (_, dir) in directories(herma)? {
        for entry in dir.entries()? {
            let id = ObjectId::from_hex(entry.name.to_bytes());
            let Some(id) = id.filter(|id| missing.contains(id)) else { continue };
            let stat = dir.stat_opt(entry.name.as_c_str())?;
            if stat.is_none_or(|stat| stat.kind != FileKind::File) {
                continue;
            }
            let hex = id.to_hex();
            let fan = dirs.objects().ensure_private(&hex[..2])?;
            if fan.stat_opt(&hex[2..])?.is_some() {
                set_aside.take_as(&fan, &hex[2..], &hex)?;
            }
            dir.rename_new(entry.name.as_c_str(), &fan, &hex[2..])?;
            brought += 1;
        }
    }
    let packs = recover::bring_back_held(dirs, missing.clone(), set_aside)?;
    Ok(brought + packs.len())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::layout;

    #[test]
    fn what_was_taken_out_of_use_a_moment_ago_can_still_come_back() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("checkpoints");
        let dirs = layout::create_or_open(&base, "20260102-030405").unwrap();
        std::fs::write(base.join("store/objects/pack/old"), "12345").unwrap();
        let packs = dirs.objects().open_dir("pack").unwrap();
        let mut trash = Trash::begin(&dirs).unwrap();
        trash.put(&packs, c"old", c"old").unwrap();
        assert_eq!(empty(&dirs, Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(bytes(&dirs).unwrap(), 5);
        assert_eq!(empty(&dirs, Duration::ZERO).unwrap(), 5);
        assert_eq!(bytes(&dirs).unwrap(), 0);
    }
}
