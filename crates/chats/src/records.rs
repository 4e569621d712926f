//! Files with a JSON object on each line, read in bounds.

use std::fs::File;

use herma_fs::Dir;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// No record that is read is longer.
const MAX_BYTES: u64 = 1 << 30;
/// No line of it is.
const MAX_LINE: usize = 64 << 20;
/// It has no more lines.
const MAX_LINES: usize = 2_000_000;
/// So much is read at once.
const PIECE: usize = 256 << 10;

/// Where a line is, without what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where it begins.
    pub(crate) offset: u64,
    /// How long it is.
    pub(crate) length: usize,
}

/// A file with a JSON object on each line.
#[derive(Debug)]
pub(crate) struct Records {
    file: File,
    /// How long it was when it was opened: an agent at work goes on writing.
    length: u64,
}

impl Records {
    /// Opens a file of a directory.
    pub(crate) fn open(dir: &Dir, name: &str) -> Result<Self> {
        let file = dir.open_file(name)?;
        let stat = herma_fs::file::stat_file(&file);
        let length = stat.map_err(|e| on("look at", e))?.size;
        if length > MAX_BYTES {
            return Err(Error::TooLarge("more than 1 GiB"));
        }
        Ok(Self { file, length })
    }

    /// Calls `each` with every line that was ended and is not empty. What follows the last line end is still being written.
    pub(crate) fn for_each(&self, mut each: impl FnMut(Line, &[u8]) -> Result<()>) -> Result<()> {
        let (mut at, mut lines) = (0, 0);
        let mut held: Vec<u8> = Vec::new();
        let mut piece = vec![0; PIECE];
        let mut read_to = 0;
        while read_to < self.length {
            let most = usize::try_from(self.length - read_to).unwrap_or(PIECE).min(PIECE);
            let read = herma_fs::file::read_at(&self.file, &mut piece[..most], read_to);
            let read = read.map_err(|e| on("read", e))?;
            if read == 0 {
                return Err(Error::Changed);
            }
            read_to += read as u64;
            let mut rest = &piece[..read];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                held.extend_from_slice(&rest[..end]);
                rest = &rest[end + 1..];
                lines += 1;
                if held.len() > MAX_LINE || lines > MAX_LINES {
                    return Err(Error::TooLarge("a line of more than 64 MiB, or too many"));
                }
                if std::str::from_utf8(&held).is_err() {
                    return Err(Error::NotText(at));
                }
                if !held.trim_ascii().is_empty() {
                    each(Line { offset: at, length: held.len() }, &held)?;
                }
                at += held.len() as u64 + 1;
                held.clear();
            }
            held.extend_from_slice(rest);
            if held.len() > MAX_LINE {
                return Err(Error::TooLarge("a line of more than 64 MiB"));
            }
        }
        Ok(())
    }

    /// So much of the end, at most.
    pub(crate) fn read_end(&self, most: u64) -> Result<End> {
        let from = self.length.saturating_sub(most);
        let mut bytes = vec![0; usize::try_from(self.length - from).unwrap_or_default()];
        let read = herma_fs::file::read_at(&self.file, &mut bytes, from);
        bytes.truncate(read.map_err(|e| on("read", e))?);
        Ok(End { bytes, from })
    }

    /// A line once more.
    pub(crate) fn read(&self, line: &Line) -> Result<Vec<u8>> {
        let mut bytes = vec![0; line.length];
        let read = herma_fs::file::read_at(&self.file, &mut bytes, line.offset);
        if read.map_err(|e| on("read", e))? < line.length {
            return Err(Error::Changed);
        }
        Ok(bytes)
    }
}

/// The end of a file.
pub(crate) struct End {
    bytes: Vec<u8>,
    from: u64,
}

impl End {
    /// Is it the whole file?
    pub(crate) const fn is_all(&self) -> bool {
        self.from == 0
    }

    /// Its lines that were ended; the first one may lack its beginning.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        self.bytes[..end].split(|byte| *byte == b'\n')
    }
}

/// Writes a line with another id in its field `sessionId`, if it has one; all else stays as it is.
pub(crate) fn rename_field(line: &[u8], new: &str, out: &mut Vec<u8>) -> Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry<'l> {
        #[serde(borrow)]
        session_id: Option<&'l RawValue>,
    }
    let entry: Entry<'_> = serde_json::from_slice(line).map_err(|_| Error::Changed)?;
    let Some(old) = entry.session_id.map(RawValue::get) else {
        out.extend_from_slice(line);
        return Ok(());
    };
    // It is borrowed from the line.
    let start = old.as_ptr() as usize - line.as_ptr() as usize;
    out.extend_from_slice(&line[..start]);
    out.extend_from_slice(format!("\"{new}\"").as_bytes());
    out.extend_from_slice(&line[start + old.len()..]);
    Ok(())
}

fn on(verb: &'static str, error: std::io::Error) -> Error {
    herma_fs::Error::on(verb, "the record".as_ref(), error).into()
}
