//! Publishes finished packs: for each its index, then both under their names, in the one safe order.

use std::fmt;

use herma_fs::publish::{Durability, Temp};
use herma_fs::{Dir, FileKind};
use sha1::Digest;

use crate::ObjectId;
use crate::error::StoreError;
use crate::in_parallel::in_parallel;
use crate::layout::{HermaDirs, StoreDirs};

/// Offsets from here on do not fit the index's first table.
const LARGE_OFFSET: u64 = 1 << 31;

/// The name of a pack: the checksum it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackName(ObjectId);

impl PackName {
    /// The pack's file name in `objects/pack`.
    pub fn pack_file(&self) -> String {
        format!("{self}.pack")
    }

    /// The index's file name in `objects/pack`.
    pub fn index_file(&self) -> String {
        format!("{self}.idx")
    }
}

impl fmt::Display for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pack-{}", self.0)
    }
}

/// One object in a pack's index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexEntry {
    pub(crate) id: ObjectId,
    pub(crate) crc: u32,
    pub(crate) offset: u64,
}

/// The first twelve bytes of a pack.
pub(crate) fn header(count: u32) -> [u8; 12] {
    let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&count.to_be_bytes());
    header
}

/// Does the index need more room for an entry at this offset?
pub(crate) fn is_large(offset: u64) -> bool {
    offset >= LARGE_OFFSET
}

/// How long the index of so many entries is, `large` of them at large offsets.
pub(crate) fn index_length(entries: usize, large: usize) -> u64 {
    8 + 1024 + entries as u64 * 28 + large as u64 * 8 + 40
}

/// The bytes of a version 2 index; `entries` are sorted by id.
pub(crate) fn index(entries: impl Iterator<Item = IndexEntry> + Clone, pack: ObjectId) -> Vec<u8> {
    let mut counts = [0_u32; 256];
    let mut large = Vec::new();
    for entry in entries.clone() {
        counts[usize::from(entry.id.as_bytes()[0])] += 1;
        if is_large(entry.offset) {
            large.push(entry.offset);
        }
    }
    let count = counts.iter().sum::<u32>() as usize;
    let mut bytes = Vec::with_capacity(index_length(count, large.len()) as usize);
    bytes.extend_from_slice(b"\xfftOc\0\0\0\x02");
    let mut counted = 0;
    for count in counts {
        counted += count;
        bytes.extend_from_slice(&counted.to_be_bytes());
    }
    for entry in entries.clone() {
        bytes.extend_from_slice(entry.id.as_bytes());
    }
    for entry in entries.clone() {
        bytes.extend_from_slice(&entry.crc.to_be_bytes());
    }
    let mut next_large = 1 << 31;
    for entry in entries {
        let mut offset = entry.offset as u32;
        if is_large(entry.offset) {
            offset = next_large;
            next_large += 1;
        }
        bytes.extend_from_slice(&offset.to_be_bytes());
    }
    for offset in large {
        bytes.extend_from_slice(&offset.to_be_bytes());
    }
    bytes.extend_from_slice(pack.as_bytes());
    let checksum = sha1::Sha1::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

/// A pack that is complete. It has no index and no name.
pub(crate) struct Settled<'a> {
    file: Temp<'a>,
    trailer: ObjectId,
    objects: u64,
    is_synced: bool,
}

impl<'a> Settled<'a> {
    /// Sees to a pack of so many objects that ends with `trailer`, and syncs it unless that can wait for its index.
    pub(crate) fn new(
        file: Temp<'a>,
        trailer: ObjectId,
        objects: u64,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        file.set_mode(0o400)?;
        let is_synced = durability == Durability::Synced;
        if is_synced {
            file.sync()?;
        }
        Ok(Self { file, trailer, objects, is_synced })
    }
}

/// A pack and its index, complete, without their names.
pub(crate) struct Finished<'a> {
    name: PackName,
    pack: Temp<'a>,
    index: Temp<'a>,
}

impl<'a> Finished<'a> {
    /// Adds the index. `entries` are those of the pack, sorted by id.
    pub(crate) fn new(
        herma: &'a HermaDirs,
        pack: Settled<'a>,
        entries: impl Iterator<Item = IndexEntry> + Clone,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        if entries.clone().count() as u64 != pack.objects {
            return Err(StoreError::Abandoned);
        }
        let mut file = Temp::create_private(&herma.tmp)?;
        file.write(&index(entries, pack.trailer))?;
        file.set_mode(0o400)?;
        // ORDER: both files are on disk before either has its name: a name that survives a power cut
        // then never stands for missing bytes.
        match durability {
            Durability::Synced if pack.is_synced => file.sync()?,
            Durability::Synced => {
                let (pack, index) = in_parallel(|| pack.file.sync(), || file.sync());
                pack.and(index)?;
            }
            _ => {}
        }
        Ok(Self { name: PackName(pack.trailer), pack: pack.file, index: file })
    }

    /// What it is going to be called.
    pub(crate) fn name(&self) -> PackName {
        self.name
    }

    fn publish(self, directory: &Dir) -> Result<PackName, StoreError> {
        let existed = directory.stat_opt(self.name.pack_file().as_str())?;
        // ORDER: the index last, because a pack counts only once its index is there.
        self.pack.publish(directory, &self.name.pack_file())?;
        let published = self.index.publish(directory, &self.name.index_file());
        if let (Err(_), None) = (&published, existed) {
            // The first error is the one to report; without an index the pack is only litter.
            let _ = withdraw(directory, self.name);
        }
        published?;
        Ok(self.name)
    }
}

/// Makes packs visible, in their order.
///
/// On an error those that are visible stay, as litter: somebody else may already rely on what is in them.
pub(crate) fn publish(
    dirs: &StoreDirs,
    packs: Vec<Finished<'_>>,
    durability: Durability,
) -> Result<Vec<PackName>, StoreError> {
    let directory = dirs.objects().open_dir("pack")?;
    let published = packs.into_iter().map(|pack| pack.publish(&directory));
    let names = published.collect::<Result<_, _>>()?;
    if durability == Durability::Synced {
        directory.sync()?;
    }
    Ok(names)
}

/// Undoes a pack that has no index.
fn withdraw(directory: &Dir, name: PackName) -> Result<(), StoreError> {
    let stat = directory.stat_opt(name.index_file().as_str())?;
    if stat.is_none_or(|stat| stat.kind != FileKind::File) {
        directory.remove_if_there(name.pack_file().as_str())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fresh, git_output};

    #[test]
    fn offsets_beyond_two_gigabytes_are_read_back_by_git() {
        let fresh = Fresh::new();
        let offsets = [12, LARGE_OFFSET - 1, LARGE_OFFSET, 5_000_000_000, u64::from(u32::MAX)];
        let entries: Vec<IndexEntry> = (0_u8..)
            .zip(offsets)
            .map(|(i, offset)| {
                let id = ObjectId::from_bytes([i * 60; 20]);
                IndexEntry { id, crc: u32::from(i), offset }
            })
            .collect();
        let bytes = index(entries.iter().copied(), ObjectId::EMPTY_TREE);
        let shown = git_output(&fresh.store(), &["show-index"], &bytes);
        assert!(shown.status.success());
        let expected: Vec<String> =
            entries.iter().map(|e| format!("{} {} ({:08x})", e.offset, e.id, e.crc)).collect();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    }
}
