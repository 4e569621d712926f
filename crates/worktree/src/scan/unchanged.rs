//! A quick check of the whole project: in which directories is something not as the stat cache has it?
//!
//! Mostly in none, or in a few, and then there is nothing to list, to read or to build but for those. So before a walk, its threads share the
//! directories of the cache, step into one after the other and ask about every name in it. Each has a working directory of its own:
//! to step into a directory costs less than to open and to close it, and to ask about what is in the one it stands in less than to ask
//! about what is in an open one. The walk that follows enters only the directories found, and takes the others as they were.
//!
//! Nothing is opened, and a directory counts only if it is the very one of the cache, by its inode and its times. Whoever puts something
//! else in its place meanwhile makes the directory one to be walked, by its descriptor and following no link.

use std::ffi::{CStr, CString};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use herma_fs::dir::walk::Standpoint;

use crate::owner::Boundary;
use crate::scan::changed_dirs::ChangedDirs;
use crate::stat_cache::{EntryKind, StatCache};

/// How many directories a thread takes at a time.
const SHARE: u32 = 64;

/// Where a larger part of all directories changed, most is asked twice: the walk does it alone.
const TOO_MANY: usize = 4;

/// What is looked at.
pub(crate) struct QuickCheck<'a> {
    cache: &'a StatCache,
    /// The directory each directory is in, and its name there.
    parents: Vec<(u32, &'a CStr)>,
    root: &'a [u8],
    boundary: Boundary,
    /// The first directory that nobody looks at yet.
    next: AtomicU32,
    given_up: AtomicBool,
    names: AtomicU64,
    changes: Mutex<ChangedDirs>,
    cancelled: &'a (dyn Fn(u64) -> bool + Sync),
}

impl<'a> QuickCheck<'a> {
    /// At the project that is at `root` and was as the cache says. `None` if the cache does not hold together.
    pub(crate) fn new(
        cache: &'a StatCache,
        root: &'a Path,
        boundary: Boundary,
        cancelled: &'a (dyn Fn(u64) -> bool + Sync),
    ) -> Option<Self> {
        Some(Self {
            cache,
            parents: cache.parents()?,
            root: root.as_os_str().as_bytes(),
            boundary,
            next: AtomicU32::new(0),
            given_up: AtomicBool::new(false),
            names: AtomicU64::new(0),
            changes: Mutex::default(),
            cancelled,
        })
    }

    /// The directories that have to be entered. `None` if the check does not help: everything has to be walked then. Every thread of the present
    /// pool takes part, and none of them has a working directory any more that others have a say in: they are to be ours.
    pub(crate) fn take(&self) -> Option<ChangedDirs> {
        if !self.root.starts_with(b"/") {
            return None;
        }
        rayon::broadcast(|_| self.look());
        if self.given_up.load(Ordering::Relaxed) {
            return None;
        }
        Some(ChangedDirs { is_seen: true, ..mem::take(&mut *self.changes()) })
    }

