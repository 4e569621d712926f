//! The full modes of a checkpoint, and the directories no git tree can hold.

use std::collections::BTreeMap;

use herma_diff::Pending;
use herma_store::error::StoreError;
use herma_store::object::parse_tree;
use herma_store::objects::{ObjectError, Objects};
use herma_store::path::check_name;
use herma_store::{ObjectId, RelPath};

use crate::lists;
use crate::lists::{ModeRecord, UsualModes};

/// More lists than this are not a project but an attack.
const MAX_LISTS: usize = 4_000_000;

/// Why the modes of a checkpoint could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModesError {
    /// A list is malformed.
    #[error("the checkpoint's list of modes is damaged")]
    Malformed,
    /// A list cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// What is not published yet cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a checkpoint says about modes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// What holds where nothing else is said.
    pub usual: UsualModes,
    /// Files with another mode.
    pub files: BTreeMap<RelPath, u32>,
    /// Directories with another mode, and all directories without a captured file below them.
    pub directories: BTreeMap<RelPath, u32>,
    /// Nothing was recorded but which files are executable: what is there keeps the mode it has.
    pub unknown: bool,
}

impl Modes {
    /// What a checkpoint of Hermes says about modes, in a project whose root directory has this one.
    pub fn unknown(root_mode: u32) -> Self {
        Self { usual: UsualModes::below(root_mode), unknown: true, ..Self::default() }
    }

    /// Reads the lists of a checkpoint; one without lists has only usual modes.
    pub fn read(objects: &Objects, list: Option<ObjectId>) -> Result<Self, ModesError> {
        Self::read_pending(objects, &|_| Ok(None), list)
    }

    /// The same, where some of the lists may not be published yet.
    pub fn read_pending(
        objects: &Objects,
        pending: &Pending<'_>,
        list: Option<ObjectId>,
    ) -> Result<Self, ModesError> {
        let read = |id: &ObjectId| match pending(id)? {
            Some(object) => Ok(object),
            None => Ok::<_, ModesError>(objects.read(id)?),
        };
        let read_tree = |id: &ObjectId| match pending(id)? {
            Some(object) => Ok(parse_tree(&object.data).map_err(|_| ModesError::Malformed)?),
            None => Ok::<_, ModesError>(objects.read_tree(id)?),
        };
        let mut modes = Self::default();
        let mut stack: Vec<(RelPath, ObjectId)> =
            list.into_iter().map(|id| (RelPath::root(), id)).collect();
        let mut seen = 0;
        while let Some((path, id)) = stack.pop() {
            seen += 1;
            if seen > MAX_LISTS {
                return Err(ModesError::Malformed);
            }
            let (records, dirs) = lists::parts(&read_tree(&id)?);
            if let Some(records) = records {
                modes.take(&path, &read(&records)?.data)?;
            }
            if let Some(dirs) = dirs {
                for entry in read_tree(&dirs)? {
                    stack.push((path.join(&entry.name), entry.id));
                }
            }
        }
        Ok(modes)
    }

    fn take(&mut self, directory: &RelPath, records: &[u8]) -> Result<(), ModesError> {
        for record in lists::records(records) {
            match lists::parse_mode(record.word) {
                Some(ModeRecord::Usual(usual)) => self.usual = usual,
                Some(ModeRecord::Directory(mode)) => {
                    self.directories.insert(directory.clone(), mode);
                }
                Some(ModeRecord::File(mode)) => {
                    check_name(record.name).map_err(|_| ModesError::Malformed)?;
                    self.files.insert(directory.join(record.name), mode);
                }
                None => return Err(ModesError::Malformed),
            }
        }
        Ok(())
    }

    /// The mode of a file.
    pub fn file(&self, path: &RelPath, executable: bool) -> u32 {
        let usual = self.usual.file(executable);
        let mode = self.files.get(path).copied().unwrap_or(usual);
        // The tree decides whether the owner may execute; a list that disagrees is not believed.
        if executable { mode | 0o100 } else { mode & !0o100 }
    }

    /// The mode of a directory.
    pub fn directory(&self, path: &RelPath) -> u32 {
        self.directories.get(path).copied().unwrap_or(self.usual.directory())
    }
}
