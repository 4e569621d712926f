//! Reads loose objects: one file each, `objects/<2 digits>/<38 digits>`.
//!
//! Herma writes none, but stores written by Hermes and by git hold them. A crash of git can leave a
//! file with no bytes or with a broken header behind; such a file is no object.

use std::ffi::CString;
use std::io;
use std::sync::Arc;

use herma_fs::Dir;
use herma_fs::Errno;

use super::copy::CopyError;
use super::copy::MEMORY_LIMIT;
use super::inflate::Reader;
use super::object::Kind;
use super::object::Object;
use super::pack_files::OpenFile;
use super::prefix::IdPrefix;
use crate::id::ObjectId;

/// A kind, a space, twenty digits and a zero byte fit.
const LONGEST_HEADER: usize = 32;

/// The loose objects of a store.
#[derive(Debug)]
pub struct Loose {
    objects: Arc<Dir>,
}

/// A loose object whose header has been read.
pub struct LooseObject {
    /// What it is.
    pub kind: Kind,
    /// Its size.
    pub size: u64,
    /// The content that came along with the header.
    start: Vec<u8>,
    reader: Reader,
}

impl Loose {
    /// The loose objects below this `objects` directory. Opens nothing.
    pub fn new(objects: Arc<Dir>) -> Self {
        Self { objects }
    }

    /// Opens an object and reads its header; `None` when there is no such file.
    pub fn open(&self, id: &ObjectId) -> Result<Option<LooseObject>, CopyError> {
        let Some(dir) = self.open_fan(id.as_bytes()[0])? else {
            return Ok(None);
        };
        let hex = id.to_hex();
        let name = CString::new(&hex[2..]).expect("digits have no zero byte");
        let file = match OpenFile::open(&dir, &name) {
            Ok(file) => Arc::new(file),
            Err(e) if e.is_not_found() => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let mut reader = Reader::new(Arc::clone(&file), 0);
        let mut start = vec![0; LONGEST_HEADER];
        let length = reader
            .fill(&mut start)
            .map_err(|e| CopyError::inflating(&file, e))?;
        start.truncate(length);
        let (kind, size, header) =
            parse_header(&start).ok_or_else(|| CopyError::damaged(&file, "it has no header"))?;
        start.drain(..header);
        if start.len() as u64 > size {
            return Err(CopyError::damaged(
                &file,
                "an object is longer than its header says",
            ));
        }
        Ok(Some(LooseObject {
            kind,
            size,
            start,
            reader,
        }))
    }

    /// Is there a file for this object, with a header that can be read?
    pub fn contains(&self, id: &ObjectId) -> Result<bool, CopyError> {
        match self.open(id) {
            Ok(found) => Ok(found.is_some()),
            Err(CopyError::Damaged { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Reads an object whole; `None` when there is no such file. It is not checked against its id.
    pub fn read(&self, id: &ObjectId) -> Result<Option<Object>, CopyError> {
        self.open(id)?.map(LooseObject::read).transpose()
    }

    /// The ids that begin with these digits.
    pub fn find_prefix(&self, prefix: &IdPrefix) -> Result<Vec<ObjectId>, CopyError> {
        let mut found = Vec::new();
        for first in (0..=u8::MAX).filter(|first| prefix.may_start_with(*first)) {
            found.extend(
                self.ids_in(first)?
                    .into_iter()
                    .filter(|id| prefix.matches(id)),
            );
        }
        Ok(found)
    }

    /// The ids whose first byte is this one, in order. Names that are not ids are not objects.
    pub fn ids_in(&self, first: u8) -> Result<Vec<ObjectId>, CopyError> {
        let Some(dir) = self.open_fan(first)? else {
            return Ok(Vec::new());
        };
        let prefix = format!("{first:02x}").into_bytes();
        let id = |name: &[u8]| ObjectId::from_hex(&[&prefix, name].concat());
        let entries = dir.entries()?;
        Ok(entries
            .iter()
            .filter_map(|entry| id(entry.name.to_bytes()))
            .collect())
    }

    fn open_fan(&self, first: u8) -> Result<Option<Dir>, CopyError> {
        // Asked for every object that is new.
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        let digits = [digit(first >> 4), digit(first & 15)];
        let name = CString::new(digits).expect("digits have no zero byte");
        match self.objects.open_dir_for_walk(&name) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => {
                let path = self.objects.path();
                Err(herma_fs::Error::at("open", path, name.to_bytes(), e).into())
            }
        }
    }
}

impl LooseObject {
    /// Reads the object whole.
    pub fn read(mut self) -> Result<Object, CopyError> {
        if self.size > MEMORY_LIMIT {
            return Err(CopyError::TooLarge { size: self.size });
        }
        let read = self.reader.read_rest(self.start, self.size);
        let data = read.map_err(|e| CopyError::inflating(self.reader.file(), e))?;
        Ok(Object {
            kind: self.kind,
            data,
        })
    }

    /// Passes the content to `sink` piece by piece.
    pub fn stream(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), CopyError> {
        if !self.start.is_empty() {
            sink(&self.start).map_err(CopyError::Sink)?;
        }
        let left = self.size - self.start.len() as u64;
        let streamed = self.reader.stream_rest(left, sink);
        streamed.map_err(|e| CopyError::inflating(self.reader.file(), e))
    }
}

/// Reads `kind size\0`; returns the kind, the size and how long this is.
fn parse_header(bytes: &[u8]) -> Option<(Kind, u64, usize)> {
    let end = bytes.iter().position(|b| *b == 0)?;
    let space = bytes[..end].iter().position(|b| *b == b' ')?;
    let kind = Kind::from_name(&bytes[..space])?;
    let digits = &bytes[space + 1..end];
    let plain =
        digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || digits.first()? != &b'0');
    let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
    plain.then_some((kind, size, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_that_git_writes_are_read() {
        assert_eq!(parse_header(b"blob 12\0rest"), Some((Kind::Blob, 12, 8)));
        assert_eq!(parse_header(b"commit 0\0"), Some((Kind::Commit, 0, 9)));
        let crafted: [&[u8]; 9] = [
            b"",
            b"blob 12",
            b"blob\0",
            b"blob \0",
            b"blob 012\0",
            b"blob +1\0",
            b"blob -1\0",
            b"blub 1\0",
            b"blob 99999999999999999999\0",
        ];
        for bytes in crafted {
            assert_eq!(parse_header(bytes), None, "{bytes:?}");
        }
    }
}
