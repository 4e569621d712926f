//! The packs that one writer fills, one after the other.
//!
//! The checksum that a pack ends with takes reading all of it, and cannot begin before its entries are counted. A
//! save that brings much fills several packs for that reason: whoever made one full computes its checksum, while the
//! other threads fill the next.

use std::sync::{Arc, PoisonError};

use herma_fs::sync::{Mutex, MutexGuard};

use crate::error::StoreError;
use crate::layout::HermaDirs;
use crate::pack::bytes::Bytes;

/// A pack is full with so many bytes. It is more than half of the most that a collection puts into one, so that full
/// ones stay as they are.
const FULL: u64 = 129 << 20;

/// All packs before it are at most this many times as large as a full one, so that there are never very many.
const MAX_FULL_PACKS: u64 = 16;

/// Packs being filled.
pub(crate) struct Parts<'a> {
    herma: &'a HermaDirs,
    full: u64,
    growing: Mutex<Growing<'a>>,
}

/// The pack that entries are added to, and those that are full.
struct Growing<'a> {
    bytes: Bytes<'a>,
    before: Vec<Arc<Mutex<Bytes<'a>>>>,
    bytes_before: u64,
    objects_before: u64,
}

/// Where an entry begins: the number of its pack, and its offset there.
pub(crate) type Start = (u16, u64);

impl<'a> Parts<'a> {
    /// Nothing yet.
    pub(crate) fn new(herma: &'a HermaDirs) -> Self {
        let growing = Growing {
            bytes: Bytes::new(herma),
            before: Vec::new(),
            bytes_before: 0,
            objects_before: 0,
        };
        Self { herma, full: FULL, growing: Mutex::new(growing) }
    }

    /// Packs are full with so many bytes.
    #[cfg(test)]
    pub(crate) fn full_with(self, full: u64) -> Self {
        Self { full, ..self }
    }

    /// Has `append` add an entry to a pack and tell its offset.
    pub(crate) fn append(
        &self,
        append: impl FnOnce(&mut Bytes<'a>) -> Result<u64, StoreError>,
    ) -> Result<Start, StoreError> {
        let mut growing = lock(&self.growing);
        let number = u16::try_from(growing.before.len()).map_err(|_| StoreError::Abandoned)?;
        let offset = append(&mut growing.bytes)?;
        let is_full =
            growing.bytes.length() >= self.full.max(growing.bytes_before / MAX_FULL_PACKS);
        let full = is_full.then(|| growing.begin_next(self.herma));
        drop(growing);
        if let Some(full) = full {
            lock(&full).seal()?;
        }
        Ok((number, offset))
    }

    /// Fills `out` with the bytes from `offset` on in one of the packs.
    pub(crate) fn read(&self, (number, offset): Start, out: &mut [u8]) -> Result<(), StoreError> {
        let growing = lock(&self.growing);
        let Some(full) = growing.before.get(usize::from(number)).cloned() else {
            return growing.bytes.read(offset, out);
        };
        drop(growing);
        lock(&full).read(offset, out)
    }

    /// How many entries there are.
    pub(crate) fn objects(&self) -> u64 {
        let growing = lock(&self.growing);
        growing.objects_before + growing.bytes.objects()
    }

    /// How many bytes there are.
    #[cfg(test)]
    pub(crate) fn length(&self) -> u64 {
        let growing = lock(&self.growing);
        growing.bytes_before + growing.bytes.length()
    }

    /// The packs that have entries, by their numbers.
    pub(crate) fn into_packs(self) -> Result<Vec<Bytes<'a>>, StoreError> {
        let growing = self.growing.into_inner();
        let growing = growing.unwrap_or_else(PoisonError::into_inner);
        let before = growing.before.into_iter().map(|full| {
            let full = Arc::into_inner(full).ok_or(StoreError::Abandoned)?;
            Ok(full.into_inner().unwrap_or_else(PoisonError::into_inner))
        });
        let mut packs = before.collect::<Result<Vec<_>, StoreError>>()?;
        if growing.bytes.objects() > 0 {
            packs.push(growing.bytes);
        }
        Ok(packs)
    }
}

impl<'a> Growing<'a> {
    /// Begins another pack and returns the one before.
    fn begin_next(&mut self, herma: &'a HermaDirs) -> Arc<Mutex<Bytes<'a>>> {
        self.bytes_before += self.bytes.length();
        self.objects_before += self.bytes.objects();
        let full = std::mem::replace(&mut self.bytes, Bytes::new(herma));
        let full = Arc::new(Mutex::new(full));
        self.before.push(Arc::clone(&full));
        full
    }
}

/// A thread that panicked while holding the lock has poisoned nothing: every change under these locks
/// is a single step, and its error is reported on its own.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
