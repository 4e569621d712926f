//! Inflates zlib streams out of a file, never trusting a size before its bytes arrive.
//!
//! Reading is by `pread` through one small buffer. The buffers and the inflate state of a thread are
//! kept for its next object: setting them up costs more than inflating a small file. What fits into the buffer
//! as a whole is inflated in one go, which takes half as long.

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Decompressor;

use crate::object::copy::OpenFile;

const INPUT: usize = 32 << 10;
const OUTPUT: usize = 64 << 10;
/// Most objects are smaller than this: the first read asks for no more.
const FIRST_READ: usize = 4 << 10;
/// How much room is made at first for an object, whatever size it claims.
const FIRST_ROOM: u64 = 1 << 20;
/// A stream may be so much longer than what it holds, if it is short.
const OVERHEAD: u64 = 64;

/// Why a stream could not be inflated.
#[derive(Debug)]
pub(crate) enum InflateError {
    /// The file could not be read.
    Read(io::Error),
    /// The stream is not what its header promised.
    Corrupt(&'static str),
    /// The receiver of the bytes refused them.
    Sink(io::Error),
}

/// Takes a piece of a stream, as it is in the file and inflated.
pub(crate) type BothSink<'s> = dyn FnMut(&[u8], &[u8]) -> io::Result<()> + 's;

struct Scratch {
    input: Box<[u8]>,
    output: Box<[u8]>,
    state: Decompress,
    at_once: Decompressor,
}

thread_local! {
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

fn take_scratch() -> Box<Scratch> {
    if let Some(mut scratch) = SPARE.take() {
        scratch.state.reset(true);
        return scratch;
    }
    Box::new(Scratch {
        input: vec![0; INPUT].into(),
        output: vec![0; OUTPUT].into(),
        state: Decompress::new(true),
        at_once: Decompressor::new(),
    })
}

/// A position in a file: raw bytes first (a header), then one zlib stream.
pub(crate) struct Reader {
    file: Arc<OpenFile>,
    /// Where the next read begins.
    next: u64,
    /// The part of the input buffer not used yet.
    start: usize,
    filled: usize,
    ended: bool,
    /// `None` only while being dropped.
    scratch: Option<Box<Scratch>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Without its output buffer it went through a panic of the receiver and is not whole.
        let scratch = self.scratch.take().filter(|scratch| !scratch.output.is_empty());
        // A thread that is ending has nowhere to keep it.
        let _ = SPARE.try_with(|spare| spare.set(scratch));
    }
}

impl Reader {
    /// Stands at `offset`; nothing is read yet.
    pub(crate) fn new(file: Arc<OpenFile>, offset: u64) -> Self {
        let scratch = Some(take_scratch());
        Self { file, next: offset, start: 0, filled: 0, ended: false, scratch }
    }

    /// The file being read.
    pub(crate) fn file(&self) -> &OpenFile {
        &self.file
    }

    /// Where the first byte that was not used yet is in the file.
    pub(crate) fn position(&self) -> u64 {
        self.next - (self.filled - self.start) as u64
    }

