//! The file a cache is in. Written without syncing, and only where it changed.

use std::ops::Range;

use herma_fs::Dir;
use herma_fs::publish::rewrite_cache;
use herma_store::ObjectId;

use super::StatCache;

/// What the file is called, in the state of a project.
pub(crate) const CACHE_FILE: &str = "stat-cache";

/// Stat caches grow with the project: a million files need some 90 MB.
const MAX_CACHE: u64 = 1 << 30;

/// A cache of this size takes longer to read than a thread takes to begin.
const LARGE_CACHE_BYTES: u64 = 2 << 20;

impl StatCache {
    /// Reads the cache of a project; `None` when there is none that can be believed.
    pub fn read(state: &Dir) -> Option<Self> {
        // Somebody may be writing it. Then the checksum tells.
        Self::parse(state.read_opt(CACHE_FILE, MAX_CACHE).ok()??)
    }

    /// Is there a cache that takes its time to read?
    pub fn is_large(state: &Dir) -> bool {
        let stat = state.stat_opt(CACHE_FILE).ok().flatten();
        stat.is_some_and(|stat| stat.size >= LARGE_CACHE_BYTES)
    }

    /// Writes the cache, which describes `checkpoint`, into the state of a project.
    pub fn write(self, temp_dir: &Dir, state: &Dir, checkpoint: ObjectId) -> herma_fs::Result<()> {
        let (bytes, changed) = self.into_changed_bytes(checkpoint);
        rewrite_cache(temp_dir, state, CACHE_FILE, &bytes, &joined(changed))
    }
}

/// Fewer, longer ranges: what is beside each other is written in one go.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::super::{
        CacheBuilder, CacheHeader, CacheSize, DirRecord, EncodedEntries, EntryKind, EntryRecord,
    };
    use super::*;

    /// A cache of one directory with this many files.
    fn cache_of(files: usize) -> StatCache {
        let stat = Dir::open(".".as_ref()).unwrap().stat_self().unwrap();
        let names = (0..files).map(|number| std::ffi::CString::new(format!("{number:08}")));
        let names: Vec<_> = names.map(Result::unwrap).collect();
        let record = EntryRecord::new(EntryKind::File, Some(&stat), ObjectId::EMPTY_TREE);
        let entries = names.iter().map(|name| (name.as_c_str(), record));
        let entries = EncodedEntries::new(entries);
        let mut builder = CacheBuilder::new(CacheSize::of_dir(&entries)).unwrap();
        let record = DirRecord::new(&stat, false);
        builder.push_dir(record, &entries).unwrap();
        builder.finish(&CacheHeader::default()).unwrap()
    }

    fn names(cache: &StatCache) -> usize {
        let entries = cache.entries(StatCache::ROOT).unwrap();
        let names = entries.map(|entry| cache.name(&entry.unwrap()).unwrap());
        let right = names.enumerate().map(|(number, name)| {
            assert_eq!(name.to_bytes(), format!("{number:08}").as_bytes());
        });
        right.count()
    }

    #[test]
    fn a_cache_is_written_over_whether_it_was_longer_or_shorter() {
        let temp = tempfile::tempdir().unwrap();
        let state = Dir::open(temp.path()).unwrap();
        let write = |cache: StatCache| {
            let id = ObjectId::EMPTY_TREE;
            cache.write(&state, &state, id).unwrap();
        };
        let inode = || state.stat(CACHE_FILE).unwrap().ino;
        write(cache_of(5000));
        let was = inode();
        let read = StatCache::read(&state).unwrap();
        for files in [10, 4000] {
            write(cache_of(files));
            assert_eq!(names(&StatCache::read(&state).unwrap()), files);
        }
        write(StatCache::read(&state).unwrap());
        assert_eq!(names(&StatCache::read(&state).unwrap()), 4000);
        assert_eq!(names(&read), 5000, "what was read is nobody else's");
        assert_eq!(inode(), was);
        assert_eq!(state.entries().unwrap().len(), 1);
    }

    #[test]
    fn ranges_beside_each_other_are_one() {
        assert_eq!(joined(vec![0..2, 2..5, 7..9]), [0..5, 7..9]);
    }
}
