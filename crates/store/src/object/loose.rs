//! Reads loose objects: one file each, `objects/<2 digits>/<38 digits>`.
//!
//! Herma writes none, but stores written by Hermes and by git hold them. A crash of git can leave a
//! file with no bytes or with a broken header behind; such a file is no object.

use std::ffi::CString;
use std::io;
use std::sync::{Arc, OnceLock};

use herma_fs::{Dir, IfThere};

use crate::ObjectId;
use crate::object::copy::{CopyError, MEMORY_LIMIT, OpenFile};
use crate::object::inflate::Reader;
use crate::object::{Kind, Object};

/// A kind, a space, twenty digits and a zero byte fit.
const MAX_HEADER_BYTES: usize = 32;

/// The loose objects of a store.
#[derive(Debug)]
pub struct Loose {
    objects: Arc<Dir>,
    /// Which directories of objects there were when somebody first asked who does not mind an old answer.
    fans: OnceLock<[bool; 256]>,
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
        Self { objects, fans: OnceLock::new() }
    }

    /// Opens an object and reads its header; `None` when there is no such file.
    pub fn open(&self, id: &ObjectId) -> Result<Option<LooseObject>, CopyError> {
        let Some(dir) = self.open_fan(id.as_bytes()[0])? else { return Ok(None) };
        let hex = id.to_hex();
        let name = CString::new(&hex[2..]).expect("digits have no zero byte");
        let file = match OpenFile::open(&dir, &name) {
            Ok(file) => Arc::new(file),
            Err(e) if e.is_vanished() => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut reader = Reader::new(Arc::clone(&file), 0);
        let mut start = vec![0; MAX_HEADER_BYTES];
        let length = reader.fill(&mut start).map_err(|e| CopyError::inflating(&file, e))?;
        start.truncate(length);
        let (kind, size, header) =
            parse_header(&start).ok_or_else(|| CopyError::damaged(&file, "it has no header"))?;
        start.drain(..header);
        if start.len() as u64 > size {
            return Err(CopyError::damaged(&file, "an object is longer than its header says"));
        }
        Ok(Some(LooseObject { kind, size, start, reader }))
    }

    /// Is there a file for this object, with a header that can be read?
    pub fn contains(&self, id: &ObjectId) -> Result<bool, CopyError> {
        match self.open(id) {
            Ok(found) => Ok(found.is_some()),
            Err(CopyError::Damaged { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Like [`Loose::contains`], but told what was so a moment ago: a save of many new files would else try to open a directory for
    /// each, and Herma's own stores have none.
    pub fn contains_listed(&self, id: &ObjectId) -> Result<bool, CopyError> {
        let fans = self.fans.get_or_init(|| self.list_fans().unwrap_or([true; 256]));
        Ok(fans[usize::from(id.as_bytes()[0])] && self.contains(id)?)
    }

    /// Is there any object?
    pub fn any(&self) -> Result<bool, CopyError> {
        let fans = self.list_fans()?;
        for (first, is_there) in (0..=u8::MAX).zip(fans) {
            if is_there && !self.ids_in(first)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn list_fans(&self) -> Result<[bool; 256], CopyError> {
        let mut fans = [false; 256];
        for entry in self.objects.entries()? {
            let digits = std::str::from_utf8(entry.name.to_bytes()).ok();
            let first = digits.filter(|digits| digits.len() == 2);
            if let Some(first) = first.and_then(|first| u8::from_str_radix(first, 16).ok()) {
                fans[usize::from(first)] = true;
            }
        }
        Ok(fans)
    }

    /// Reads an object whole; `None` when there is no such file. It is not checked against its id.
    pub fn read(&self, id: &ObjectId) -> Result<Option<Object>, CopyError> {
        self.open(id)?.map(LooseObject::read).transpose()
    }

    /// The ids whose first byte is this one, in order. Names that are not ids are not objects.
    pub fn ids_in(&self, first: u8) -> Result<Vec<ObjectId>, CopyError> {
        let Some(dir) = self.open_fan(first)? else { return Ok(Vec::new()) };
        let prefix = format!("{first:02x}").into_bytes();
        let id = |name: &[u8]| ObjectId::from_hex(&[&prefix, name].concat());
        let entries = dir.entries()?;
        Ok(entries.iter().filter_map(|entry| id(entry.name.to_bytes())).collect())
    }

    fn open_fan(&self, first: u8) -> Result<Option<Dir>, CopyError> {
        Ok(self.objects.open_dir(format!("{first:02x}").as_str()).if_there()?)
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
        Ok(Object { kind: self.kind, data })
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
    #[allow(clippy::disallowed_methods)]
    fn who_asks_again_is_told_what_was_there_a_moment_ago() {
        let place = tempfile::tempdir().unwrap();
        let put = |id: ObjectId| {
            let (fan, name) = (&id.to_hex()[..2], &id.to_hex()[2..]);
            let empty_blob = crate::object::deflate::compress_well(b"blob 0\0");
            std::fs::create_dir_all(place.path().join(fan)).unwrap();
            std::fs::write(place.path().join(fan).join(name), empty_blob).unwrap();
        };
        let id = |first| ObjectId::from_bytes([first; 20]);
        put(id(0xab));
        let loose = Loose::new(Arc::new(Dir::open(place.path()).unwrap()));
        assert!(loose.contains_listed(&id(0xab)).unwrap());
        assert!(!loose.contains_listed(&id(0)).unwrap());
        put(id(0));
        assert!(!loose.contains_listed(&id(0)).unwrap(), "not listed again");
        assert!(loose.contains(&id(0)).unwrap());
        // What has a directory is looked for in it.
        let mut other = [0xab; 20];
        other[19] = 1;
        let other = ObjectId::from_bytes(other);
        assert!(!loose.contains_listed(&other).unwrap());
        put(other);
        assert!(loose.contains_listed(&other).unwrap());
    }

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
