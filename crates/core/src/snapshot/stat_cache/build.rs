//! Makes a stat cache: from a walked tree, and from the parts of the old one that did not change.

use std::ffi::CStr;

use bstr::BStr;

use super::CacheHeader;
use super::DIR_RECORD;
use super::DirRecord;
use super::ENTRY_RECORD;
use super::EntryRecord;
use super::HEADER;
use super::MAGIC;
use super::StatCache;
use super::blocks::Changed;
use super::record::EntryKind;
use super::record::NONE;
use super::u32_at;
use super::u64_at;
use crate::receipt::Summary;
use crate::snapshot::secrets::Finding;

/// The entries of one directory as they are in a cache, before they have their place in it.
pub struct EncodedEntries {
    /// First the records, whose names are counted from the first of these, then the names.
    bytes: Vec<u8>,
    count: u32,
}

impl EncodedEntries {
    /// Encodes names with their records, in git's order.
    pub fn new<'n>(
        entries: impl ExactSizeIterator<Item = (&'n CStr, EntryRecord)> + Clone,
    ) -> Self {
        let count = entries.len();
        let names: usize = entries
            .clone()
            .map(|(name, _)| name.count_bytes() + 1)
            .sum();
        let mut bytes = Vec::with_capacity(count * ENTRY_RECORD + names);
        let mut name_offset = 0;
        for (name, record) in entries.clone() {
            bytes.extend_from_slice(&encode(&record, name, name_offset));
            name_offset += name.count_bytes() as u32 + 1;
        }
        for (name, _) in entries {
            bytes.extend_from_slice(name.to_bytes_with_nul());
        }
        Self {
            bytes,
            count: count as u32,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn records(&self) -> &[u8] {
        &self.bytes[..self.count as usize * ENTRY_RECORD]
    }

    pub(super) fn names(&self) -> &[u8] {
        &self.bytes[self.count as usize * ENTRY_RECORD..]
    }

    /// The name of the entry at this place.
    pub(crate) fn name(&self, place: usize) -> Option<&BStr> {
        let record = self.records().chunks_exact(ENTRY_RECORD).nth(place)?;
        let start = u32_at(record, 0) as usize;
        let length = usize::from(u16::from_le_bytes([record[4], record[5]]));
        self.names().get(start..start + length).map(BStr::new)
    }
}

fn encode(entry: &EntryRecord, name: &CStr, name_offset: u32) -> [u8; ENTRY_RECORD] {
    let (kind, reason) = entry.kind.encode();
    let mut b = [0; ENTRY_RECORD];
    b[0..4].copy_from_slice(&name_offset.to_le_bytes());
    b[4..6].copy_from_slice(&(name.count_bytes() as u16).to_le_bytes());
    b[6] = kind;
    b[7] = u8::from(entry.unsettled)
        | (u8::from(entry.unstable) << 1)
        | (u8::from(entry.is_dir) << 2)
        | (u8::from(entry.linked) << 3);
    b[8..16].copy_from_slice(&entry.size.to_le_bytes());
    b[16..24].copy_from_slice(&entry.mtime.to_le_bytes());
    b[24..32].copy_from_slice(&entry.ctime.to_le_bytes());
    b[32..40].copy_from_slice(&entry.ino.to_le_bytes());
    b[40..60].copy_from_slice(entry.id.as_bytes());
    b[60..64].copy_from_slice(&NONE.to_le_bytes());
    b[64] = reason;
    b[65] = entry.descend.map_or(0, |reason| reason as u8);
    b[66..68].copy_from_slice(&entry.mode.to_le_bytes());
    let secret = entry.secret.map_or(0, Finding::to_number);
    b[68..72].copy_from_slice(&secret.to_le_bytes());
    b
}

/// Builds a new cache, parents before children.
#[derive(Default)]
pub struct CacheBuilder {
    dirs: Vec<u8>,
    entries: Vec<u8>,
    names: Vec<u8>,
    summary: Summary,
    dir_count: u32,
    entry_count: u32,
}

impl CacheBuilder {
    /// A builder with room for a cache about as large as `like`.
    pub fn with_room_for(like: Option<&StatCache>) -> Self {
        let mut builder = Self::default();
        if let Some(cache) = like {
            builder
                .dirs
                .reserve((cache.dirs as usize + 64) * DIR_RECORD);
            builder
                .entries
                .reserve((cache.entries as usize + 1024) * ENTRY_RECORD);
            builder
                .names
                .reserve(cache.bytes.len() - cache.names_at + 16 * 1024);
        }
        builder
    }

    /// Appends a directory with its entries. Returns its index and that of its first entry.
    pub fn push_dir(&mut self, mut record: DirRecord, entries: &EncodedEntries) -> (u32, u32) {
        let index = self.dir_count;
        record.first = self.entry_count;
        record.count = entries.len();
        self.dir_count += 1;
        self.summary.directories += 1;
        self.dirs.extend_from_slice(&record.encode());
        let start = self.entries.len();
        self.entries.extend_from_slice(entries.records());
        for record in self.entries[start..].chunks_exact_mut(ENTRY_RECORD) {
            shift(&mut record[..4], self.names.len() as u32);
            // A record just made is well-formed.
            let _ = self.summary.count(record);
        }
        self.names.extend_from_slice(entries.names());
        self.entry_count += record.count;
        (index, record.first)
    }

    /// Notes that entry number `entry` is the directory number `child`.
    pub fn set_child(&mut self, entry: u32, child: u32) {
        let at = entry as usize * ENTRY_RECORD + 60;
        self.entries[at..at + 4].copy_from_slice(&child.to_le_bytes());
    }

    /// Copies a directory and everything below it from another cache. `None` if that does not hold
    /// together.
    ///
    /// A subtree is one run of directories, one of entries and one of names, so it is copied as such, and
    /// only the numbers that refer to places are moved.
    pub fn copy(&mut self, from: &StatCache, dir: u32) -> Option<u32> {
        let run = from.subtree(dir)?;
        let index = self.dir_count;
        let dirs_at = self.dirs.len();
        let entries_at = self.entries.len();
        self.dirs.extend_from_slice(from.dir_bytes(&run.dirs));
        self.entries
            .extend_from_slice(from.entry_bytes(&run.entries));
        let move_entries = self.entry_count.wrapping_sub(run.entries.start);
        for record in self.dirs[dirs_at..].chunks_exact_mut(DIR_RECORD) {
            shift(&mut record[..4], move_entries);
        }
        let move_dirs = index.wrapping_sub(dir);
        let move_names = (self.names.len() as u32).wrapping_sub(run.names.start);
        for at in (entries_at..self.entries.len()).step_by(ENTRY_RECORD) {
            let record = &mut self.entries[at..at + ENTRY_RECORD];
            let name = u32_at(record, 0);
            let name_end =
                name.checked_add(u32::from(u16::from_le_bytes([record[4], record[5]])) + 1)?;
            if name < run.names.start || name_end > run.names.end {
                return None;
            }
            shift(&mut record[..4], move_names);
            if u32_at(record, 60) != NONE {
                if !run.dirs.contains(&u32_at(record, 60)) {
                    return None;
                }
                shift(&mut record[60..64], move_dirs);
            }
            self.summary.count(record)?;
        }
        self.names.extend_from_slice(from.name_bytes(&run.names));
        self.dir_count += run.dirs.len() as u32;
        self.entry_count += run.entries.len() as u32;
        self.summary.directories += run.dirs.len() as u64;
        Some(index)
    }

    /// The counts so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The cache, ready to be asked and to be written. `None` if it is too large for its format.
    pub fn finish(self, header: &CacheHeader) -> Option<StatCache> {
        if self.names.len() > u32::MAX as usize {
            return None;
        }
        let names_at = HEADER + self.dirs.len() + self.entries.len();
        // Nearly all of it is entries: they are moved within their own memory, not copied to another.
        let entries_at = HEADER + self.dirs.len();
        let entries = self.entries.len();
        let mut bytes = self.entries;
        bytes.reserve_exact(entries_at + self.names.len());
        bytes.resize(names_at, 0);
        bytes.copy_within(..entries, entries_at);
        bytes[..HEADER].fill(0);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[16..20].copy_from_slice(&self.dir_count.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.entry_count.to_le_bytes());
        bytes[HEADER..entries_at].copy_from_slice(&self.dirs);
        bytes.extend_from_slice(&self.names);
        let header = CacheHeader {
            summary: self.summary,
            ..header.clone()
        };
        Some(StatCache {
            bytes,
            header,
            dirs: self.dir_count,
            entries: self.entry_count,
            names_at,
            changed: Changed::All,
        })
    }
}

/// Adds to a number in a record.
fn shift(number: &mut [u8], by: u32) {
    let moved = u32_at(number, 0).wrapping_add(by);
    number.copy_from_slice(&moved.to_le_bytes());
}

impl Summary {
    /// Counts an entry, given as its record. `None` if it is not well-formed.
    pub(super) fn count(&mut self, record: &[u8]) -> Option<()> {
        let kind = EntryKind::decode(record[6], record[64])?;
        if kind.is_captured_file() {
            self.files += 1;
            self.bytes = self.bytes.saturating_add(u64_at(record, 8));
        }
        let unstable = record[7] & 2 != 0;
        let holds_secret = u32_at(record, 68) != 0;
        if let Some(reason) = kind.listed_reason(unstable, holds_secret) {
            *self.left_out.entry(reason).or_insert(0) += 1;
        }
        Some(())
    }
}
