//! What the user's own git tracks: its index, read and never written.
//!
//! A tracked file is source, even in a directory called `build`. The index is parsed into one sorted
//! arena of paths, so that a question costs a binary search and the whole costs two allocations.
//!
//! * [`git_dir`]: where the index and `info/exclude` are, for plain repositories, worktrees, submodules
//! * `index`: the file format, versions 2 to 4, and split indexes

pub mod git_dir;
mod index;
mod lazy;

use herma_store::ObjectId;
use index::Split;
pub use lazy::LazyTracked;

use crate::rules::Tracked;

/// The paths in a git index.
#[derive(Clone, Debug, Default)]
pub struct TrackedFiles {
    paths: PathList,
    /// Directories of a sparse checkout, without the slash: git tracks all below without listing it.
    sparse: Vec<Vec<u8>>,
    split: Option<Split>,
}

impl TrackedFiles {
    /// Reads the bytes of an index file. `None` if they are none, or of a version that is not known.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        index::parse(bytes)
    }

    /// The shared index this one builds upon: load `sharedindex.<id>` and give it to
    /// [`TrackedFiles::with_base`].
    pub fn base(&self) -> Option<ObjectId> {
        self.split.as_ref().map(|split| split.base)
    }

    /// The whole of a split index: what the shared one holds and this one does not delete, and its own.
    #[must_use]
    pub fn with_base(self, base: &Self) -> Self {
        let Some(split) = self.split else { return self };
        let kept = (0..base.paths.len()).filter(|at| !split.is_deleted(*at));
        let mut paths: Vec<&[u8]> = kept.map(|at| base.paths.get(at)).collect();
        paths.extend((0..self.paths.len()).map(|at| self.paths.get(at)));
        paths.sort_unstable();
        let mut sparse = self.sparse;
        sparse.extend_from_slice(&base.sparse);
        sparse.sort_unstable();
        let mut merged = PathList::default();
        for path in paths {
            merged.push(path);
        }
        Self { paths: merged, sparse, split: None }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.paths.len() + self.sparse.len()
    }

    /// Is nothing tracked?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_sparse(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
        !self.sparse.is_empty()
            && ends.chain([path.len()]).any(|end| {
                self.sparse.binary_search_by(|dir| dir.as_slice().cmp(&path[..end])).is_ok()
            })
    }
}

impl Tracked for TrackedFiles {
    fn contains(&self, path: &[u8]) -> bool {
        let at = self.paths.first_not_before(path, b"");
        (at < self.paths.len() && self.paths.get(at) == path) || self.is_sparse(path)
    }

    fn any_below(&self, dir: &[u8]) -> bool {
        let is_below = |path: &[u8]| {
            dir.is_empty() || (path.starts_with(dir) && path.get(dir.len()) == Some(&b'/'))
        };
        let slash: &[u8] = if dir.is_empty() { b"" } else { b"/" };
        let at = self.paths.first_not_before(dir, slash);
        (at < self.paths.len() && is_below(self.paths.get(at)))
            || self.is_sparse(dir)
            || self.sparse.iter().any(|sparse| is_below(sparse))
    }
}

/// Sorted paths, one after the other in one buffer.
#[derive(Clone, Debug, Default)]
struct PathList {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl PathList {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[start..self.ends[at] as usize]
    }

    fn push(&mut self, path: &[u8]) {
        self.bytes.extend_from_slice(path);
        self.ends.push(self.bytes.len() as u32);
    }

    /// The place of the first path that does not sort before `start` followed by `end`.
    fn first_not_before(&self, start: &[u8], end: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).iter().lt(start.iter().chain(end)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests;
