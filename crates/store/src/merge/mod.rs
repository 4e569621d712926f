//! Merges objects of many packs into one new pack, most of them as deltas.
//!
//! The caller says which objects, in which order, and which earlier object each resembles: history knows
//! that better than a search among neighbours could find out. Every object is read through [`Objects`],
//! so what is written was checked against its id; every delta is applied again and compared before it is
//! written. Chunks of the list are read and encoded by several threads and appended in order, so that
//! memory stays bounded and the same input makes the same pack.
//!
//! Nothing is visible until the pack is published; a merge that fails leaves nothing behind.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use herma_fs::publish::Durability;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::object::{Kind, Object};
use crate::objects::cache::{Cache, Key};
use crate::objects::stored::Form;
use crate::objects::{ObjectError, Objects};
use crate::pack::bytes::Bytes;
use crate::pack::write::finish::{Finished, IndexEntry, PackName};
use crate::pack::write::{WHOLE_ENTRY, finish};
use crate::threads::{NoThreads, with_pool};

mod encode;
mod large;

use encode::Encoded;

/// How many bytes of objects are in memory at one time, beside those kept as bases.
const CHUNK_BYTES: u64 = 32 << 20;

/// How many objects are in memory at one time.
const CHUNK_OBJECTS: usize = 4096;

/// How much memory is used for objects that may be the base of a later one.
const BASE_CACHE_BYTES: usize = 64 << 20;

/// The most deltas that build on each other.
const MAX_WRITTEN_CHAIN: u32 = 50;

/// Where a chain that became too deep is taken up again: a delta against an older relative is still
/// much smaller than the whole object.
const TAKEN_UP: u32 = MAX_WRITTEN_CHAIN / 2;

/// Smaller objects are not worth a delta.
const MIN_DELTA_BYTES: u64 = 32;

/// Larger objects would take too much memory.
const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// A base this many times as large as the object is unlikely to give a good delta, and costs time.
const UNLIKE: u64 = 32;

/// One object to go into the pack, in the order of the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The object.
    pub id: ObjectId,
    /// An object likely to resemble it; used only if it comes earlier in the pack and has the same
    /// kind.
    pub like: Option<ObjectId>,
}

/// A pack that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Its name.
    pub name: PackName,
    /// How many objects it has.
    pub objects: u64,
    /// How many of them are deltas.
    pub deltas: u64,
    /// The bytes of the pack and its index together.
    pub bytes: u64,
}

/// Why packs were not merged or collected, or a walk over what is alive ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GcError {
    /// The pack would have become larger than allowed; nothing is visible.
    #[error("the merged pack would be larger than allowed")]
    TooLarge,
    /// The caller did not want to go on.
    #[error("stopped")]
    Cancelled,
    /// The threads could not be started.
    #[error("could not start threads: {0}")]
    Threads(#[from] NoThreads),
    /// An object could not be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system refused.
    #[error(transparent)]
    Fs(#[from] herma_fs::Error),
}

/// How to merge.
#[derive(Clone, Copy)]
pub struct MergeOptions<'a> {
    /// The most bytes the pack and its index may take together.
    pub max_bytes: u64,
    /// How many threads work on it.
    pub threads: usize,
    /// Whether the pack has to survive a power cut.
    pub durability: Durability,
    /// Told how many objects are done, from any thread; says whether to go on.
    pub progress: &'a (dyn Fn(u64) -> bool + Sync),
}

