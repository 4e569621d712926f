//! Reads the entries of a pack: whole objects, and deltas that make one object out of another.
//!
//! An entry is read in place through one small buffer. Following a delta to its base is the business of
//! [`crate::objects::chain`].

use std::ffi::CString;
use std::io;
use std::sync::Arc;

use crate::ObjectId;
use crate::object::copy::{CopyError, MEMORY_LIMIT, OpenFile};
use crate::object::inflate::{BothSink, Reader};
use crate::object::{Kind, delta};
use crate::pack::files::PackFiles;
use crate::pack::index::PackIndex;
use crate::pack::write::finish;

/// Where the first entry begins: after the signature, the version and the count.
pub(crate) const FIRST_ENTRY: u64 = 12;

/// A pack with its index.
#[derive(Debug)]
pub struct Pack {
    stem: String,
    file_name: CString,
    serial: u64,
    index: PackIndex,
    files: Arc<PackFiles>,
}

/// How an entry holds its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// As it is.
    Whole(Kind),
    /// As a change to the entry that begins at `base` in the same pack.
    OffsetDelta {
        /// Where the base begins: always before the delta.
        base: u64,
    },
    /// As a change to an object known by its id.
    IdDelta {
        /// The base.
        base: ObjectId,
    },
}

/// An entry whose header has been read; its content has not.
pub struct Entry {
    /// How it holds its object.
    pub kind: EntryKind,
    /// How many bytes it inflates to: the object's size, or the delta's.
    pub size: u64,
    reader: Reader,
}

impl Pack {
    /// Opens the pack `<stem>`: its index at once, the pack itself when an object is read.
    ///
    /// `serial` tells packs apart in caches; no two packs of one process may share it.
    pub fn open(files: &Arc<PackFiles>, stem: &str, serial: u64) -> Result<Self, CopyError> {
        let index = PackIndex::open(files, stem)?;
        let file_name = CString::new(format!("{stem}.pack"))
            .map_err(|_| CopyError::Damaged { file: stem.to_owned(), what: "not a name" })?;
        let files = Arc::clone(files);
        Ok(Self { stem: stem.to_owned(), file_name, serial, index, files })
    }

    /// The name without `.pack`.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// The number given to [`Pack::open`].
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Which objects it holds.
    pub fn index(&self) -> &PackIndex {
        &self.index
    }

    /// The pack file.
    pub(crate) fn file(&self) -> Result<Arc<OpenFile>, CopyError> {
        self.files.open(&self.file_name)
    }

    /// Damage found in this pack.
    pub(crate) fn damaged(&self, what: &'static str) -> CopyError {
        CopyError::Damaged { file: format!("{}.pack", self.stem), what }
    }

    /// How large the pack file is.
    pub(crate) fn size(&self) -> Result<u64, CopyError> {
        Ok(self.files.open(&self.file_name)?.stat.size)
    }

    /// Does the pack begin and end as its index says? One that was emptied, cut short or made longer does not, nor does
    /// anything else that has its name.
    pub(crate) fn holds_together(&self) -> Result<bool, herma_fs::Error> {
        let looked = self.file().and_then(|file| {
            let mut start = [0; FIRST_ENTRY as usize];
            file.read_exact_at(&mut start, 0)?;
            let mut end = [0; 20];
            let trailer = file.stat.size.saturating_sub(end.len() as u64);
            file.read_exact_at(&mut end, trailer)?;
            Ok(start == finish::header(self.index.count()) && end == *self.index.pack_trailer())
        });
        match looked {
            Ok(holds) => Ok(holds),
            Err(CopyError::Fs(e)) if e.is_want_of_resources() => Err(e),
            Err(_) => Ok(false),
        }
    }

    /// Reads the header of the entry at `offset`.
    pub fn entry(&self, offset: u64) -> Result<Entry, CopyError> {
        let file = self.files.open(&self.file_name)?;
        if !(FIRST_ENTRY..file.stat.size).contains(&offset) {
            return Err(self.damaged("an entry lies outside the pack"));
        }
        let mut reader = Reader::new(Arc::clone(&file), offset);
        let bytes = reader.peek().map_err(|e| file.error(e))?;
        let (kind, size, length) =
            header(bytes, offset).map_err(|what| CopyError::damaged(&file, what))?;
        reader.skip(length);
        Ok(Entry { kind, size, reader })
    }
}

impl Entry {
    /// Inflates the content: the object, or the delta.
    pub fn read(self) -> Result<Vec<u8>, CopyError> {
        if self.size > MEMORY_LIMIT {
            return Err(CopyError::TooLarge { size: self.size });
        }
        let read = self.reader.read_whole(self.size);
        read.map_err(|(file, e)| CopyError::inflating(&file, e))
    }

