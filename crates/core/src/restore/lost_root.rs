//! A project whose directory is gone: found by its path, and made again so that its files can come back.

use crate::engine::operation::Operation;
use std::path::{Path, PathBuf};

use herma_fs::{Dir, stat_path};

use crate::directory::Place;
use crate::engine::Engine;
use crate::error::{Error, Result};

/// What a directory has until the restore gives it the mode it had.
const MODE: u32 = 0o755;

impl Engine {
    /// The project that was at `start`, or around it, and whose directory is not there any more.
    pub fn find_lost_root(&self, start: &Path) -> Option<PathBuf> {
        let start = herma_fs::dir::canonicalize(start).ok()?;
        let is_missing = |dir: &&Path| matches!(stat_path(dir), Ok(None));
        let mut missing = start.ancestors().take_while(is_missing);
        missing.find(|dir| self.knows(dir)).map(Path::to_owned)
    }
}

impl Operation<'_> {
    /// Makes the project's directory again, if it is gone and there is something to bring back into it. Only in the file system it
    /// was in: where a volume is not mounted, its files belong elsewhere. Returns whether it was.
    pub(crate) fn make_root_again(&self) -> Result<bool> {
        if stat_path(&self.root)?.is_some() {
            return Ok(false);
        }
        let history = self.load_history()?;
        let place = self.root.parent().zip(self.root.file_name());
        let Some((above, name)) = place.filter(|_| !history.entries.is_empty()) else {
            return Ok(false);
        };
        let parent = Dir::open(above)?;
        let was_in = self.store.identity(&self.id).parent();
        let was_in = was_in.and_then(|place| place.file_system);
        let is_in = Place::of(&parent)?.file_system;
        if was_in.zip(is_in).is_some_and(|(was, is)| was != is) {
            let root = self.root.clone();
            return Err(Error::OtherFileSystem { root });
        }
        parent.create_dir(name, MODE)?;
        parent.sync()?;
        Ok(true)
    }
}
