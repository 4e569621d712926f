//! Entries of a pack: the header, and compression of what is held in memory.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use std::cell::RefCell;

use crate::object::Kind;

/// How hard a save compresses, which somebody waits for. Not the library's "fastest": that is level 0, which
/// does not compress at all.
const FAST_LEVEL: i32 = 1;

/// Trees of up to so many bytes are not compressed by a save: more than half of them is ids, which cannot be made smaller, so
/// level 1 gains 18 % (738 trees of this project's own repository) and takes 20 µs for each. Collecting makes deltas of them.
const SMALL_TREE: usize = 4096;

/// How hard packs that are to last are compressed. Two hundred commits of jj (2,690 objects, 69 MB) take
/// 3,199,683 bytes and 0.50 s at level 6, 3,162,953 and 0.52 s at 8, 3,160,604 and 0.66 s at 9; level 12
/// saves two percent more and takes ten times as long.
const GOOD_LEVEL: i32 = 8;

thread_local! {
    static COMPRESSOR: RefCell<Compressor> = RefCell::new(Compressor::new(
        CompressionLvl::new(FAST_LEVEL).expect("a level between 1 and 12"),
    ));
    static STORING: RefCell<Compressor> = RefCell::new(Compressor::new(
        CompressionLvl::new(0).expect("the level that does not compress"),
    ));
    static GOOD_COMPRESSOR: RefCell<Compressor> = RefCell::new(Compressor::new(
        CompressionLvl::new(GOOD_LEVEL).expect("a level between 1 and 12"),
    ));
}

/// Starts a pack entry: kind and size, four and then seven bits at a time.
pub(crate) fn entry_header(kind: Kind, size: u64) -> Vec<u8> {
    start_entry(
        match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        },
        size,
    )
}

/// Starts an entry that holds `size` bytes of delta against the entry `distance` bytes before it.
pub(crate) fn delta_header(size: u64, distance: u64) -> Vec<u8> {
    let mut header = start_entry(6, size);
    // Seven bits at a time, the highest first; each further byte counts from one, so that no value has
    // two spellings.
    let mut bytes = vec![(distance & 0x7f) as u8];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    header.extend(bytes.into_iter().rev());
    header
}

fn start_entry(number: u8, size: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(10);
    let mut byte = (number << 4) | (size & 15) as u8;
    let mut rest = size >> 4;
    while rest != 0 {
        header.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    header.push(byte);
    header
}

/// A whole pack entry.
pub(crate) fn entry(kind: Kind, data: &[u8]) -> Vec<u8> {
    let header = entry_header(kind, data.len() as u64);
    let compressor = match kind {
        Kind::Tree if data.len() <= SMALL_TREE => &STORING,
        _ => &COMPRESSOR,
    };
    compressor.with_borrow_mut(|compressor| compress(compressor, header, data))
}

/// Compresses for a pack that is to last.
pub(crate) fn compress_well(data: &[u8]) -> Vec<u8> {
    GOOD_COMPRESSOR.with_borrow_mut(|compressor| compress(compressor, Vec::new(), data))
}

/// Appends a zlib stream to `bytes`.
fn compress(compressor: &mut Compressor, mut bytes: Vec<u8>, data: &[u8]) -> Vec<u8> {
    let start = bytes.len();
    bytes.resize(start + compressor.zlib_compress_bound(data.len()), 0);
    let used = compressor
        .zlib_compress(data, &mut bytes[start..])
        .expect("the output has the size the compressor asked for");
    bytes.truncate(start + used);
    bytes
}

/// The content of an entry whose bytes follow its header; `None` if it does not come out as `size`
/// bytes.
pub(crate) fn inflate(compressed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut data = vec![0; size];
    let length = Decompressor::new().zlib_decompress(compressed, &mut data).ok()?;
    (length == size).then_some(data)
}

/// How long it is when it is compressed as a save does it.
pub(crate) fn compressed_length(data: &[u8]) -> usize {
    COMPRESSOR.with_borrow_mut(|compressor| compress(compressor, Vec::new(), data).len())
}
