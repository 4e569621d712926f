//! Clears away what killed processes left behind: their temporary files, and the ref locks that are
//! second names of those, or whose names those hold.

use std::collections::HashSet;
use std::time::Duration;

use herma_fs::lock::Acquired;
use herma_fs::process::TempName;
use herma_fs::{Dir, Entry, FileKind, IfThere, lock};

use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::lock_file::{SWEEP, lock_name, noted_lock};

/// Directories of refs deeper than this are not ours and not git's.
const MAX_DEPTH: usize = 16;

/// Removes temporary files whose process is gone, with the locks that are second names of them; tells
/// how many files there were. Does nothing while another process is sweeping.
pub fn sweep_dead(dirs: &StoreDirs) -> Result<usize, StoreError> {
    let herma = dirs.for_writing()?;
    if dead_names(&herma.tmp)?.is_empty() {
        return Ok(0);
    }
    let _guard = match lock::acquire(&herma.dir, SWEEP, lock::Mode::Exclusive, Duration::ZERO)? {
        Acquired::Busy { .. } => return Ok(0),
        Acquired::Yes(guard) => Some(guard),
        Acquired::Unsupported => None,
    };
    let dead = dead_names(&herma.tmp)?;
    let mut linked = HashSet::new();
    for name in &dead {
        if let Some(stat) = herma.tmp.stat_opt(name.as_str())?
            && stat.links > 1
        {
            linked.insert((stat.dev, stat.ino));
        }
    }
    // ORDER: locks before temporary files, without which nothing would say that the locks are stale.
    if !linked.is_empty() {
        remove_locks(dirs.store(), &linked)?;
    }
    remove_noted_locks(dirs.store(), &herma.tmp, &dead)?;
    let mut removed = 0;
    for name in &dead {
        removed += usize::from(herma.tmp.remove_if_there(name.as_str())?);
    }
    Ok(removed)
}

fn dead_names(tmp: &Dir) -> Result<Vec<String>, StoreError> {
    let mut dead = Vec::new();
    for entry in tmp.entries()? {
        if TempName::parse(entry.name.as_bytes()).is_some_and(|owner| !owner.owner_lives()) {
            dead.push(entry.name.to_string_lossy().into_owned());
        }
    }
    Ok(dead)
}

/// Removes the locks that these files say were their makers', unless somebody who lives says the same by now.
fn remove_noted_locks(store: &Dir, tmp: &Dir, dead: &[String]) -> Result<(), StoreError> {
    let (mut stale, mut held) = (HashSet::new(), HashSet::new());
    for entry in tmp.entries()? {
        let name = entry.name.to_string_lossy().into_owned();
        if let Some(path) = noted_lock(tmp, &name) {
            let found = if dead.contains(&name) { &mut stale } else { &mut held };
            found.insert(path);
        }
    }
    for path in stale.difference(&held) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Elsewhere it is gone, or no place in the store.
        if let Ok(dir) = store.open_beneath(parent.as_bytes()) {
            dir.remove_if_there(lock_name(name).as_str())?;
        }
    }
    Ok(())
}

/// Removes the `*.lock` files of the store and its refs that are one of these files.
fn remove_locks(store: &Dir, files: &HashSet<(u64, u64)>) -> Result<(), StoreError> {
    remove_locks_in(store, files)?;
    let Some(refs) = store.open_dir("refs").if_there()? else { return Ok(()) };
    let mut pending = vec![(refs, 0)];
    while let Some((dir, depth)) = pending.pop() {
        remove_locks_in(&dir, files)?;
        for entry in dir.entries()? {
            if depth >= MAX_DEPTH || kind_of(&dir, &entry)? != Some(FileKind::Directory) {
                continue;
            }
            let child = dir.open_dir(entry.name.as_c_str()).if_there()?;
            pending.extend(child.map(|child| (child, depth + 1)));
        }
    }
    Ok(())
}

/// What an entry is, also where listings do not say; `None` if it is gone.
pub fn kind_of(dir: &Dir, entry: &Entry) -> Result<Option<FileKind>, StoreError> {
    if entry.kind != FileKind::Unknown {
        return Ok(Some(entry.kind));
    }
    Ok(dir.stat_opt(entry.name.as_c_str())?.map(|stat| stat.kind))
}

fn remove_locks_in(dir: &Dir, files: &HashSet<(u64, u64)>) -> Result<(), StoreError> {
    for entry in dir.entries()? {
        if !entry.name.as_bytes().ends_with(b".lock") {
            continue;
        }
        if let Some(stat) = dir.stat_opt(entry.name.as_c_str())?
            && files.contains(&(stat.dev, stat.ino))
        {
            dir.remove_if_there(entry.name.as_c_str())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::testing::Fresh;

    #[test]
    fn files_of_dead_processes_go_with_their_locks_and_those_of_live_ones_stay() {
        let fresh = Fresh::new();
        let tmp = fresh.store().join("herma/tmp");
        let live = TempName::next().to_string();
        std::fs::write(tmp.join("tmp-00000001-1-1-1-1"), b"left behind").unwrap();
        std::fs::write(tmp.join("tmp-00000001-1-1-1-2"), b"left behind").unwrap();
        std::fs::write(tmp.join(&live), b"being written").unwrap();
        std::fs::write(tmp.join("not-ours"), b"").unwrap();
        let lock = fresh.store().join("refs/herma/x.lock");
        let foreign = fresh.store().join("packed-refs.lock");
        std::fs::hard_link(tmp.join("tmp-00000001-1-1-1-1"), &lock).unwrap();
        std::fs::write(&foreign, b"").unwrap();
        // Where there are no second names, the file holds the name of its lock.
        let noted = fresh.store().join("refs/herma/y.lock");
        let outside = fresh.store().with_file_name("z.lock");
        for (number, lock) in [(3, "refs/herma/y"), (4, "../z")] {
            let name = format!("tmp-00000001-1-1-1-{number}");
            std::fs::write(tmp.join(name), format!("lock {lock}\n")).unwrap();
        }
        std::fs::write(&noted, b"half").unwrap();
        std::fs::write(&outside, b"").unwrap();

        assert_eq!(sweep_dead(&fresh.dirs).unwrap(), 4);
        assert!(!lock.exists() && !noted.exists());
        assert!(outside.exists(), "nothing outside the store is touched");
        assert!(foreign.exists(), "a lock of another program is not ours to remove here");
        assert_eq!(fresh.temporary_files(), ["not-ours".to_owned(), live]);
    }
}