/// Writes the wanted objects into one new pack; `None` if none are wanted. One that is wanted twice is
/// written once, where it is wanted first.
pub fn merge(
    dirs: &StoreDirs,
    objects: &Objects,
    wanted: &[Wanted],
    options: &MergeOptions<'_>,
) -> Result<Option<Merged>, GcError> {
    let items = in_order(wanted);
    if items.is_empty() {
        return Ok(None);
    }
    let count = u32::try_from(items.len()).map_err(|_| GcError::TooLarge)?;
    let herma = dirs.for_writing()?;
    let mut merge = Merge {
        objects,
        items: &items,
        options,
        recent: Cache::new(BASE_CACHE_BYTES),
        done: AtomicU64::new(0),
        bytes: Bytes::new(herma),
        known: Vec::with_capacity(items.len()),
        entries: Vec::with_capacity(items.len()),
    };
    with_pool(options.threads, |pool| merge.run(pool))??;
    let deltas = merge.known.iter().filter(|known| known.base.is_some());
    let deltas = deltas.count() as u64;
    let bytes = merge.final_size();
    let mut entries = merge.entries;
    entries.sort_unstable_by_key(|entry| entry.id);
    let pack = merge.bytes.into_pack(Durability::Cache)?;
    let pack = Finished::new(herma, pack, entries.iter().copied(), options.durability)?;
    let name = pack.name();
    finish::publish(dirs, vec![pack], options.durability)?;
    Ok(Some(Merged { name, objects: u64::from(count), deltas, bytes }))
}

/// An object to be written, and the position of the one it resembles.
struct Item {
    id: ObjectId,
    like: Option<usize>,
}

/// The objects without repetitions; only an earlier one can be resembled.
fn in_order(wanted: &[Wanted]) -> Vec<Item> {
    let mut positions = HashMap::with_capacity(wanted.len());
    let mut items = Vec::with_capacity(wanted.len());
    for Wanted { id, like } in wanted {
        if positions.contains_key(id) {
            continue;
        }
        let like = like.and_then(|like| positions.get(&like).copied());
        positions.insert(*id, items.len());
        items.push(Item { id: *id, like });
    }
    items
}

/// What is known of an object that is written, or about to be.
struct Known {
    kind: Kind,
    size: u64,
    /// How many deltas it takes to build it; at most this many while it is not yet encoded.
    depth: u32,
    base: Option<usize>,
}

/// A pack being merged.
struct Merge<'a> {
    objects: &'a Objects,
    items: &'a [Item],
    options: &'a MergeOptions<'a>,
    recent: Cache,
    done: AtomicU64,
    bytes: Bytes<'a>,
    /// By position in the pack.
    known: Vec<Known>,
    /// By position in the pack.
    entries: Vec<IndexEntry>,
}

/// What to work on next.
enum Next {
    /// So many objects, in memory.
    Chunk(usize),
    /// One object, piece by piece.
    Stream,
}

