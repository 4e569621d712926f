//! The format of git's index: header, entries sorted by path, extensions, checksum.
//!
//! Only paths and kinds are taken. The length of object ids is not written in the file (SHA-1 or
//! SHA-256, as the repository's config says), so both are tried: the entries and extensions of an index
//! end exactly where its checksum begins, which the wrong length does not meet.

use bstr::ByteSlice;
use herma_store::ObjectId;

use super::{IndexError, PathList, TrackedFiles};

/// Size of the fields before the object id: times, device, inode, mode, owner, size.
const STAT_SIZE: usize = 40;
const MODE_AT: usize = 24;
const MODE_DIRECTORY: u32 = 0o040_000;
const FLAG_EXTENDED: u16 = 0x4000;

/// Longer paths cannot be opened on any system here.
const MAX_PATH_BYTES: usize = 16 * 1024;

/// What a split index says about the shared one below it.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) base: ObjectId,
    /// Places in the shared index whose entries are gone, ascending ranges without overlap.
    deleted: Vec<std::ops::Range<u64>>,
}

impl Split {
    pub(crate) fn is_deleted(&self, place: usize) -> bool {
        let place = place as u64;
        let at = self.deleted.partition_point(|range| range.end <= place);
        self.deleted.get(at).is_some_and(|range| range.contains(&place))
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Result<TrackedFiles, IndexError> {
    match parse_with(bytes, 20) {
        Err(IndexError::Truncated | IndexError::Damaged(_)) => {
            // The first answer is the better message: nearly all repositories use SHA-1.
            parse_with(bytes, 32).or_else(|_| parse_with(bytes, 20))
        }
        decided => decided,
    }
}

fn parse_with(bytes: &[u8], id_size: usize) -> Result<TrackedFiles, IndexError> {
    let mut reader = Reader { rest: bytes };
    if reader.take(4).ok() != Some(b"DIRC") {
        return Err(IndexError::NotAnIndex);
    }
    let version = reader.u32()?;
    if !(2..=4).contains(&version) {
        return Err(IndexError::Version(version));
    }
    let count = reader.u32()? as usize;
    let body = reader.rest.len().checked_sub(id_size).ok_or(IndexError::Truncated)?;
    reader.rest = &reader.rest[..body];
    // Prefix compression could blow a small file up without end.
    let room = bytes.len().saturating_mul(16).saturating_add(1 << 20).min(u32::MAX as usize);
    let mut entries = Entries::new(version, id_size, room);
    for _ in 0..count {
        entries.read(&mut reader)?;
    }
    let split = read_extensions(reader, id_size)?;
    if entries.has_nameless && split.is_none() {
        return Err(IndexError::Damaged("an entry has no name"));
    }
    Ok(TrackedFiles { paths: entries.paths, sparse: entries.sparse, split })
}

/// The entries read so far.
struct Entries {
    version: u32,
    id_size: usize,
    /// How many bytes of paths are still accepted.
    room: usize,
    paths: PathList,
    sparse: Vec<Vec<u8>>,
    /// A split index leaves out the names of entries that replace shared ones.
    has_nameless: bool,
    previous: Vec<u8>,
}

impl Entries {
    fn new(version: u32, id_size: usize, room: usize) -> Self {
        let (paths, sparse, previous) = (PathList::default(), Vec::new(), Vec::new());
        Self { version, id_size, room, paths, sparse, has_nameless: false, previous }
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), IndexError> {
        let before = reader.rest.len();
        let stat = reader.take(STAT_SIZE)?;
        let mode = Reader { rest: &stat[MODE_AT..] }.u32()?;
        reader.take(self.id_size)?;
        let flags = reader.u16()?;
        if flags & FLAG_EXTENDED != 0 {
            if self.version < 3 {
                return Err(IndexError::Damaged("version 2 has no extended flags"));
            }
            reader.u16()?;
        }
        let kept = if self.version == 4 { self.kept_of_previous(reader)? } else { 0 };
        let name = reader.until_nul()?;
        if kept + name.len() > MAX_PATH_BYTES {
            return Err(IndexError::Damaged("a path is too long"));
        }
        if self.version < 4 {
            // Entries are padded to eight bytes by one to eight NULs, of which one is consumed.
            let size = before - reader.rest.len();
            reader.take(size.next_multiple_of(8) - size)?;
        }
        // Both begin with the part that is kept, so the rest decides.
        if name < &self.previous[kept..] {
            return Err(IndexError::Damaged("its paths are not in order"));
        }
        self.previous.truncate(kept);
        self.previous.extend_from_slice(name);
        self.add(mode)
    }

    fn kept_of_previous(&self, reader: &mut Reader<'_>) -> Result<usize, IndexError> {
        let dropped = reader.variable_length()?;
        let dropped = usize::try_from(dropped).unwrap_or(usize::MAX);
        let kept = self.previous.len().checked_sub(dropped);
        kept.ok_or(IndexError::Damaged("a path drops more than there is"))
    }

    fn add(&mut self, mode: u32) -> Result<(), IndexError> {
        let path = &self.previous;
        if path.is_empty() {
            self.has_nameless = true;
            return Ok(());
        }
        let room = self.room.checked_sub(path.len());
        self.room = room.ok_or(IndexError::Damaged("its paths are longer than it can hold"))?;
        if mode == MODE_DIRECTORY {
            self.sparse.push(path.strip_suffix(b"/").unwrap_or(path).to_vec());
        } else {
            self.paths.push(path);
        }
        Ok(())
    }
}

fn read_extensions(mut reader: Reader<'_>, id_size: usize) -> Result<Option<Split>, IndexError> {
    let mut split = None;
    while !reader.rest.is_empty() {
        let signature = reader.take(4)?;
        let size = reader.u32()? as usize;
        let content = reader.take(size)?;
        match signature {
            b"link" => split = read_link(content, id_size)?,
            // Where sparse directories are, is told by the entries.
            b"sdir" => {}
            _ if signature[0].is_ascii_uppercase() => {}
            _ => {
                return Err(IndexError::Damaged("it needs an extension that is not known"));
            }
        }
    }
    Ok(split)
}

fn read_link(content: &[u8], id_size: usize) -> Result<Option<Split>, IndexError> {
    let mut reader = Reader { rest: content };
    let base = reader.take(id_size)?;
    if id_size != 20 {
        return Err(IndexError::Damaged("a split index with SHA-256 is not known"));
    }
    let base = ObjectId::from_slice(base).ok_or(IndexError::Truncated)?;
    let deleted = if reader.rest.is_empty() { Vec::new() } else { read_bitmap(&mut reader)? };
    Ok((!base.is_null()).then_some(Split { base, deleted }))
}

/// Reads a compressed bitmap (EWAH): words that announce runs of equal bits and literal words.
fn read_bitmap(reader: &mut Reader<'_>) -> Result<Vec<std::ops::Range<u64>>, IndexError> {
    let size = u64::from(reader.u32()?);
    let words = reader.u32()? as usize;
    let bytes = words.checked_mul(8).ok_or(IndexError::Truncated)?;
    let mut words = Reader { rest: reader.take(bytes)? };
    reader.u32()?;
    let mut set: Vec<std::ops::Range<u64>> = Vec::new();
    let mut add = |start: u64, end: u64| match set.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => set.push(start..end),
    };
    let mut place = 0;
    while !words.rest.is_empty() && place < size {
        let header = words.u64()?;
        let run = ((header >> 1) & 0xffff_ffff) * 64;
        if header & 1 == 1 && run > 0 {
            add(place, place + run);
        }
        place += run;
        for _ in 0..header >> 33 {
            let literal = words.u64()?;
            for bit in (0..64).filter(|bit| literal >> bit & 1 == 1) {
                add(place + bit, place + bit + 1);
            }
            place += 64;
        }
    }
    Ok(set)
}

/// Bytes still to be read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], IndexError> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or(IndexError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], IndexError> {
        self.take(N)?.try_into().map_err(|_| IndexError::Truncated)
    }

    fn u16(&mut self) -> Result<u16, IndexError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, IndexError> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, IndexError> {
        self.array().map(u64::from_be_bytes)
    }

    /// The bytes up to a NUL, which is consumed.
    fn until_nul(&mut self) -> Result<&'a [u8], IndexError> {
        let end = self.rest.find_byte(0).ok_or(IndexError::Truncated)?;
        let taken = self.take(end)?;
        self.take(1)?;
        Ok(taken)
    }

    /// A number in git's offset encoding: seven bits a byte, and each further byte adds one.
    fn variable_length(&mut self) -> Result<u64, IndexError> {
        let [mut byte] = self.array()?;
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            [byte] = self.array()?;
            if value >= 1 << 48 {
                return Err(IndexError::Damaged("a number is too large"));
            }
            value = ((value + 1) << 7) | u64::from(byte & 0x7f);
        }
        Ok(value)
    }
}
