//! Objects as merging packs wants them: checked like all others, and with the compressed bytes they were
//! read from where those can be used again.

use std::io;
use std::sync::Arc;

use super::{Copy, ObjectError, Objects};
use crate::ObjectId;
use crate::object::copy::CopyError;
use crate::object::{Hasher, Kind, Object};
use crate::pack::list::PackList;
use crate::pack::read::{EntryKind, Pack};

/// An object whose hash was checked, and how it is stored.
pub(crate) struct Stored {
    /// The object.
    pub(crate) object: Arc<Object>,
    /// How.
    pub(crate) form: Form,
}

/// How an object is stored.
pub(crate) enum Form {
    /// Whole and well compressed: these bytes were inflated to it.
    WellCompressed(Vec<u8>),
    /// As a delta, at this offset.
    Delta(Arc<Pack>, u64),
    /// In a way that is not worth keeping.
    Other,
}

/// A delta as it is stored.
pub(crate) struct StoredDelta {
    /// The delta.
    pub(crate) delta: Vec<u8>,
    /// The bytes it was inflated from.
    pub(crate) compressed: Vec<u8>,
}

/// Takes a large object piece by piece.
pub(crate) trait LargeSink {
    /// A copy begins; everything that came before is of no use. `compressed` tells whether
    /// [`LargeSink::take`] will get a zlib stream or the content itself.
    fn begin(&mut self, kind: Kind, size: u64, compressed: bool) -> io::Result<()>;
    /// The next bytes.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Form {
    /// The delta, if it is well compressed and a change to `base`. A delta that cannot be read is none:
    /// the object itself has been read, and a new delta can be made.
    pub(crate) fn delta_against(&self, base: &ObjectId) -> Option<StoredDelta> {
        let Self::Delta(pack, offset) = self else { return None };
        let mut entry = pack.entry(*offset).ok()?;
        let same_base = match entry.kind {
            EntryKind::Whole(_) => false,
            EntryKind::OffsetDelta { base: at } => pack.index().find(base).ok()? == Some(at),
            EntryKind::IdDelta { base: id } => id == *base,
        };
        if !same_base || !entry.is_well_compressed().ok()? {
            return None;
        }
        let (delta, compressed) = entry.read_both().ok()?;
        Some(StoredDelta { delta, compressed })
    }
}

impl Objects {
    /// The size an object announces, without following deltas or checking anything.
    pub(crate) fn announced_size(&self, id: &ObjectId) -> Result<u64, ObjectError> {
        let found = self.search(id, |copy, _| match copy {
            Copy::Loose(object) => Ok(object.size),
            Copy::Packed(pack, offset) => {
                let entry = pack.entry(offset)?;
                if let EntryKind::Whole(_) = entry.kind {
                    return Ok(entry.size);
                }
                entry.delta_result()
            }
        });
        match found {
            Err(ObjectError::Missing { .. }) if *id == ObjectId::EMPTY_TREE => Ok(0),
            other => other,
        }
    }

    /// Reads an object whole, and how it is stored. Its hash has been checked.
    pub(crate) fn read_stored(&self, id: &ObjectId) -> Result<Stored, ObjectError> {
        let found = self.search(id, |copy, list| self.read_stored_copy(copy, list, id));
        match found {
            // Git knows this tree without storing it.
            Err(ObjectError::Missing { .. }) if *id == ObjectId::EMPTY_TREE => {
                Ok(Stored { object: self.load(id)?, form: Form::Other })
            }
            other => other,
        }
    }

    fn read_stored_copy(
        &self,
        copy: Copy<'_>,
        list: &PackList,
        id: &ObjectId,
    ) -> Result<Stored, CopyError> {
        let Copy::Packed(pack, offset) = copy else {
            let object = self.read_copy(copy, list, id)?;
            return Ok(Stored { object, form: Form::Other });
        };
        let mut entry = pack.entry(offset)?;
        let EntryKind::Whole(kind) = entry.kind else {
            return Ok(Stored {
                object: self.read_copy(Copy::Packed(pack, offset), list, id)?,
                form: Form::Delta(Arc::clone(pack), offset),
            });
        };
        let (data, form) = if entry.is_well_compressed()? {
            let (data, compressed) = entry.read_both()?;
            (data, Form::WellCompressed(compressed))
        } else {
            (entry.read()?, Form::Other)
        };
        let object = Arc::new(Object { kind, data });
        self.check(id, &object, format!("{}.pack", pack.stem()))?;
        Ok(Stored { object, form })
    }

    /// Passes an object of any kind and size on, one copy after the other until the bytes of one match
    /// the id; returns its kind and size.
    pub(crate) fn stream_stored(
        &self,
        id: &ObjectId,
        sink: &mut dyn LargeSink,
    ) -> Result<(Kind, u64), ObjectError> {
        self.search(id, |copy, list| self.stream_stored_copy(copy, list, id, sink))
    }

    fn stream_stored_copy(
        &self,
        copy: Copy<'_>,
        list: &PackList,
        id: &ObjectId,
        sink: &mut dyn LargeSink,
    ) -> Result<(Kind, u64), CopyError> {
        let (pack, offset) = match copy {
            Copy::Packed(pack, offset) => (pack, offset),
            Copy::Loose(object) => {
                let (kind, size) = (object.kind, object.size);
                sink.begin(kind, size, false).map_err(CopyError::Sink)?;
                let mut hasher = Hasher::new(kind, size);
                object.stream(&mut |bytes| {
                    hasher.update(bytes);
                    sink.take(bytes)
                })?;
                return matching(id, hasher, "the loose file").map(|()| (kind, size));
            }
        };
        let mut entry = pack.entry(offset)?;
        let size = entry.size;
        let EntryKind::Whole(kind) = entry.kind else {
            let object = self.read_copy(Copy::Packed(pack, offset), list, id)?;
            let size = object.data.len() as u64;
            sink.begin(object.kind, size, false)
                .and_then(|()| sink.take(&object.data))
                .map_err(CopyError::Sink)?;
            return Ok((object.kind, size));
        };
        let keep = entry.is_well_compressed()?;
        sink.begin(kind, size, keep).map_err(CopyError::Sink)?;
        let mut hasher = Hasher::new(kind, size);
        entry.stream_both(&mut |compressed, content| {
            hasher.update(content);
            sink.take(if keep { compressed } else { content })
        })?;
        matching(id, hasher, pack.stem()).map(|()| (kind, size))
    }
}

fn matching(id: &ObjectId, hasher: Hasher, file: &str) -> Result<(), CopyError> {
    if hasher.finish() == Some(*id) {
        return Ok(());
    }
    Err(CopyError::Damaged { file: file.to_owned(), what: "its content does not match the id" })
}
