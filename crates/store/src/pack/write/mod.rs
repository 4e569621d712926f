//! Collects the new objects of one checkpoint into one pack, or several if they are many.
//!
//! Many threads add objects through `&PackWriter`: each hashes and compresses its own, and only the
//! appending is serialised. A small pack never touches the disk before it is published; a larger one
//! goes to `herma/tmp` as it grows, and big files are streamed there without ever being held whole.
//! Nothing is visible until [`PackWriter::finish`]; a writer that is dropped leaves nothing behind.

pub(crate) mod claims;
pub mod finish;
pub(crate) mod parts;
pub mod recent;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use herma_fs::publish::{Durability, Temp};
use herma_fs::sync::atomic::AtomicBool;

use crate::error::StoreError;
use crate::in_parallel::in_parallel;
use crate::layout::{HermaDirs, StoreDirs};
use crate::object::{Kind, Object, deflate, deflate_stream};
use crate::pack::read;
use crate::pack::read::EntryKind;
use crate::pack::write::claims::{Claims, Place, SortedClaims};
use crate::pack::write::finish::{Finished, PackName};
use crate::pack::write::parts::Parts;
use crate::pack::write::recent::RecentContents;
use crate::{ObjectId, object};

/// Objects above this size are compressed as a stream.
pub(crate) const WHOLE_ENTRY: usize = 16 << 20;

/// Pending objects above this size are not read back.
const READ_LIMIT: u64 = 64 << 20;

/// The header of an entry of 2^64 bytes is this long.
const MAX_HEADER_BYTES: usize = 10;

/// Tells which objects the store has already, so that they are not written again.
pub trait Known: Sync {
    /// Is this object in the store?
    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError>;
}

impl<F: Fn(&ObjectId) -> Result<bool, StoreError> + Sync> Known for F {
    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        self(id)
    }
}

/// Packs being written, most often one.
pub struct PackWriter<'a> {
    dirs: &'a StoreDirs,
    herma: &'a HermaDirs,
    known: &'a dyn Known,
    /// Every object asked for, with its place if it is in one of these packs.
    claims: Claims,
    parts: Parts<'a>,
    recent: Arc<RecentContents>,
    /// Set when an object that somebody may already rely on could not be added.
    failed: AtomicBool,
}

impl<'a> PackWriter<'a> {
    /// Starts an empty pack. `known` says what need not be written.
    pub fn new(dirs: &'a StoreDirs, known: &'a dyn Known) -> Result<Self, StoreError> {
        let herma = dirs.for_writing()?;
        Ok(Self {
            dirs,
            herma,
            known,
            claims: Claims::new(),
            parts: Parts::new(herma),
            recent: Arc::default(),
            failed: AtomicBool::new(false),
        })
    }

    /// Keeps so many bytes of what is new at hand for [`PackWriter::read`].
    #[must_use]
    pub fn remembering(self, bytes: usize) -> Self {
        Self { recent: RecentContents::with_room(bytes).into(), ..self }
    }

    /// Packs are full with so many bytes.
    #[cfg(test)]
    fn full_with(self, bytes: u64) -> Self {
        Self { parts: self.parts.full_with(bytes), ..self }
    }

    /// What is kept at hand.
    pub fn recent(&self) -> Arc<RecentContents> {
        Arc::clone(&self.recent)
    }

