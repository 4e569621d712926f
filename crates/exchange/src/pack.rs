//! The objects of a file: one git pack of version 2 without deltas.
//!
//! So each object can be read by itself, by whoever has nothing else, and what it becomes is bounded by the size it says.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use herma_store::ObjectId;
use herma_store::object::{Hasher, Kind};
use herma_store::objects::Objects;
use sha1::{Digest, Sha1};

use crate::source::{Cursor, Source};
use crate::{ExchangeError, Result};

/// More objects than this are no project's.
pub(crate) const MAX_OBJECTS: u32 = 1 << 24;
/// Trees and commits are held whole while they are parsed.
pub(crate) const MAX_PARSED: u64 = 64 << 20;
/// Blobs up to this size are held whole.
pub(crate) const WHOLE_BLOB: u64 = 16 << 20;
/// The largest blob of all; a size above it is a lie.
const MAX_BLOB: u64 = 1 << 44;
/// So much is inflated at once.
const PIECE: usize = 64 << 10;
const HEADER: u64 = 12;
/// The SHA-1 at the end of a pack.
const TRAILER: u64 = 20;

/// An object of a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    /// Where its compressed bytes are.
    pub(crate) at: u64,
}

/// Reads the objects between two places of a source, one after the other.
pub(crate) struct PackScan<'s> {
    cursor: Cursor<'s>,
    left: u32,
    /// Where the trailer is.
    end: u64,
}

impl<'s> PackScan<'s> {
    /// The pack that fills the bytes from `at` to `end`; its trailer is checked first.
    pub(crate) fn open(source: &'s dyn Source, at: u64, end: u64) -> Result<Self> {
        let objects_end = end.checked_sub(TRAILER).filter(|last| *last >= at + HEADER);
        let objects_end = objects_end.ok_or_else(|| ExchangeError::bad("its pack is too short"))?;
        check_trailer(source, at, objects_end)?;
        let mut cursor = Cursor::new(source, at, objects_end);
        let header = cursor.take(HEADER as usize).map_err(ExchangeError::Read)?;
        let header = header.ok_or_else(|| ExchangeError::bad("its pack is too short"))?;
        let count = u32::from_be_bytes(header[8..].try_into().expect("four bytes"));
        if header[..8] != *b"PACK\0\0\0\x02" || count > MAX_OBJECTS {
            return Err(ExchangeError::bad(
                "its pack has no header of a pack, or too many objects",
            ));
        }
        Ok(Self { cursor, left: count, end: objects_end })
    }

    /// How many objects it says it has.
    pub(crate) const fn count(&self) -> u32 {
        self.left
    }

