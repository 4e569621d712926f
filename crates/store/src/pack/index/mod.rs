//! Reads a pack's index: which objects the pack holds, and where.
//!
//! A large index is never in memory as a whole. Its fan-out table (how many ids begin with at most this byte)
//! is read and checked when it is opened; the ids and offsets of one first byte, a *bucket*, are read
//! when first asked for and kept. A small index is one single bucket, read at once: a store may have thousands of them.
//! A bucket that is too large to keep, which only a crafted or a gigantic index has, is searched on disk.
//!
//! Both versions of the format are read. What an index says is only a hint of where to look: the object
//! found there is hashed before anyone sees it.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use crate::ObjectId;
use crate::object::copy::{CopyError, OpenFile};
use crate::pack::files::PackFiles;

/// An index with at most this many objects is one bucket.
const SMALL_INDEX_OBJECTS: u32 = 2048;
/// A bucket with more objects than this is not kept.
const MAX_BUCKET_ENTRIES: u32 = 8192;
/// How many entries [`PackIndex::entries_from`] reads at once, at most.
const CHUNK: u32 = 1024;
const VERSION_2: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FAN_OUT: u64 = 1024;
const TRAILER: u64 = 40;
/// So much of an index is read when it is opened: all of a small one.
const START_BYTES: u64 = 8 + FAN_OUT + SMALL_INDEX_OBJECTS as u64 * 28 + TRAILER;

/// The index of one pack.
#[derive(Debug)]
pub struct PackIndex {
    files: Arc<PackFiles>,
    name: CString,
    layout: Layout,
    fan_out: Box<[u32; 256]>,
    buckets: Box<[OnceLock<Bucket>]>,
    pack_trailer: [u8; 20],
    stat: herma_fs::Stat,
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    /// 24 bytes per object: offset, id.
    One,
    /// A table of ids, one of checksums, one of offsets, and one of `large` offsets above 2 GiB.
    Two { large: u64 },
}

#[derive(Debug)]
struct Bucket {
    ids: Vec<ObjectId>,
    offsets: Vec<u64>,
}

impl PackIndex {
    /// Opens the index `<stem>.idx` and checks its fan-out table and its size.
    pub fn open(files: &Arc<PackFiles>, stem: &str) -> Result<Self, CopyError> {
        let name = CString::new(format!("{stem}.idx"))
            .map_err(|_| CopyError::Damaged { file: stem.to_owned(), what: "not a name" })?;
        let file = files.open(&name)?;
        let bytes = Bytes::with_start(&file)?;
        let mut signature = [0; 8];
        bytes.read_exact_at(&mut signature, 0)?;
        let is_two = signature == VERSION_2;
        if signature[..4] == VERSION_2[..4] && !is_two {
            return Err(CopyError::damaged(&file, "an index of an unknown version"));
        }
        let fan_out = read_fan_out(&bytes, if is_two { 8 } else { 0 })?;
        let layout = layout(&file, is_two, u64::from(fan_out[255]))?;
        let mut pack_trailer = [0; 20];
        bytes.read_exact_at(&mut pack_trailer, file.stat.size - TRAILER)?;
        let bucket_count = if fan_out[255] <= SMALL_INDEX_OBJECTS { 1 } else { 256 };
        let buckets = (0..bucket_count).map(|_| OnceLock::new()).collect();
        let (files, stat) = (Arc::clone(files), file.stat);
        let mut index = Self { files, name, layout, fan_out, buckets, pack_trailer, stat };
        // What cannot be read is an error for those who look for something in it.
        if bucket_count == 1
            && let Ok(bucket) = index.read(&bytes, 0, index.count())
        {
            index.buckets[0] = bucket.into();
        }
        Ok(index)
    }

    /// How many objects the pack holds.
    pub fn count(&self) -> u32 {
        self.fan_out[255]
    }

    /// The checksum the pack must end with.
    pub fn pack_trailer(&self) -> &[u8; 20] {
        &self.pack_trailer
    }

    /// The index file.
    pub(crate) fn file(&self) -> Result<Arc<OpenFile>, CopyError> {
        self.files.open(&self.name)
    }

