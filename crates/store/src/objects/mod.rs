//! Every object of the store, wherever it is kept.
//!
//! An object is looked for in the packs, then among the loose files, and nothing is handed out whose
//! hash was not checked against the id it was asked for. If one copy is damaged the others are tried.
//! Before an object is said to be missing the packs are listed again, because another process may have
//! published or merged packs in the meantime.
//!
//! Only this directory is read: `objects/info/alternates`, which could point anywhere, is not followed.
//!
//! All methods may be called from many threads at once.

pub(crate) mod cache;
pub(crate) mod chain;

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::sync::Arc;

use herma_fs::Dir;
use herma_fs::sync::atomic::AtomicUsize;

use super::error::StoreError;
use super::object;
use super::object::{Kind, Object, TreeEntry};
use crate::error::is_forbidden_pack;
use crate::object::commit::Commit;
use crate::object::copy::CopyError;
use crate::object::loose::Loose;
use crate::objects::cache::{Cache, Key};
use crate::pack::files::PackFiles;
use crate::pack::list::{PackList, Packs};
use crate::pack::read::Pack;
use crate::pack::sign::SignedPack;
use crate::{Known, ObjectId};

pub use crate::pack::list::UnreadablePack;

mod search;
pub(crate) mod stored;

use search::{Copy, lost};

/// How much memory is used for objects that may be asked for again.
const CACHE: usize = 32 << 20;
/// Blobs up to this size are checked before their first byte is passed on.
const SMALL_BLOB: u64 = 1 << 20;
/// How often the packs are listed again while they keep vanishing under the reader.
const RELISTINGS: usize = 3;

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It is nowhere in the store.
    #[error("object {id} is missing")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// It is there, but no copy of it is intact, or it is not what it should be.
    #[error("object {id} is damaged: {what}")]
    Damaged {
        /// The object.
        id: ObjectId,
        /// What is wrong with it.
        what: String,
    },
    /// It would take more memory than any object may.
    #[error("object {id} is too large to be read at once: {size} bytes")]
    TooLarge {
        /// The object.
        id: ObjectId,
        /// How large it says it is.
        size: u64,
    },
    /// The receiver of the bytes did not take them.
    #[error("the bytes could not be passed on")]
    Sink(#[source] io::Error),
    /// The system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

impl ObjectError {
    fn of(id: &ObjectId, error: CopyError) -> Self {
        match error {
            CopyError::TooLarge { size } => Self::TooLarge { id: *id, size },
            CopyError::Sink(e) => Self::Sink(e),
            CopyError::Fs(e) => Self::Fs(e),
            damage => Self::Damaged { id: *id, what: damage.to_string() },
        }
    }

    /// An object of another kind than the one wanted.
    pub fn wrong_kind(id: &ObjectId, is: Kind, wanted: Kind) -> Self {
        let what = format!("it is a {}, but should be a {}", is.name(), wanted.name());
        Self::Damaged { id: *id, what }
    }
}

impl From<ObjectError> for StoreError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Missing { id } => Self::Missing { id },
            ObjectError::Damaged { id, what } => Self::Damaged { id, what },
            ObjectError::TooLarge { id, size } => {
                Self::Damaged { id, what: format!("it claims to have {size} bytes") }
            }
            ObjectError::Sink(e) => Self::Source(e),
            ObjectError::Fs(e) => Self::Fs(e),
        }
    }
}

/// The objects of one store.
pub struct Objects {
    packs: Packs,
    loose: Loose,
    cache: Cache,
    /// Which pack of the list had the last object: the next one is likely there, too.
    last_hit: AtomicUsize,
}

impl Objects {
    /// The objects in `<store>/objects`. Reads nothing yet.
    pub fn open(dir: Dir) -> Self {
        Self::in_packs(dir, c"pack".to_owned())
    }

