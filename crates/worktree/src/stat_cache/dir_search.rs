//! Looking for many directories by their paths, one after the other.
//!
//! Whoever asks in the order of the paths asks for what is near the directory found last: the way they share is not
//! searched again.

use super::StatCache;

/// A search that remembers the way to the directory found last.
pub struct DirSearch<'c> {
    cache: &'c StatCache,
    /// The path of the directory found last.
    path: Vec<u8>,
    /// The directories on that way, each with the length of its path.
    way: Vec<(usize, u32)>,
}

impl<'c> DirSearch<'c> {
    /// Begins at the root.
    pub fn in_cache(cache: &'c StatCache) -> Self {
        Self { cache, path: Vec::new(), way: Vec::new() }
    }

    /// The directory record at a slash-separated path; the root for an empty one.
    pub fn find(&mut self, path: &[u8]) -> Option<u32> {
        while !self.leads_to(path) {
            self.way.pop();
            self.path.truncate(self.way.last().map_or(0, |(end, _)| *end));
        }
        let rest = path[self.path.len()..].split(|byte| *byte == b'/');
        for name in rest.filter(|name| !name.is_empty()) {
            let child = self.cache.find_kind(self.here(), name, true)?.child()?;
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name);
            self.way.push((self.path.len(), child));
        }
        Some(self.here())
    }

    /// Is the directory found last this one, or above it?
    fn leads_to(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(&self.path[..]);
        rest.is_some_and(|rest| self.path.is_empty() || matches!(rest.first(), None | Some(b'/')))
    }

    fn here(&self) -> u32 {
        self.way.last().map_or(StatCache::ROOT, |(_, dir)| *dir)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing;

    #[test]
    fn in_whatever_order_they_are_looked_for_the_same_directories_are_found() {
        let temp = tempfile::tempdir().unwrap();
        for path in ["a/b/c", "a/b/d/e", "a/z", "a-b", "ab/b/c", "b", "c/1/2/3/4"] {
            fs::create_dir_all(temp.path().join(path)).unwrap();
            fs::write(temp.path().join(path).join("file"), path).unwrap();
        }
        let cache = testing::scanned(temp.path(), None, None).cache;
        let paths: [&[u8]; 16] = [
            b"",
            b"a",
            b"a/b",
            b"a/b/c",
            b"a/b/d/e",
            b"a/b/gone",
            b"a/b/gone/too",
            b"a/z",
            b"a-b",
            b"ab",
            b"ab/b/c",
            b"ab/b/c/file",
            b"b",
            b"c/1/2/3/4",
            b"c/1",
            b"gone",
        ];
        for first in paths {
            for second in paths {
                let mut search = DirSearch::in_cache(&cache);
                for path in [first, second, first] {
                    assert_eq!(search.find(path), cache.dir_at(path), "{first:?} {second:?}");
                }
            }
        }
    }
}