    /// Adds an object, unless the store or this pack has it, and returns its id.
    pub fn add(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, StoreError> {
        if data.len() > WHOLE_ENTRY {
            return self.stream(kind, data.len() as u64, &mut &*data);
        }
        let id = object::id_of(kind, data).ok_or(StoreError::Collision)?;
        let is_new = || kind == Kind::Tree && self.names_something_new(data);
        self.claim(id, is_new, || {
            let entry = deflate::entry(kind, data);
            let crc = crc32fast::hash(&entry);
            let length = entry.len() as u64;
            let (pack, offset) = self.parts.append(|bytes| bytes.append(&entry))?;
            self.recent.keep(id, kind, data);
            Ok(Place { pack, offset, length, crc })
        })
    }

    /// Adds a blob of exactly `size` bytes without holding it in memory.
    ///
    /// Gives [`StoreError::Changed`] if more or fewer bytes come and [`StoreError::Source`] if they
    /// cannot be read; the pack is unaffected by either.
    pub fn add_stream(&self, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        self.stream(Kind::Blob, size, read)
    }

    fn stream(&self, kind: Kind, size: u64, read: &mut dyn Read) -> Result<ObjectId, StoreError> {
        let mut spill = Temp::create_private(&self.herma.tmp)?;
        let streamed = deflate_stream::stream_entry(kind, size, read, &mut spill)?;
        self.claim(
            streamed.id,
            || false,
            || {
                let length = streamed.length;
                let append = self.parts.append(|bytes| bytes.append_file(&spill, length));
                let (pack, offset) = append?;
                Ok(Place { pack, offset, length, crc: streamed.crc })
            },
        )
    }

    /// Does a tree name an object that this pack brings? Then no store has had the tree either, and looking for it, which
    /// costs as much as writing it, is spared. Being wrong costs a few bytes.
    fn names_something_new(&self, mut tree: &[u8]) -> bool {
        while let Some(end) = tree.iter().position(|byte| *byte == 0) {
            let Some((id, rest)) = tree[end + 1..].split_first_chunk() else { return false };
            if self.claims.get(&ObjectId::from_bytes(*id)).is_some() {
                return true;
            }
            tree = rest;
        }
        false
    }

    /// Makes sure the object is stored, calling `append` if nobody has it.
    fn claim(
        &self,
        id: ObjectId,
        is_new: impl FnOnce() -> bool,
        append: impl FnOnce() -> Result<Place, StoreError>,
    ) -> Result<ObjectId, StoreError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Abandoned);
        }
        if !self.claims.claim(id) {
            return Ok(id);
        }
        let is_known = if is_new() { Ok(false) } else { self.known.contains(&id) };
        let added = match is_known {
            Ok(true) => return Ok(id),
            Ok(false) => append(),
            Err(e) => Err(e),
        };
        match added {
            Ok(place) => {
                self.claims.set(&id, place);
                Ok(id)
            }
            Err(e) => {
                // Another thread may have been told that this object is taken care of.
                self.failed.store(true, Ordering::Release);
                Err(e)
            }
        }
    }

    /// Reads back an object added to this pack; `None` if it is not in it. One above 64 MiB is [too
    /// large](StoreError::TooLarge).
    pub fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        let Some(place) = self.claims.get(id) else { return Ok(None) };
        if let Some(object) = self.recent.get(id) {
            return Ok(Some(object));
        }
        let mut known = [0; MAX_HEADER_BYTES];
        let known = &mut known[..place.length.min(MAX_HEADER_BYTES as u64) as usize];
        let start = (place.pack, place.offset);
        self.parts.read(start, known)?;
        let damaged = || StoreError::Damaged {
            id: *id,
            what: "it did not read back as it was written".to_owned(),
        };
        let header = read::header(known, place.offset).map_err(|_| damaged())?;
        let (EntryKind::Whole(kind), size, header) = header else { return Err(damaged()) };
        if size > READ_LIMIT {
            return Err(StoreError::TooLarge { id: *id, size });
        }
        let mut entry = vec![0; place.length as usize];
        self.parts.read(start, &mut entry)?;
        let compressed = entry.get(header..).ok_or_else(damaged)?;
        let data = deflate::inflate(compressed, size as usize).ok_or_else(damaged)?;
        if object::id_of(kind, &data) != Some(*id) {
            return Err(damaged());
        }
        Ok(Some(Object { kind, data }))
    }

    /// Was this object added?
    pub fn has(&self, id: &ObjectId) -> bool {
        self.claims.has(id)
    }

    /// How many objects were added.
    pub fn object_count(&self) -> usize {
        self.parts.objects() as usize
    }

    /// The size of the packs so far.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.parts.length()
    }

    /// Publishes what was added: a pack, none if it is nothing, several if it is much. On an error no ref can name
    /// anything of it yet, and what of it is visible is litter.
    pub fn finish(self, durability: Durability) -> Result<Vec<PackName>, StoreError> {
        if self.failed.into_inner() {
            return Err(StoreError::Abandoned);
        }
        let mut before = self.parts.into_packs()?;
        let Some(last) = before.pop() else { return Ok(Vec::new()) };
        let finished = |number, pack, claims: &SortedClaims| {
            Finished::new(self.herma, pack, claims.of_pack(number), durability)
        };
        let last_number = before.len() as u16;
        let is_small = last.are_in_memory() && before.is_empty();
        let finish_others = || {
            let claims = self.claims.into_sorted();
            let packs = (0..)
                .zip(before)
                .map(|(number, bytes)| finished(number, bytes.into_pack(durability)?, &claims));
            (packs.collect::<Result<Vec<_>, _>>(), claims)
        };
        // The disk is waited for while a checksum is computed; a small pack is synced together with its index.
        let ((packs, claims), last) = if is_small {
            (finish_others(), last.into_pack(Durability::Cache))
        } else {
            in_parallel(finish_others, || last.into_pack(durability))
        };
        let mut packs = packs?;
        packs.push(finished(last_number, last?, &claims)?);
        finish::publish(self.dirs, packs, durability)
    }
}

#[cfg(test)]
mod tests;
