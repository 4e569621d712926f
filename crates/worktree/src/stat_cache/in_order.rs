//! The directories of a cache in the order of their records, each with its path.
//!
//! A directory is followed by all that is below it, so whoever begins anywhere needs only the way to there, and
//! several can share the work without asking each other.

use std::ffi::CStr;

use super::record::NONE;
use super::{StatCache, u32_at};

/// One directory after the other.
pub(crate) struct InOrder<'c> {
    cache: &'c StatCache,
    /// The way to the present directory, and the directory itself.
    way: Vec<Step>,
    /// Its path: that of the root, and what was put behind it. Ends with a slash.
    path: Vec<u8>,
}

/// A directory on the way.
struct Step {
    dir: u32,
    /// The entries that were not gone into yet.
    next: u32,
    end: u32,
    /// How long its path is.
    path: usize,
}

impl<'c> InOrder<'c> {
    /// Begins at a directory. `root` is the path of the root. `None` if the cache does not hold together.
    pub(crate) fn from(cache: &'c StatCache, root: &[u8], dir: u32) -> Option<Self> {
        let mut path = root.to_owned();
        path.push(b'/');
        let mut in_order = Self { cache, way: Vec::new(), path };
        in_order.enter(StatCache::ROOT)?;
        while in_order.dir()? != dir {
            in_order.come_nearer(dir)?;
        }
        Some(in_order)
    }

    /// Goes on to the next directory. `None` after the last, and if the cache does not hold together.
    pub(crate) fn advance(&mut self) -> Option<u32> {
        let expected = self.dir()?.checked_add(1)?;
        loop {
            let step = self.way.last_mut()?;
            if step.next == step.end {
                self.way.pop();
                self.path.truncate(self.way.last()?.path);
                continue;
            }
            let entry = step.next;
            step.next += 1;
            let child = u32_at(self.cache.one_entry(entry), 60);
            if child != NONE {
                self.go_into(entry)?;
                return (child == expected).then_some(child);
            }
        }
    }

    /// The directories on the way to the present one, and itself.
    pub(crate) fn way(&self) -> impl Iterator<Item = u32> + '_ {
        self.way.iter().map(|step| step.dir)
    }

    /// Does something with the path of the present directory; not if the path of the root is none.
    pub(crate) fn with_path<T>(&mut self, work: impl FnOnce(&CStr) -> Option<T>) -> Option<T> {
        self.path.push(0);
        let done = CStr::from_bytes_with_nul(&self.path).ok().and_then(work);
        self.path.pop();
        done
    }

    fn dir(&self) -> Option<u32> {
        Some(self.way.last()?.dir)
    }

    /// Goes into that directory of the present one which `dir` is, or is below.
    fn come_nearer(&mut self, dir: u32) -> Option<()> {
        let step = self.way.last_mut()?;
        let mut leading = None;
        for entry in step.next..step.end {
            match u32_at(self.cache.one_entry(entry), 60) {
                NONE => {}
                child if child <= dir => leading = Some(entry),
                _ => break,
            }
        }
        let entry = leading?;
        step.next = entry + 1;
        self.go_into(entry)
    }

    /// Enters the directory that an entry of the present one is.
    fn go_into(&mut self, entry: u32) -> Option<()> {
        let entry = self.cache.entry(entry, self.dir()?)?;
        let name = self.cache.name(&entry)?;
        self.path.extend_from_slice(name.to_bytes());
        self.path.push(b'/');
        self.enter(entry.child()?)
    }

    fn enter(&mut self, dir: u32) -> Option<()> {
        let record = self.cache.dir(dir)?;
        let end = record.first.checked_add(record.count)?;
        if end > self.cache.entries {
            return None;
        }
        self.way.push(Step { dir, next: record.first, end, path: self.path.len() });
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing;

    #[test]
    fn wherever_it_begins_every_directory_comes_with_its_path() {
        let temp = tempfile::tempdir().unwrap();
        for path in ["a/b/c", "a/b/d/e", "a/z", "b", "c/1/2/3/4", "c/2", "z"] {
            fs::create_dir_all(temp.path().join(path)).unwrap();
            fs::write(temp.path().join(path).join("file"), path).unwrap();
        }
        let cache = testing::scanned(temp.path(), None, None).cache;
        let count = cache.directories();
        assert_eq!(count, 15);
        for first in 0..count {
            let mut in_order = InOrder::from(&cache, b"/root", first).unwrap();
            for index in first..count {
                let path = in_order.with_path(|path| Some(path.to_owned()));
                let path = path.unwrap().into_bytes();
                let path = path.strip_prefix(b"/root/").unwrap();
                assert_eq!(cache.dir_at(path), Some(index));
                let way: Vec<u32> = in_order.way().collect();
                let depth = path.split(|byte| *byte == b'/').count() - 1;
                assert_eq!((way.len(), way.last()), (depth + 1, Some(&index)));
                assert_eq!(in_order.advance(), (index + 1 < count).then_some(index + 1));
            }
        }
        assert!(InOrder::from(&cache, b"/root", count).is_none());
    }
}
