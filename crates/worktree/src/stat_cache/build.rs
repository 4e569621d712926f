//! Makes a stat cache: from a walked tree, and from the parts of the old one that did not change.

use std::ffi::CStr;

use bstr::BStr;

use super::blocks::Changed;
use super::record::{EntryKind, NONE};
use super::{
    CacheHeader, DIR_RECORD, DirRecord, ENTRY_RECORD, EntryRecord, HEADER, MAGIC, StatCache,
    u32_at, u64_at,
};
use crate::receipt::Summary;
use crate::secrets::Finding;

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
        let names: usize = entries.clone().map(|(name, _)| name.count_bytes() + 1).sum();
        let mut bytes = Vec::with_capacity(count * ENTRY_RECORD + names);
        let mut name_offset = 0;
        for (name, record) in entries.clone() {
            bytes.extend_from_slice(&encode(&record, name, name_offset));
            name_offset += name.count_bytes() as u32 + 1;
        }
        for (name, _) in entries {
            bytes.extend_from_slice(name.to_bytes_with_nul());
        }
        Self { bytes, count: count as u32 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    pub(crate) fn records(&self) -> &[u8] {
        &self.bytes[..self.count as usize * ENTRY_RECORD]
    }

    pub(crate) fn names(&self) -> &[u8] {
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

/// How much there is to be put into a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    dirs: usize,
    entries: usize,
    names: usize,
}

impl CacheSize {
    /// One directory with its entries.
    pub fn of_dir(entries: &EncodedEntries) -> Self {
        Self { dirs: 1, entries: entries.count as usize, names: entries.names().len() }
    }

    /// A directory of a cache and everything below it. `None` if that does not hold together.
    pub fn of_subtree(cache: &StatCache, dir: u32) -> Option<Self> {
        let run = cache.subtree(dir)?;
        Some(Self { dirs: run.dirs.len(), entries: run.entries.len(), names: run.names.len() })
    }
}

impl std::ops::AddAssign for CacheSize {
    fn add_assign(&mut self, other: Self) {
        self.dirs += other.dirs;
        self.entries += other.entries;
        self.names += other.names;
    }
}

/// Builds a new cache, parents before children.
///
/// Everything is put where it stays: what a million files need is in memory once, beside what it is made from.
pub struct CacheBuilder {
    bytes: Vec<u8>,
    entries_at: usize,
    names_at: usize,
    summary: Summary,
    dir_count: u32,
    entry_count: u32,
    names: u32,
}

impl CacheBuilder {
    /// A builder of a cache of exactly this size. `None` if it is too large for the format.
    pub fn new(size: CacheSize) -> Option<Self> {
        let is_countable = |number: usize| u32::try_from(number).is_ok();
        if ![size.dirs, size.entries, size.names].into_iter().all(is_countable) {
            return None;
        }
        let entries_at = HEADER + size.dirs * DIR_RECORD;
        let names_at = entries_at + size.entries * ENTRY_RECORD;
        Some(Self {
            bytes: vec![0; names_at + size.names],
            entries_at,
            names_at,
            summary: Summary::default(),
            dir_count: 0,
            entry_count: 0,
            names: 0,
        })
    }

    /// Puts directories, entries and names behind those that are there. `None` if they are more than was said.
    fn append(&mut self, dirs: &[u8], entries: &[u8], names: &[u8]) -> Option<Appended<'_>> {
        let dirs_at = HEADER + self.dir_count as usize * DIR_RECORD;
        let entries_at = self.entries_at + self.entry_count as usize * ENTRY_RECORD;
        let names_at = self.names_at + self.names as usize;
        self.bytes.get_mut(names_at..names_at + names.len())?.copy_from_slice(names);
        self.names += names.len() as u32;
        let (before, _) = self.bytes.split_at_mut(self.names_at);
        let (before, all_entries) = before.split_at_mut(self.entries_at);
        let entries_at = entries_at - self.entries_at;
        let new_entries = all_entries.get_mut(entries_at..entries_at + entries.len())?;
        new_entries.copy_from_slice(entries);
        let new_dirs = before.get_mut(dirs_at..dirs_at + dirs.len())?;
        new_dirs.copy_from_slice(dirs);
        self.dir_count += (dirs.len() / DIR_RECORD) as u32;
        self.entry_count += (entries.len() / ENTRY_RECORD) as u32;
        Some(Appended { dirs: new_dirs, entries: new_entries, summary: &mut self.summary })
    }

    /// Appends a directory with its entries. Returns its index and that of its first entry; `None` if there is no room
    /// for it.
    pub fn push_dir(
        &mut self,
        mut record: DirRecord,
        entries: &EncodedEntries,
    ) -> Option<(u32, u32)> {
        let (index, names) = (self.dir_count, self.names);
        record.first = self.entry_count;
        record.count = entries.len();
        let appended = self.append(&record.encode(), entries.records(), entries.names())?;
        appended.summary.directories += 1;
        for record in appended.entries.chunks_exact_mut(ENTRY_RECORD) {
            shift(&mut record[..4], names);
            // A record just made is well-formed.
            let _ = appended.summary.count(record);
        }
        Some((index, record.first))
    }

    /// Notes that entry number `entry` is the directory number `child`.
    pub fn set_child(&mut self, entry: u32, child: u32) {
        let at = self.entries_at + entry as usize * ENTRY_RECORD + 60;
        self.bytes[at..at + 4].copy_from_slice(&child.to_le_bytes());
    }

    /// Copies a directory and everything below it from another cache. `None` if that does not hold
    /// together.
    ///
    /// A subtree is one run of directories, one of entries and one of names, so it is copied as such, and
    /// only the numbers that refer to places are moved.
    pub fn copy(&mut self, from: &StatCache, dir: u32) -> Option<u32> {
        let run = from.subtree(dir)?;
        let index = self.dir_count;
        let move_entries = self.entry_count.wrapping_sub(run.entries.start);
        let move_dirs = index.wrapping_sub(dir);
        let move_names = self.names.wrapping_sub(run.names.start);
        let appended = self.append(
            from.dir_bytes(&run.dirs),
            from.entry_bytes(&run.entries),
            from.name_bytes(&run.names),
        )?;
        for record in appended.dirs.chunks_exact_mut(DIR_RECORD) {
            shift(&mut record[..4], move_entries);
        }
        for record in appended.entries.chunks_exact_mut(ENTRY_RECORD) {
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
            appended.summary.count(record)?;
        }
        appended.summary.directories += run.dirs.len() as u64;
        Some(index)
    }

    /// The counts so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The cache, ready to be asked and to be written. `None` if something is missing of what was said to come.
    pub fn finish(mut self, header: &CacheHeader) -> Option<StatCache> {
        let is_full = self.entries_at == HEADER + self.dir_count as usize * DIR_RECORD
            && self.names_at == self.entries_at + self.entry_count as usize * ENTRY_RECORD
            && self.bytes.len() == self.names_at + self.names as usize;
        if !is_full {
            return None;
        }
        self.bytes[..8].copy_from_slice(MAGIC);
        self.bytes[16..20].copy_from_slice(&self.dir_count.to_le_bytes());
        self.bytes[20..24].copy_from_slice(&self.entry_count.to_le_bytes());
        let header = CacheHeader { summary: self.summary, ..header.clone() };
        Some(StatCache {
            bytes: self.bytes,
            header,
            dirs: self.dir_count,
            entries: self.entry_count,
            names_at: self.names_at,
            changed: Changed::All,
        })
    }
}

/// What was just put into a cache and still has to be told its place.
struct Appended<'b> {
    dirs: &'b mut [u8],
    entries: &'b mut [u8],
    summary: &'b mut Summary,
}

/// Adds to a number in a record.
fn shift(number: &mut [u8], by: u32) {
    let moved = u32_at(number, 0).wrapping_add(by);
    number.copy_from_slice(&moved.to_le_bytes());
}

impl Summary {
    /// Counts an entry, given as its record. `None` if it is not well-formed.
    pub(crate) fn count(&mut self, record: &[u8]) -> Option<()> {
        let kind = EntryKind::decode(record[6], record[64])?;
        if kind.is_captured_file() {
            self.files += 1;
            self.bytes = self.bytes.saturating_add(u64_at(record, 8));
        }
        let unstable = record[7] & 2 != 0;
        let holds_secret = u32_at(record, 68) != 0;
        let mode = u16::from_le_bytes([record[66], record[67]]);
        if let Some(reason) = kind.listed_reason(unstable, holds_secret, mode) {
            *self.left_out.entry(reason).or_insert(0) += 1;
        }
        Some(())
    }
}