    /// Shows the next raw bytes: some hundreds at least, unless the file ends before.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        if self.start == self.filled {
            self.refill(FIRST_READ)?;
        }
        let (start, filled) = (self.start, self.filled);
        Ok(&self.scratch().input[start..filled])
    }

    /// Passes over raw bytes that [`Reader::peek`] has shown.
    pub(crate) fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.filled);
    }

    fn scratch(&mut self) -> &mut Scratch {
        self.scratch.as_mut().expect("taken only by drop")
    }

    fn refill(&mut self, most: usize) -> io::Result<()> {
        let scratch = self.scratch.as_mut().expect("taken only by drop");
        self.start = 0;
        self.filled = 0;
        self.filled =
            herma_fs::file::read_at(&self.file.file, &mut scratch.input[..most], self.next)?;
        self.next += self.filled as u64;
        Ok(())
    }

    /// Inflates into `out` until it is full or the stream ends; returns how much was written.
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> Result<usize, InflateError> {
        let mut done = 0;
        while done < out.len() && !self.ended {
            if self.start == self.filled {
                let most = if self.next == 0 { FIRST_READ } else { INPUT };
                self.refill(most).map_err(InflateError::Read)?;
            }
            done += self.step(&mut out[done..])?;
        }
        Ok(done)
    }

    fn step(&mut self, out: &mut [u8]) -> Result<usize, InflateError> {
        let (start, filled) = (self.start, self.filled);
        let scratch = self.scratch();
        let (input_before, output_before) = (scratch.state.total_in(), scratch.state.total_out());
        let input = &scratch.input[start..filled];
        let status = scratch
            .state
            .decompress(input, out, FlushDecompress::None)
            .map_err(|_| InflateError::Corrupt("its compressed data is broken"))?;
        let used = (scratch.state.total_in() - input_before) as usize;
        let made = (scratch.state.total_out() - output_before) as usize;
        self.start += used;
        self.ended = status == Status::StreamEnd;
        if used == 0 && made == 0 && !self.ended {
            return Err(InflateError::Corrupt("its compressed data ends early"));
        }
        Ok(made)
    }

    /// Checks that the stream has no more bytes, and with that its checksum.
    pub(crate) fn expect_end(&mut self) -> Result<(), InflateError> {
        match self.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(InflateError::Corrupt("an object is longer than its header says")),
        }
    }

    /// Reads a stream of which nothing was read yet, and which must be exactly `size` bytes. Afterwards this reader stands
    /// nowhere in particular.
    pub(crate) fn read_whole(
        mut self,
        size: u64,
    ) -> Result<Vec<u8>, (Arc<OpenFile>, InflateError)> {
        let read = match self.read_at_once(size) {
            Ok(Some(whole)) => Ok(whole),
            // Too long, or broken: piece by piece it can be said which.
            Ok(None) => self.read_rest(Vec::new(), size),
            Err(e) => Err(InflateError::Read(e)),
        };
        read.map_err(|e| (Arc::clone(&self.file), e))
    }

    /// Inflates a stream in one go, if all of it fits into the input buffer.
    fn read_at_once(&mut self, size: u64) -> io::Result<Option<Vec<u8>>> {
        // What is twice as large as the buffer fits into it, if it is text.
        if size > 2 * INPUT as u64 {
            return Ok(None);
        }
        let longest = (size + OVERHEAD).min(INPUT as u64);
        let mut whole = vec![0; size as usize];
        // Text becomes a third of what it was: what was read for the header is often all of it.
        let there = (self.filled - self.start) as u64;
        if size <= there * 3 && self.inflate_at_once(&mut whole) {
            return Ok(Some(whole));
        }
        if there >= longest {
            return Ok(None);
        }
        self.next = self.position();
        self.refill(longest as usize)?;
        Ok(self.inflate_at_once(&mut whole).then_some(whole))
    }

    /// Is the stream in the input buffer one of exactly so many bytes?
    fn inflate_at_once(&mut self, whole: &mut [u8]) -> bool {
        let (start, filled) = (self.start, self.filled);
        let scratch = self.scratch();
        let input = &scratch.input[start..filled];
        let inflated = scratch.at_once.zlib_decompress(input, whole);
        matches!(inflated, Ok(length) if length == whole.len())
    }

    /// Reads the rest of the stream, which must be exactly `size` bytes, after the bytes in `whole`.
    ///
    /// Room grows with what has arrived, so that a header that lies costs no memory.
    pub(crate) fn read_rest(
        &mut self,
        mut whole: Vec<u8>,
        size: u64,
    ) -> Result<Vec<u8>, InflateError> {
        while (whole.len() as u64) < size {
            let have = whole.len();
            let more = (size - have as u64).min(FIRST_ROOM.max(have as u64)) as usize;
            whole
                .try_reserve_exact(more)
                .map_err(|_| InflateError::Read(io::ErrorKind::OutOfMemory.into()))?;
            whole.resize(have + more, 0);
            if self.fill(&mut whole[have..])? < more {
                return Err(InflateError::Corrupt("an object is shorter than its header says"));
            }
        }
        self.expect_end()?;
        Ok(whole)
    }

    /// Passes the rest of the stream, which must be exactly `size` bytes, to `sink` piece by piece.
    pub(crate) fn stream_rest(
        &mut self,
        size: u64,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), InflateError> {
        self.stream_both(size, &mut |_, content| match content {
            [] => Ok(()),
            content => sink(content),
        })
    }

    /// Passes the rest of the stream on piece by piece, each as it is in the file and inflated; it must
    /// inflate to exactly `size` bytes.
    pub(crate) fn stream_both(
        &mut self,
        size: u64,
        sink: &mut BothSink<'_>,
    ) -> Result<(), InflateError> {
        let mut output = std::mem::take(&mut self.scratch().output);
        let result = self.stream_both_through(&mut output, size, sink);
        self.scratch().output = output;
        result
    }

    fn stream_both_through(
        &mut self,
        output: &mut [u8],
        mut left: u64,
        sink: &mut BothSink<'_>,
    ) -> Result<(), InflateError> {
        while !self.ended {
            if self.start == self.filled {
                self.refill(INPUT).map_err(InflateError::Read)?;
            }
            let before = self.start;
            let made = self.step(output)?;
            left = left
                .checked_sub(made as u64)
                .ok_or(InflateError::Corrupt("an object is longer than its header says"))?;
            let used = before..self.start;
            sink(&self.scratch().input[used], &output[..made]).map_err(InflateError::Sink)?;
        }
        if left > 0 {
            return Err(InflateError::Corrupt("an object is shorter than its header says"));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use herma_fs::Dir;

    use super::*;

    fn stream_of(content: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a stream of this claimed size out of a file in which bytes come before it and, maybe, after it.
    fn read(file: &[u8], before: usize, size: u64) -> Result<Vec<u8>, InflateError> {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("pack"), file).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let file = OpenFile::open(&dir, c"pack").unwrap();
        let mut reader = Reader::new(Arc::new(file), 0);
        reader.peek().unwrap();
        reader.skip(before);
        reader.read_whole(size).map_err(|(_, e)| e)
    }

    /// Content that does not become smaller, or hardly, or very much so.
    fn contents(size: usize) -> [Vec<u8>; 3] {
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(size).collect();
        let text = noise.iter().map(|byte| b'a' + byte % 16).collect();
        [noise, text, vec![b'x'; size]]
    }

    #[test]
    fn a_stream_of_any_length_is_read_whole_wherever_it_lies() {
        for size in [0, 1, 100, 3000, 4000, 12_000, 32_600, 32_704, 32_768, 100_000] {
            for content in contents(size) {
                for (level, before) in [(0, 3), (1, 0), (9, 700)] {
                    let mut file = vec![b'-'; before];
                    file.extend(stream_of(&content, level));
                    for after in [0, 50_000] {
                        file.extend(std::iter::repeat_n(0xff, after));
                        let whole = read(&file, before, size as u64).unwrap();
                        assert!(whole == content, "{size} bytes, level {level}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_that_is_not_what_its_header_says_is_refused() {
        for size in [1_usize, 3000, 12_000, 40_000] {
            for content in contents(size) {
                let stream = stream_of(&content, 1);
                for claimed in [0, size - 1, size + 1, size * 2] {
                    let read = read(&stream, 0, claimed as u64);
                    assert!(matches!(read, Err(InflateError::Corrupt(_))), "{claimed} of {size}");
                }
                let cut = &stream[..stream.len() - 1];
                assert!(read(cut, 0, size as u64).is_err(), "cut short");
                let mut wrong = stream.clone();
                *wrong.last_mut().unwrap() ^= 1;
                assert!(read(&wrong, 0, size as u64).is_err(), "another checksum");
            }
        }
    }
}