    /// What the index file was when it was opened.
    pub fn stat(&self) -> &herma_fs::Stat {
        &self.stat
    }

    /// Where in the pack the object begins, if it is there.
    pub fn find(&self, id: &ObjectId) -> Result<Option<u64>, CopyError> {
        let (start, end) = self.range_of(id.as_bytes()[0]);
        if start == end {
            return Ok(None);
        }
        if let Some((first, bucket)) = self.bucket(id.as_bytes()[0])? {
            let ids = &bucket.ids[(start - first) as usize..(end - first) as usize];
            let found = ids.binary_search(id).ok();
            return Ok(found.map(|at| bucket.offsets[(start - first) as usize + at]));
        }
        let position = self.lower_bound_on_disk(id, start, end)?;
        match self.entries_from(position, 1)?.first() {
            Some((found, offset)) if found == id => Ok(Some(*offset)),
            _ => Ok(None),
        }
    }

    /// Up to `limit` ids and offsets from a position on, in the order of the ids; empty at the end.
    pub fn entries_from(
        &self,
        position: u32,
        limit: u32,
    ) -> Result<Vec<(ObjectId, u64)>, CopyError> {
        let left = self.count().saturating_sub(position);
        let count = left.min(limit).min(CHUNK);
        if count == 0 {
            return Ok(Vec::new());
        }
        let bucket = self.read_again(position, count)?;
        Ok(bucket.ids.into_iter().zip(bucket.offsets).collect())
    }

    /// All ids with their offsets, in the order of the ids. Ends after the first error.
    pub fn entries(&self) -> impl Iterator<Item = Result<(ObjectId, u64), CopyError>> + '_ {
        let mut position = 0;
        let mut chunk = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if let Some(entry) = chunk.next() {
                return Some(Ok(entry));
            }
            match self.entries_from(position, CHUNK) {
                Ok(entries) => {
                    position += entries.len() as u32;
                    chunk = entries.into_iter();
                    chunk.next().map(Ok)
                }
                Err(e) => {
                    position = u32::MAX;
                    Some(Err(e))
                }
            }
        })
    }

    /// The positions of the ids whose first byte is this one.
    fn range_of(&self, first: u8) -> (u32, u32) {
        let start = first.checked_sub(1).map_or(0, |before| self.fan_out[usize::from(before)]);
        (start, self.fan_out[usize::from(first)])
    }

    /// The bucket that holds the ids of this first byte, and the position it starts at; `None` if it
    /// is too large to keep.
    fn bucket(&self, first: u8) -> Result<Option<(u32, &Bucket)>, CopyError> {
        let (slot, (start, end)) = match self.buckets.len() {
            1 => (&self.buckets[0], (0, self.count())),
            _ => (&self.buckets[usize::from(first)], self.range_of(first)),
        };
        if let Some(bucket) = slot.get() {
            return Ok(Some((start, bucket)));
        }
        if end - start > MAX_BUCKET_ENTRIES {
            return Ok(None);
        }
        let bucket = self.read_again(start, end - start)?;
        Ok(Some((start, slot.get_or_init(|| bucket))))
    }

    fn lower_bound_on_disk(&self, id: &ObjectId, start: u32, end: u32) -> Result<u32, CopyError> {
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.read_again(middle, 1)?.ids.first() < Some(id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Reads `count` entries from the file, if it still has the size it had.
    fn read_again(&self, position: u32, count: u32) -> Result<Bucket, CopyError> {
        let file = self.file()?;
        if file.stat.size != self.stat.size {
            return Err(CopyError::damaged(&file, "it changed while it was in use"));
        }
        self.read(&Bytes { file: &file, start: Vec::new() }, position, count)
    }

    /// Reads `count` entries, and checks that they stand where the fan-out table says, in order.
    fn read(&self, bytes: &Bytes<'_>, position: u32, count: u32) -> Result<Bucket, CopyError> {
        let (at, length) = (u64::from(position), count as usize);
        let bucket = match self.layout {
            Layout::One => {
                let mut raw = vec![0; length * 24];
                bytes.read_exact_at(&mut raw, FAN_OUT + at * 24)?;
                Bucket {
                    ids: raw
                        .chunks_exact(24)
                        .filter_map(|e| ObjectId::from_slice(&e[4..]))
                        .collect(),
                    offsets: raw.chunks_exact(24).map(|e| u64::from(number(e))).collect(),
                }
            }
            Layout::Two { large } => {
                let mut raw = vec![0; length * 20];
                bytes.read_exact_at(&mut raw, 8 + FAN_OUT + at * 20)?;
                let ids = raw.chunks_exact(20).filter_map(ObjectId::from_slice).collect();
                let mut raw = vec![0; length * 4];
                let total = u64::from(self.count());
                bytes.read_exact_at(&mut raw, 8 + FAN_OUT + total * 24 + at * 4)?;
                let large_table = 8 + FAN_OUT + total * 28;
                let offsets = raw
                    .chunks_exact(4)
                    .map(|e| offset(bytes, number(e), large_table, large))
                    .collect::<Result<_, _>>()?;
                Bucket { ids, offsets }
            }
        };
        self.check_order(bytes.file, position, &bucket.ids)?;
        Ok(bucket)
    }

    fn check_order(&self, file: &OpenFile, from: u32, ids: &[ObjectId]) -> Result<(), CopyError> {
        let in_order = ids.is_sorted();
        let in_place = ids.iter().zip(from..).all(|(id, position)| {
            let (start, end) = self.range_of(id.as_bytes()[0]);
            (start..end).contains(&position)
        });
        if in_order && in_place {
            return Ok(());
        }
        Err(CopyError::damaged(file, "its ids are out of order"))
    }
}

/// An index file, and as much of its start as was read at once.
struct Bytes<'f> {
    file: &'f OpenFile,
    start: Vec<u8>,
}

