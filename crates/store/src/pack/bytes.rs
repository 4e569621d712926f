//! The bytes of a pack before it has a name: in memory while they are few, else in `herma/tmp`.

use herma_fs::file::read_at;
use herma_fs::publish::{Durability, Temp};
use sha1::{Digest, Sha1};

use crate::ObjectId;
use crate::error::StoreError;
use crate::layout::HermaDirs;
use crate::pack::write::finish;
use crate::pack::write::finish::Settled;

/// Packs up to this size are kept in memory until they are published.
const MEMORY_PACK: usize = 4 << 20;

/// Larger packs are written in pieces of about this size.
const WRITE_SIZE: usize = 1 << 20;

/// The bytes of a pack: a buffer, and in front of it a file once there are many.
pub(crate) struct Bytes<'a> {
    herma: &'a HermaDirs,
    file: Option<Temp<'a>>,
    flushed: u64,
    buffer: Vec<u8>,
    objects: u64,
    /// The checksum at the end, once it is there.
    trailer: Option<ObjectId>,
}

impl<'a> Bytes<'a> {
    /// No entries yet.
    pub(crate) fn new(herma: &'a HermaDirs) -> Self {
        let buffer = finish::header(0).to_vec();
        Self { herma, file: None, flushed: 0, buffer, objects: 0, trailer: None }
    }

    /// How many bytes there are.
    pub(crate) fn length(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// How many entries there are.
    pub(crate) fn objects(&self) -> u64 {
        self.objects
    }

    /// Counts an entry that was written piece by piece.
    pub(crate) fn count_object(&mut self) {
        self.objects += 1;
    }

    /// Appends an entry and returns its offset.
    pub(crate) fn append(&mut self, entry: &[u8]) -> Result<u64, StoreError> {
        let offset = self.length();
        self.write(entry)?;
        self.objects += 1;
        Ok(offset)
    }

    /// Appends an entry that is in a file and returns its offset.
    pub(crate) fn append_file(&mut self, entry: &Temp<'_>, length: u64) -> Result<u64, StoreError> {
        let offset = self.length();
        let mut chunk = vec![0; length.min(WRITE_SIZE as u64) as usize];
        let mut done = 0;
        while done < length {
            let wanted = (length - done).min(WRITE_SIZE as u64) as usize;
            read_temp(self.herma, entry, &mut chunk[..wanted], done)?;
            self.write(&chunk[..wanted])?;
            done += wanted as u64;
        }
        self.objects += 1;
        Ok(offset)
    }

    /// Appends bytes that belong to an entry.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(bytes);
        let limit = if self.file.is_some() { WRITE_SIZE } else { MEMORY_PACK };
        if self.buffer.len() > limit { self.flush() } else { Ok(()) }
    }

    /// Undoes everything from `length` on: an entry that turned out to be of no use.
    pub(crate) fn cut(&mut self, length: u64) -> Result<(), StoreError> {
        if let Some(in_buffer) = length.checked_sub(self.flushed) {
            self.buffer.truncate(in_buffer as usize);
            return Ok(());
        }
        self.buffer.clear();
        if let Some(file) = &mut self.file {
            file.cut(length)?;
        }
        self.flushed = length;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.file.is_none() {
            self.file = Some(Temp::create_private(&self.herma.tmp)?);
        }
        if let Some(file) = &mut self.file {
            file.write(&self.buffer)?;
        }
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(2 * WRITE_SIZE);
        Ok(())
    }

    /// Fills `out` with the bytes at `offset`, wherever they are.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), StoreError> {
        let in_file = self.flushed.saturating_sub(offset).min(out.len() as u64) as usize;
        let (from_file, from_buffer) = out.split_at_mut(in_file);
        if let (Some(file), false) = (&self.file, from_file.is_empty()) {
            read_temp(self.herma, file, from_file, offset)?;
        }
        let start = (offset + in_file as u64).saturating_sub(self.flushed) as usize;
        let source = self.buffer.get(start..start + from_buffer.len());
        from_buffer.copy_from_slice(source.ok_or(StoreError::Abandoned)?);
        Ok(())
    }

    /// Sets the count and appends the checksum. What is here can still be read; nothing can be added.
    pub(crate) fn seal(&mut self) -> Result<(), StoreError> {
        let count = u32::try_from(self.objects).map_err(|_| StoreError::Abandoned)?;
        let mut checksum = Sha1::new();
        if self.file.is_none() {
            self.buffer[..12].copy_from_slice(&finish::header(count));
            checksum.update(&self.buffer);
        } else {
            self.flush()?;
            self.read_into(&mut checksum, count)?;
        }
        let trailer = ObjectId::from_bytes(checksum.finalize().into());
        self.buffer.extend_from_slice(trailer.as_bytes());
        self.flush()?;
        // A save of a million files has fifteen packs at once.
        self.buffer = Vec::new();
        self.trailer = Some(trailer);
        Ok(())
    }

    /// Sets the count in the file, and reads all of it.
    fn read_into(&self, checksum: &mut Sha1, count: u32) -> Result<(), StoreError> {
        let file = self.file.as_ref().ok_or(StoreError::Abandoned)?;
        file.write_at(&finish::header(count), 0)?;
        let mut chunk = vec![0; WRITE_SIZE];
        let mut done = 0;
        while done < self.flushed {
            let wanted = (self.flushed - done).min(WRITE_SIZE as u64) as usize;
            read_temp(self.herma, file, &mut chunk[..wanted], done)?;
            checksum.update(&chunk[..wanted]);
            done += wanted as u64;
        }
        Ok(())
    }

    /// Are there so few that they need no file?
    pub(crate) fn are_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// The file with all of it, sealed now if it was not.
    pub(crate) fn into_pack(mut self, durability: Durability) -> Result<Settled<'a>, StoreError> {
        if self.trailer.is_none() {
            self.seal()?;
        }
        match (self.file, self.trailer) {
            (Some(file), Some(trailer)) => Settled::new(file, trailer, self.objects, durability),
            _ => Err(StoreError::Abandoned),
        }
    }
}

/// Reads exactly `out.len()` bytes of a temporary file.
fn read_temp(
    herma: &HermaDirs,
    file: &Temp<'_>,
    out: &mut [u8],
    offset: u64,
) -> Result<(), StoreError> {
    let fail =
        |e: std::io::Error| herma_fs::Error::on("read", &herma.tmp.path().join(file.name()), e);
    let count = read_at(file.file(), out, offset).map_err(fail)?;
    if count < out.len() {
        return Err(fail(std::io::ErrorKind::UnexpectedEof.into()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fresh;

    #[test]
    fn a_full_pack_that_waits_for_others_takes_no_memory() {
        let fresh = Fresh::new();
        let mut bytes = Bytes::new(fresh.dirs.for_writing().unwrap());
        bytes.append(&vec![7; MEMORY_PACK + 1]).unwrap();
        assert!(bytes.buffer.capacity() <= 2 * WRITE_SIZE);
        bytes.append(b"more").unwrap();
        bytes.seal().unwrap();
        assert_eq!(bytes.buffer.capacity(), 0);
        let mut more = [0; 4];
        bytes.read(12 + MEMORY_PACK as u64 + 1, &mut more).unwrap();
        assert_eq!(&more, b"more");
    }
}
