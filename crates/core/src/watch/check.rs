//! Looks of the watcher's own, for what no system tells. They make no save quicker and none wrong.
//!
//! After something came into a directory by another way than being made there, it may be open, or mapped, under a name
//! that is not watched: a *quick* look finds out who holds what, and until then every save looks at such a directory
//! itself. A look at *everything* now and then finds what is written through a name outside the project, or through a
//! mapping that cannot be known of; it shortens how long such a change can stay unseen, and counts it.

use std::collections::HashSet;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_fs::Errno;
use herma_fs::dir::ListBuffer;
use herma_fs::watch::held;

use super::Token;
use super::root::Doubtful;
use super::root::open_root;
use super::tree::Place;
use crate::snapshot::stat_cache::EntryKind;
use crate::snapshot::stat_cache::StatCache;

/// A project to be looked at.
#[derive(Debug)]
pub struct Check {
    pub(super) instance: u64,
    pub(super) path: PathBuf,
    pub(super) place: (u64, u64),
    pub(super) state: Dir,
    pub(super) doubtful: Doubtful,
    /// Is everything looked at?
    pub(super) whole: bool,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub(super) instance: u64,
    /// What was doubtful when the look began.
    pub(super) doubtful: Doubtful,
    /// The directories of these in which somebody may write without anybody hearing of it.
    pub(super) still: HashSet<Place>,
    /// All directories in which somebody may, if all of them were looked for.
    pub(super) held: Option<HashSet<Vec<u8>>>,
    /// The token of the stat cache everything was compared with, and the directories that are not as it has them.
    pub(super) differing: Option<(Token, Vec<Vec<u8>>)>,
}

impl Check {
    /// Looks. `None` if the project is not there any more, or it cannot be known who holds what.
    pub fn run(self) -> Option<Found> {
        let dir = open_root(&self.path, self.place)?;
        let held = held::for_writing()?;
        let is_held = |path: &[u8]| match dir.open_beneath(path) {
            Ok(dir) => holds_any(&dir, &held),
            Err(e) => !e.is_not_found(),
        };
        let unsure = self.doubtful.places.iter();
        let still = unsure
            .filter(|(_, (path, _))| is_held(path))
            .map(|(place, _)| *place)
            .collect();
        let wants_all = self.whole || self.doubtful.everywhere.is_some();
        let cache = wants_all.then(|| StatCache::read(&self.state)).flatten();
        // Only what came by since this watch began was told: an older one may have files where they are not any more.
        let cache = cache.and_then(|cache| {
            let token = cache.header().token?;
            (token.instance == self.instance).then_some((token, cache))
        });
        let differing = cache
            .as_ref()
            .filter(|_| self.whole)
            .map(|(token, cache)| (*token, differing(&dir, cache)));
        Some(Found {
            instance: self.instance,
            doubtful: self.doubtful,
            still,
            held: cache.map(|(_, cache)| directories_of(&cache, &held)),
            differing,
        })
    }
}

/// Is one of these inodes in this directory, as far as can be seen?
fn holds_any(dir: &Dir, inodes: &HashSet<u64>) -> bool {
    let mut is_any = false;
    let listed = dir.for_each_entry(&mut ListBuffer::new(), |name, _| {
        is_any |= match dir.stat_raw(name) {
            Ok(stat) => inodes.contains(&stat.ino),
            Err(e) => e != Errno::NOENT,
        };
    });
    is_any || listed.is_err()
}

/// The directories of a cache that have a file with one of these inodes.
pub(super) fn directories_of(cache: &StatCache, inodes: &HashSet<u64>) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    each_directory(cache, |index, path| {
        let mut entries = cache.entries(index).into_iter().flatten().flatten();
        if entries.any(|entry| inodes.contains(&entry.ino)) {
            found.insert(path.to_vec());
        }
    });
    found
}

fn each_directory(cache: &StatCache, mut each: impl FnMut(u32, &[u8])) {
    let mut stack = vec![(StatCache::ROOT, Vec::new())];
    // A directory has one place. A cache in which it has several could be walked for ever.
    let mut unseen = cache.directories();
    while let Some((index, path)) = stack.pop() {
        let Some(fewer) = unseen.checked_sub(1) else {
            break;
        };
        unseen = fewer;
        each(index, &path);
        for entry in cache.entries(index).into_iter().flatten().flatten() {
            if let (Some(child), Some(name)) = (entry.child(), cache.name(&entry)) {
                let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
                stack.push((child, [&path, slash, name.to_bytes()].concat()));
            }
        }
    }
}

/// The directories that are not as the cache has them, but for what every save looks at anyway.
fn differing(root: &Dir, cache: &StatCache) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    each_directory(cache, |index, path| {
        if !is_as_cached(root, cache, index, path) {
            found.push(path.to_vec());
        }
    });
    found
}

fn is_as_cached(root: &Dir, cache: &StatCache, index: u32, path: &[u8]) -> bool {
    let (Ok(dir), Some(record)) = (root.open_beneath(path), cache.dir(index)) else {
        return false;
    };
    let is_same = dir.stat_self().is_ok_and(|stat| record.same_state(&stat));
    if !is_same && !record.unsettled {
        return false;
    }
    let mut entries = cache.entries(index).into_iter().flatten();
    entries.all(|entry| {
        let Some(entry) = entry else {
            return false;
        };
        let is_looked_at = entry.wants_a_look()
            || entry.is_dir
            || matches!(entry.kind, EntryKind::Directory | EntryKind::LeftOut(_));
        is_looked_at
            || cache
                .name(&entry)
                .is_some_and(|name| dir.stat_raw(name).is_ok_and(|stat| entry.same_state(&stat)))
    })
}
