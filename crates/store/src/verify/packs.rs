//! Looks for damage in packs themselves: does each index belong to its pack, are both whole?
//!
//! The objects inside are another matter, see [`crate::verify`]: a pack with one rotten object is still
//! the home of all the others.

use std::sync::Arc;

use herma_fs::Dir;
use sha1::Digest;

use crate::error::in_full;
use crate::object::copy::{CopyError, OpenFile};
use crate::objects::{ObjectError, Objects};
use crate::pack::read::Pack;

/// Every pack ends with the checksum of what is before it; an index with two of them.
const CHECKSUM: u64 = 20;

/// A pack that is damaged, or whose index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPack {
    /// Its name without an extension.
    pub pack: String,
    /// What is wrong.
    pub what: String,
    /// Which part of it that is.
    pub fault: PackFault,
}

/// Which part of a pack is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackFault {
    /// It has no index. A save that was killed leaves such a pack, in which nothing is needed; if
    /// something is, checkpoints are reported as damaged, too.
    NoIndex,
    /// The index cannot be used. It can be made again from the pack.
    Index,
    /// The pack itself.
    Pack,
}

/// Checks every pack of a store and every byte of its index, with `read_data` every byte of the pack,
/// too. Also returns how many bytes were read.
pub fn check_packs(
    objects: &Objects,
    directory: &Dir,
    read_data: bool,
) -> Result<(Vec<DamagedPack>, u64), ObjectError> {
    let mut found: Vec<DamagedPack> = Vec::new();
    let mut bytes = 0;
    for pack in objects.unreadable_packs()? {
        found.push(DamagedPack { pack: pack.pack, what: pack.what, fault: PackFault::Index });
    }
    for pack in objects.packs()? {
        match check_pack(&pack, read_data) {
            Ok(read) => bytes += read,
            Err((what, fault)) => {
                found.push(DamagedPack { pack: pack.stem().to_owned(), what, fault });
            }
        }
    }
    found.extend(without_index(directory)?);
    Ok((found, bytes))
}

/// The packs that have no index. Nothing in them can be read; after a crash nothing has to be.
fn without_index(directory: &Dir) -> Result<Vec<DamagedPack>, herma_fs::Error> {
    let entries = directory.entries()?;
    let has = |name: &str| {
        entries.binary_search_by(|entry| entry.name.to_bytes().cmp(name.as_bytes())).is_ok()
    };
    let stems = entries.iter().filter_map(|entry| {
        let name = entry.name.to_str().ok()?;
        name.strip_suffix(".pack")
    });
    let lonely = stems.filter(|stem| !has(&format!("{stem}.idx")));
    Ok(lonely
        .map(|stem| DamagedPack {
            pack: stem.to_owned(),
            what: "it has no index".to_owned(),
            fault: PackFault::NoIndex,
        })
        .collect())
}

/// Checks one pack; the error says what is wrong and where.
fn check_pack(pack: &Arc<Pack>, read_data: bool) -> Result<u64, (String, PackFault)> {
    let in_index = |e: CopyError| (in_full(&e), PackFault::Index);
    let in_pack = |e: CopyError| (in_full(&e), PackFault::Pack);
    let fault = |what: &str, fault| Err((what.to_owned(), fault));
    for entry in pack.index().entries() {
        entry.map_err(in_index)?;
    }
    // Always: an index is small, and one wrong byte in it hides an object that is whole.
    let index = pack.index().file().map_err(in_index)?;
    let index_end = index.stat.size.saturating_sub(CHECKSUM);
    let mut expected = [0; 20];
    index.read_exact_at(&mut expected, index_end).map_err(in_index)?;
    if checksum(&index, index_end).map_err(in_index)? != expected {
        return fault("the checksum of its index is wrong", PackFault::Index);
    }
    let file = pack.file().map_err(in_pack)?;
    let mut header = [0; 12];
    file.read_exact_at(&mut header, 0).map_err(in_pack)?;
    if &header[..4] != b"PACK" || !matches!(header[4..8], [0, 0, 0, 2 | 3]) {
        return fault("it does not begin like a pack", PackFault::Pack);
    }
    let end = file.stat.size.saturating_sub(CHECKSUM);
    let mut trailer = [0; 20];
    file.read_exact_at(&mut trailer, end).map_err(in_pack)?;
    if trailer != *pack.index().pack_trailer() {
        return fault("its index belongs to another pack", PackFault::Index);
    }
    let count = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    if count != pack.index().count() {
        return fault("its index has another number of objects", PackFault::Index);
    }
    if !read_data {
        return Ok(index.stat.size);
    }
    if checksum(&file, end).map_err(in_pack)? != trailer {
        return fault("its checksum is wrong", PackFault::Pack);
    }
    Ok(file.stat.size + index.stat.size)
}

/// The SHA-1 of the first `length` bytes of a file.
pub(crate) fn checksum(file: &OpenFile, length: u64) -> Result<[u8; 20], CopyError> {
    let mut hasher = sha1::Sha1::new();
    file.read_pieces(0, length, |piece| hasher.update(piece))?;
    Ok(hasher.finalize().into())
}
