//! The header of a cache and the record of the root, read without the rest.
//!
//! If a watcher says that nothing changed, these few bytes are the whole answer. They have a checksum of their
//! own, because that of the whole needs the whole.

use herma_fs::Dir;
use xxhash_rust::xxh3::Xxh3;

use super::CACHE_FILE;
use super::CacheHeader;
use super::DirRecord;
use super::HEADER;
use super::MAGIC;
use super::SUMMIT;
use super::decode_dir;
use super::decode_header;
use super::u32_at;
use super::u64_at;

/// What a cache says about the project as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summit {
    /// What holds for the whole.
    pub header: CacheHeader,
    /// The record of the project root.
    pub root: DirRecord,
}

impl Summit {
    /// Reads the beginning of the cache of a project.
    pub fn read(state: &Dir) -> Option<Self> {
        let file = state.open_file_raw(CACHE_FILE).ok()?;
        let mut bytes = [0; SUMMIT];
        let read = herma_fs::file::read_at(&file, &mut bytes, 0).ok()?;
        Self::parse(&bytes[..read])
    }

    /// Reads the beginning of a cache; `None` when it is not one, is damaged, or was written by another version.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SUMMIT)?;
        let is_whole = &bytes[..8] == MAGIC && u64_at(bytes, 40) == summit_checksum(bytes);
        if !is_whole || u32_at(bytes, 16) == 0 {
            return None;
        }
        Some(Self {
            header: decode_header(bytes),
            root: decode_dir(&bytes[HEADER..]),
        })
    }
}

/// The checksum over the header and the root's record, of a cache that has at least these.
pub(super) fn summit_checksum(bytes: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&bytes[16..40]);
    hash.update(&bytes[48..SUMMIT]);
    hash.digest()
}
