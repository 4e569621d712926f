//! Long runs of zeros become holes.
//!
//! A hole reads as zeros and takes no room. A checkpoint holds bytes, not holes, so a sparse file would come back with all of its
//! zeros on disk. Where a file has so many of them in a row that they fill blocks, nothing is written.

use std::fs::File;
use std::io;
use std::io::{Seek, SeekFrom, Write};

/// The size of a block, and where one begins, on nearly every file system.
const BLOCK_BYTES: u64 = 4096;

/// Shorter runs are written: a file in many pieces is slow to read.
const MIN_HOLE_BYTES: u64 = 16 * BLOCK_BYTES;

static ZEROS: [u8; MIN_HOLE_BYTES as usize] = [0; MIN_HOLE_BYTES as usize];

/// A new file that is written from its beginning to its end.
#[derive(Debug)]
pub struct Holes<'f> {
    file: &'f mut File,
    /// So many bytes are there, holes and all.
    at: u64,
    /// Zeros behind them that are not written yet.
    zeros: u64,
}

impl<'f> Holes<'f> {
    /// Nothing is in the file yet.
    pub fn new(file: &'f mut File) -> Self {
        Self { file, at: 0, zeros: 0 }
    }

    /// Appends bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        // What is not zero, in whole blocks and the ends of the file, goes out in one piece.
        let mut data = 0;
        while data < bytes.len() {
            let in_block = (self.at + self.zeros + data as u64) % BLOCK_BYTES;
            let end = bytes.len().min(data + (BLOCK_BYTES - in_block) as usize);
            if bytes[data..end].iter().any(|byte| *byte != 0) {
                data = end;
                continue;
            }
            self.put(&bytes[..data])?;
            self.zeros += (end - data) as u64;
            bytes = &bytes[end..];
            data = 0;
        }
        self.put(bytes)
    }

    fn put(&mut self, data: &[u8]) -> io::Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.let_out_zeros()?;
        self.file.write_all(data)?;
        self.at += data.len() as u64;
        Ok(())
    }

    /// Brings the file to where it is to go on.
    fn let_out_zeros(&mut self) -> io::Result<()> {
        let mut zeros = std::mem::take(&mut self.zeros);
        self.at += zeros;
        // Not every file system has holes.
        if zeros >= MIN_HOLE_BYTES && self.file.set_len(self.at).is_ok() {
            return self.file.seek(SeekFrom::Start(self.at)).map(drop);
        }
        while zeros > 0 {
            let some = zeros.min(MIN_HOLE_BYTES);
            self.file.write_all(&ZEROS[..some as usize])?;
            zeros -= some;
        }
        Ok(())
    }

    /// The end of the file: zeros there are as long as they were, too.
    pub fn finish(mut self) -> io::Result<()> {
        self.let_out_zeros()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// What comes of these pieces, and how many bytes of it take room.
    fn written(pieces: &[&[u8]]) -> (Vec<u8>, u64) {
        use std::os::unix::fs::MetadataExt;
        let mut file = tempfile::tempfile().unwrap();
        let mut holes = Holes::new(&mut file);
        for piece in pieces {
            holes.write(piece).unwrap();
        }
        holes.finish().unwrap();
        file.sync_all().unwrap();
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        (content, file.metadata().unwrap().blocks() * 512)
    }

    #[test]
    fn every_byte_is_where_it_was_whatever_the_pieces() {
        let long = vec![0; 3 * MIN_HOLE_BYTES as usize];
        let mut all = b"begin".to_vec();
        all.extend_from_slice(&long);
        all.extend_from_slice(b"middle");
        all.extend_from_slice(&[0; 5000]);
        all.extend_from_slice(b"end");
        all.extend_from_slice(&long);
        for size in [1, 7, 4095, 4096, 4097, 100_000, all.len()] {
            let pieces: Vec<&[u8]> = all.chunks(size).collect();
            let (content, room) = written(&pieces);
            assert!(content == all, "in pieces of {size}");
            assert!(room < all.len() as u64 / 4, "in pieces of {size}: {room}");
        }
    }

    #[test]
    fn empty_files_and_files_of_zeros_keep_their_length() {
        assert_eq!(written(&[]), (Vec::new(), 0));
        for length in [1, 4096, MIN_HOLE_BYTES as usize - 1, MIN_HOLE_BYTES as usize + 1] {
            let zeros = vec![0; length];
            assert_eq!(written(&[&zeros]).0, zeros);
        }
    }
}
