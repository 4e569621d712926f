//! Reading small files whole.

use std::os::fd::AsFd;

use rustix::path::Arg;

use crate::Dir;
use crate::Errno;
use crate::FileKind;
use crate::Result;
use crate::file::stat_fd;

impl Dir {
    /// Reads a whole small file, refusing one above `limit` bytes. `None` when nothing is there.
    pub fn read_opt(&self, name: impl Arg + Copy, limit: u64) -> Result<Option<Vec<u8>>> {
        use std::io::Read;
        let file = match self.open_file_raw(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(self.error("open", name, e)),
        };
        let mut bytes = Vec::new();
        let stat = stat_fd(file.as_fd()).map_err(|e| self.error("look at", name, e))?;
        if stat.kind != FileKind::File {
            return Err(self.error("read", name, Errno::INVAL));
        }
        bytes.reserve_exact(stat.size.min(limit) as usize + 1);
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| self.error("read", name, Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        if bytes.len() as u64 > limit {
            return Err(self.error("read", name, Errno::FBIG));
        }
        Ok(Some(bytes))
    }

    /// Reads the beginning of a file into `buffer` and tells how much of it that fills. `None` when nothing
    /// is there. For very many small files that are known to be files: nothing is asked but the content.
    pub fn read_small(&self, name: impl Arg + Copy, buffer: &mut [u8]) -> Result<Option<usize>> {
        let file = match self.open_file_raw(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(self.error("open", name, e)),
        };
        let mut length = 0;
        while length < buffer.len() {
            match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer[length..])) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(e) => return Err(self.error("read", name, e)),
            }
        }
        Ok(Some(length))
    }

    /// Reads a whole small file, refusing one above `limit` bytes.
    pub fn read(&self, name: impl Arg + Copy, limit: u64) -> Result<Vec<u8>> {
        self.read_opt(name, limit)?
            .ok_or_else(|| self.error("open", name, Errno::NOENT))
    }
}