impl<'f> Bytes<'f> {
    fn with_start(file: &'f OpenFile) -> Result<Self, CopyError> {
        let mut start = vec![0; file.stat.size.min(START_BYTES) as usize];
        file.read_exact_at(&mut start, 0)?;
        Ok(Self { file, start })
    }

    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> Result<(), CopyError> {
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        match self.start.get(from..from.saturating_add(buffer.len())) {
            Some(known) => buffer.copy_from_slice(known),
            None => self.file.read_exact_at(buffer, at)?,
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |value, byte| (value << 8) | u32::from(*byte))
}

fn read_fan_out(bytes: &Bytes<'_>, at: u64) -> Result<Box<[u32; 256]>, CopyError> {
    let mut raw = [0; FAN_OUT as usize];
    bytes.read_exact_at(&mut raw, at)?;
    let mut fan_out = Box::new([0; 256]);
    for (value, bytes) in fan_out.iter_mut().zip(raw.chunks_exact(4)) {
        *value = number(bytes);
    }
    if !fan_out.is_sorted() {
        return Err(CopyError::damaged(bytes.file, "its fan-out table is out of order"));
    }
    Ok(fan_out)
}

/// Checks the size of the file against the number of objects.
fn layout(file: &OpenFile, is_two: bool, count: u64) -> Result<Layout, CopyError> {
    let size = file.stat.size;
    let wrong = || CopyError::damaged(file, "its size does not fit its number of objects");
    if !is_two {
        return if size == FAN_OUT + count * 24 + TRAILER { Ok(Layout::One) } else { Err(wrong()) };
    }
    let extra = size.checked_sub(8 + FAN_OUT + count * 28 + TRAILER).ok_or_else(wrong)?;
    if extra % 8 != 0 || extra / 8 > count {
        return Err(wrong());
    }
    Ok(Layout::Two { large: extra / 8 })
}

/// The offset an entry of version 2 means: itself, or a place in the table of large offsets.
fn offset(bytes: &Bytes<'_>, value: u32, large_table: u64, large: u64) -> Result<u64, CopyError> {
    if value & 0x8000_0000 == 0 {
        return Ok(u64::from(value));
    }
    let position = u64::from(value & 0x7fff_ffff);
    if position >= large {
        return Err(CopyError::damaged(bytes.file, "an offset is outside its table"));
    }
    let mut raw = [0; 8];
    bytes.read_exact_at(&mut raw, large_table + position * 8)?;
    Ok(u64::from_be_bytes(raw))
}

#[cfg(test)]
mod tests;