    /// The objects in the packs that lie in the directory `name` of `above`.
    pub(crate) fn in_packs(above: Dir, name: CString) -> Self {
        let above = Arc::new(above);
        Self {
            packs: Packs::new(PackFiles::new(Arc::clone(&above), name)),
            loose: Loose::new(above),
            cache: Cache::new(CACHE),
            last_hit: AtomicUsize::new(0),
        }
    }

    /// Reads an object whole. Its hash has been checked.
    pub fn read(&self, id: &ObjectId) -> Result<Object, ObjectError> {
        self.load(id).map(Arc::unwrap_or_clone)
    }

    /// Reads a tree.
    pub fn read_tree(&self, id: &ObjectId) -> Result<Vec<TreeEntry>, ObjectError> {
        let object = self.load_kind(id, Kind::Tree)?;
        let parsed = object::parse_tree(&object.data);
        parsed.map_err(|e| ObjectError::Damaged { id: *id, what: e.to_string() })
    }

    /// Reads a commit.
    pub fn read_commit(&self, id: &ObjectId) -> Result<Commit, ObjectError> {
        let object = self.load_kind(id, Kind::Commit)?;
        let parsed = Commit::parse(&object.data);
        parsed.map_err(|e| ObjectError::Damaged { id: *id, what: e.to_string() })
    }

    /// The kind and size of an object, without reading all of it and without checking its hash.
    pub fn read_header(&self, id: &ObjectId) -> Result<(Kind, u64), ObjectError> {
        if let Some(object) = self.cache.get(&Key::Checked(*id)) {
            return Ok((object.kind, object.data.len() as u64));
        }
        let found = self.search(id, |copy, list| match copy {
            Copy::Packed(pack, offset) => self.chain_header(pack, offset, list),
            Copy::Loose(object) => Ok((object.kind, object.size)),
        });
        match found {
            Err(ObjectError::Missing { .. }) if *id == ObjectId::EMPTY_TREE => Ok((Kind::Tree, 0)),
            other => other,
        }
    }

    /// Is the object in the store? Its content is not looked at.
    pub fn contains(&self, id: &ObjectId) -> Result<bool, ObjectError> {
        let mut list = self.packs.list()?;
        for round in 0..=RELISTINGS {
            if round > 0 {
                list = self.packs.list_again()?;
            }
            match self.has(&list, id, |loose| loose.contains(id)) {
                Ok(true) => return Ok(true),
                Ok(false) if round == 0 => {}
                Err(e) if e.is_vanished() => {}
                Ok(false) => break,
                Err(e) => return Err(ObjectError::of(id, e)),
            }
        }
        match lost(id, &list) {
            ObjectError::Missing { .. } => Ok(false),
            other => Err(other),
        }
    }

    /// Like [`Objects::contains`], but never lists anything again: for deciding whether a new object
    /// must be written, where a wrong "no" only costs space and most answers are "no".
    pub fn contains_listed(&self, id: &ObjectId) -> Result<bool, ObjectError> {
        let list = self.packs.list()?;
        match self.has(&list, id, |loose| loose.contains_listed(id)) {
            Err(e) if e.is_vanished() => Ok(false),
            other => other.map_err(|e| ObjectError::of(id, e)),
        }
    }