    /// The next object, its id, and its content if that has to be parsed.
    pub(crate) fn next(&mut self) -> Result<Option<(ObjectId, Entry)>> {
        if self.left == 0 {
            if self.cursor.position() != self.end {
                return Err(ExchangeError::bad("its pack has more than its objects"));
            }
            return Ok(None);
        }
        self.left -= 1;
        let (kind, size) = entry_header(&mut self.cursor)?;
        let at = self.cursor.position();
        let mut hasher = Hasher::new(kind, size);
        inflate(&mut self.cursor, size, &mut |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        let id =
            hasher.finish().ok_or_else(|| ExchangeError::bad("an object is a forged collision"))?;
        Ok(Some((id, Entry { kind, size, at })))
    }
}

fn check_trailer(source: &dyn Source, at: u64, end: u64) -> Result<()> {
    let mut hash = Sha1::new();
    let mut cursor = Cursor::new(source, at, end);
    while cursor.left() > 0 {
        let next = cursor.peek().map_err(ExchangeError::Read)?;
        if next.is_empty() {
            return Err(ExchangeError::Torn("its pack ends early"));
        }
        hash.update(next);
        let count = next.len();
        cursor.skip(count);
    }
    let mut trailer = [0; TRAILER as usize];
    let count = source.read_at(&mut trailer, end).map_err(ExchangeError::Read)?;
    let sum: [u8; TRAILER as usize] = hash.finalize().into();
    if count < trailer.len() || trailer != sum {
        return Err(ExchangeError::bad("the hash of its pack is that of something else"));
    }
    Ok(())
}

/// The kind and the size an object says it has.
fn entry_header(cursor: &mut Cursor<'_>) -> Result<(Kind, u64)> {
    let mut byte = || -> Result<u8> {
        let next = cursor.peek().map_err(ExchangeError::Read)?.first().copied();
        let next = next.ok_or_else(|| ExchangeError::bad("its pack ends in an object"))?;
        cursor.skip(1);
        Ok(next)
    };
    let first = byte()?;
    let mut size = u64::from(first & 0x0f);
    let (mut shift, mut more) = (4, first & 0x80 != 0);
    while more {
        let next = byte()?;
        if shift > 46 {
            return Err(ExchangeError::bad("an object is larger than anything"));
        }
        size |= u64::from(next & 0x7f) << shift;
        (shift, more) = (shift + 7, next & 0x80 != 0);
    }
    let kind = match (first >> 4) & 7 {
        1 => Kind::Commit,
        2 => Kind::Tree,
        3 => Kind::Blob,
        _ => return Err(ExchangeError::bad("its pack holds a tag, a delta, or something unknown")),
    };
    let most = if kind == Kind::Blob { MAX_BLOB } else { MAX_PARSED };
    if size > most {
        return Err(ExchangeError::bad("an object is larger than one of its kind may be"));
    }
    Ok((kind, size))
}

/// Inflates exactly `size` bytes, piece by piece.
fn inflate(
    cursor: &mut Cursor<'_>,
    size: u64,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut state = Decompress::new(true);
    let mut piece = vec![0; PIECE.min(size as usize + 1)];
    loop {
        let input = cursor.peek().map_err(ExchangeError::Read)?;
        let (used, made) = (state.total_in(), state.total_out());
        let status = state.decompress(input, &mut piece, FlushDecompress::None);
        let status = status
            .map_err(|_| ExchangeError::bad("an object is not compressed as it should be"))?;
        let (used, fresh) = (state.total_in() - used, (state.total_out() - made) as usize);
        if state.total_out() > size {
            return Err(ExchangeError::bad("an object is longer than it says"));
        }
        cursor.skip(used as usize);
        sink(&piece[..fresh])?;
        match status {
            Status::StreamEnd if state.total_out() == size => return Ok(()),
            Status::StreamEnd => {
                return Err(ExchangeError::bad("an object is shorter than it says"));
            }
            _ if used == 0 && fresh == 0 => return Err(ExchangeError::bad("an object ends early")),
            _ => {}
        }
    }
}

/// An object whole.
pub(crate) fn whole(source: &dyn Source, end: u64, entry: &Entry) -> Result<Vec<u8>> {
    let mut data = Vec::with_capacity(entry.size.min(1 << 20) as usize);
    let mut cursor = Cursor::new(source, entry.at, end);
    inflate(&mut cursor, entry.size, &mut |piece| {
        data.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(data)
}

/// An object's bytes, as they are asked for.
pub(crate) struct Inflating<'s> {
    cursor: Cursor<'s>,
    state: Decompress,
    left: u64,
}

impl<'s> Inflating<'s> {
    pub(crate) fn new(source: &'s dyn Source, end: u64, entry: &Entry) -> Self {
        let cursor = Cursor::new(source, entry.at, end);
        Self { cursor, state: Decompress::new(true), left: entry.size }
    }
}

impl io::Read for Inflating<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 {
            return Ok(0);
        }
        loop {
            let (used, made) = (self.state.total_in(), self.state.total_out());
            let input = self.cursor.peek()?;
            let status = self.state.decompress(input, &mut buffer[..room], FlushDecompress::None);
            let status = status.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            let used = (self.state.total_in() - used) as usize;
            let made = (self.state.total_out() - made) as usize;
            self.cursor.skip(used);
            if made > 0 {
                self.left -= made as u64;
                return Ok(made);
            }
            if used == 0 || status == Status::StreamEnd {
                return Ok(0);
            }
        }
    }
}

/// Counts and hashes what is written.
struct Counted<'w> {
    out: &'w mut dyn Write,
    hash: Sha1,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes these objects as a pack, and says how long it is. `go_on` is told how many are done.
pub(crate) fn write(
    out: &mut dyn Write,
    objects: &Objects,
    ids: &[ObjectId],
    go_on: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let count = u32::try_from(ids.len()).ok().filter(|count| *count <= MAX_OBJECTS);
    let count = count.ok_or_else(|| ExchangeError::bad("there are too many objects"))?;
    let mut out = Counted { out, hash: Sha1::new(), written: 0 };
    let failed = ExchangeError::Read;
    out.write_all(b"PACK\0\0\0\x02").map_err(failed)?;
    out.write_all(&count.to_be_bytes()).map_err(failed)?;
    for (done, id) in ids.iter().enumerate() {
        if !go_on(done as u64) {
            return Err(ExchangeError::Cancelled);
        }
        let (kind, size) = objects.read_header(id)?;
        let head = |kind, size| entry_head(kind, size);
        if kind == Kind::Blob && size > WHOLE_BLOB {
            out.write_all(&head(kind, size)).map_err(failed)?;
            let mut packed = ZlibEncoder::new(&mut out, Compression::default());
            let passed = objects.stream_blob(id, &mut |piece| packed.write_all(piece))?;
            packed.finish().map_err(failed)?;
            if passed != size {
                return Err(ExchangeError::Moved(*id));
            }
        } else {
            let object = objects.read(id)?;
            out.write_all(&head(object.kind, object.data.len() as u64)).map_err(failed)?;
            let mut packed = ZlibEncoder::new(&mut out, Compression::default());
            packed.write_all(&object.data).map_err(failed)?;
            packed.finish().map_err(failed)?;
        }
    }
    let sum = out.hash.clone().finalize();
    out.write_all(&sum).map_err(failed)?;
    Ok(out.written)
}

pub(crate) fn entry_head(kind: Kind, size: u64) -> Vec<u8> {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut head = vec![(kind << 4) | (size & 0x0f) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        *head.last_mut().expect("it has a first byte") |= 0x80;
        head.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    head
}
