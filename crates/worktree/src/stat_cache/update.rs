//! Brings a cache up to date in place.
//!
//! Most saves find a few files changed, and every name where it was. Then the records of these are written over, and
//! neither the rest of the cache nor the rest of its file is touched.

use std::ops::Range;

use bstr::BStr;
use herma_diff::FileState;

use super::record::{EntryKind, NONE};
use super::{
    CacheHeader, DIR_RECORD, DirRecord, ENTRY_RECORD, EncodedEntries, HEADER, StatCache, id_at,
    u32_at,
};
use crate::receipt::Summary;

/// A file that is another one now.
pub(crate) struct Edited<'e> {
    pub(crate) name: &'e BStr,
    /// What there was in the tree.
    pub(crate) old: Option<FileState>,
    /// What there is.
    pub(crate) new: Option<FileState>,
}

impl StatCache {
    /// Has a directory just these names, and at `below` just these subdirectories? Then returns their records.
    pub(crate) fn same_shape(
        &self,
        dir: u32,
        entries: &EncodedEntries,
        below: impl ExactSizeIterator<Item = u32>,
    ) -> Option<Vec<u32>> {
        let old = self.entry_bytes(&self.places(dir)?);
        if old.len() != entries.records().len() {
            return None;
        }
        let names = self.names_of(old, entries.names().len())?;
        if names != entries.names() {
            return None;
        }
        let pairs =
            || old.chunks_exact(ENTRY_RECORD).zip(entries.records().chunks_exact(ENTRY_RECORD));
        let first = old.get(..4).map_or(0, |bytes| u32_at(bytes, 0));
        let is_same_name = |(old, new): (&[u8], &[u8])| {
            u32_at(old, 0).wrapping_sub(first) == u32_at(new, 0) && old[4..6] == new[4..6]
        };
        if !pairs().all(is_same_name) {
            return None;
        }
        let children = (0..).zip(old.chunks_exact(ENTRY_RECORD));
        let children = children
            .map(|(place, record)| (place, u32_at(record, 60)))
            .filter(|(_, child)| *child != NONE);
        let (places, children): (Vec<u32>, Vec<u32>) = children.unzip();
        let is_below = children.iter().all(|child| *child > dir && *child < self.dirs);
        (is_below && below.eq(places)).then_some(children)
    }

    /// The files of a directory of the same shape that are others now. `None` if the cache does not hold together.
    pub(crate) fn edited<'e>(
        &self,
        dir: u32,
        entries: &'e EncodedEntries,
    ) -> Option<Vec<Edited<'e>>> {
        let old = self.entry_bytes(&self.places(dir)?).chunks_exact(ENTRY_RECORD);
        let new = entries.records().chunks_exact(ENTRY_RECORD);
        let mut found = Vec::new();
        for (place, (old, new)) in old.zip(new).enumerate() {
            let state = |record: &[u8]| {
                let mode = EntryKind::decode(record[6], record[64])?.mode();
                Some(mode.map(|mode| FileState { mode, id: id_at(record, 40) }))
            };
            let (old, new) = (state(old)?, state(new)?);
            if old != new {
                let name = entries.name(place)?;
                found.push(Edited { name, old, new });
            }
        }
        Some(found)
    }

    /// The names of these records, if they are beside each other.
    fn names_of(&self, records: &[u8], length: usize) -> Option<&[u8]> {
        let Some(first) = records.get(..4) else { return (length == 0).then_some(&[]) };
        let start = self.names_at.checked_add(u32_at(first, 0) as usize)?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// Writes a directory of the same shape over that at `dir`. `None` if the cache does not hold together.
    pub(crate) fn replace(
        &mut self,
        dir: u32,
        record: DirRecord,
        entries: &EncodedEntries,
    ) -> Option<()> {
        let old = self.dir(dir)?;
        let records_at = HEADER + self.dirs as usize * DIR_RECORD;
        let first_at = records_at + old.first as usize * ENTRY_RECORD;
        let names = self.bytes.get(first_at..first_at + 4);
        let names = names.map_or(0, |bytes| u32_at(bytes, 0));
        let mut at = first_at;
        for new in entries.records().chunks_exact(ENTRY_RECORD) {
            let place = at..at + ENTRY_RECORD;
            let mut new: [u8; ENTRY_RECORD] = new.try_into().ok()?;
            let name = u32_at(&new, 0).wrapping_add(names);
            new[..4].copy_from_slice(&name.to_le_bytes());
            let before = self.bytes.get(place.clone())?;
            new[60..64].copy_from_slice(&before[60..64]);
            if before != new {
                let summary = &mut self.header.summary;
                summary.discount(before)?;
                summary.count(&new)?;
                self.put(place, &new);
            }
            at += ENTRY_RECORD;
        }
        let record = DirRecord { first: old.first, count: old.count, ..record };
        if record != old {
            let at = HEADER + dir as usize * DIR_RECORD;
            self.put(at..at + DIR_RECORD, &record.encode());
        }
        Some(())
    }

    /// Takes over what holds for the whole, but for the counts.
    pub(crate) fn take_header(&mut self, header: &CacheHeader) {
        let summary = std::mem::take(&mut self.header.summary);
        self.header = CacheHeader { summary, ..header.clone() };
    }

    /// Writes over some bytes.
    pub(crate) fn put(&mut self, place: Range<usize>, new: &[u8]) {
        self.changed.note(&self.bytes, place.clone());
        self.bytes[place].copy_from_slice(new);
    }
}

impl Summary {
    /// Undoes the count of an entry. `None` if the entry is not well-formed.
    fn discount(&mut self, record: &[u8]) -> Option<()> {
        let mut counted = Self::default();
        counted.count(record)?;
        self.files = self.files.saturating_sub(counted.files);
        self.bytes = self.bytes.saturating_sub(counted.bytes);
        for (reason, count) in counted.left_out {
            let left = self.left_out.remove(&reason).unwrap_or(0);
            if left > count {
                self.left_out.insert(reason, left - count);
            }
        }
        Some(())
    }
}
