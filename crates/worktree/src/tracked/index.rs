//! The format of git's index: header, entries sorted by path, extensions, checksum.
//!
//! Only paths and kinds are taken. The length of object ids is not written in the file (SHA-1 or
//! SHA-256, as the repository's config says), so both are tried: the entries and extensions of an index
//! end exactly where its checksum begins, which the wrong length does not meet.

use bstr::ByteSlice;
use herma_store::ObjectId;

use super::{PathList, TrackedFiles};

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

pub(crate) fn parse(bytes: &[u8]) -> Option<TrackedFiles> {
    parse_with(bytes, 20).or_else(|| parse_with(bytes, 32))
}

fn parse_with(bytes: &[u8], id_size: usize) -> Option<TrackedFiles> {
    let mut reader = Reader { rest: bytes };
    let is_index = reader.take(4)? == b"DIRC";
    let version = reader.u32()?;
    if !is_index || !(2..=4).contains(&version) {
        return None;
    }
    let count = reader.u32()? as usize;
    let body = reader.rest.len().checked_sub(id_size)?;
    reader.rest = &reader.rest[..body];
    // Prefix compression could blow a small file up without end.
    let room = bytes.len().saturating_mul(16).saturating_add(1 << 20).min(u32::MAX as usize);
    let mut entries = Entries::new(version, id_size, room);
    for _ in 0..count {
        entries.read(&mut reader)?;
    }
    let mut split = None;
    read_extensions(reader, id_size, &mut split)?;
    let is_whole = !entries.has_nameless || split.is_some();
    is_whole.then_some(TrackedFiles { paths: entries.paths, sparse: entries.sparse, split })
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

    fn read(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let before = reader.rest.len();
        let stat = reader.take(STAT_SIZE)?;
        let mode = Reader { rest: &stat[MODE_AT..] }.u32()?;
        reader.take(self.id_size)?;
        let flags = reader.u16()?;
        if flags & FLAG_EXTENDED != 0 {
            if self.version < 3 {
                return None;
            }
            reader.u16()?;
        }
        let kept = if self.version == 4 { self.kept_of_previous(reader)? } else { 0 };
        let name = reader.until_nul()?;
        if kept + name.len() > MAX_PATH_BYTES {
            return None;
        }
        if self.version < 4 {
            // Entries are padded to eight bytes by one to eight NULs, of which one is consumed.
            let size = before - reader.rest.len();
            reader.take(size.next_multiple_of(8) - size)?;
        }
        // Both begin with the part that is kept, so the rest decides.
        if name < &self.previous[kept..] {
            return None;
        }
        self.previous.truncate(kept);
        self.previous.extend_from_slice(name);
        self.add(mode)
    }

    fn kept_of_previous(&self, reader: &mut Reader<'_>) -> Option<usize> {
        let dropped = usize::try_from(reader.variable_length()?).ok()?;
        self.previous.len().checked_sub(dropped)
    }

    fn add(&mut self, mode: u32) -> Option<()> {
        let path = &self.previous;
        if path.is_empty() {
            self.has_nameless = true;
            return Some(());
        }
        self.room = self.room.checked_sub(path.len())?;
        if mode == MODE_DIRECTORY {
            self.sparse.push(path.strip_suffix(b"/").unwrap_or(path).to_vec());
        } else {
            self.paths.push(path);
        }
        Some(())
    }
}

/// Reads what a split index says of the shared one. `None` if an extension has to be known and is not.
fn read_extensions(
    mut reader: Reader<'_>,
    id_size: usize,
    split: &mut Option<Split>,
) -> Option<()> {
    while !reader.rest.is_empty() {
        let signature = reader.take(4)?;
        let size = reader.u32()? as usize;
        let content = reader.take(size)?;
        match signature {
            b"link" => {
                *split = Some(read_link(content, id_size)?).filter(|link| !link.base.is_null());
            }
            // Where sparse directories are, is told by the entries.
            b"sdir" => {}
            _ if signature[0].is_ascii_uppercase() => {}
            _ => return None,
        }
    }
    Some(())
}

fn read_link(content: &[u8], id_size: usize) -> Option<Split> {
    let mut reader = Reader { rest: content };
    // That of a split index with SHA-256 is none of our ids.
    let base = ObjectId::from_slice(reader.take(id_size)?)?;
    let deleted = if reader.rest.is_empty() { Vec::new() } else { read_bitmap(&mut reader)? };
    Some(Split { base, deleted })
}

/// Reads a compressed bitmap (EWAH): words that announce runs of equal bits and literal words.
fn read_bitmap(reader: &mut Reader<'_>) -> Option<Vec<std::ops::Range<u64>>> {
    let size = u64::from(reader.u32()?);
    let words = reader.u32()? as usize;
    let mut words = Reader { rest: reader.take(words.checked_mul(8)?)? };
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
    Some(set)
}

/// Bytes still to be read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        self.rest.split_off(..size)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// The bytes up to a NUL, which is consumed.
    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_once_str(b"\0")?;
        self.rest = rest;
        Some(taken)
    }

    /// A number in git's offset encoding: seven bits a byte, and each further byte adds one.
    fn variable_length(&mut self) -> Option<u64> {
        let [mut byte] = self.array()?;
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            [byte] = self.array()?;
            if value >= 1 << 48 {
                return None;
            }
            value = ((value + 1) << 7) | u64::from(byte & 0x7f);
        }
        Some(value)
    }
}
