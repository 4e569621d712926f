//! Reads what a restore will write, before it changes anything.
//!
//! The store must have all of it, and it must be possible to make files and links of it. Content is read and hashed as
//! far as that costs little, and what is small enough is kept until it is written. What is damaged beyond that stops
//! the restore part way, and undo brings everything back.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use herma_store::error::StoreError;
use herma_store::object::{EntryMode, Kind, Object};
use herma_store::objects::{ObjectError, Objects};
use herma_store::threads::shared_out;
use herma_store::{ObjectId, RelPath};
use herma_worktree::sink::{HashOnly, Sink};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::RestoreError;

/// So many bytes of content are read and hashed before the first file changes.
const READ: u64 = 64 << 20;
/// And so many of them are kept in memory.
const KEPT: u64 = 16 << 20;

/// Contents that were read and are as they were saved.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    contents: HashMap<ObjectId, Vec<u8>>,
    /// Whose content may be one with this sum.
    by_sum: HashMap<u64, ObjectId>,
}

/// What may still be read, and kept.
struct Room {
    to_read: AtomicU64,
    to_keep: AtomicU64,
}

impl ReadAhead {
    /// Checks that everything that belongs at these paths can be had; fails for the first of them that cannot.
    pub(crate) fn of(
        objects: &Objects,
        contents: &BTreeMap<RelPath, Content>,
    ) -> Result<Self, RestoreError> {
        let room = Room { to_read: AtomicU64::new(READ), to_keep: AtomicU64::new(KEPT) };
        let read = |(path, content): &(&RelPath, &Content)| {
            let found = match content.mode {
                EntryMode::Symlink => read_link_target(objects, &content.id).map(|_| None),
                _ => read_blob(objects, &content.id, &room),
            };
            let kept =
                found.map_err(|source| RestoreError::Damaged { path: (*path).clone(), source })?;
            Ok(kept.map(|bytes| (content.id, bytes)))
        };
        let contents: Vec<_> = contents.iter().collect();
        let read: Vec<Result<_, RestoreError>> = shared_out(&contents, read);
        let contents = read.into_iter().filter_map(Result::transpose);
        let contents: HashMap<_, _> = contents.collect::<Result<_, _>>()?;
        let sums = contents.iter().map(|(id, data)| (xxh3_64(data), *id));
        Ok(Self { by_sum: sums.collect(), contents })
    }

    /// The content with this id, if it was kept.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<&[u8]> {
        self.contents.get(id).map(Vec::as_slice)
    }

    /// The same, as the store gives it.
    pub(crate) fn object(&self, id: &ObjectId) -> Option<Object> {
        let data = self.get(id)?.to_vec();
        Some(Object { kind: Kind::Blob, data })
    }
}

/// Looks at files again that were just written: one that has a known content, byte for byte, has that content's id.
impl Sink for ReadAhead {
    fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        let known = match kind {
            Kind::Blob => self.by_sum.get(&xxh3_64(data)),
            _ => None,
        };
        match known {
            Some(id) if self.get(id) == Some(data) => Ok(*id),
            _ => HashOnly.add(kind, data),
        }
    }

    fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        HashOnly.add_stream(size, read)
    }
}

fn read_blob(
    objects: &Objects,
    id: &ObjectId,
    room: &Room,
) -> Result<Option<Vec<u8>>, ObjectError> {
    let (_, size) = objects.read_header(id)?;
    if !take(&room.to_read, size) || !take(&room.to_keep, size) {
        return Ok(None);
    }
    let object = objects.read(id)?;
    match object.kind {
        Kind::Blob => Ok(Some(object.data)),
        kind => Err(ObjectError::wrong_kind(id, kind, Kind::Blob)),
    }
}

/// Takes so much of what is left, if there is so much.
fn take(left: &AtomicU64, size: u64) -> bool {
    let less = |left: u64| left.checked_sub(size);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
}

/// What belongs at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    pub(crate) id: ObjectId,
    pub(crate) mode: EntryMode,
    pub(crate) bits: u32,
}

/// No link can point to more bytes than the longest path the kernel takes.
const MAX_TARGET_BYTES: u64 = 4095;

/// Where a saved link points, if a link can point there.
pub(crate) fn read_link_target(objects: &Objects, id: &ObjectId) -> Result<Vec<u8>, ObjectError> {
    let (kind, size) = objects.read_header(id)?;
    if kind != Kind::Blob {
        return Err(ObjectError::wrong_kind(id, kind, Kind::Blob));
    }
    if (1..=MAX_TARGET_BYTES).contains(&size) {
        let target = objects.read(id)?.data;
        if !target.contains(&0) {
            return Ok(target);
        }
    }
    let what = "it is no symlink target".to_owned();
    Err(ObjectError::Damaged { id: *id, what })
}

#[cfg(test)]
mod tests {
    use herma_store::object::id_of;

    use super::*;

    #[test]
    fn a_content_that_is_known_has_its_id_and_all_others_are_hashed() {
        let known = b"known\n".to_vec();
        // An id that is not this content's shows that it was not hashed.
        let id = id_of(Kind::Blob, b"something else").unwrap();
        let read_ahead = ReadAhead {
            by_sum: [(xxh3_64(&known), id), (xxh3_64(b"same sum"), id)].into(),
            contents: [(id, known.clone())].into(),
        };
        assert_eq!(read_ahead.add(Kind::Blob, &known).unwrap(), id);
        for (kind, data) in [
            (Kind::Tree, &known[..]),
            (Kind::Blob, b"same sum"),
            (Kind::Blob, b"unknown"),
            (Kind::Blob, b""),
        ] {
            let hashed = id_of(kind, data).unwrap();
            assert_eq!(read_ahead.add(kind, data).unwrap(), hashed);
        }
        let streamed = read_ahead.add_stream(6, &mut &known[..]).unwrap();
        assert_eq!(streamed, id_of(Kind::Blob, &known).unwrap());
    }
}
