//! Entries of a pack that are too large to be held in memory.
//!
//! One zlib stream is made of pieces. A piece that becomes shorter by it is compressed; what was compressed before, such as images, archives and
//! films, is stored as it is: to find out takes a sixteenth of the time that compressing it in vain would take.

use std::io;
use std::io::{Read, Write};

use flate2::{Compress, Compression, FlushCompress, Status};
use herma_fs::publish::Temp;
use libdeflater::Adler32;

use crate::ObjectId;
use crate::error::StoreError;
use crate::object::deflate::{compressed_length, entry_header};
use crate::object::{Hasher, Kind};

/// How much of a file is held in memory, and compressed or stored as one.
const PIECE: usize = 256 << 10;

/// So many parts of a piece tell whether it can be made shorter,
const SAMPLES: usize = 4;
/// each of so many bytes.
const SAMPLE: usize = 4 << 10;

/// The most bytes that one block can store.
const MAX_STORED_BYTES: usize = 0xffff;

/// An entry that was streamed into a temporary file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streamed {
    pub(crate) id: ObjectId,
    pub(crate) crc: u32,
    pub(crate) length: u64,
}

/// Writes the entry of an object of exactly `size` bytes to `temp` while hashing it.
pub(crate) fn stream_entry(
    kind: Kind,
    size: u64,
    read: &mut dyn Read,
    temp: &mut Temp<'_>,
) -> Result<Streamed, StoreError> {
    let mut spill = Spill { temp, crc: crc32fast::Hasher::new(), length: 0, failure: None };
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
    Ok(Streamed { id, crc: spill.crc.finalize(), length: spill.length })
}

/// Compresses `size` bytes of `read` into `spill`. If the spill could not be written, the error is
/// there and the one returned only says so.
fn copy(
    size: u64,
    read: &mut dyn Read,
    hasher: &mut Hasher,
    spill: &mut Spill<'_, '_>,
) -> Result<(), StoreError> {
    let abandoned = |_| StoreError::Abandoned;
    let mut pieces = Pieces::begin(spill).map_err(abandoned)?;
    let mut piece = Vec::with_capacity(PIECE);
    let mut total = 0;
    loop {
        // One byte more than announced is asked for, to notice a file that has grown.
        let wanted = (size - total + 1).min(PIECE as u64);
        piece.clear();
        let taken = Read::take(&mut *read, wanted).read_to_end(&mut piece);
        let count = taken.map_err(StoreError::Source)? as u64;
        let is_end = count < wanted;
        total += count;
        if total > size || (is_end && total < size) {
            return Err(StoreError::Changed { expected: size, read: total });
        }
        hasher.update(&piece);
        pieces.add(&piece).map_err(abandoned)?;
        if is_end {
            return pieces.finish().map_err(abandoned);
        }
    }
}

/// A zlib stream in the making.
struct Pieces<W> {
    out: W,
    encoder: Compress,
    /// Were the bytes before the next piece all given to the encoder? It may refer to them.
    is_continued: bool,
    compressed: Vec<u8>,
    checksum: Adler32,
}

impl<W: Write> Pieces<W> {
    fn begin(mut out: W) -> io::Result<Self> {
        // deflate, with all of the window, compressed as fast as can be.
        out.write_all(&[0x78, 0x01])?;
        Ok(Self {
            out,
            encoder: Compress::new(Compression::fast(), false),
            is_continued: true,
            // The same codes for everything make what they do not suit an eighth longer.
            compressed: Vec::with_capacity(PIECE + PIECE / 4),
            checksum: Adler32::new(),
        })
    }

    fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.checksum.update(piece);
        if may_become_shorter(piece) {
            self.compress(piece)?;
            if self.compressed.len() < piece.len() {
                return self.out.write_all(&self.compressed);
            }
        }
        self.is_continued = false;
        store(&mut self.out, piece)
    }

    /// Compresses a piece up to a byte's end, so that anything can follow.
    fn compress(&mut self, piece: &[u8]) -> io::Result<()> {
        if !self.is_continued {
            self.encoder.reset();
            self.is_continued = true;
        }
        self.compressed.clear();
        let begin = self.encoder.total_in();
        loop {
            let taken = (self.encoder.total_in() - begin) as usize;
            let rest = &piece[taken..];
            self.compressed.reserve(rest.len() + 64);
            let flush = FlushCompress::Sync;
            let status = self.encoder.compress_vec(rest, &mut self.compressed, flush)?;
            let is_full = self.compressed.len() == self.compressed.capacity();
            if !is_full || status == Status::BufError {
                return Ok(());
            }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        // An empty block, which says that it is the last.
        self.out.write_all(&[1, 0, 0, 0xff, 0xff])?;
        self.out.write_all(&self.checksum.sum().to_be_bytes())
    }
}

