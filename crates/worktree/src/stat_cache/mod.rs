//! The stat cache: what every file looked like at the last save, so that the next one reads only what
//! changed.
//!
//! The cache is one file shaped like the tree: directory records, entry records, names. An unchanged
//! directory keeps its tree id, so neither its path nor its tree is built again. It is only a cache:
//! written without syncing, checked by a checksum, and ignored when anything about it is odd. It may
//! be trusted only while the checkpoint it was written for is alive, because only then are all the
//! objects it names known to be in the store.
//!
//! An entry is *settled* when it last changed clearly before the scan that recorded it began. Only
//! settled entries are believed; a file written within the tick of the clock is read again.

mod blocks;
mod build;
mod file;
mod record;
mod update;

use herma_store::path::{join, split};
use std::cmp::Ordering;
use std::ffi::CStr;
use std::ops::Range;

use blocks::Changed;
pub use blocks::checksum;
pub use build::{CacheBuilder, CacheSize, EncodedEntries};
use herma_store::ObjectId;
use herma_store::object::compare_names;
use record::NONE;
pub(crate) use record::has_other_names;
pub use record::{DirRecord, EntryKind, EntryRecord, IgnoreFiles};

use super::reason::Reason;
use super::secrets::Finding;
use crate::receipt::{LeftOut, Summary};

const MAGIC: &[u8; 8] = b"HERMASC5";
const HEADER: usize = 256;
const DIR_RECORD: usize = 96;
const ENTRY_RECORD: usize = 72;

/// What holds for the cache as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheHeader {
    /// Everything besides the files themselves that decides what is captured.
    pub rules: u64,
    /// The state of the user's git index when its tracked files were last consulted.
    pub index_state: u64,
    /// The checkpoint whose state this cache describes.
    pub checkpoint: Option<ObjectId>,
    /// What was captured and left out, counted.
    pub summary: Summary,
}

/// A cache, checked and ready to be asked.
pub struct StatCache {
    bytes: Vec<u8>,
    header: CacheHeader,
    dirs: u32,
    entries: u32,
    names_at: usize,
    changed: Changed,
}

impl std::fmt::Debug for StatCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatCache").field("entries", &self.entries).finish_non_exhaustive()
    }
}

/// A directory with everything below it, as runs of records and names.
struct Subtree {
    dirs: Range<u32>,
    entries: Range<u32>,
    names: Range<u32>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn id_at(bytes: &[u8], at: usize) -> ObjectId {
    ObjectId::from_slice(&bytes[at..at + 20]).expect("twenty bytes")
}

impl StatCache {
    /// Reads a cache back; `None` when it is not one, is damaged, or was written by another version.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let checksum = checksum(&bytes);
        if bytes.len() < HEADER || &bytes[..8] != MAGIC || u64_at(&bytes, 8) != checksum {
            return None;
        }
        let dirs = u32_at(&bytes, 16);
        let entries = u32_at(&bytes, 20);
        let names_at = HEADER
            .checked_add((dirs as usize).checked_mul(DIR_RECORD)?)?
            .checked_add((entries as usize).checked_mul(ENTRY_RECORD)?)?;
        if names_at > bytes.len() || dirs == 0 || bytes[names_at..].contains(&b'/') {
            return None;
        }
        let header = decode_header(&bytes);
        Some(Self { bytes, header, dirs, entries, names_at, changed: Changed::none(checksum) })
    }

    /// What holds for the whole.
    pub fn header(&self) -> &CacheHeader {
        &self.header
    }

    /// The record of the project root.
    pub const ROOT: u32 = 0;

    /// How many directories there are.
    pub fn directories(&self) -> u32 {
        self.dirs
    }

    /// A directory record.
    pub fn dir(&self, index: u32) -> Option<DirRecord> {
        if index >= self.dirs {
            return None;
        }
        let at = HEADER + index as usize * DIR_RECORD;
        Some(decode_dir(&self.bytes[at..at + DIR_RECORD]))
    }

    /// The entries of a directory, in git's order. `None` if the cache does not hold together.
    pub fn entries(&self, dir: u32) -> Option<impl ExactSizeIterator<Item = Option<EntryRecord>>> {
        Some(self.places(dir)?.map(move |index| self.entry(index, dir)))
    }

    /// Where the entries of a directory are. `None` if the cache does not hold together.
    fn places(&self, dir: u32) -> Option<Range<u32>> {
        let record = self.dir(dir)?;
        let end = record.first.checked_add(record.count)?;
        (end <= self.entries).then_some(record.first..end)
    }