    /// How many names were looked at.
    pub(crate) fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }

    fn changes(&self) -> MutexGuard<'_, ChangedDirs> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of one thread.
    fn look(&self) {
        let looked = Standpoint::take().and_then(|mut standpoint| {
            while self.look_at_share(&mut standpoint)? {}
            Some(())
        });
        if looked.is_none() {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }

    /// Looks at a few directories; `false` when nothing is left to do, `None` when it is not worth going on.
    fn look_at_share(&self, standpoint: &mut Standpoint) -> Option<bool> {
        let first = self.next.fetch_add(SHARE, Ordering::Relaxed);
        let count = self.cache.directories();
        if first >= count || self.given_up.load(Ordering::Relaxed) {
            return Some(false);
        }
        let end = (first + SHARE).min(count);
        let mut names = 0;
        for index in first..end {
            let path = self.path(index);
            let same = path.and_then(|path| self.same_names(standpoint, &path, index));
            names += same.unwrap_or(0);
            if same.is_none() {
                let mut changes = self.changes();
                changes.changed.insert(index);
                changes.entered.extend(self.way(index));
                if changes.changed.len() > count as usize / TOO_MANY {
                    return None;
                }
            }
        }
        let seen = self.names.fetch_add(names, Ordering::Relaxed);
        (!(self.cancelled)(seen)).then_some(true)
    }

    /// A directory, and those it is in.
    fn way(&self, index: u32) -> impl Iterator<Item = u32> {
        let above =
            |index: &u32| (*index != StatCache::ROOT).then(|| self.parents[*index as usize].0);
        std::iter::successors(Some(index), above)
    }

    fn path(&self, index: u32) -> Option<CString> {
        let below = self.way(index).filter(|index| *index != StatCache::ROOT);
        let names = below.map(|index| self.parents[index as usize].1.to_bytes());
        let mut names: Vec<&[u8]> = names.chain([self.root]).collect();
        names.reverse();
        CString::new(names.join(&b'/')).ok()
    }

    /// How many names there are in a directory that is as it was, and with it everything in it that is no directory.
    fn same_names(&self, standpoint: &mut Standpoint, path: &CStr, index: u32) -> Option<u64> {
        let record = self.cache.dir(index)?;
        if record.unsettled || record.pending {
            return None;
        }
        standpoint.step_into(path).ok()?;
        let stat = standpoint.stat_self().ok()?;
        if !self.boundary.surely_holds(&stat) || !record.same_state(&stat) {
            return None;
        }
        // It may be somebody else's by now.
        if record.repository && index != StatCache::ROOT {
            return None;
        }
        let entries = self.cache.entries(index)?;
        let names = entries.len() as u64;
        for entry in entries {
            let entry = entry?;
            match entry.kind {
                EntryKind::Directory | EntryKind::LeftOut(_) => {}
                // One that could not be entered is tried again each time.
                _ if entry.is_dir => return None,
                _ => {
                    let stat = standpoint.stat(self.cache.name(&entry)?).ok()?;
                    if !entry.is_clean(&stat) || self.boundary.is_mounted(&stat) {
                        return None;
                    }
                }
            }
        }
        Some(names)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Arc;
    use std::time::Duration;

    use herma_fs::Dir;
    use herma_store::threads::in_pool;

    use super::*;
    use crate::testing;

    /// Forty directories, and in each a file and a link.
    fn project() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for number in 0..40 {
            let directory = temp.path().join(format!("{}/{number}", number / 8));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("file"), "content").unwrap();
            symlink("file", directory.join("link")).unwrap();
        }
        temp
    }

    fn settle() {
        // Until the clock of the file system has moved on, a record says that it is not to be believed.
        std::thread::sleep(Duration::from_millis(30));
    }

    fn cache_of(root: &Path) -> Arc<StatCache> {
        settle();
        let mut cache = testing::scanned(root, None, None).cache;
        Arc::get_mut(&mut cache).unwrap().all_stored();
        settle();
        cache
    }

    fn boundary(root: &Path) -> Boundary {
        Boundary::around(&Dir::open(root).unwrap().stat_self().unwrap())
    }

    fn taken(root: &Path, cache: &StatCache, threads: usize) -> Option<(ChangedDirs, u64)> {
        let boundary = boundary(root);
        let check = QuickCheck::new(cache, root, boundary, &|_| false).unwrap();
        let seen = in_pool(threads, || check.take()).unwrap();
        Some((seen?, check.names()))
    }

    /// The directories that are found after `change`.
    fn found(change: impl FnOnce(&Path)) -> Vec<String> {
        let temp = project();
        let cache = cache_of(temp.path());
        change(temp.path());
        let (seen, _) = taken(temp.path(), &cache, 2).unwrap();
        let mut paths = Vec::new();
        let boundary = boundary(temp.path());
        let check = QuickCheck::new(&cache, Path::new(""), boundary, &|_| false).unwrap();
        for index in 0..cache.directories() {
            if seen.changed.contains(&index) {
                paths.push(check.path(index).unwrap().into_string().unwrap());
                let mut others = check.way(index).filter(|above| *above != StatCache::ROOT);
                assert!(others.all(|above| seen.entered.contains(&above)));
            }
        }
        paths
    }

    #[test]
    fn every_directory_comes_with_its_path_and_those_it_is_in() {
        let temp = tempfile::tempdir().unwrap();
        for path in ["a/b/c", "a/b/d/e", "a/z", "b", "c/1/2/3/4", "c/2", "z"] {
            fs::create_dir_all(temp.path().join(path)).unwrap();
            fs::write(temp.path().join(path).join("file"), path).unwrap();
        }
        let cache = cache_of(temp.path());
        assert_eq!(cache.directories(), 15);
        let root = Path::new("/root");
        let check = QuickCheck::new(&cache, root, boundary(temp.path()), &|_| false).unwrap();
        for index in 0..cache.directories() {
            let path = check.path(index).unwrap().into_bytes();
            let inside = path.strip_prefix(b"/root").unwrap();
            assert_eq!(cache.dir_at(inside), Some(index));
            let depth = inside.split(|byte| *byte == b'/').count();
            assert_eq!(check.way(index).count(), depth);
        }
    }

    #[test]
    fn where_nothing_changed_nothing_is_found_by_any_number_of_threads() {
        let temp = project();
        let cache = cache_of(temp.path());
        for threads in [1, 2, 7] {
            let (seen, names) = taken(temp.path(), &cache, threads).unwrap();
            assert!(seen.changed.is_empty());
            assert_eq!(names, 40 * 3 + 5);
        }
    }

    #[test]
    fn just_the_directories_in_which_something_changed_are_found() {
        let none: [&str; 0] = [];
        assert_eq!(found(|_| {}), none);
        let write = |name: &'static str| {
            move |root: &Path| fs::write(root.join(name), "something else").unwrap()
        };
        assert_eq!(found(write("0/3/file")), ["/0/3"]);
        assert_eq!(found(write("4/39/new")), ["/4/39"]);
        assert_eq!(found(write("new")), [""]);
        let changed = found(|root| {
            fs::remove_file(root.join("2/17/link")).unwrap();
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(root.join("3"), mode).unwrap();
        });
        assert_eq!(changed, ["/2/17", "/3"]);
    }

    #[test]
    fn another_directory_in_the_same_place_is_found() {
        let replaced = |with: fn(&Path, &Path)| {
            move |root: &Path| {
                let (place, aside) = (root.join("1/9"), root.join("1/aside"));
                fs::rename(&place, &aside).unwrap();
                with(&place, &aside);
            }
        };
        let link = replaced(|place, aside| symlink(aside, place).unwrap());
        assert_eq!(found(link), ["/1", "/1/9"]);
        assert_eq!(found(replaced(|_, _| {})), ["/1", "/1/9"]);
        let other = replaced(|place, aside| {
            fs::create_dir(place).unwrap();
            for name in ["file", "link"] {
                fs::rename(aside.join(name), place.join(name)).unwrap();
            }
        });
        assert_eq!(found(other), ["/1", "/1/9"]);
    }

    #[test]
    fn where_much_changed_or_nobody_waits_it_is_given_up() {
        let temp = project();
        let cache = cache_of(temp.path());
        let boundary = boundary(temp.path());
        let check = QuickCheck::new(&cache, temp.path(), boundary, &|_| true).unwrap();
        assert!(in_pool(2, || check.take()).unwrap().is_none());
        let check = QuickCheck::new(&cache, Path::new("."), boundary, &|_| false).unwrap();
        assert!(in_pool(2, || check.take()).unwrap().is_none());
        for number in 0..20 {
            let file = temp.path().join(format!("{}/{number}/file", number / 8));
            fs::write(file, "changed").unwrap();
        }
        assert!(taken(temp.path(), &cache, 2).is_none());
    }
}