/// Do parts of a piece become shorter by compressing them?
fn may_become_shorter(piece: &[u8]) -> bool {
    let mut sample = Vec::with_capacity(SAMPLES * SAMPLE);
    for part in piece.chunks(piece.len().div_ceil(SAMPLES).max(1)) {
        sample.extend_from_slice(&part[..part.len().min(SAMPLE)]);
    }
    compressed_length(&sample) < sample.len() - sample.len() / 16
}

/// Writes bytes as they are, as blocks of a deflate stream that begin at a byte.
fn store(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for block in bytes.chunks(MAX_STORED_BYTES) {
        let length = block.len() as u16;
        out.write_all(&[0])?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&(!length).to_le_bytes())?;
        out.write_all(block)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use flate2::read::ZlibDecoder;
    use herma_testkit::random::Random;
    use proptest::prelude::*;

    use super::*;

    fn stream(pieces: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut stream = Pieces::begin(&mut out).unwrap();
        for piece in pieces {
            stream.add(piece).unwrap();
        }
        stream.finish().unwrap();
        out
    }

    /// So many bytes: all alike, text, or such that nothing makes them shorter.
    fn bytes(kind: u8, length: usize) -> Vec<u8> {
        let mut random = Random::new(length as u64);
        let word = |random: &mut Random| ["let ", "file ", "= ", "save(", ");\n"][random.below(5)];
        match kind {
            0 => vec![7; length],
            1 => {
                let words = std::iter::repeat_with(|| word(&mut random).as_bytes());
                words.flatten().copied().take(length).collect()
            }
            _ => std::iter::repeat_with(|| random.below(256) as u8).take(length).collect(),
        }
    }

    fn inflated(stream: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        let mut decoder = ZlibDecoder::new(stream);
        decoder.read_to_end(&mut data).unwrap();
        assert_eq!(decoder.total_in(), stream.len() as u64);
        data
    }

    #[test]
    fn what_cannot_become_shorter_is_stored_and_the_rest_is_compressed() {
        let noise = stream(&[bytes(2, PIECE), bytes(2, 1000)]);
        assert!(noise.len() < PIECE + 1000 + 64, "{}", noise.len());
        let text = stream(&[bytes(1, PIECE), bytes(1, PIECE)]);
        assert!(text.len() < PIECE, "{}", text.len());
        // The samples are of the text between the noise, not of the noise.
        let mut mixed = bytes(1, PIECE);
        mixed[SAMPLE..PIECE / 4].copy_from_slice(&bytes(2, PIECE / 4 - SAMPLE));
        let stream = stream(&[mixed.clone()]);
        assert_eq!(inflated(&stream), mixed);
        assert!(stream.len() < PIECE);
    }

    #[test]
    fn what_only_looks_as_if_it_could_become_shorter_is_stored() {
        let mut piece = bytes(2, PIECE);
        for part in piece.chunks_mut(PIECE / SAMPLES) {
            part[..SAMPLE].fill(0);
        }
        let before = bytes(1, PIECE);
        let pieces = [before.clone(), piece.clone(), before];
        let stream = stream(&pieces);
        assert_eq!(inflated(&stream), pieces.concat());
        assert!(stream.len() < PIECE * 2);
    }

    proptest! {
        #[test]
        fn every_stream_gives_back_what_was_put_into_it(
            parts in prop::collection::vec((0_u8..3, 0_usize..70_000), 0..6),
        ) {
            let pieces: Vec<Vec<u8>> = parts.iter().map(|(kind, length)| bytes(*kind, *length)).collect();
            let whole = pieces.concat();
            let stream = stream(&pieces);
            prop_assert_eq!(&inflated(&stream), &whole);
            prop_assert!(stream.len() <= whole.len() + 11 + parts.len() * 10);
            prop_assert_eq!(crate::object::deflate::inflate(&stream, whole.len()), Some(whole));
        }
    }
}