    // Who asks for a part of it gets that part made, and no more.
    #[inline]
    fn entry(&self, index: u32, dir: u32) -> Option<EntryRecord> {
        let b = self.one_entry(index);
        let child = u32_at(b, 60);
        // Children come after their parents, so that no cache can lead in circles.
        if child != NONE && (child <= dir || child >= self.dirs) {
            return None;
        }
        Some(EntryRecord {
            name_offset: u32_at(b, 0),
            name_len: u16::from_le_bytes([b[4], b[5]]),
            kind: EntryKind::decode(b[6], b[64])?,
            unsettled: b[7] & 1 != 0,
            unstable: b[7] & 2 != 0,
            is_dir: b[7] & 4 != 0,
            linked: b[7] & 8 != 0,
            descend: if b[65] == 0 { None } else { Some(Reason::from_number(b[65])?) },
            secret: Finding::from_number(u32_at(b, 68)),
            size: u64_at(b, 8),
            mtime: u64_at(b, 16) as i64,
            ctime: u64_at(b, 24) as i64,
            ino: u64_at(b, 32),
            id: id_at(b, 40),
            child,
            mode: u16::from_le_bytes([b[66], b[67]]),
        })
    }

    fn one_entry(&self, index: u32) -> &[u8] {
        let at = HEADER + self.dirs as usize * DIR_RECORD + index as usize * ENTRY_RECORD;
        &self.bytes[at..at + ENTRY_RECORD]
    }

    /// The name of an entry: one component that leads nowhere else, whatever the file says.
    pub fn name(&self, entry: &EntryRecord) -> Option<&CStr> {
        let start = self.names_at.checked_add(entry.name_offset as usize)?;
        let name = self.bytes.get(start..start + usize::from(entry.name_len) + 1)?;
        CStr::from_bytes_with_nul(name)
            .ok()
            .filter(|name| !matches!(name.to_bytes(), b"" | b"." | b".."))
    }

    /// The entry called `name` in a directory.
    pub fn find(&self, dir: u32, name: &[u8]) -> Option<EntryRecord> {
        self.find_kind(dir, name, false).or_else(|| self.find_kind(dir, name, true))
    }

    /// The entry called `name` that is, or is not, a directory: git's order tells them apart.
    pub fn find_kind(&self, dir: u32, name: &[u8], is_dir: bool) -> Option<EntryRecord> {
        let Range { start: mut low, end: mut high } = self.places(dir)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let (found, found_is_dir) = self.name_of(middle)?;
            match compare_names(found, found_is_dir, name, is_dir) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    let entry = self.entry(middle, dir)?;
                    return self.name(&entry).is_some().then_some(entry);
                }
            }
        }
        None
    }

    /// What a search needs of an entry: its name, and whether it is a directory. Whoever finds what it looked for checks the
    /// rest.
    fn name_of(&self, index: u32) -> Option<(&[u8], bool)> {
        let b = self.one_entry(index);
        let start = self.names_at.checked_add(u32_at(b, 0) as usize)?;
        let length = usize::from(u16::from_le_bytes([b[4], b[5]]));
        Some((self.bytes.get(start..start + length)?, b[7] & 4 != 0))
    }

    /// Where a directory and everything below it is.
    fn subtree(&self, dir: u32) -> Option<Subtree> {
        let mut last = dir;
        // Children follow their parents, so the last directory below is the last child's last child.
        loop {
            let children = self.places(last)?.rev().map(|index| self.entry(index, last));
            match children.map(|entry| entry?.child()).find(Option::is_some).flatten() {
                Some(child) => last = child,
                None => break,
            }
        }
        let entries = self.places(dir)?.start..self.places(last)?.end;
        if entries.start > entries.end {
            return None;
        }
        let names = if entries.is_empty() {
            0..0
        } else {
            let first = self.entry(entries.start, dir)?;
            let final_entry = self.entry(entries.end - 1, dir)?;
            let end = final_entry.name_offset.checked_add(u32::from(final_entry.name_len) + 1)?;
            first.name_offset..end
        };
        let fits = self.names_at + names.end as usize <= self.bytes.len();
        (fits && names.start <= names.end).then(|| Subtree { dirs: dir..last + 1, entries, names })
    }

    fn dir_bytes(&self, dirs: &Range<u32>) -> &[u8] {
        let at = |index: u32| HEADER + index as usize * DIR_RECORD;
        &self.bytes[at(dirs.start)..at(dirs.end)]
    }

    fn entry_bytes(&self, entries: &Range<u32>) -> &[u8] {
        let start = HEADER + self.dirs as usize * DIR_RECORD;
        let at = |index: u32| start + index as usize * ENTRY_RECORD;
        &self.bytes[at(entries.start)..at(entries.end)]
    }

    fn name_bytes(&self, names: &Range<u32>) -> &[u8] {
        &self.bytes[self.names_at + names.start as usize..self.names_at + names.end as usize]
    }

    /// For each directory the one it is in, and its name there; nothing for the root. `None` if the cache does not hold together.
    pub(crate) fn parents(&self) -> Option<Vec<(u32, &CStr)>> {
        let mut parents = vec![(Self::ROOT, c""); self.dirs as usize];
        for dir in 0..self.dirs {
            for index in self.places(dir)? {
                if u32_at(self.one_entry(index), 60) != NONE {
                    let entry = self.entry(index, dir)?;
                    parents[entry.child()? as usize] = (dir, self.name(&entry)?);
                }
            }
        }
        Some(parents)
    }

    /// The directory record at a slash-separated path; the root for an empty one.
    pub fn dir_at(&self, path: &[u8]) -> Option<u32> {
        path.split(|b| *b == b'/')
            .filter(|name| !name.is_empty())
            .try_fold(Self::ROOT, |dir, name| self.find_kind(dir, name, true)?.child())
    }

    /// The entry at a slash-separated path.
    pub fn entry_at(&self, path: &[u8]) -> Option<EntryRecord> {
        let (parent, name) = split(path);
        self.find(self.dir_at(parent)?, name)
    }

    /// Is there a captured file or link at this path?
    pub fn has_file(&self, path: &[u8]) -> bool {
        self.entry_at(path).is_some_and(|entry| entry.kind.is_captured_file())
    }

    /// Everything that is left out, or is in with a reservation.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> {
        let mut stack = vec![(Self::ROOT, Vec::new())];
        // A directory has one place. A cache in which it has several could be walked for ever.
        let mut unseen = self.dirs;
        let next_directory = move || {
            let (dir, path) = stack.pop()?;
            unseen = unseen.checked_sub(1)?;
            let mut found = Vec::new();
            for entry in self.entries(dir).into_iter().flatten().flatten() {
                let Some(name) = self.name(&entry) else { continue };
                let reason = entry.listed_reason();
                // A directory without a list has nothing left out below it.
                let has_list = |dir: &u32| self.dir(*dir).is_some_and(|dir| !dir.left.is_null());
                let child = entry.child().filter(has_list);
                if child.is_none() && reason.is_none() {
                    continue;
                }
                let path = join(&path, name.to_bytes());
                stack.extend(child.map(|child| (child, path.clone())));
                let secret = entry.secret;
                found.extend(reason.map(|reason| LeftOut { path: path.into(), reason, secret }));
            }
            Some(found)
        };
        std::iter::from_fn(next_directory).flatten()
    }
}