    /// Passes a blob's content to `sink` and returns its size.
    ///
    /// A blob up to 1 MiB is checked before `sink` sees it. A larger one is hashed on its way: if this
    /// returns an error, the bytes that `sink` was given may be wrong and must be discarded. Then
    /// [`Objects::read`] may still find another, intact copy.
    pub fn stream_blob(
        &self,
        id: &ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, ObjectError> {
        self.search(id, |copy, list| self.stream_copy(copy, list, id, sink))?
    }

    /// Reads an object and checks it against its id, without keeping it.
    pub fn is_whole(&self, id: &ObjectId) -> Result<(), ObjectError> {
        match self.read_header(id)? {
            (Kind::Blob, size) if size > 1 << 20 => self.stream_blob(id, &mut |_| Ok(())).map(drop),
            _ => self.load(id).map(drop),
        }
    }

    /// Names packs there were a while ago, the newest first. What is in them is read without listing the packs, of which
    /// there may be thousands; the rest is looked for as ever.
    pub fn note_packs(&self, stems: Vec<String>) {
        self.packs.note(stems);
    }

    /// The packs by their files, as last listed.
    pub fn signed_packs(&self) -> Result<Vec<SignedPack>, ObjectError> {
        Ok(self.packs.list()?.signed())
    }

    /// The same, listed again.
    pub fn signed_packs_now(&self) -> Result<Vec<SignedPack>, ObjectError> {
        Ok(self.packs.list_again()?.signed())
    }

    /// Are there loose objects? Herma writes none.
    pub fn has_loose(&self) -> Result<bool, ObjectError> {
        let loose = self.loose.any();
        loose.map_err(|e| ObjectError::of(&ObjectId::NULL, e))
    }

    /// Takes from `wanted` what a pack has that holds together, by its index, or a loose file. Returns the names of packs
    /// that do not.
    pub fn take_listed(&self, wanted: &mut HashSet<ObjectId>) -> Result<Vec<String>, ObjectError> {
        let list = self.refresh()?;
        let mut unsound: Vec<String> = list.unreadable().map(|pack| pack.pack.clone()).collect();
        for pack in list.packs() {
            if !pack.holds_together()? {
                unsound.push(pack.stem().to_owned());
                continue;
            }
            for entry in pack.index().entries() {
                match entry {
                    Ok((id, _)) => drop(wanted.remove(&id)),
                    Err(_) => unsound.push(pack.stem().to_owned()),
                }
            }
        }
        wanted.retain(|id| !matches!(self.loose.contains_listed(id), Ok(true)));
        Ok(unsound)
    }

    /// The packs whose index cannot be used. Lists the packs again.
    pub fn unreadable_packs(&self) -> Result<Vec<UnreadablePack>, ObjectError> {
        Ok(self.refresh()?.unreadable().cloned().collect())
    }

    /// The packs that can be used. Lists them again.
    pub fn packs(&self) -> Result<Vec<Arc<Pack>>, ObjectError> {
        Ok(self.refresh()?.packs().cloned().collect())
    }

    fn refresh(&self) -> Result<Arc<PackList>, ObjectError> {
        Ok(self.packs.open_all()?)
    }

    fn load_kind(&self, id: &ObjectId, wanted: Kind) -> Result<Arc<Object>, ObjectError> {
        let object = self.load(id)?;
        if object.kind != wanted {
            return Err(ObjectError::wrong_kind(id, object.kind, wanted));
        }
        Ok(object)
    }

    fn load(&self, id: &ObjectId) -> Result<Arc<Object>, ObjectError> {
        if let Some(object) = self.cache.get(&Key::Checked(*id)) {
            return Ok(object);
        }
        match self.search(id, |copy, list| self.read_copy(copy, list, id)) {
            Ok(object) => {
                if matches!(object.kind, Kind::Tree | Kind::Commit) {
                    self.cache.insert(Key::Checked(*id), &object);
                }
                Ok(object)
            }
            // Git knows this tree without storing it.
            Err(ObjectError::Missing { .. }) if *id == ObjectId::EMPTY_TREE => {
                Ok(Arc::new(Object { kind: Kind::Tree, data: Vec::new() }))
            }
            Err(e) => Err(e),
        }
    }
}

impl Known for Objects {
    /// An object counts as known only if it can be read: a damaged copy, or one in a pack that may not be opened, is
    /// written again, from the file that is still whole.
    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        if !Objects::contains_listed(self, id)? {
            return Ok(false);
        }
        match self.is_whole(id) {
            Err(ObjectError::Fs(e)) if !is_forbidden_pack(&e) => Err(e.into()),
            whole => Ok(whole.is_ok()),
        }
    }
}

#[cfg(test)]
mod tests;