    /// The size of the object a delta makes.
    pub(crate) fn delta_result(mut self) -> Result<u64, CopyError> {
        let mut start = [0; 20];
        let read = self.reader.fill(&mut start);
        let length = read.map_err(|e| CopyError::inflating(self.file(), e))?;
        let sizes = delta::sizes(&start[..length]);
        Ok(sizes.map_err(|e| CopyError::damaged(self.file(), e.0))?.result)
    }

    /// Inflates the content piece by piece.
    pub fn stream(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), CopyError> {
        let streamed = self.reader.stream_rest(self.size, sink);
        streamed.map_err(|e| CopyError::inflating(self.reader.file(), e))
    }

    /// Was the content compressed with some effort? A zlib stream says so in its second byte.
    pub(crate) fn is_well_compressed(&mut self) -> Result<bool, CopyError> {
        let start = match self.reader.peek() {
            Ok(bytes) => bytes.get(1).copied(),
            Err(e) => return Err(self.reader.file().error(e).into()),
        };
        Ok(start.is_some_and(|flags| flags >> 6 >= 2))
    }

    /// Passes the content on piece by piece, as it is in the pack and inflated.
    pub(crate) fn stream_both(mut self, sink: &mut BothSink<'_>) -> Result<(), CopyError> {
        let streamed = self.reader.stream_both(self.size, sink);
        streamed.map_err(|e| CopyError::inflating(self.reader.file(), e))
    }

    /// Inflates the content, and returns it and the compressed bytes it was inflated from.
    pub(crate) fn read_both(self) -> Result<(Vec<u8>, Vec<u8>), CopyError> {
        if self.size > MEMORY_LIMIT {
            return Err(CopyError::TooLarge { size: self.size });
        }
        let (mut content, mut compressed) = (Vec::new(), Vec::new());
        self.stream_both(&mut |raw, inflated| {
            compressed.extend_from_slice(raw);
            content.extend_from_slice(inflated);
            Ok(())
        })?;
        Ok((content, compressed))
    }

    /// The pack file.
    pub fn file(&self) -> &OpenFile {
        self.reader.file()
    }
}

/// Reads an entry's header: how it holds its object, its size, and how long the header is.
pub(crate) fn header(bytes: &[u8], offset: u64) -> Result<(EntryKind, u64, usize), &'static str> {
    const CUT: &str = "an entry's header is cut short";
    let first = *bytes.first().ok_or(CUT)?;
    let mut size = u64::from(first & 0x0f);
    let mut length = 1;
    let mut more = first & 0x80 != 0;
    while more {
        let byte = *bytes.get(length).ok_or(CUT)?;
        let bits = u64::from(byte & 0x7f);
        let shift = 4 + 7 * (length as u32 - 1);
        if shift > 63 || bits.leading_zeros() < shift {
            return Err("an entry's size is out of range");
        }
        size |= bits << shift;
        more = byte & 0x80 != 0;
        length += 1;
    }
    let rest = &bytes[length..];
    let (kind, more) = match (first >> 4) & 7 {
        1 => (EntryKind::Whole(Kind::Commit), 0),
        2 => (EntryKind::Whole(Kind::Tree), 0),
        3 => (EntryKind::Whole(Kind::Blob), 0),
        4 => (EntryKind::Whole(Kind::Tag), 0),
        6 => {
            let (distance, more) = distance(rest).ok_or(CUT)?;
            let base = offset.checked_sub(distance).filter(|base| *base >= FIRST_ENTRY);
            // Strictly before the delta: a chain of these cannot run in a circle.
            match base.filter(|base| *base < offset) {
                Some(base) => (EntryKind::OffsetDelta { base }, more),
                None => return Err("a delta's base lies outside the pack"),
            }
        }
        7 => (EntryKind::IdDelta { base: ObjectId::from_slice(rest).ok_or(CUT)? }, 20),
        _ => return Err("an entry has an unknown kind"),
    };
    Ok((kind, size, length + more))
}

/// Git's variable-length distance, in which no value has two spellings.
fn distance(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_git_writes_them() {
        assert_eq!(header(&[0x3f], 12), Ok((EntryKind::Whole(Kind::Blob), 15, 1)));
        let large = [0xb5, 0x81, 0x01];
        assert_eq!(header(&large, 12), Ok((EntryKind::Whole(Kind::Blob), 5 + 16 + (1 << 11), 3)));
        let near = [0x65, 0x80, 0x00];
        assert_eq!(header(&near, 200), Ok((EntryKind::OffsetDelta { base: 72 }, 5, 3)));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let crafted: [&[u8]; 9] = [
            b"",
            &[0x05],
            &[0x55],
            &[0xb5],
            &[0xff; 40],
            &[0x65, 0x00],
            &[0x65, 0x7f],
            &[0x65, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0x75, 1, 2, 3],
        ];
        for bytes in crafted {
            assert!(header(bytes, 100).is_err(), "{bytes:?}");
        }
    }
}
