//! The bytes of a file, read by position.

use std::fs::File;
use std::io;

/// Where the bytes of an export are.
pub trait Source {
    /// How many there are.
    fn length(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset` on, as far as there is something; says how far.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Source for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl Source for &[u8] {
    fn length(&self) -> io::Result<u64> {
        (**self).length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(herma_fs::file::stat_file(self)?.size)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        herma_fs::file::read_at(self, buffer, offset)
    }
}

/// So many bytes are read at once.
const WINDOW: usize = 64 << 10;

/// A place in a source, moving forward.
pub(crate) struct Cursor<'s> {
    source: &'s dyn Source,
    /// Where the first byte of the window that was not used is.
    at: u64,
    /// Nothing is read from here on.
    end: u64,
    window: Box<[u8]>,
    start: usize,
    filled: usize,
}

impl<'s> Cursor<'s> {
    /// From `at` up to `end`.
    pub(crate) fn new(source: &'s dyn Source, at: u64, end: u64) -> Self {
        Self { source, at, end, window: vec![0; WINDOW].into(), start: 0, filled: 0 }
    }

    pub(crate) const fn position(&self) -> u64 {
        self.at
    }

    pub(crate) const fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// The next bytes; none at the end.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        if self.start == self.filled {
            let most = self.left().min(WINDOW as u64) as usize;
            (self.start, self.filled) = (0, 0);
            self.filled = self.source.read_at(&mut self.window[..most], self.at)?;
        }
        Ok(&self.window[self.start..self.filled])
    }

    /// Passes over bytes that [`Cursor::peek`] has shown.
    pub(crate) fn skip(&mut self, count: usize) {
        let count = count.min(self.filled - self.start);
        self.start += count;
        self.at += count as u64;
    }

    /// Goes somewhere else.
    pub(crate) fn jump(&mut self, at: u64) {
        self.at = at.min(self.end);
        (self.start, self.filled) = (0, 0);
    }

    /// The next so many bytes; `None` if there are fewer.
    pub(crate) fn take(&mut self, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut taken = Vec::with_capacity(count.min(WINDOW));
        while taken.len() < count {
            let next = self.peek()?;
            if next.is_empty() {
                return Ok(None);
            }
            let more = next.len().min(count - taken.len());
            taken.extend_from_slice(&next[..more]);
            self.skip(more);
        }
        Ok(Some(taken))
    }
}
