//! A large object goes into the pack piece by piece, and is undone if its bytes turn out wrong.

use std::io;
use std::io::Write;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{GcError, Known, Merge};
use crate::error::StoreError;
use crate::object::{Kind, deflate};
use crate::objects::stored::LargeSink;
use crate::pack::bytes::Bytes;
use crate::pack::write::finish::IndexEntry;

/// How hard large objects are compressed.
const LEVEL: u32 = 6;

/// The caller is asked whether to go on each time this much was written.
const ASK_EVERY: u64 = 4 << 20;

/// An entry being written.
struct LargeEntry<'w, 'a> {
    bytes: &'w mut Bytes<'a>,
    /// Where it begins.
    offset: u64,
    /// The most bytes it may take.
    room: u64,
    crc: crc32fast::Hasher,
    /// `None` while the bytes come compressed.
    encoder: Option<ZlibEncoder<Vec<u8>>>,
    progress: &'w dyn Fn() -> Result<(), GcError>,
    /// When the caller is asked next.
    ask_at: u64,
    /// The error `io::Error` cannot carry; after it nothing is taken any more.
    failure: Option<GcError>,
}

impl Merge<'_> {
    /// Streams the next object into the pack.
    pub(super) fn append_large(&mut self) -> Result<(), GcError> {
        let id = self.items[self.entries.len()].id;
        let offset = self.bytes.length();
        let room = self.options.max_bytes.saturating_sub(self.final_size());
        let (done, progress) = (self.done.load(Ordering::Relaxed), self.options.progress);
        let mut entry = LargeEntry {
            bytes: &mut self.bytes,
            offset,
            room,
            crc: crc32fast::Hasher::new(),
            encoder: None,
            progress: &|| progress(done).then_some(()).ok_or(GcError::Cancelled),
            ask_at: 0,
            failure: None,
        };
        let streamed = self.objects.stream_stored(&id, &mut entry);
        let finished = streamed.is_ok().then(|| entry.finish());
        let (failure, crc) = (entry.failure, entry.crc.finalize());
        if let Some(failure) = failure {
            return Err(failure);
        }
        let (kind, size) = streamed?;
        if let Some(Err(_)) = finished {
            return Err(StoreError::Abandoned.into());
        }
        self.bytes.count_object();
        self.known.push(Known { kind, size, depth: 0, base: None });
        self.entries.push(IndexEntry { id, crc, offset });
        self.check_size()?;
        self.go_on(1)
    }
}

impl LargeEntry<'_, '_> {
    fn fail(&mut self, failure: GcError) -> io::Error {
        self.failure.get_or_insert(failure);
        io::Error::other("the pack could not be written")
    }

    /// Writes bytes as they are to be in the pack.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.bytes.length() + bytes.len() as u64 - self.offset;
        if length > self.room {
            return Err(self.fail(GcError::TooLarge));
        }
        if length >= self.ask_at {
            self.ask_at = length + ASK_EVERY;
            (self.progress)().map_err(|e| self.fail(e))?;
        }
        self.crc.update(bytes);
        self.bytes.write(bytes).map_err(|e| self.fail(e.into()))
    }

    /// Writes what the encoder has ready.
    fn drain(&mut self, mut encoder: ZlibEncoder<Vec<u8>>) -> io::Result<()> {
        let ready = std::mem::take(encoder.get_mut());
        self.put(&ready)?;
        self.encoder = Some(encoder);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.encoder.take() {
            None => Ok(()),
            Some(encoder) => {
                let rest = encoder.finish()?;
                self.put(&rest)
            }
        }
    }
}

impl LargeSink for LargeEntry<'_, '_> {
    fn begin(&mut self, kind: Kind, size: u64, compressed: bool) -> io::Result<()> {
        if self.failure.is_some() {
            return Err(io::Error::other("the pack could not be written"));
        }
        self.bytes.cut(self.offset).map_err(|e| self.fail(e.into()))?;
        self.crc = crc32fast::Hasher::new();
        self.ask_at = 0;
        let encoder = || ZlibEncoder::new(Vec::new(), Compression::new(LEVEL));
        self.encoder = (!compressed).then(encoder);
        self.put(&deflate::entry_header(kind, size))
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.encoder.take() {
            None => self.put(bytes),
            Some(mut encoder) => {
                encoder.write_all(bytes)?;
                self.drain(encoder)
            }
        }
    }
}
