//! Entries of a pack: the header, and compression whole or streamed.

use std::cell::RefCell;
use std::io;
use std::io::Read;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use herma_fs::publish::Temp;
use libdeflater::CompressionLvl;
use libdeflater::Compressor;
use libdeflater::Decompressor;

use super::error::StoreError;
use super::learned_deflate::Learned;
use super::object::Hasher;
use super::object::Kind;
use crate::id::ObjectId;

/// So many bytes of what is streamed tell how to compress it.
const SAMPLE: u64 = 256 << 10;

/// How much of a streamed file is held in memory.
const STREAM_BUFFER: usize = 128 * 1024;

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
    static LEARNED: RefCell<Learned> = RefCell::default();
    static STORING: RefCell<Compressor> = RefCell::new(Compressor::new(
        CompressionLvl::new(0).expect("the level that does not compress"),
    ));
    static GOOD_COMPRESSOR: RefCell<Compressor> = RefCell::new(Compressor::new(
        CompressionLvl::new(GOOD_LEVEL).expect("a level between 1 and 12"),
    ));
}

/// Starts a pack entry: kind and size, four and then seven bits at a time.
pub(super) fn entry_header(kind: Kind, size: u64) -> Vec<u8> {
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
pub(super) fn delta_header(size: u64, distance: u64) -> Vec<u8> {
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
pub(super) fn entry(kind: Kind, data: &[u8]) -> Vec<u8> {
    let mut header = entry_header(kind, data.len() as u64);
    if kind == Kind::Blob && LEARNED.with_borrow_mut(|learned| learned.compress(&mut header, data))
    {
        return header;
    }
    let compressor = match kind {
        Kind::Tree if data.len() <= SMALL_TREE => &STORING,
        _ => &COMPRESSOR,
    };
    compressor.with_borrow_mut(|compressor| compress(compressor, header, data))
}

/// Compresses for a pack that is to last.
pub(super) fn compress_well(data: &[u8]) -> Vec<u8> {
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
pub(super) fn inflate(compressed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut data = vec![0; size];
    let length = Decompressor::new()
        .zlib_decompress(compressed, &mut data)
        .ok()?;
    (length == size).then_some(data)
}

/// An entry that was streamed into a temporary file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streamed {
    pub(super) id: ObjectId,
    pub(super) crc: u32,
    pub(super) length: u64,
}

/// Writes the entry of an object of exactly `size` bytes to `temp` while hashing it.
pub(super) fn stream_entry(
    kind: Kind,
    size: u64,
    read: &mut dyn Read,
    temp: &mut Temp<'_>,
) -> Result<Streamed, StoreError> {
    let mut spill = Spill {
        temp,
        crc: crc32fast::Hasher::new(),
        length: 0,
        failure: None,
    };
    let mut hasher = Hasher::new(kind, size);
    let done = spill
        .write_all(&entry_header(kind, size))
        .map_err(|_| StoreError::Abandoned)
        .and_then(|()| copy(size, read, &mut hasher, &mut spill));
    if let Some(failure) = spill.failure {
        return Err(failure.into());
    }
    done?;
    let id = hasher.finish().ok_or(StoreError::Collision)?;
    Ok(Streamed {
        id,
        crc: spill.crc.finalize(),
        length: spill.length,
    })
}

/// Compresses `size` bytes of `read` into `spill`. If the spill could not be written, the error is
/// there and the one returned only says so.
fn copy(
    size: u64,
    read: &mut dyn Read,
    hasher: &mut Hasher,
    spill: &mut Spill<'_, '_>,
) -> Result<(), StoreError> {
    let mut beginning = Vec::new();
    Read::take(&mut *read, SAMPLE)
        .read_to_end(&mut beginning)
        .map_err(StoreError::Source)?;
    let mut encoder = ZlibEncoder::new(spill, level_for(&beginning));
    let mut read = beginning.as_slice().chain(read);
    let mut buffer = vec![0; STREAM_BUFFER];
    let mut total = 0;
    loop {
        // One byte more than announced is asked for, to notice a file that has grown.
        let wanted = (size - total + 1).min(STREAM_BUFFER as u64) as usize;
        let count = match read.read(&mut buffer[..wanted]) {
            Ok(0) if total == size => break,
            Ok(0) => {
                return Err(StoreError::Changed {
                    expected: size,
                    read: total,
                });
            }
            Ok(count) => count.min(wanted),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(StoreError::Source(e)),
        };
        total += count as u64;
        if total > size {
            return Err(StoreError::Changed {
                expected: size,
                read: total,
            });
        }
        hasher.update(&buffer[..count]);
        encoder
            .write_all(&buffer[..count])
            .map_err(|_| StoreError::Abandoned)?;
    }
    encoder.finish().map_err(|_| StoreError::Abandoned)?;
    Ok(())
}

/// The fastest level has the same codes for everything, by which what cannot be compressed becomes a twentieth longer.
fn level_for(beginning: &[u8]) -> Compression {
    let compressed =
        COMPRESSOR.with_borrow_mut(|compressor| compress(compressor, Vec::new(), beginning));
    let is_shorter = compressed.len() < beginning.len() - beginning.len() / 16;
    Compression::new(if is_shorter { 1 } else { 2 })
}

/// Writes to a temporary file, counting and summing, and keeps the error `io::Write` cannot carry.
struct Spill<'t, 'd> {
    temp: &'t mut Temp<'d>,
    crc: crc32fast::Hasher,
    length: u64,
    failure: Option<herma_fs::Error>,
}

impl Write for Spill<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(failure) = self.temp.write(bytes) {
            self.failure.get_or_insert(failure);
            return Err(io::Error::other("the temporary file could not be written"));
        }
        self.crc.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
