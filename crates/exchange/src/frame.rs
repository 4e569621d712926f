//! How a file is divided: a magic, the format, records of a kind and a length, and a hash over all of it.
//!
//! A kind is four letters. One that begins with a small letter may be skipped by whoever does not know it; what a reader must
//! know begins with a capital one.

use sha2::{Digest, Sha256};

use crate::source::{Cursor, Source};
use crate::{ExchangeError, Result};

/// The first bytes of every file.
pub const MAGIC: [u8; 8] = *b"HERMA-EX";
/// The format this program writes, and the newest it reads.
pub const VERSION: u32 = 1;
/// Magic and format.
pub(crate) const START: u64 = 12;
/// The head of a record: its kind and its length.
pub(crate) const RECORD: u64 = 12;
/// The SHA-256 over everything before it.
pub(crate) const SEAL: u64 = 32;

/// Four letters.
pub type RecordKind = [u8; 4];

/// What the file is.
pub const HEAD: RecordKind = *b"HEAD";
/// The rows.
pub const ROWS: RecordKind = *b"ROWS";
/// The commits at which history ends.
pub const CUTS: RecordKind = *b"CUTS";
/// The order of rows that were taken over once.
pub const ORDER: RecordKind = *b"ORDR";
/// The record of a step.
pub const STEP: RecordKind = *b"step";
/// Prompts: the turns of sessions.
pub const TURNS: RecordKind = *b"turn";
/// The objects; the last record.
pub const PACK: RecordKind = *b"PACK";

/// The head of a record.
pub(crate) fn head(kind: RecordKind, length: u64) -> [u8; RECORD as usize] {
    let mut head = [0; RECORD as usize];
    head[..4].copy_from_slice(&kind);
    head[4..].copy_from_slice(&length.to_le_bytes());
    head
}

/// The first bytes of a file.
pub(crate) fn start() -> [u8; START as usize] {
    let mut start = [0; START as usize];
    start[..8].copy_from_slice(&MAGIC);
    start[8..].copy_from_slice(&VERSION.to_le_bytes());
    start
}

/// May a reader that does not know this kind pass over it?
pub(crate) const fn may_skip(kind: RecordKind) -> bool {
    kind[0].is_ascii_lowercase()
}

/// Checks the first bytes and the hash at the end; returns where the records end.
pub(crate) fn check(source: &dyn Source, go_on: &dyn Fn() -> bool) -> Result<u64> {
    let length = source.length().map_err(ExchangeError::Read)?;
    let mut first = [0; START as usize];
    let count = source.read_at(&mut first, 0).map_err(ExchangeError::Read)?;
    if count < first.len() || first[..8] != MAGIC {
        return Err(ExchangeError::Foreign);
    }
    let version = u32::from_le_bytes(first[8..].try_into().expect("four bytes"));
    match version {
        1..=VERSION => {}
        0 => return Err(ExchangeError::bad("its format is 0")),
        found => return Err(ExchangeError::Newer { found }),
    }
    let end = length.checked_sub(SEAL).filter(|end| *end >= START);
    let end = end.ok_or(ExchangeError::Torn("it is too short"))?;
    let sum = sum(source, end, go_on)?;
    let mut seal = [0; SEAL as usize];
    let count = source.read_at(&mut seal, end).map_err(ExchangeError::Read)?;
    if count < seal.len() || seal != sum {
        return Err(ExchangeError::Torn("the hash at its end is that of something else"));
    }
    Ok(end)
}

/// The hash of the first so many bytes.
pub(crate) fn sum(
    source: &dyn Source,
    end: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<[u8; SEAL as usize]> {
    let mut hash = Sha256::new();
    let mut cursor = Cursor::new(source, 0, end);
    while cursor.left() > 0 {
        if !go_on() {
            return Err(ExchangeError::Cancelled);
        }
        let next = cursor.peek().map_err(ExchangeError::Read)?;
        if next.is_empty() {
            return Err(ExchangeError::Torn("it ends while it is read"));
        }
        hash.update(next);
        let count = next.len();
        cursor.skip(count);
    }
    Ok(hash.finalize().into())
}
