//! Writing to a directory that was empty and is nobody's yet.
//!
//! Nobody else works there, so a file gets its name at once, and nothing is there that could be lost. What another tree holds
//! already is not read from the store: where the file system can do it, the new file shares the blocks of that one. It is
//! believed to hold what the stat cache says only as far as a save would believe it, before its blocks are shared and after that.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use herma_fs::file::{share_blocks, stat_file};
use herma_fs::{Dir, Errno, Stat};
use herma_store::RelPath;
use herma_store::object::EntryMode;
use herma_worktree::owner::Boundary;
use herma_worktree::stat_cache::{EntryRecord, StatCache};

use crate::save::read_ahead::Content;

/// What is known where all of a state is written anew.
pub(crate) struct Fresh<'a> {
    pub(crate) like: Option<Like>,
    /// Does whoever waits not want it any more?
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// A tree that may hold the same files.
pub(crate) struct Like {
    root: Dir,
    cache: Arc<StatCache>,
    boundary: Boundary,
    /// The file system cannot share blocks, or not with the new directory.
    is_refused: AtomicBool,
    shared: AtomicUsize,
}

impl Like {
    /// The tree below `root`, which a stat cache describes.
    pub(crate) fn new(root: Dir, cache: Arc<StatCache>) -> herma_fs::Result<Self> {
        let boundary = Boundary::around(&root.stat_self()?);
        let (is_refused, shared) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(Self { root, cache, boundary, is_refused, shared })
    }
}

impl Fresh<'_> {
    /// An error if nobody waits any more.
    pub(crate) fn check(&self, dir: &Dir) -> herma_fs::Result<()> {
        if (self.is_cancelled)() {
            return Err(herma_fs::Error::on("write to", dir.path(), Errno::INTR));
        }
        Ok(())
    }

    /// How many files share their blocks with those of another tree.
    pub(crate) fn shared(&self) -> usize {
        self.like.as_ref().map_or(0, |like| like.shared.load(Ordering::Relaxed))
    }

    /// Gives an empty file the blocks of what is at the same path in the other tree, if that surely has this content.
    pub(crate) fn share(
        &self,
        parent: &RelPath,
        name: &[u8],
        content: &Content,
        file: &File,
    ) -> io::Result<bool> {
        let wanted = self.like.as_ref().filter(|like| !like.is_refused.load(Ordering::Relaxed));
        let Some(like) = wanted else { return Ok(false) };
        let Some(found) = like.surely(parent, name, content) else { return Ok(false) };
        if share_blocks(file, &found.file).is_err() {
            like.is_refused.store(true, Ordering::Relaxed);
            return Ok(false);
        }
        // Was it the same until they were shared?
        if !like.is_clean(&found) {
            file.set_len(0)?;
            return Ok(false);
        }
        like.shared.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }
}

/// An open file of the other tree, and what is recorded of it.
struct Found {
    file: File,
    record: EntryRecord,
}

impl Like {
    /// The file at this path, if it surely has this content.
    fn surely(&self, parent: &RelPath, name: &[u8], content: &Content) -> Option<Found> {
        let entry = self.cache.entry_at(parent.join(name).as_bytes())?;
        let is_file = matches!(entry.kind.mode(), Some(EntryMode::File | EntryMode::Executable));
        if !is_file || entry.unstable || entry.id != content.id {
            return None;
        }
        let dir = self.root.open_within(parent.as_bytes()).ok()?;
        let found = Found { file: dir.open_file_raw(name).ok()?, record: entry };
        self.is_clean(&found).then_some(found)
    }

    fn is_clean(&self, found: &Found) -> bool {
        let is_it = |stat: Stat| found.record.is_clean(&stat) && !self.boundary.is_mounted(&stat);
        stat_file(&found.file).is_ok_and(is_it)
    }
}
