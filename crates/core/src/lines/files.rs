//! The files of a checkpoint, for whoever puts them somewhere else than into the project.

use std::collections::BTreeMap;
use std::io;

use herma_records::checkpoint::Checkpoint;
use herma_store::object::EntryMode;
use herma_store::{ObjectId, RelPath};
use herma_worktree::modes::Modes;

use crate::engine::open::OpenStore;
use crate::engine::{NoProgress, Project};
use crate::error::Result;

/// The mode of a directory nothing is known of.
const USUAL_DIRECTORY: u32 = 0o755;

/// All files, links and directories of a checkpoint, and the means to read them.
pub struct SavedFiles {
    store: OpenStore,
    entries: BTreeMap<RelPath, SavedEntry>,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedEntry {
    /// A directory with this mode.
    Directory(u32),
    /// A file with this mode, size and content.
    File(u32, u64, ObjectId),
    /// A link with this content.
    Link(ObjectId),
}

impl SavedFiles {
    /// What there is, directories before what is in them.
    pub fn entries(&self) -> impl Iterator<Item = (&RelPath, &SavedEntry)> {
        self.entries.iter()
    }

    /// Passes the content of a file on. After an error what was passed on may be wrong.
    pub fn stream(
        &self,
        id: &ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64> {
        Ok(self.store.objects.stream_blob(id, sink)?)
    }

    /// The content of a small file or of a link.
    pub fn read(&self, id: &ObjectId) -> Result<Vec<u8>> {
        Ok(self.store.objects.read(id)?.data)
    }
}

impl Project {
    /// The files of a checkpoint.
    pub fn files_of(&self, checkpoint: &Checkpoint) -> Result<SavedFiles> {
        let store = self.reading(&NoProgress)?.store;
        let modes = match checkpoint.extra {
            Some(_) => Modes::read(&store.objects, checkpoint.modes)?,
            None => Modes::unknown(USUAL_DIRECTORY),
        };
        let mut entries: BTreeMap<RelPath, SavedEntry> = modes
            .directories
            .iter()
            .filter(|(path, _)| !path.is_root())
            .map(|(path, mode)| (path.clone(), SavedEntry::Directory(*mode)))
            .collect();
        let mut pending = vec![(RelPath::root(), checkpoint.tree)];
        while let Some((above, tree)) = pending.pop() {
            for entry in store.objects.read_tree(&tree)? {
                let path = above.join(&entry.name);
                let saved = match entry.mode {
                    // Another repository, which is saved nowhere.
                    EntryMode::Nested => continue,
                    EntryMode::Directory => {
                        pending.push((path.clone(), entry.id));
                        SavedEntry::Directory(modes.directory(&path))
                    }
                    EntryMode::Symlink => SavedEntry::Link(entry.id),
                    mode => {
                        let (_, size) = store.objects.read_header(&entry.id)?;
                        let mode = modes.file(&path, mode == EntryMode::Executable);
                        SavedEntry::File(mode, size, entry.id)
                    }
                };
                entries.insert(path, saved);
            }
        }
        // What is said of a directory in which nothing of it can be is not believed.
        let is_file = |path: &RelPath| {
            let above = path.ancestors();
            above.into_iter().any(|above| {
                !above.is_root()
                    && above != *path
                    && matches!(
                        entries.get(&above),
                        Some(SavedEntry::File(..) | SavedEntry::Link(_))
                    )
            })
        };
        let wrong: Vec<RelPath> = entries.keys().filter(|path| is_file(path)).cloned().collect();
        for path in wrong {
            entries.remove(&path);
        }
        Ok(SavedFiles { store, entries })
    }
}
