//! Compresses the many small files of a large save: in one pass, with codes learned from the files before.
//!
//! libdeflate looks at a file twice and makes codes for it alone, which is best for one file. Where a save brings thousands,
//! those of a project are much alike: codes made of some of them suit the next ones, and each is written while it is
//! read. That takes little more than half the time, for some percent more bytes; collecting compresses anew.
//!
//! The first files of each thread are left to libdeflate, so saves of a few files never come here. Then some are only counted, codes
//! are made of what was counted, and every so often a file is counted again, so that codes follow what the project has.
//! A file that does not come out well is left to libdeflate too: its codes are its own. Very small ones are written in the codes that deflate has for them.

// A file is written in one loop over what it repeats, which takes a tenth less time than calls.
#![allow(clippy::inline_always)]

mod codes;
mod finder;
mod huffman;

use codes::Codes;
use codes::Counts;
use finder::Finder;

/// Larger files are worth codes of their own, and smaller ones nothing.
const SIZES: std::ops::RangeInclusive<usize> = 64..=256 << 10;
/// Smaller files are written in codes that need not be told: telling takes some hundred bytes.
const WORTH_TELLING: usize = 512;
/// So many files of a thread are none of ours: most saves have fewer.
const OTHERS_FIRST: u32 = 32;
/// So many files are counted before codes are made of them.
const COUNTED_FIRST: u32 = 8;
/// One file of so many is counted later on.
const COUNT_EVERY: u32 = 32;
/// After so many that were counted codes are made anew.
const LEARN_EVERY: u32 = 8;

/// So many in a row may not come out well before fewer are tried: photographs come in directories.
const PATIENCE: u32 = 8;
/// One of so many is tried then.
const TRY_EVERY: u32 = 8;

/// What a thread has learned of the files it compressed.
#[derive(Default)]
pub(crate) struct Learned {
    finder: Finder,
    counts: Counts,
    codes: Option<Codes>,
    well_known: Option<Codes>,
    files: u32,
    counted: u32,
    /// How many in a row did not come out well.
    unsuited: u32,
}

impl Learned {
    /// Appends a zlib stream of `data` to `bytes`. Where it is not one to be compressed here, nothing is appended and `false` returned.
    pub(crate) fn compress(&mut self, bytes: &mut Vec<u8>, data: &[u8]) -> bool {
        if !SIZES.contains(&data.len()) {
            return false;
        }
        self.files = self.files.wrapping_add(1);
        if self.codes.is_none() && self.files <= OTHERS_FIRST {
            return false;
        }
        if data.len() < WORTH_TELLING {
            return self.write_small(bytes, data);
        }
        let is_counted = self.codes.is_none() || self.files.is_multiple_of(COUNT_EVERY);
        if is_counted {
            self.count(data);
        }
        let Some(codes) = &self.codes else {
            return false;
        };
        if self.unsuited >= PATIENCE && !self.files.is_multiple_of(TRY_EVERY) {
            return false;
        }
        let most = most_bytes(data.len());
        let suits = write(&mut self.finder, codes, bytes, data, most);
        self.unsuited = if suits { 0 } else { self.unsuited + 1 };
        suits
    }

    fn write_small(&mut self, bytes: &mut Vec<u8>, data: &[u8]) -> bool {
        let codes = self.well_known.get_or_insert_with(Codes::well_known);
        write(&mut self.finder, codes, bytes, data, data.len())
    }

    fn count(&mut self, data: &[u8]) {
        let mut here = Counts::none();
        self.finder.find(data, &mut here);
        // What no codes would make short enough is nothing to learn from.
        if here.bits() > most_bytes(data.len()) as f64 * 8.0 {
            return;
        }
        self.counts.add(&here);
        self.counted += 1;
        let enough = match self.codes {
            None => COUNTED_FIRST,
            Some(_) => LEARN_EVERY,
        };
        if self.counted >= enough {
            self.codes = Some(Codes::suited_to(&self.counts));
            // What was met long ago counts less and less.
            self.counts.halve();
            self.counted = 0;
        }
    }
}

/// Longer than this, a stream of so many bytes was not worth it.
fn most_bytes(length: usize) -> usize {
    length - length / 4
}

/// Appends the stream, unless it has more than `most` bytes: then these codes do not suit it.
fn write(
    finder: &mut Finder,
    codes: &Codes,
    bytes: &mut Vec<u8>,
    data: &[u8],
    most: usize,
) -> bool {
    let start = bytes.len();
    put(finder, codes, bytes, data);
    let suits = bytes.len() - start <= most;
    if !suits {
        bytes.truncate(start);
    }
    suits
}

// All of it becomes one loop, and that is not wanted twice.
#[inline(never)]
fn put(finder: &mut Finder, codes: &Codes, bytes: &mut Vec<u8>, data: &[u8]) {
    let mut stream = codes.begin(bytes, data.len());
    finder.find(data, &mut stream);
    stream.end();
    let checksum = zlib_rs::adler32::adler32(1, data);
    bytes.extend_from_slice(&checksum.to_be_bytes());
}

/// Codes learned from one file compress another, whatever they are: two libraries read it back.
#[cfg(any(test, fuzzing))]
pub(crate) fn comes_back(known: &[&[u8]], data: &[u8]) {
    let (mut finder, mut counts) = (Finder::default(), Counts::default());
    for file in known {
        finder.find(file, &mut counts);
    }
    for codes in [Codes::suited_to(&counts), Codes::well_known()] {
        let mut stream = Vec::new();
        put(&mut finder, &codes, &mut stream, data);
        is_stream_of(&stream, data);
    }
}

#[cfg(any(test, fuzzing))]
fn is_stream_of(stream: &[u8], data: &[u8]) {
    use std::io::Read;

    let mut at_once = vec![0; data.len()];
    let length = libdeflater::Decompressor::new().zlib_decompress(stream, &mut at_once);
    assert_eq!(length.expect("libdeflate reads it"), data.len());
    assert!(at_once == data, "libdeflate reads something else");
    let mut streamed = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(stream);
    decoder.read_to_end(&mut streamed).expect("zlib reads it");
    assert!(streamed == data, "zlib reads something else");
    assert_eq!(decoder.total_in(), stream.len() as u64);
}

#[cfg(test)]
mod tests;