fn decode_dir(b: &[u8]) -> DirRecord {
    DirRecord {
        first: u32_at(b, 0),
        count: u32_at(b, 4),
        mtime: u64_at(b, 8) as i64,
        ctime: u64_at(b, 16) as i64,
        ino: u64_at(b, 24),
        mode: u16::from_le_bytes([b[32], b[33]]),
        unsettled: b[34] & 1 != 0,
        pending: b[34] & 2 != 0,
        ignore_files: IgnoreFiles { git: b[34] & 4 != 0, herma: b[34] & 8 != 0 },
        look: b[34] & 16 != 0,
        repository: b[34] & 64 != 0,
        pending_below: b[34] & 32 != 0,
        tree: id_at(b, 36),
        modes: id_at(b, 56),
        left: id_at(b, 76),
    }
}

fn decode_header(bytes: &[u8]) -> CacheHeader {
    let checkpoint = id_at(bytes, 48);
    let mut summary = Summary {
        files: u64_at(bytes, 72),
        bytes: u64_at(bytes, 80),
        directories: u64_at(bytes, 88),
        ..Summary::default()
    };
    for (index, reason) in Reason::ALL.iter().copied().enumerate() {
        let count = u64_at(bytes, 96 + index * 8);
        if count > 0 {
            summary.left_out.insert(reason, count);
        }
    }
    CacheHeader {
        rules: u64_at(bytes, 24),
        index_state: u64_at(bytes, 32),
        checkpoint: (!checkpoint.is_null()).then_some(checkpoint),
        summary,
    }
}

impl StatCache {
    /// Notes that every object this cache names is in the store.
    pub fn all_stored(&mut self) {
        for index in 0..self.dirs as usize {
            let at = HEADER + index * DIR_RECORD + 34;
            let stored = self.bytes[at] & !(2 | 32);
            if self.bytes[at] != stored {
                self.put(at..at + 1, &[stored]);
            }
        }
    }

    /// The bytes to write, for a cache that describes `checkpoint`.
    pub fn into_bytes(self, checkpoint: ObjectId) -> Vec<u8> {
        self.into_changed_bytes(checkpoint).0
    }

    /// The bytes to write, and where they are not those that were read.
    fn into_changed_bytes(mut self, checkpoint: ObjectId) -> (Vec<u8>, Vec<Range<usize>>) {
        self.changed.note(&self.bytes, 0..HEADER);
        let header = &self.header;
        let b = &mut self.bytes;
        b[24..32].copy_from_slice(&header.rules.to_le_bytes());
        b[32..40].copy_from_slice(&header.index_state.to_le_bytes());
        b[48..68].copy_from_slice(checkpoint.as_bytes());
        b[72..80].copy_from_slice(&header.summary.files.to_le_bytes());
        b[80..88].copy_from_slice(&header.summary.bytes.to_le_bytes());
        b[88..96].copy_from_slice(&header.summary.directories.to_le_bytes());
        for (index, reason) in Reason::ALL.iter().copied().enumerate() {
            let count = header.summary.left_out.get(&reason).copied().unwrap_or(0);
            b[96 + index * 8..104 + index * 8].copy_from_slice(&count.to_le_bytes());
        }
        let (checksum, changed) = self.changed.finish(&self.bytes);
        self.bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
        (self.bytes, changed)
    }
}

#[cfg(test)]
mod tests;