impl Merge<'_> {
    fn run(&mut self, threads: &ThreadPool) -> Result<(), GcError> {
        self.go_on(0)?;
        while self.entries.len() < self.items.len() {
            match self.next()? {
                Next::Chunk(count) => self.append_chunk(threads, count)?,
                Next::Stream => self.append_large()?,
            }
        }
        Ok(())
    }

    /// Tells the caller that `more` objects are done.
    fn go_on(&self, more: u64) -> Result<(), GcError> {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if (self.options.progress)(done) { Ok(()) } else { Err(GcError::Cancelled) }
    }

    /// Takes as many objects as fit into memory. A large object, or one that resembles a large one, is
    /// worked on alone.
    fn next(&self) -> Result<Next, GcError> {
        let from = self.entries.len();
        let mut bytes: u64 = 0;
        for (count, item) in self.items[from..].iter().enumerate() {
            if count == CHUNK_OBJECTS {
                return Ok(Next::Chunk(count));
            }
            let size = self.objects.announced_size(&item.id)?;
            let like = item.like.and_then(|like| self.known.get(like));
            let like = like.map_or(0, |like| like.size);
            if size.max(like) > WHOLE_ENTRY as u64 && count == 0 {
                let by_delta = (MIN_DELTA_BYTES..=MAX_OBJECT_BYTES).contains(&like)
                    && size <= MAX_OBJECT_BYTES;
                let whole = size <= WHOLE_ENTRY as u64;
                return Ok(if by_delta || whole { Next::Chunk(1) } else { Next::Stream });
            }
            bytes = bytes.saturating_add(size);
            if count > 0 && (bytes > CHUNK_BYTES || size.max(like) > WHOLE_ENTRY as u64) {
                return Ok(Next::Chunk(count));
            }
        }
        Ok(Next::Chunk(self.items.len() - from))
    }

    fn append_chunk(&mut self, threads: &ThreadPool, count: usize) -> Result<(), GcError> {
        let from = self.entries.len();
        let items = &self.items[from..from + count];
        let this = &*self;
        let read = threads.install(|| {
            let read = items.par_iter().map(|item| this.objects.read_stored(&item.id));
            read.collect::<Result<Vec<_>, _>>()
        })?;
        let (objects, forms): (Vec<Arc<Object>>, Vec<Form>) =
            read.into_iter().map(|stored| (stored.object, stored.form)).unzip();
        for (item, object) in items.iter().zip(&objects) {
            let known = self.plan(item, object, count == 1);
            self.known.push(known);
        }
        let this = &*self;
        let encoded = threads.install(|| {
            let positions = (from..from + count).into_par_iter();
            let encoded =
                positions.zip(forms).map(|(position, form)| this.encode(position, form, &objects));
            encoded.collect::<Result<Vec<_>, _>>()
        })?;
        for (position, encoded) in (from..).zip(encoded) {
            self.append(position, &encoded)?;
        }
        for (item, object) in items.iter().zip(&objects) {
            self.recent.insert(Key::Checked(item.id), object);
        }
        Ok(())
    }

    /// Chooses the base of the next object.
    fn plan(&self, item: &Item, object: &Object, alone: bool) -> Known {
        let size = object.data.len() as u64;
        let largest = if alone { MAX_OBJECT_BYTES } else { WHOLE_ENTRY as u64 };
        let base = self.shallow(item.like).filter(|base| {
            let base = &self.known[*base];
            let sizes = MIN_DELTA_BYTES..=largest;
            base.kind == object.kind
                && sizes.contains(&base.size)
                && sizes.contains(&size)
                && base.size / UNLIKE <= size
        });
        Known {
            kind: object.kind,
            size,
            depth: base.map_or(0, |base| self.known[base].depth + 1),
            base,
        }
    }

    /// The object at this position, or one it is built from if it stands at the end of a long chain.
    fn shallow(&self, like: Option<usize>) -> Option<usize> {
        let mut base = like?;
        if self.known[base].depth >= MAX_WRITTEN_CHAIN {
            while self.known[base].depth > TAKEN_UP {
                base = self.known[base].base?;
            }
        }
        Some(base)
    }

    /// Appends an entry and corrects what was planned for its object.
    fn append(&mut self, position: usize, encoded: &Encoded) -> Result<(), GcError> {
        let offset = self.bytes.length();
        let header = encoded.header(offset, &self.entries);
        let mut crc = crc32fast::Hasher::new();
        for part in [&header, &encoded.compressed] {
            crc.update(part);
            self.bytes.write(part)?;
        }
        self.bytes.count_object();
        let depth = encoded.base.map_or(0, |base| self.known[base].depth + 1);
        let known = &mut self.known[position];
        (known.base, known.depth) = (encoded.base, depth);
        self.entries.push(IndexEntry { id: self.items[position].id, crc: crc.finalize(), offset });
        self.check_size()
    }

    /// How large the pack and its index are at the end, if nothing more is added.
    fn final_size(&self) -> u64 {
        let last = self.entries.last().map_or(0, |entry| entry.offset);
        let large = if finish::is_large(last) {
            self.entries.len() - self.entries.partition_point(|e| !finish::is_large(e.offset))
        } else {
            0
        };
        self.bytes.length() + 20 + finish::index_length(self.items.len(), large)
    }

    fn check_size(&self) -> Result<(), GcError> {
        if self.final_size() > self.options.max_bytes {
            return Err(GcError::TooLarge);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
