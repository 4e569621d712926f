//! Copies: directories that were made of an old state, each a project of its own.
//!
//! The record stands before the directory is made, and goes after it: whatever is interrupted in between leaves a directory
//! that is on record, so that it can be removed and nothing else can.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use herma_fs::place::Place;
use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, IfThere, Result};
use herma_store::path::BadName;
use herma_store::{ObjectId, ProjectId, RelPath};
use serde::{Deserialize, Serialize};

use crate::{Version, encode, read_record};

/// The directory of the records, among those that hold Herma's own state; each is called by the id of its project.
pub const COPIES: &str = "copies";

const MAX_SIZE: u64 = 1 << 20;

/// A copy, as it stands on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyRecord {
    version: Version,
    /// Where it is, without the first slash.
    at: RelPath,
    /// The project it was made of, likewise.
    of: RelPath,
    /// The state it was made of.
    pub checkpoint: ObjectId,
    /// The number that has in its project.
    pub number: u64,
    /// When it was made, in seconds since 1970.
    pub made: i64,
    /// Did a person say where it is to be?
    pub is_chosen: bool,
    /// Which directory it is; `None` until it was made.
    own: Option<Own>,
    /// Is all of it there? It is no more when somebody begins to remove it.
    pub is_whole: bool,
    /// Which of several attempts it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

/// One of several copies that were made together, to try something in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When they were made, in nanoseconds since 1970; the same for all of them.
    pub batch: i64,
    /// Which of them it is, counted from 1.
    pub index: u32,
}

/// What tells a directory from another one at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Own {
    dev: u64,
    ino: u64,
    born: Option<i64>,
}

impl CopyRecord {
    /// Of a copy that is about to be made. Both paths are absolute.
    pub fn new(
        (at, of): (&Path, &Path),
        (checkpoint, number): (ObjectId, u64),
        made: i64,
    ) -> std::result::Result<Self, BadName> {
        Ok(Self {
            version: Version,
            at: stored(at)?,
            of: stored(of)?,
            checkpoint,
            number,
            made,
            is_chosen: false,
            own: None,
            is_whole: false,
            attempt: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        absolute(&self.at)
    }

    /// The root of the project it was made of.
    pub fn of(&self) -> PathBuf {
        absolute(&self.of)
    }

    /// The id of its project.
    pub fn id(&self) -> ProjectId {
        ProjectId::of(&self.path())
    }

    /// Notes which directory it is.
    pub fn note_own(&mut self, place: &Place) {
        self.own = Some(Own { dev: place.dev, ino: place.ino, born: place.born });
    }

    /// Is this the directory that was made for it? `None` if it was noted of none.
    pub fn is_own(&self, place: &Place) -> Option<bool> {
        let own = self.own?;
        let recorded = Place { dev: own.dev, ino: own.ino, born: own.born, file_system: None };
        Some(recorded.may_be(place))
    }

    /// Writes the record, durably. `herma` is the directory of Herma's own state.
    pub fn write(&self, tmp: &Dir, herma: &Dir) -> Result<()> {
        let dir = herma.ensure_private(COPIES)?;
        write_file(tmp, &dir, self.id().as_str(), &encode(self), Durability::Synced)
    }

    /// Removes the record.
    pub fn remove(&self, herma: &Dir) -> Result<()> {
        let dir = herma.open_dir(COPIES)?;
        dir.remove_if_there(self.id().as_str())?;
        dir.sync()
    }

    /// The record of a project, if it is a copy.
    pub fn read(herma: &Dir, id: &ProjectId) -> Result<Option<Self>> {
        let Some(dir) = herma.open_dir(COPIES).if_there()? else { return Ok(None) };
        let bytes = read_record(&dir, id.as_str(), MAX_SIZE)?;
        let read = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        // One that speaks of another place is none of ours.
        Ok(read.filter(|record| record.id() == *id))
    }

    /// The records of all copies, by the names of their files.
    pub fn all(herma: &Dir) -> Result<Vec<Self>> {
        let Some(dir) = herma.open_dir(COPIES).if_there()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in dir.entries()? {
            let Some(id) = ProjectId::parse(entry.name.to_bytes()) else { continue };
            found.extend(Self::read(herma, &id)?);
        }
        Ok(found)
    }
}

fn stored(path: &Path) -> std::result::Result<RelPath, BadName> {
    let bytes = path.as_os_str().as_bytes();
    RelPath::new(bytes.strip_prefix(b"/").unwrap_or(bytes))
}

fn absolute(path: &RelPath) -> PathBuf {
    Path::new("/").join(OsStr::from_bytes(path.as_bytes()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_only_for_its_own_place() {
        let place = tempfile::tempdir().unwrap();
        let herma = Dir::open(place.path()).unwrap();
        assert_eq!(CopyRecord::all(&herma).unwrap(), Vec::new());
        let at = Path::new(OsStr::from_bytes(b"/work/a \xff copy"));
        let ends = (at, Path::new("/work/project"));
        let mut record = CopyRecord::new(ends, (ObjectId::EMPTY_TREE, 7), 1_794_702_913).unwrap();
        assert_eq!(record.is_own(&Place::of(&herma).unwrap()), None);
        record.note_own(&Place::of(&herma).unwrap());
        record.attempt = Some(Attempt { batch: 5, index: 2 });
        record.write(&herma, &herma).unwrap();
        assert_eq!(CopyRecord::all(&herma).unwrap(), vec![record.clone()]);
        assert_eq!((record.path(), record.of()), (at.to_owned(), ends.1.to_owned()));
        assert_eq!(record.is_own(&Place::of(&herma).unwrap()), Some(true));
        // One that was put under the name of another project says nothing about that.
        let other = ProjectId::of(Path::new("/elsewhere"));
        let dir = place.path().join(COPIES);
        std::fs::rename(dir.join(record.id().as_str()), dir.join(other.as_str())).unwrap();
        std::fs::write(dir.join(record.id().as_str()), "{").unwrap();
        assert_eq!(CopyRecord::all(&herma).unwrap(), Vec::new());
    }
}
